"""Randomization: publish a small set of values instead of each value, drawn so that beliefs move as little as asked.

Sei, Okumura, Takenouchi and Ohsuga (2017): a set holds the true value with a known probability and is random otherwise,
so an analyst can compute back what the table looks like, but not what a cell was. It is the subset selection of local
differential privacy, with each column's own parameters.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Divides, Phase, Workplace, side_by_side
from sfumato.anonymizers.randomization.dependence import ROWS, Candidate, Dependence, dependences
from sfumato.anonymizers.randomization.parameters import (
    Closeness,
    Edges,
    LocalPrivacy,
    Parameters,
    choose,
    hierarchical,
    ordered,
)
from sfumato.data.bit_sets import BitSets, PackedBits, empty_bit_sets
from sfumato.data.dataset import CodedColumn, Codes, Dataset, visible_labels
from sfumato.data.encoding import encode_column
from sfumato.data.keystream import Keys, Keystream
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, Problem, Unsatisfiable
from sfumato.kernels.cells.randomization import draw_from_tables, draw_one_by_one
from sfumato.models.base import Policy, PrivacyModel, plain_number
from sfumato.models.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.parameters import Takes, about

CHUNK = 1 << 18  # rows drawn under one key
SUBSETS = 400_000  # up to so many subsets a column is drawn from tables
BATCH = 1 << 14  # rows drawn at once, so that keystream and sets stay in the cache
WORDS = 1 << 18  # of the keystream made at once
ROOM = 1 << 32  # bytes that the sets of one column may take


@dataclass(frozen=True, kw_only=True)
class Randomization(Anonymizer):
    """Draw a set of values for each cell, column by column, with the least noise that the requirements allow."""

    name: ClassVar[str] = "randomization"
    phase: ClassVar[Phase] = Phase.CELLS
    divides: ClassVar[Divides] = Divides.ROWS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (
        SensitiveQidDiversity,
        SensitiveQidCloseness,
        LocalDifferentialPrivacy,
    )

    dependence: str = field(
        default="refuse",
        metadata=about(
            Takes.CHOICE,
            "Columns that give one another away",
            "What to do about a randomized column that could be read off from another.",
            choices=("refuse", "allow"),
        ),
    )

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it comes where it comes."""
        return "each cell is randomized by itself, whatever else is published"

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield that rows may be dropped before: cells are drawn, and judged, by how common values are in all rows."""
        for other in before:
            if getattr(other, "drop_rows", 0):
                yield Problem(
                    f"anonymizers.{other.name}.drop_rows",
                    f"[anonymizers.{other.name}] drop_rows lets rows go, but randomized columns are judged by how "
                    "common values are in all of them. Set drop_rows = 0, or leave their requirement out.",
                )

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding in which each named column shows sets; a column that may be published as it is stays so."""
        decided = self.decide(dataset, policy, dataset, before, workplace)
        return decided.on(before).with_columns(decided.draw(dataset, workplace.keys, workplace))

    def decide(
        self, counts: Dataset, policy: Policy, some: Dataset, published: Recoding, workplace: Workplace
    ) -> Drawing:
        """Return what to draw for each cell of the named columns, or raise when it would not hide them.

        counts: how common values are in the whole table; some: rows of it, with what is `published` of them.
        """
        names = list(dict.fromkeys(name for model in policy for name in model.judged_columns))
        columns = [_Column.of(counts, name) for name in names]
        chosen = {column.name: column.parameters(policy) for column in columns}
        search = dependences(_candidates(some, published, names, workplace.rng))
        if search.found and self.dependence == "refuse":
            raise Unsatisfiable(_refusal(search.found))
        facts = {
            "columns": [column.facts(chosen[column.name], policy) for column in columns],
            "dependences": [
                {"known": ", ".join(each.known), "told": each.told, "strength": round(each.strength, 3)}
                for each in search.found
            ],
            "looked_for": str(search),
        }
        public = {column.name: column.public(chosen[column.name], policy) for column in columns}
        return Drawing(tuple((column, chosen[column.name]) for column in columns), facts, public)


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn for each cell of some columns. It was decided from counts, so any rows can be drawn for by it."""

    columns: tuple[tuple[_Column, Parameters], ...]
    facts: Mapping[str, Any]
    public: Mapping[str, Mapping[str, Any]]

    def on(self, before: Recoding) -> Recoding:
        """Return what steps before decided, with what is to be said about this one."""
        return replace(before, facts=self.facts, public={**before.public, **self.public})

    def draw(self, dataset: Dataset, keys: Keys, workplace: Workplace) -> dict[str, BitSets]:
        """Return sets for the rows of a dataset, column by column; what may be published as it is gets none."""
        drawn = {}
        stage = workplace.stage(Randomization.name, total=len(self.columns))
        for column, parameters in self.columns:
            if not parameters.in_clear:
                codes = dataset.column(column.name).codes
                drawn[column.name] = column.sets(draw(codes, column.place_of, parameters, keys, workplace))
            stage.advance()
        stage.done()
        return drawn


def draw(
    codes: Codes, place_of: NDArray[np.int32], parameters: Parameters, keys: Keys, workplace: Workplace
) -> PackedBits:
    """Return a set for each row, in parts of so many rows under a key of their own, on all threads of the workplace.

    `place_of` says where each code stands in the domain.
    """
    d, eta = parameters.d, parameters.eta
    packed = empty_bit_sets(codes.size, d)
    if eta == d:
        for word in range(packed.shape[1]):
            packed[:, word] = (1 << min(d - 64 * word, 64)) - 1
        return packed
    coin, threshold = parameters.p < 1, np.uint64(math.floor(parameters.g * 2**32))
    with_true, without = math.comb(d - 1, eta - 1), math.comb(d - 1, eta)
    tables = d <= 64 and with_true + without <= SUBSETS
    table = np.concatenate([_subsets(d - 1, eta - 1), _subsets(d - 1, eta)]) if tables else np.empty(0, np.uint64)
    a_row = 1 + coin if tables else coin + max(min(eta - 1, d - eta), min(eta, d - 1 - eta))
    step = max(1, min(BATCH, WORDS // max(a_row, 1)))
    most = step * a_row + step // 64 + 64  # a few words are skipped, so a few rows may be left for the next batch

    def part(begin: tuple[int, bytes], place: Workplace) -> None:
        first, key = begin
        rows, done = codes[first : first + CHUNK], 0
        stream, room = Keystream(key, most), np.empty((step, packed.shape[1]), dtype=np.uint64)
        while done < rows.size:
            place.checkpoint()
            batch, words = rows[done : done + step], stream.words(most)
            if tables:
                drawn = draw_from_tables(
                    batch, place_of, words, coin, threshold, table, np.uint64(with_true), np.uint64(without), room[:, 0]
                )
            else:
                drawn = draw_one_by_one(batch, place_of, words, coin, threshold, d, eta, room)
            packed[first + done : first + done + drawn] = room[:drawn]
            done += drawn

    side_by_side(part, [(first, keys()) for first in range(0, codes.size, CHUNK)], workplace)
    return packed


@cache
def _subsets(n: int, size: int) -> NDArray[np.uint64]:
    """Return all subsets of a size of n places as bit sets, in rising order."""
    if size > n:
        return np.empty(0, dtype=np.uint64)
    if size in (0, n):
        return np.array([(1 << n) - 1 if size else 0], dtype=np.uint64)
    return np.concatenate([_subsets(n - 1, size), _subsets(n - 1, size - 1) | np.uint64(1 << (n - 1))])


@dataclass(frozen=True, eq=False)
class _Column:
    """A column to randomize, over its domain. Sizes: v codes, d values of the domain."""

    name: str
    spec: ColumnSpec
    occurrences: NDArray[np.int64]  # (v,): how many rows hold each code
    place_of: NDArray[np.int32]  # (v,): where each code stands in the domain
    domain: tuple[str, ...]
    declared: bool

    @classmethod
    def of(cls, dataset: Dataset, name: str) -> _Column:
        column, spec = dataset.column(name), dataset.schema.spec(name)
        assert spec is not None
        domain = _domain(column, spec, dataset.schema.missing)
        place_of = {label: place for place, label in enumerate(domain)}
        labels = visible_labels(column, dataset.schema.missing)
        found = cls(
            name=name,
            spec=spec,
            occurrences=column.occurrences,
            place_of=np.array([place_of[label] for label in labels], dtype=np.int32),
            domain=domain,
            declared=spec.domain is not None,
        )
        if empty_bit_sets(1, len(domain)).nbytes * dataset.n_rows > ROOM:
            raise DataError(
                f"Column {name!r} has a domain of {len(domain):,} values: sets of them do not fit for "
                f"{dataset.n_rows:,} rows.\nDeclare a coarser domain, or bins."
            )
        return found

    @property
    def d(self) -> int:
        return len(self.domain)

    def counts(self) -> NDArray[np.int64]:
        """How often each value of the domain occurs, shape (d,)."""
        counts = np.zeros(self.d, dtype=np.int64)
        counts[self.place_of] = self.occurrences
        return counts

    def parameters(self, policy: Policy) -> Parameters:
        """Return the parameters that meet all requirements on this column."""
        least = 1
        asked: list[Closeness | LocalPrivacy] = []
        for diversity in policy.of(SensitiveQidDiversity):
            if self.name in diversity.l:
                l = diversity.l[self.name]
                if self.d <= l and diversity.small_domain == "error":
                    raise Unsatisfiable(
                        f"sensitive-qid-diversity asks for l = {l} of column {self.name!r}, which has {self.d} "
                        f"value(s): no set of {l} leaves anything out.\n"
                        'Lower l, or say what shall become of such columns: small_domain = "suppress" publishes the '
                        f'whole domain, "lower" takes l = {self.d - 1}'
                        f"{', which publishes the true values' if self.d == 2 else ''}."
                    )
                least = max(least, diversity.needed(self.name, self.d))
        for closeness in policy.of(SensitiveQidCloseness):
            if self.name in closeness.t:
                asked.append(self._closeness(closeness))
        for private in policy.of(LocalDifferentialPrivacy):
            if self.name in private.epsilon:
                asked.append(LocalPrivacy(private.epsilon[self.name]))
        return choose(self.d, least, asked)

    def _closeness(self, model: SensitiveQidCloseness) -> Closeness:
        t = Fraction(model.t[self.name])
        if model.prior == "any":
            return Closeness(t, None)
        return Closeness(t, self.counts(), self._edges(model.distance))

    def _edges(self, distance: str) -> Edges | None:
        if distance == "equal":
            return None
        if distance == "ordered":
            return ordered(self.d)
        if self.spec.hierarchy is None:
            raise DataError(
                f"The hierarchical distance is asked of column {self.name!r}, which has no hierarchy.\n"
                'Give it one in the plan, or ask for distance = "equal".'
            )
        built = self.spec.hierarchy.build(list(self.domain), f"The hierarchy of column {self.name!r}", secret=True)
        return hierarchical(built, self.domain)

    def sets(self, packed: PackedBits) -> BitSets:
        return BitSets(
            name=self.name,
            role=Role.SENSITIVE_QUASI_IDENTIFIER,
            packed=packed,
            labels=self.domain,
            separator=self.spec.separator,
            spec=self.spec,
        )

    def public(self, parameters: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of the column: what reconstruction needs, and nothing else of the original."""
        about: dict[str, Any] = {
            "domain": list(self.domain),
            "eta": parameters.eta,
            "p": float(parameters.p),
            **self._asked(policy),
        }
        if parameters.epsilon is not None:
            about["epsilon"] = parameters.epsilon
        return about

    def _asked(self, policy: Policy) -> dict[str, Any]:
        """Return l, t, distance and prior of the column, the strictest where it is named several times."""
        about: dict[str, Any] = {}
        diversities = [model for model in policy.of(SensitiveQidDiversity) if self.name in model.l]
        if diversities:
            strictest = max(diversities, key=lambda model: model.needed(self.name, self.d))
            about["l"] = strictest.needed(self.name, self.d)
            if about["l"] != strictest.l[self.name]:
                about["small_domain"] = strictest.small_domain
        closenesses = [model for model in policy.of(SensitiveQidCloseness) if self.name in model.t]
        if closenesses:
            nearest = min(closenesses, key=lambda model: Fraction(model.t[self.name]))
            about |= {"t": plain_number(nearest.t[self.name]), "distance": nearest.distance, "prior": nearest.prior}
        epsilons = [m.epsilon[self.name] for m in policy.of(LocalDifferentialPrivacy) if self.name in m.epsilon]
        if epsilons:
            about["asked_epsilon"] = plain_number(min(epsilons))
        return about

    def facts(self, parameters: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of the column."""
        return {
            "column": self.name,
            "values": self.d,
            "eta": parameters.eta,
            "p": float(parameters.p),
            "epsilon": parameters.epsilon,
            "expected_l2": parameters.expected_l2(int(self.occurrences.sum())),
            "domain": "declared" if self.declared else "data",
            "published": (
                "as it is" if parameters.in_clear else "whole domain" if parameters.eta == self.d else "sets"
            ),
            **self._asked(policy),
        }


def _domain(column: CodedColumn, spec: ColumnSpec, markers: Sequence[str]) -> tuple[str, ...]:
    """Return the values that sets are drawn from: as declared, or those in the data in sorted order."""
    name = column.name
    if column.kind is Kind.NUMBER and spec.domain is None:
        raise DataError(
            f"Column {name!r} holds numbers, which cannot be randomized one by one.\n"
            "Declare bins = [edge, edge, ...] for it, or a domain if it has few values."
        )
    known = [label for code, label in enumerate(column.labels) if code != column.missing]
    domain = spec.domain if spec.domain is not None else tuple(known)
    if column.missing >= 0:
        marker = visible_labels(column, markers)[column.missing]
        if not marker:
            raise DataError(
                f"Column {name!r} has missing values, which are published as a value of their own, but nothing says "
                'as which.\nGive a marker that can be seen, such as [source] missing = ["", "unknown"].'
            )
        if marker not in domain:
            if spec.domain is not None:
                raise DataError(
                    f"Column {name!r} has missing values, but its declared domain has no place for them.\n"
                    "Add the marker of missing values to the domain, or drop these rows."
                )
            domain = (*domain, marker)
    if len(set(domain)) != len(domain):
        raise DataError(f"Column {name!r} declares values more than once in its domain.\nName each value once.")
    odd = sum(value != value.strip() or not value for value in domain)
    if odd:
        raise DataError(
            f"Column {name!r} has {odd:,} value(s) that are blank or have blanks around them, which are lost in a "
            "cell of several values.\nClean the data and the domain."
        )
    if len(domain) < 2:
        raise DataError(
            f"Column {name!r} has a domain of {len(domain)} value(s): there is nothing to hide it among.\n"
            "Declare its whole domain, or give the column another role."
        )
    return domain


def _candidates(
    dataset: Dataset, before: Recoding, randomized: Sequence[str], rng: np.random.Generator
) -> list[Candidate]:
    """Return every published column of single values, for some records."""
    rows = np.arange(dataset.n_rows)
    if rows.size > ROWS:
        rows = np.sort(rng.choice(dataset.n_rows, ROWS, replace=False))
    found = []
    for name, column in dataset.columns.items():
        published = before.columns.get(name, column)
        if isinstance(published, CodedColumn | Labelled):
            codes = published.codes[rows].astype(np.int64)
            found.append(Candidate(name, codes, len(published.labels), name in randomized))
    for name in dataset.carried.column_names if dataset.carried is not None else ():
        spec = ColumnSpec(name=name, role=Role.OTHER)
        coded = encode_column(dataset.carried.column(name).take(rows), spec, dataset.schema.missing)  # type: ignore[union-attr]
        if isinstance(coded, CodedColumn):
            found.append(Candidate(name, coded.codes.astype(np.int64), len(coded.labels), False))
    return found


def _refusal(found: Sequence[Dependence]) -> str:
    first = "; ".join(map(str, found[:5]))
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    told = len({each.told for each in found})
    return (
        f"{told} randomized column(s) could be read off from others: {first}{more}.\n"
        'Publishing all of them would let anyone intersect them. Drop one (role = "identifier"), join them into one '
        'column, or accept it by name: [anonymizers.randomization] dependence = "allow".'
    )
