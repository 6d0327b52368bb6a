"""Diversity of sensitive quasi-identifiers: every cell leaves several values open, each column with its own l."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from sfumato.data.base_rates import BaseRates
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.data.sets import repeat_sets
from sfumato.errors import DataError
from sfumato.models.base import Need, PrivacyModel, Verdict
from sfumato.models.judging.chance import JudgedCells
from sfumato.models.judging.classes import judged_column
from sfumato.models.judging.randomized import is_stated, randomized_column
from sfumato.models.judging.weights import rows_in
from sfumato.parameters import Takes, parameter, parametrized

KINDS = ("frequency", "entropy")
SMALL_DOMAIN = ("error", "suppress", "lower")
_OF_ANY_TABLE = (
    "The table does not say how its cells were made, so it was judged by the definition alone: every combination of "
    "the values in a record's cells counts as a record. Whether cells were drawn by chance cannot be decided."
)
_OF_GROUPS = (
    "Cells show groups of values, which nobody drew: judged by the definition alone, in which every combination of "
    "the values in a record's cells counts as a record."
)
EXPANDED = 100_000  # rows of the expanded table up to which the definition itself is checked


@parametrized
class SensitiveQidDiversity(PrivacyModel):
    """Whatever else is known of a record, at least `l` values of each named column fit it equally well.

    The release is read as the table of all combinations of the values in its cells. Rows of that table that agree in
    all columns but one form a class; in each class no value of that column may be more frequent than 1/l (`frequency`),
    or its entropy must reach log l (`entropy`). Both hold when every cell shows at least l values: each record then
    adds to a class either nothing or as many rows as its cell has values, all different.

    `small_domain` says what becomes of a column with no more than l values: it is refused (`error`), published as its
    whole domain, which tells nothing (`suppress`), or l is lowered to one less than it has (`lower`: a column of two
    values is then published as it is).

    Source: Sei, Okumura, Takenouchi and Ohsuga (2017).
    Limit: it counts values, not beliefs. Who knows that one of five values is common has more than one chance in five.

    >>> SensitiveQidDiversity(l={"job": 3}).promise
    "Each cell leaves several values open: 3 for 'job'."
    """

    name: ClassVar[str] = "sensitive-qid-diversity"
    judged_role: ClassVar[Role] = Role.SENSITIVE_QUASI_IDENTIFIER
    least_decides: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({Need.BASE_RATES})
    limit: ClassVar[str] = (
        "Open values need not be equally likely: who knows how common each is may be nearly sure of one. Columns "
        "that depend on one another, and a second release of the same people, narrow the choice."
    )

    l: Mapping[str, int] = parameter(
        Takes.WHOLE, "Open values", "For each column, how many values stay open.", least=2, per_column=True, example=3
    )
    kind: str = parameter(Takes.CHOICE, "Kind", "What counts as open.", default="frequency", choices=KINDS)
    small_domain: str = parameter(
        Takes.CHOICE,
        "Small domains",
        "What becomes of columns with no more than l values: refused, published as the whole domain, or l lowered.",
        default="error",
        choices=SMALL_DOMAIN,
    )

    def __hash__(self) -> int:
        return hash((tuple(self.l.items()), self.kind, self.small_domain))

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        each = ", ".join(f"{l} for {name!r}" for name, l in self.l.items())
        return f"Each cell leaves several values open: {each}."

    def needed(self, name: str, d: int) -> int:
        """Return how many values each cell of a column must show, given the size of its domain.

        >>> SensitiveQidDiversity(l={"sex": 5}, small_domain="suppress").needed("sex", 2)
        2
        """
        l = self.l[name]
        if l < d or self.small_domain == "error":
            return l
        return d if self.small_domain == "suppress" else d - 1

    def most_classes(self, release: Release) -> float:
        """Return 1 where each cell of a column has to be its whole domain."""
        columns = (randomized_column(release, name, self) for name in self.l)
        return 1 if any(self.needed(column.name, column.d) >= column.d for column in columns) else math.inf

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the sizes of its cells, by chance, and on small tables by the definition itself."""
        if any(not is_stated(release, name) for name in self.l):
            return self._by_definition(release)
        judged = JudgedCells(release)
        facts: dict[str, dict[str, Any]] = {}
        worst: tuple[Fraction, int, int] | None = None
        for name in self.l:
            column = randomized_column(release, name, self)
            needed = self.needed(name, column.d)
            judged.add(column, column.size < needed)
            smallest = int(column.size.min()) if column.size.size else column.eta
            facts[name] = {"values": column.d, "eta": column.eta, "k": smallest, "l": needed}
            if needed != self.l[name]:
                facts[name]["small_domain"] = self.small_domain
            found = (Fraction(smallest, needed), smallest, needed)
            worst = min(worst, found) if worst is not None else found
        expanded = self._expanded(release, {name: fact["l"] for name, fact in facts.items()})
        assert worst is not None
        return judged.verdict(
            self,
            {"columns": facts, "expanded": expanded},
            satisfied=not any(failing.any() for _, failing in judged.failing) and expanded["failing"] == 0,
            reached=worst[1],
            required=worst[2],
            groups=release.total * len(facts),
            failing=sum(rows_in(failing, column.weights) for column, failing in judged.failing) or expanded["failing"],
            measure="smallest cell",
            bound="at least",
            group="cell",
        )

    def _by_definition(self, release: Release) -> Verdict:
        """Judge a table that does not say how it was made, by the definition alone: cells are sets of possible values.

        Where every cell shows l values the definition holds, as above; else the expanded table decides.
        """
        columns, smallest, needed = dict(release.columns), {}, {}
        found_faults: dict[str, str] = {}
        for name in self.l:
            column = judged_column(release, name, self, Role.SENSITIVE_QUASI_IDENTIFIER)
            about = release.description.get("columns", {}).get(name, {})
            domain = _values_of(column, about, release.public.base_rates.get(name))
            columns[name] = sets = _as_sets(column, frozenset(domain))
            needed[name] = self.needed(name, len(domain)) if domain else self.l[name]
            size = np.diff(sets.start)
            smallest[name] = int(size.min()) if size.size else needed[name]
            if "groups" in about and not _are_groups(sets, about["groups"]):
                found_faults[name] = "cells that are none of its groups"
            elif "groups" in about and isinstance(column, BitSets) and not column.in_order:
                found_faults[name] = "cells that are not in the order of the domain"
        release = replace(release, columns=columns)
        enough = all(smallest[name] >= l for name, l in needed.items())
        found = self._expanded(release, needed)
        if not enough and not found["checked"]:
            least = min(needed, key=lambda name: smallest[name] - needed[name])
            raise DataError(
                f"{self.name} is asked of a table that does not say how its cells were made (domain, eta and p), and "
                f"cells of column {least!r} show {smallest[least]} values, fewer than {needed[least]}.\nWhether "
                f"classes make up for that is decided up to {EXPANDED:,} combinations of values; the table has more.\n"
                "Judge a part of it, or the folder that `sfumato anonymize` wrote, with its release.json."
            )
        worst = min(needed, key=lambda name: found["least"].get(name, smallest[name]) / needed[name])
        grouped = all("groups" in release.description.get("columns", {}).get(name, {}) for name in self.l)
        return Verdict(
            model=self,
            satisfied=found["failing"] == 0 and not found_faults,
            reached=found["least"].get(worst) if found["checked"] else smallest[worst],
            required=needed[worst],
            groups=found.get("classes", release.total),
            failing=found["failing"] or (release.total if found_faults else 0),
            facts={
                "by_definition": True,
                "columns": {name: {"k": k, "l": needed[name]} for name, k in smallest.items()},
                "expanded": found,
            }
            | ({"faults": found_faults} if found_faults else {}),
            measure="values that a class leaves open" if found["checked"] else "smallest cell",
            bound="at least",
            group="class" if found["checked"] else "cell",
            finding="; ".join(f"column {name!r} has {wrong}" for name, wrong in found_faults.items()),
            notes=(_OF_GROUPS if grouped else _OF_ANY_TABLE,),
        )

    def _expanded(self, release: Release, needed: Mapping[str, int]) -> dict[str, Any]:
        """Return what the definition says of all combinations, classes and failing ones, when the table is small."""
        if release.total > EXPANDED:
            return {"checked": False, "failing": 0, "least": {}}
        cells = _cells(release)
        weights = release.weights.tolist() if release.weights is not None else [1] * len(cells)
        rows = sum(
            math.prod(len(cell) for cell in record) * weight for record, weight in zip(cells, weights, strict=True)
        )
        if rows > EXPANDED:
            return {"checked": False, "failing": 0, "least": {}}
        place_of = {name: place for place, name in enumerate(release.order)}
        classes = failing = 0
        least: dict[str, float] = {}
        for name, l in needed.items():
            place = place_of[name]
            members: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
            for record, weight in zip(cells, weights, strict=True):
                for row in product(*record):
                    members[(*row[:place], *row[place + 1 :])][row[place]] += weight
            classes += len(members)
            failing += sum(not self._diverse(counts, l) for counts in members.values())
            least[name] = min(map(self._open, members.values()), default=float(l))
        return {"checked": True, "rows": rows, "classes": classes, "failing": failing, "least": least}

    def _open(self, counts: Counter[Any]) -> float:
        """Return how many values a class leaves open: the largest l that it satisfies."""
        total = sum(counts.values())
        if self.kind == "frequency":
            return total / max(counts.values())
        return math.exp(math.fsum(-n / total * math.log(n / total) for n in counts.values()))

    def _diverse(self, counts: Counter[Any], l: int) -> bool:
        total = sum(counts.values())
        if max(counts.values()) * l <= total:
            return True  # then the entropy is large enough as well
        if self.kind == "frequency":
            return False
        return math.fsum(-n / total * math.log(n / total) for n in counts.values()) >= math.log(l) - 1e-12


def _are_groups(sets: CodedSets, groups: Any) -> bool:
    """Whether every cell is one of some groups, all of it, and no value is in two of them."""
    if not isinstance(groups, list | tuple) or not all(isinstance(group, list | tuple) for group in groups):
        return False
    members = [str(value) for group in groups for value in group]
    group_of = {str(value): number for number, group in enumerate(groups) for value in group}
    size = np.diff(sets.start)
    if len(group_of) != len(members) or not (size > 0).all():
        return False
    of_label = np.array([group_of.get(label, -1) for label in sets.labels], dtype=np.int64)
    if not size.size:
        return True
    of_item = of_label[sets.items]
    first = of_item[sets.start[:-1]]
    group_size = np.array([len(group) for group in groups], dtype=np.int64)
    return bool((of_item == np.repeat(first, size)).all() and (first >= 0).all() and (size == group_size[first]).all())


def _values_of(column: ReleasedColumn | CodedSets, about: Mapping[str, Any], rates: BaseRates | None) -> Sequence[str]:
    """Return the values that a column may hold, as far as somebody says: the release, the plan, public base rates."""
    if "domain" in about:
        return [str(value) for value in about["domain"]]
    spec = column.spec if isinstance(column, ReleasedColumn) else None
    if spec is not None and isinstance(spec.domain, tuple):
        return spec.domain
    if rates is not None:
        return tuple(rates.weight)
    return column.labels if isinstance(column, BitSets) else ()


def _as_sets(column: ReleasedColumn | CodedSets, domain: frozenset[str]) -> CodedSets:
    """Return a column as sets: a cell that is no value of the domain but lists some of it is all of these."""
    if isinstance(column, CodedSets):
        return column
    separator = column.spec.separator if column.spec is not None else "|"
    if not domain and any(separator in label for label in column.labels):
        raise DataError(
            f"Cells of column {column.name!r} may be lists of values or single ones, in which {separator!r} occurs: "
            "nothing at hand says which values the column may hold.\nDeclare its domain in the plan, or judge the "
            "folder that `sfumato anonymize` wrote, with its release.json."
        )
    members: list[list[str]] = []
    for label in column.labels:
        parts = sorted({part.strip() for part in label.split(separator)})
        members.append(parts if label not in domain and domain.issuperset(parts) else [label])
    labels = sorted({part for parts in members for part in parts})
    code_of = {label: code for code, label in enumerate(labels)}
    of_labels = np.array([code_of[part] for parts in members for part in parts], dtype=np.int32)
    items, start = repeat_sets(of_labels, starts_of([len(parts) for parts in members]), column.codes)
    return CodedSets(name=column.name, role=column.role, items=items, start=start, labels=tuple(labels))


def _cells(release: Release) -> list[tuple[tuple[Any, ...], ...]]:
    """Return the values in each cell of each record."""
    columns: list[list[tuple[Any, ...]]] = []
    for name in release.order:
        column = release.columns.get(name)
        if isinstance(column, CodedSets):
            items, start = column.items.tolist(), column.start.tolist()
            columns.append([tuple(items[start[row] : start[row + 1]]) for row in range(release.n_rows)])
        elif column is not None:
            columns.append([(code,) for code in column.codes.tolist()])
        else:
            assert release.carried is not None
            columns.append([(str(value),) for value in release.carried.column(name).to_pylist()])
    return list(zip(*columns, strict=True))
