from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, AttackOfColumn, Finding
from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.parameters import whole_number

MOST_KNOWN = 3
_BUDGET = 20_000  # sets of each size of known items that are tried for one person
_LONGEST = 5_000  # items of a person beyond which the record is left out
SEARCHED = 20_000  # people for whom choices of two and three items are tried, where more would take too long
LARGE = 400_000  # records from which on that is so: to count who holds some items takes as long as there are records


def known_items(most: int) -> str:
    """Return how many items are known, for a sentence."""
    return "one known item" if most == 1 else f"up to {most} known items"


@dataclass(frozen=True, kw_only=True)
class RuleInference(AttackOfColumn):
    """Infer a sensitive item of a person from a few others that are known.

    Of all records that hold what the intruder knows, some hold a sensitive item besides: their share is the confidence.
    Each person is attacked with the luckiest choice of at most `known` of their items in the table.
    Limit: of a person with very many items only the first 20,000 choices are tried, rare items first; a record of more
    than 5,000 items is left out. `cut_short` counts both. In a very large table, two and three items are tried for some
    people only, spread evenly over all of whom one item does not tell all, and figures are of as many as these stand
    for: `looked_at` says so.

    >>> table = {"basket": ["bread|wine", "bread|wine", "milk|wine", "milk", "milk"]}
    >>> release = Release.of(table, basket={"role": "items", "sensitive_items": ("wine",)})
    >>> print(RuleInference(column="basket", known=1).on(release))
    2 of 5 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "rule-inference"
    answered_by: ClassVar[tuple[str, ...]] = ("rho-uncertainty",)

    known: int = MOST_KNOWN  # items of a person that the intruder knows at most

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.known, "known items", 1, MOST_KNOWN)
        if self.known > MOST_KNOWN:
            raise PolicyError(
                f"An attack with {self.known} known items was asked for.\n"
                f"Use at most {MOST_KNOWN}: the audit covers any number."
            )

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Inferring a sensitive item of {self.column!r} from {known_items(self.known)}"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            f"Knows {known_items(self.known)} of a person in {self.column!r}, looks at all who have them, "
            "and names the sensitive item that most of these share."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield attacks with one, two and three known items for each column of items."""
        for column in release.columns.values():
            if isinstance(column, CodedSets) and column.role is Role.ITEMS and column.sensitive is not None:
                for known in range(1, MOST_KNOWN + 1):
                    yield cls(column=column.name, known=known, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        return self.on_sets(table.sets(self.column))

    def on_sets(self, column: CodedSets) -> Finding:
        """Attack records of items, which may hold more than a release shows of its column."""
        n_records = column.start.size - 1
        found = _confidences(column)
        sure, cut_short, stands_for = found.sure[self.known - 1], found.cut_short[self.known - 1], found.stands_for
        if self.known == 1:
            stands_for = np.ones(n_records)
        return Finding(
            people=n_records,
            exposed=_people(sure > self.threshold, stands_for),
            worst=float(sure.max(initial=0.0)),
            mean=float(np.average(sure, weights=stands_for)) if n_records else None,
            facts={
                "known_items": self.known,
                "certain": _people(sure == 1, stands_for),
                "cut_short": int(cut_short.sum()),
                "looked_at": int((stands_for > 0).sum()),
            },
        )

    def guess(self, table: Release) -> Finding | None:
        """Name the most frequent sensitive item that the person has, from base rates alone."""
        column = table.sets(self.column)
        assert column.sensitive is not None
        n_records = column.start.size - 1
        if not n_records:
            return None
        rate = np.bincount(column.items, minlength=len(column.labels)) / n_records * column.sensitive
        best = np.zeros(n_records)
        np.maximum.at(best, column.row_of, rate[column.items])
        return Finding.of(best, best > self.threshold, None)


def _people(chosen: NDArray[np.bool_], stands_for: NDArray[np.float64]) -> int:
    return round(float(stands_for[chosen].sum()))


@dataclass(frozen=True, eq=False)
class _Confidences:
    """How sure an intruder gets of each of n records with one, two, three known items."""

    sure: NDArray[np.float64]  # (most known, n)
    cut_short: NDArray[np.bool_]  # (most known, n)
    stands_for: NDArray[np.float64]  # (n,): as how many a record counts where several items are known, 0: not tried


_FOUND: WeakKeyDictionary[CodedSets, _Confidences] = WeakKeyDictionary()  # one search serves three attacks


def _confidences(column: CodedSets) -> _Confidences:
    """Return for one, two, three known items how sure an intruder gets of each record, and who was cut short."""
    from sfumato.kernels.items.inference import infer_from_few, infer_from_one
    from sfumato.kernels.items.supports import item_codes, make_baskets, make_store, with_room

    if column in _FOUND:
        return _FOUND[column]
    assert column.sensitive is not None
    length = np.diff(column.start)
    attacked = np.flatnonzero(length <= _LONGEST)
    inside = np.repeat(length <= _LONGEST, length)
    items = np.ascontiguousarray(column.items[inside], dtype=np.int32)
    start = starts_of(length[attacked])
    baskets = make_baskets(start, items, column.sensitive, item_codes(len(column.labels)))
    hits, support = np.zeros(attacked.size, dtype=np.int64), np.ones(attacked.size, dtype=np.int64)
    cut_short = np.zeros(attacked.size, dtype=np.bool_)
    everything = np.ones(items.size, dtype=np.bool_)
    sure, short = np.zeros((MOST_KNOWN, length.size)), np.ones((MOST_KNOWN, length.size), dtype=np.bool_)
    infer_from_one(baskets, hits, support)
    sure[0, attacked], short[0, attacked] = hits / support, cut_short
    stands_for = np.ones(length.size)
    secrets = np.add.reduceat(np.append(column.sensitive[items], False), start[:-1]) * (np.diff(start) > 0)
    stands_for[attacked] = counted = _tried((secrets > 0) & (hits < support))
    hits[counted == 0], support[counted == 0] = 1, 1  # whoever is certain is passed over
    for size in range(2, MOST_KNOWN + 1):
        store, record = make_store(), 0
        while record < attacked.size:
            record = infer_from_few(record, size, _BUDGET, baskets, everything, store, hits, support, cut_short)
            if record < attacked.size:
                store = with_room(store, store.keys.size)
        sure[size - 1, attacked], short[size - 1, attacked] = np.where(counted > 0, hits / support, 0.0), cut_short
    found = _FOUND[column] = _Confidences(sure, short, stands_for)
    return found


def _tried(open_yet: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return as how many each record counts: of very many that are open yet, some stand for all of these."""
    counted = np.ones(open_yet.size)
    rows = np.flatnonzero(open_yet)
    if open_yet.size > LARGE and rows.size > SEARCHED:
        counted[rows] = 0.0
        counted[rows[np.linspace(0, rows.size - 1, SEARCHED).astype(np.int64)]] = rows.size / SEARCHED
    return counted
