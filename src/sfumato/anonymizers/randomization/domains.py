"""Columns that are hidden in sets of values: the domain of each, and whether others would give it away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Phase, RowByRow, RowWork, Workplace
from sfumato.anonymizers.dependence import about_dependence, refusal
from sfumato.anonymizers.randomization.dependence import ROWS, Candidate, dependences
from sfumato.anonymizers.randomization.parameters import Edges, hierarchical, ordered
from sfumato.data.base_rates import BaseRates, read_base_rates
from sfumato.data.bit_sets import BitSets, PackedBits, empty_bit_sets
from sfumato.data.dataset import CodedColumn, Codes, Dataset, visible_labels
from sfumato.data.encoding import encode_column
from sfumato.data.keystream import Keys, Stretch
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.errors import DataError, Problem, Unsatisfiable
from sfumato.models.base import Policy, plain_number
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.parameters import parametrized

ROOM = 1 << 32  # bytes that the sets of one column may take
STEP = 10  # rows that one step of the public grid of counts has at least

How = TypeVar("How")  # what is chosen for a column


@dataclass(frozen=True, eq=False)
class HiddenColumn:
    """A column to hide in sets, over its domain. Sizes: v codes, d values of the domain."""

    name: str
    spec: ColumnSpec
    occurrences: NDArray[np.int64]  # (v,): how many rows hold each code
    place_of: NDArray[np.int32]  # (v,): where each code stands in the domain
    domain: tuple[str, ...]
    declared: bool
    rates: BaseRates | None = None  # how common values are, where the plan gives a table; None: as in the data

    @classmethod
    def of(cls, dataset: Dataset, name: str) -> HiddenColumn:
        """Return a column of a dataset, or raise when its sets would not fit."""
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
            # A marker of missing values is a value of the domain like any other.
            rates=read_base_rates(spec.base_rates, (), of_plan=True) if spec.base_rates is not None else None,
        )
        if empty_bit_sets(1, len(domain)).nbytes * dataset.n_rows > ROOM:
            raise DataError(
                f"Column {name!r} has a domain of {len(domain):,} values: sets of them do not fit for "
                f"{dataset.n_rows:,} rows.\nDeclare a coarser domain, or bins."
            )
        return found

    @property
    def d(self) -> int:
        """The size of the domain."""
        return len(self.domain)

    def counts(self) -> NDArray[np.int64]:
        """How often each value of the domain occurs, shape (d,)."""
        counts = np.zeros(self.d, dtype=np.int64)
        counts[self.place_of] = self.occurrences
        return counts

    def prior(self) -> NDArray[np.int64]:
        """Return how common each value is before the release, (d,): base rates of the plan, else counts on the grid."""
        if self.rates is None:
            return on_public_grid(self.counts())
        weights = np.array([self.rates.weight.get(value, 0) for value in self.domain], dtype=np.int64)
        if without := int((weights == 0).sum()):
            raise DataError(
                f"The base rates of column {self.name!r} give no weight to {without:,} of the {self.d:,} values of its "
                "domain: nothing can be said about the belief in these.\nGive each value a weight above 0."
            )
        return weights

    def knows_table(self, policy: Policy) -> bool:
        """Whether a requirement takes the shares of the column as known beforehand."""
        return any(self.name in model.t and model.prior == "table" for model in policy.of(SensitiveQidCloseness))

    def public_prior(self, policy: Policy) -> dict[str, Any]:
        """Return the prior as release.json states it; nothing where no requirement has one."""
        if not self.knows_table(policy):
            return {}
        weight = dict(zip(self.domain, self.prior().tolist(), strict=True))
        return {"base_rates": BaseRates(weight=weight).as_dict()}

    def least(self, policy: Policy) -> int:
        """Return how many values each cell must show, or raise when the domain has no more than are asked for."""
        least = 1
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
        return least

    def asked_diversity(self, policy: Policy) -> dict[str, Any]:
        """Return the l of the column as release.json says it, the strictest where it is named several times."""
        about: dict[str, Any] = {}
        diversities = [model for model in policy.of(SensitiveQidDiversity) if self.name in model.l]
        if diversities:
            strictest = max(diversities, key=lambda model: model.needed(self.name, self.d))
            about["l"] = strictest.needed(self.name, self.d)
            if about["l"] != strictest.l[self.name]:
                about["small_domain"] = strictest.small_domain
        return about

    def sets(self, packed: PackedBits) -> BitSets:
        """Return sets over the domain as what is published of the column."""
        return BitSets(
            name=self.name,
            role=Role.SENSITIVE_QUASI_IDENTIFIER,
            packed=packed,
            labels=self.domain,
            separator=self.spec.separator,
            spec=self.spec,
        )


def on_public_grid(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one weight for each begun step of a count; steps depend on the number of rows alone.

    A step has as many rows as the square root of all rows, at least 10: about the standard error of a count, so finer
    counts would describe these rows only. Counts are rounded up, so that no prior is much below the share of a value: a
    cell that shows a rare value would otherwise tell an attacker who knows exact shares far more than t allows.

    >>> on_public_grid(np.array([151, 30, 11, 7, 1, 0])).tolist()
    [11, 3, 1, 1, 1, 1]
    """
    step = max(STEP, math.isqrt(int(counts.sum())))
    return np.asarray(1 + counts // step, dtype=np.int64)


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


def edges_of(column: HiddenColumn, distance: str) -> Edges | None:
    """Return the tree of a distance over the domain of a column; None for the equal distance."""
    if distance == "equal":
        return None
    if distance == "ordered":
        return ordered(column.d)
    if column.spec.hierarchy is None:
        raise DataError(
            f"The hierarchical distance is asked of column {column.name!r}, which has no hierarchy.\n"
            'Give it one in the plan, or ask for distance = "equal".'
        )
    built = column.spec.hierarchy.build(list(column.domain), f"The hierarchy of column {column.name!r}", secret=True)
    return hierarchical(built, column.domain)


def asked_closeness(name: str, policy: Policy) -> dict[str, Any]:
    """Return t, distance and prior of a column as release.json says them, the strictest where it is named often."""
    closenesses = [model for model in policy.of(SensitiveQidCloseness) if name in model.t]
    if not closenesses:
        return {}
    nearest = min(closenesses, key=lambda model: Fraction(model.t[name]))
    return {"t": plain_number(nearest.t[name]), "distance": nearest.distance, "prior": nearest.prior}


@parametrized
class CellByCell(RowByRow, Protocol[How]):
    """An anonymizer that hides the cells of the named columns, each column by what is chosen for it."""

    phase: ClassVar[Phase] = Phase.CELLS
    by_all_rows: ClassVar[bool] = True  # whether cells are drawn, and judged, by how common values are in all rows

    dependence: str = about_dependence("a randomized column")

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield that rows may be dropped before."""
        for other in before if self.by_all_rows else ():
            if getattr(other, "drop_rows", 0):
                yield Problem(
                    f"anonymizers.{other.name}.drop_rows",
                    f"[anonymizers.{other.name}] drop_rows lets rows go, but randomized columns are judged by how "
                    "common values are in all of them. Set drop_rows = 0, or leave their requirement out.",
                )

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a column has no domain to hide it in, or one that is too small for what is asked."""
        for name in policy.judged_columns:
            self.choose(HiddenColumn.of(dataset, name), policy)

    def decide(
        self, counts: Dataset, policy: Policy, some: Dataset, published: Recoding, workplace: Workplace
    ) -> Hiding[How]:
        """Return how cells of the named columns are hidden, or raise when they would not be."""
        columns = [HiddenColumn.of(counts, name) for name in policy.judged_columns]
        chosen = tuple((column, self.choose(column, policy)) for column in columns)
        refused_by = self.name if self.dependence == "refuse" else None
        facts = {
            "columns": [
                {"column": column.name, "values": column.d, **self.facts_of(column, how, policy)}
                for column, how in chosen
            ],
            **dependence_facts(some, published, policy.judged_columns, workplace.rng, refused_by),
        }
        public = {
            column.name: {
                "domain": list(column.domain),
                **self.public_of(column, how, policy),
                **column.public_prior(policy),
            }
            for column, how in chosen
        }
        return Hiding(self, chosen, facts, public)

    def choose(self, column: HiddenColumn, policy: Policy) -> How:
        """Return how the cells of a column are hidden, or raise when that is out of reach."""

    def facts_of(self, column: HiddenColumn, how: How, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of a column."""

    def public_of(self, column: HiddenColumn, how: How, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of a column: what reconstruction needs, and nothing else of the original."""

    def cells(
        self, column: HiddenColumn, how: How, codes: Codes, keys: Keys, place: Workplace, stretch: Stretch | None
    ) -> Labelled | BitSets | None:
        """Return what rows with these codes show; None where the column may be published as it is."""


@dataclass(frozen=True, eq=False)
class Hiding(RowWork, Generic[How]):
    """How cells of some columns are hidden. It was decided from counts, so any rows can be worked on by it."""

    by: CellByCell[How]
    columns: tuple[tuple[HiddenColumn, How], ...]
    facts: Mapping[str, Any]
    public: Mapping[str, Mapping[str, Any]]

    def draw(
        self, dataset: Dataset, keys: Keys, workplace: Workplace, stretch: Stretch | None = None
    ) -> dict[str, Labelled | BitSets]:
        """Return what the rows of a dataset show, column by column; what may be published as it is gets none."""
        shown = {}
        stage = workplace.stage(self.by.name, total=len(self.columns))
        for column, how in self.columns:
            cells = self.by.cells(column, how, dataset.column(column.name).codes, keys, workplace, stretch)
            if cells is not None:
                shown[column.name] = cells
            stage.advance()
        stage.done()
        return shown


def dependence_facts(
    some: Dataset, published: Recoding, names: Sequence[str], rng: np.random.Generator, refused_by: str | None
) -> Mapping[str, Any]:
    """Return which columns tell of a hidden one, and how far was looked, or raise where an anonymizer refuses that.

    some: rows of the table, with what is `published` of them; names: the hidden columns.
    """
    search = dependences(_candidates(some, published, names, rng))
    if search.found and refused_by is not None:
        told = len({each.told for each in search.found})
        raise refusal(
            f"{told} randomized column(s)",
            list(map(str, search.found)),
            'Publishing all of them would let anyone intersect them. Drop one (role = "identifier"), join them into '
            "one column",
            refused_by,
        )
    return {
        "dependences": [
            {"known": ", ".join(each.known), "told": each.told, "strength": round(each.strength, 3)}
            for each in search.found
        ],
        "looked_for": str(search),
    }


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
