from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import THRESHOLD, Asked, Attack, Finding, checked_threshold
from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.parameters import whole_number

MOST_KNOWN = 3
_BUDGET = 20_000  # sets of each size of known items that are tried for one person
_LONGEST = 5_000  # items of a person beyond which the record is left out


@dataclass(frozen=True, kw_only=True)
class RuleInference(Attack):
    """Infer a sensitive item of a person from a few others that are known.

    Of all records that hold what the intruder knows, some hold a sensitive item besides: their share is the confidence.
    Each person is attacked with the luckiest choice of at most `known` of their items in the table.
    Limit: of a person with very many items only the first 20,000 choices are tried, rare items first; a record of more
    than 5,000 items is left out. `cut_short` counts both.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import ColumnSpec, Kind, Schema
    >>> spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("wine",))
    >>> table = Release.from_table(pa.table({"basket": ["bread|wine", "bread|wine", "milk|wine", "milk", "milk"]}),
    ...                            Schema({"basket": spec}))
    >>> print(RuleInference(column="basket", known=1).on(table))
    2 of 5 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "rule-inference"
    answered_by: ClassVar[tuple[str, ...]] = ("rho-uncertainty",)

    column: str
    known: int = MOST_KNOWN  # items of a person that the intruder knows at most
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)
        whole_number(self.known, "known items", 1, MOST_KNOWN)
        if self.known > MOST_KNOWN:
            raise PolicyError(
                f"An attack with {self.known} known items was asked for.\n"
                f"Use at most {MOST_KNOWN}: the audit covers any number."
            )

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Inferring a sensitive item of {self.column!r} from {self._items}"

    @property
    def _items(self) -> str:
        return "one known item" if self.known == 1 else f"up to {self.known} known items"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            f"Knows {self._items} of a person in {self.column!r}, looks at all records that hold them, "
            "and names the sensitive item that most of these share."
        )

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of which something is learned."""
        return (self.column,)

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield attacks with one, two and three known items for each column of items."""
        for column in release.columns.values():
            if isinstance(column, CodedSets) and column.role is Role.ITEMS and column.sensitive is not None:
                for known in range(1, MOST_KNOWN + 1):
                    yield cls(column=column.name, known=known, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        column = table.sets(self.column)
        n_records = column.start.size - 1
        sure, cut_short = (found[self.known - 1] for found in _confidences(column))
        return Finding(
            people=n_records,
            exposed=int((sure > self.threshold).sum()),
            worst=float(sure.max(initial=0.0)),
            mean=float(sure.mean()) if n_records else None,
            facts={"known_items": self.known, "certain": int((sure == 1).sum()), "cut_short": int(cut_short.sum())},
        )

    def guess(self, table: Release) -> Finding | None:
        """Name the most frequent sensitive item that the person has, from base rates alone."""
        column = table.sets(self.column)
        assert column.sensitive is not None
        n_records = column.start.size - 1
        if not n_records:
            return None
        rate = np.bincount(column.items, minlength=len(column.labels)) / n_records * column.sensitive
        row_of = np.repeat(np.arange(n_records), np.diff(column.start))
        best = np.zeros(n_records)
        np.maximum.at(best, row_of, rate[column.items])
        return Finding(
            people=n_records,
            exposed=int((best > self.threshold).sum()),
            worst=float(best.max(initial=0.0)),
            mean=float(best.mean()),
        )


_Known = NDArray[Any]  # (most known, n)
_FOUND: WeakKeyDictionary[CodedSets, tuple[_Known, _Known]] = WeakKeyDictionary()  # one search serves three attacks


def _confidences(column: CodedSets) -> tuple[_Known, _Known]:
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
    start = np.concatenate([[0], np.cumsum(length[attacked])]).astype(np.int64)
    baskets = make_baskets(start, items, column.sensitive, item_codes(len(column.labels)))
    hits, support = np.zeros(attacked.size, dtype=np.int64), np.ones(attacked.size, dtype=np.int64)
    cut_short = np.zeros(attacked.size, dtype=np.bool_)
    everything = np.ones(items.size, dtype=np.bool_)
    sure, short = np.zeros((MOST_KNOWN, length.size)), np.ones((MOST_KNOWN, length.size), dtype=np.bool_)
    infer_from_one(baskets, hits, support)
    sure[0, attacked], short[0, attacked] = hits / support, cut_short
    for size in range(2, MOST_KNOWN + 1):
        store, record = make_store(), 0
        while record < attacked.size:
            record = infer_from_few(record, size, _BUDGET, baskets, everything, store, hits, support, cut_short)
            if record < attacked.size:
                store = with_room(store, store.keys.size)
        sure[size - 1, attacked], short[size - 1, attacked] = hits / support, cut_short
    _FOUND[column] = sure, short
    return sure, short
