"""Learning from the choice of a class: people who could have a class of their own have none, so it would be unsafe.

The attacker knows the plan and the quasi-identifiers of everybody, and works out how the sensitive values of a class
may be dealt among the groups of equal people in it, given that the group that is looked at breaks the requirement.
Sizes: c classes, g groups, v values of the column, s ways to deal values to a group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, AttackOfColumn, Finding
from sfumato.data.codebook import hierarchy_for
from sfumato.data.dataset import CodedColumn
from sfumato.data.kinds import as_number
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.models.base import PrivacyModel
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.delta_disclosure import DeltaDisclosure
from sfumato.models.judging.classes import LARGEST as LARGEST_KEY
from sfumato.models.judging.classes import (
    Classes,
    Counts,
    checked_codes,
    classes_of,
    renumbered,
    sensitive_column,
    values_of,
)
from sfumato.models.judging.population import covers_values
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.t_closeness import TCloseness

MODELS: dict[str, type[PrivacyModel]] = {
    model.name: model for model in (KAnonymity, LDiversity, TCloseness, BetaLikeness, DeltaDisclosure)
}
WAYS = 2_000  # ways to deal values to a group that are looked at one by one; of more, so many are drawn
LARGEST = 30  # people of a group up to which ways are looked at one by one
WORK = 10_000_000  # comparisons of a group with classes and other groups; groups beyond are not looked at
DEALT = 3_000_000  # counts of values, of all ways to deal them together, after which no other group is looked at
RARELY = 0.02  # groups that break the requirement more rarely by chance show how often groups are joined without need
ENOUGH = 10  # such groups that it takes to tell
UNBELIEVED = 0.001  # a chance below: the attacker believes that another reason joined the group

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Minimality(AttackOfColumn):
    """Find groups of equal people that have no class of their own, and believe that alone they break the requirement.

    Wong, Fu, Wang and Pei (2007): an algorithm joins no more people than it has to. Let p be the chance that a group
    breaks the requirement when the values of its class are dealt to people at random, and q the chance that a group is
    joined with others without need. Then a joined group breaks it with the chance r = p / (p + (1 - p) q). The attacker
    takes for q the chance that another group of the class needs company. Where another group surely does, since it is
    too small, q is how often groups are joined that could hardly break a requirement. What the group's people have
    follows by Bayes' rule from r.

    Classes that several groups could be in are pooled. A group of which some people have a class of their own is taken
    to stand alone.

    >>> people = {"ward": ["q1"] * 2 + ["q2"] * 5, "illness": ["HIV", "HIV", "a", "b", "c", "d", "e"]}
    >>> original = Release.of(people, ward="quasi-identifier", illness="sensitive")
    >>> release = Release.of(people | {"ward": ["*"] * 7}, ward="quasi-identifier", illness="sensitive")
    >>> required = (LDiversity(sensitive="illness", l=2, kind="frequency"),)
    >>> print(Minimality(column="illness", people=original, required=required).on(release))
    2 of 7 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "minimality"

    people: Release  # the original: which quasi-identifiers people have
    required: tuple[PrivacyModel, ...]

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Learning {self.column!r} from people who were not left in a class of their own"

    @property
    def intruder(self) -> str:
        """What the attacker knows."""
        return (
            "Knows the requirements and all people's quasi-identifiers, finds equal people who could form a class of "
            f"their own and do not, and believes that their values of {self.column!r} alone break a requirement."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each sensitive column that a release says a requirement of classes for."""
        people = asked.original
        if people is None or release.drawn is not None or people.drawn is not None or people.person_of is not None:
            return
        shown = [column for column in release.columns.values() if column.role is Role.QUASI_IDENTIFIER]
        known = [people.columns.get(column.name) for column in shown]
        if not shown or not all(isinstance(column, ReleasedColumn) for column in (*shown, *known)):
            return
        for name, column in release.columns.items():
            required = tuple(_required(release, name))
            if column.role is not Role.SENSITIVE or not isinstance(column, ReleasedColumn) or column.several:
                continue
            if name not in release.masked_columns and any(not isinstance(model, KAnonymity) for model in required):
                yield cls(column=name, threshold=asked.threshold, people=people, required=required)

    @classmethod
    def lacks(cls, release: Release, asked: Asked) -> str:
        """Return what it takes to know people's quasi-identifiers, where a requirement of classes is said."""
        required = (model for name in release.columns for model in _required(release, name))
        suited = any(not isinstance(model, KAnonymity) for model in required)
        return "the original" if asked.original is None and suited else ""

    def on(self, table: Release) -> Finding:
        """Attack a table as published; in the original, all equal people are a class of their own."""
        if table is self.people:
            return Finding(people=table.total, exposed=0, worst=0.0)
        groups = _Groups.of(self.people, table)
        column = sensitive_column(table, self.column, cast(PrivacyModel, self))
        values = values_of(column, table.n_rows)
        counts = classes_of(table).counts(column, values.value_of)
        order = np.arange(len(values))
        if column.kind is Kind.NUMBER and not any(isinstance(known, str) for known in values.known):
            order[: len(values.known)] = np.argsort(np.argsort(np.array([float(known) for known in values.known])))
        world = _World(groups, counts, counts.total(len(values)), order, self.required)
        could = np.flatnonzero((groups.size >= world.fewest) & ~groups.alone)
        if not could.size:
            return self._found(table, groups, world, could, could, 0, 0.0)
        budget = WORK // max(groups.size.size + counts.size.size, 1)
        drawn = np.random.default_rng(0).permutation(could)[: max(budget, 1)]
        exposed, worst, looked_at = 0, 0.0, drawn
        for at, group in enumerate(drawn.tolist()):
            if world.spent > DEALT:
                looked_at = drawn[:at]
                break
            belief, common = world.believed(group)
            worst = max(worst, float(belief.max(initial=0.0)))
            above = (belief > self.threshold + 1e-12) & (belief > np.maximum(common, world.share) + 1e-9)
            exposed += int(groups.size[group]) if above.any() else 0
        return self._found(table, groups, world, could, looked_at, exposed, worst)

    def guess(self, table: Release) -> Finding | None:
        """Believe in the most common value of the column for everybody: that exposes no person."""
        column = sensitive_column(table, self.column, cast(PrivacyModel, self))
        values = values_of(column, table.n_rows)
        total = classes_of(table).counts(column, values.value_of).total(len(values))
        share = int(total.max(initial=0)) / max(table.total, 1)
        return Finding(people=table.total, exposed=0, worst=share)

    def _found(
        self,
        table: Release,
        groups: _Groups,
        world: _World,
        could: NDArray[np.intp],
        looked_at: NDArray[np.intp],
        exposed: int,
        worst: float,
    ) -> Finding:
        joined, seen = int(groups.size[could].sum()), int(groups.size[looked_at].sum())
        facts = {
            "groups": int((groups.size >= world.fewest).sum()),  # of equal people, enough for a class of their own
            "joined": int(could.size),  # of them: those that have none
            "joined_people": joined,
        }
        if seen < joined:
            exposed = round(exposed * joined / seen) if seen else 0
            facts["joined_looked_at"] = seen
        return Finding(people=table.total, exposed=min(exposed, table.total), worst=min(worst, 1.0), facts=facts)


def _required(release: Release, column: str) -> Iterator[PrivacyModel]:
    """Yield what a release says was required of its classes: how large they are, and their values of a column."""
    for said in release.description.get("models", ()):
        if not isinstance(said, Mapping) or said.get("model") not in MODELS or said.get("sensitive", column) != column:
            continue
        model = MODELS[said["model"]](**{key: value for key, value in said.items() if key != "model"})
        if not (isinstance(model, TCloseness) and model.distance == "hierarchical"):
            yield model


@dataclass(frozen=True, eq=False)
class _Groups:
    """People with equal quasi-identifiers, and the classes that their labels fit."""

    size: NDArray[np.int64]  # (g,)
    values: list[NDArray[np.intp]]  # for each quasi-identifier (g,): the value of each group
    labels: list[NDArray[np.intp]]  # for each quasi-identifier (c,): the label of each class
    covers: list[NDArray[np.bool_]]  # for each quasi-identifier (labels, values)
    classes: Classes
    alone: NDArray[np.bool_]  # (g,): whether a class shows the very values of the group

    @classmethod
    def of(cls, people: Release, table: Release) -> _Groups:
        """Find them."""
        shown = [column for column in table.columns.values() if column.role is Role.QUASI_IDENTIFIER]
        columns = [cast(ReleasedColumn, column) for column in shown]
        known = [people.column(column.name) for column in columns]
        group_of, size = classes_of(people).class_of, classes_of(people).size
        classes = classes_of(table)
        row_of_group, row_of_class = np.zeros(size.size, np.int64), np.zeros(classes.size.size, np.int64)
        row_of_group[group_of] = np.arange(group_of.size)
        row_of_class[classes.class_of] = np.arange(classes.class_of.size)
        values = [column.codes[row_of_group].astype(np.intp) for column in known]
        labels = [checked_codes(column, table.n_rows)[row_of_class].astype(np.intp) for column in columns]
        covers = [_covers(column, original) for column, original in zip(columns, known, strict=True)]
        own, shown_as, keys = np.zeros(size.size, np.int64), np.zeros(classes.size.size, np.int64), 1
        for value, label, cover in zip(values, labels, covers, strict=True):
            exactly = np.where(cover.sum(axis=1) == 1, cover.argmax(axis=1), cover.shape[1] + 1)[label]
            width = cover.shape[1] + 2
            if keys * width >= LARGEST_KEY:
                numbers, keys = renumbered(np.concatenate([own, shown_as]))
                own, shown_as = numbers[: size.size].astype(np.int64), numbers[size.size :].astype(np.int64)
            own, shown_as, keys = own * width + value, shown_as * width + exactly, keys * width
        return cls(size, values, labels, covers, classes, np.isin(own, shown_as))

    def classes_around(self, group: int) -> NDArray[np.intp]:
        """Return the classes whose labels fit a group."""
        found = np.arange(self.classes.size.size)
        for value, label, cover in zip(self.values, self.labels, self.covers, strict=True):
            found = found[cover[:, value[group]][label[found]]]
        return found

    def groups_in(self, number: int) -> NDArray[np.intp]:
        """Return the groups that the labels of a class fit, without those that have a class of their own."""
        found = self._others
        for value, label, cover in zip(self.values, self.labels, self.covers, strict=True):
            found = found[cover[label[number]][value[found]]]
        return found

    @cached_property
    def _others(self) -> NDArray[np.intp]:
        return np.flatnonzero(~self.alone)

    @cached_property
    def global_recoding(self) -> bool:
        """Whether each value has the same label everywhere, so that a class far away may be the reason for a label."""
        return all((cover.sum(axis=0) <= 1).all() for cover in self.covers) and self.classes.size.size > 1


def _covers(shown: ReleasedColumn, known: ReleasedColumn) -> NDArray[np.bool_]:
    """Return which values of the original each label covers, (labels, values)."""
    texts = [label for code, label in enumerate(known.labels) if code != known.missing]
    kind = Kind.NUMBER if known.kind is Kind.NUMBER else Kind.CATEGORY
    hierarchy = hierarchy_for(known.spec, kind, texts) if known.spec is not None else None
    leaves = tuple(hierarchy.leaves) if hierarchy is not None else tuple(texts)
    numbers = [*map(as_number, leaves), math.nan]
    column = CodedColumn(
        name=known.name,
        role=known.role,
        kind=known.kind,
        codes=np.zeros(0, dtype=np.int32),
        labels=(*leaves, ""),
        values=np.array(numbers) if known.kind is Kind.NUMBER else None,
        missing=len(leaves),
        hierarchy=hierarchy,
        dates=known.kind is Kind.DATE,
    )
    place = {label: number for number, label in enumerate(leaves)}
    at = [
        len(leaves) if code == known.missing else place.get(label, len(leaves))
        for code, label in enumerate(known.labels)
    ]
    return covers_values(shown, column)[:, at]


@dataclass(frozen=True, eq=False)
class _Dealt:
    """What a group may have when the values of a pool are dealt at random."""

    breaks: float  # the chance that the group breaks a requirement
    if_broken: Floats  # (v,): how likely each value is for a person then
    common: Floats  # (v,): and whatever the group breaks


@dataclass(frozen=True, eq=False)
class _World:
    """All that the attacker reckons with."""

    groups: _Groups
    counts: Counts
    total: NDArray[np.int64]  # (v,)
    order: NDArray[np.intp]  # (v,): the place of each value among numbers
    required: tuple[PrivacyModel, ...]
    _known: dict[tuple[Any, int], _Dealt] = field(default_factory=dict)
    _sizes: list[int] = field(default_factory=list)

    @property
    def spent(self) -> int:
        """How many counts of values were looked at so far."""
        return sum(self._sizes)

    @cached_property
    def share(self) -> Floats:
        """How common each value is in the table, (v,)."""
        return np.asarray(self.total / max(int(self.total.sum()), 1))

    @cached_property
    def fewest(self) -> int:
        """How many people it takes for a class."""
        least = [model.k for model in self.required if isinstance(model, KAnonymity)]
        return max([2, *least, *(math.ceil(model.exact_l) for model in self.required if isinstance(model, LDiversity))])

    @cached_property
    def joined_anyway(self) -> float:
        """How often groups are joined that would hardly break a requirement alone; 1 where too few tell."""
        size, many = np.unique(self.groups.size[self.groups.size >= self.fewest], return_counts=True)
        hardly = [n for n in size.tolist() if self._dealt("table", self.share, n, exact=False).breaks < RARELY]
        chosen = np.isin(self.groups.size, hardly)
        told = int(many[np.isin(size, hardly)].sum())
        return float((chosen & ~self.groups.alone).sum() / told) if told >= ENOUGH else 1.0

    def believed(self, group: int) -> tuple[Floats, Floats]:
        """Return how likely each value is for a person of a joined group, and what its classes alone tell, (v,)."""
        nothing = np.zeros(self.total.size)
        around = self.groups.classes_around(group)
        others = {number: self.groups.groups_in(number) for number in around.tolist()}
        if not around.size or all(found.size < 2 for found in others.values()):
            return nothing, nothing
        dealt = self._of(group, around, others)
        p = dealt.breaks
        if p < UNBELIEVED:
            return nothing, dealt.common
        q = self._another_needs_company(group, around, others)
        q = self.joined_anyway if q is None else q
        r = p / (p + (1 - p) * q)
        otherwise = (dealt.common - p * dealt.if_broken) / (1 - p) if p < 1 else nothing
        return r * dealt.if_broken + (1 - r) * np.maximum(otherwise, 0.0), dealt.common

    def _another_needs_company(
        self, group: int, around: NDArray[np.intp], others: Mapping[int, NDArray[np.intp]]
    ) -> float | None:
        """Return the chance that another group of the same class breaks a requirement.

        None where another reason is certain: another group is too small, or the group may be in one of several classes,
        or each value has one label in the whole table.
        """
        if around.size > 1 or self.groups.global_recoding:
            return None
        company = [other for other in others[int(around[0])].tolist() if other != group]
        if self.groups.size[company].min() < self.fewest:
            return None
        return 1 - math.prod(1 - self._of(other, around, others).breaks for other in company)

    def _of(self, group: int, around: NDArray[np.intp], others: Mapping[int, NDArray[np.intp]]) -> _Dealt:
        """Return what a group may have that is in one of some classes, by how many people of each class fit it."""
        n = int(self.groups.size[group])
        if around.size == 1:
            return self._dealt(int(around[0]), self._values_of(int(around[0])), n, exact=True)
        pool = np.zeros(self.total.size)
        for number in around.tolist():
            fitting = int(self.groups.size[others[number]].sum())
            pool += self._values_of(number) / max(fitting, 1)
        return self._dealt(tuple(around.tolist()), pool / pool.sum(), n, exact=False)

    def _values_of(self, number: int) -> Floats:
        found = np.zeros(self.total.size)
        pairs = slice(int(self.counts.start[number]), int(self.counts.start[number + 1]))
        found[self.counts.value[pairs]] = self.counts.count[pairs]
        return found

    def _dealt(self, key: Any, pool: Floats, n: int, *, exact: bool) -> _Dealt:
        """Deal n values of a pool: rows of a class (`exact`), none of them twice, or shares."""
        found = self._known.get((key, n))
        if found is None:
            found = self._known[key, n] = self._deal(pool, n, exact=exact)
        return found

    def _deal(self, pool: Floats, n: int, *, exact: bool) -> _Dealt:
        present = np.flatnonzero(pool > 0)
        held = pool[present]
        if exact and held.sum() < n:  # not all of the group are in the class
            held, exact = held / held.sum(), False
        if n <= LARGEST and math.comb(present.size + n - 1, n) <= WAYS:
            ways = np.array(list(itertools.combinations_with_replacement(range(present.size), n)), dtype=np.intp)
            dealt = np.zeros((len(ways), present.size), dtype=np.int64)
            np.add.at(dealt, (np.arange(len(ways))[:, None], ways), 1)
            upto = np.arange(n + 1)
            if exact:
                each = np.array([[math.comb(int(many), x) for x in upto] for many in held], dtype=np.float64)
            else:
                each = held[:, None] ** upto / np.array([math.factorial(x) for x in upto], dtype=np.float64)
            weight = each[np.arange(present.size), dealt].prod(axis=1)
        else:
            rng = np.random.default_rng(0)
            if exact:
                dealt = rng.multivariate_hypergeometric(held.astype(np.int64), n, WAYS, method="marginals")
            else:
                dealt = rng.multinomial(n, held / held.sum(), WAYS)
            weight = np.ones(len(dealt))
        self._sizes.append(dealt.size)
        broken = np.zeros(len(dealt), dtype=np.bool_)
        for model in self.required:
            broken |= _breaks(model, dealt, n, self.share, present, self.order)
        if_broken = np.zeros(self.total.size)
        breaks = float(weight[broken].sum() / weight.sum())
        if breaks:
            if_broken[present] = weight[broken] @ dealt[broken] / (n * weight[broken].sum())
        return _Dealt(breaks, if_broken, pool / pool.sum())


def _breaks(
    model: PrivacyModel,
    dealt: NDArray[np.int64],
    n: int,
    share: Floats,
    present: NDArray[np.intp],
    order: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Return which ways to deal values of those present to n people break a requirement, (s,)."""
    if isinstance(model, LDiversity):
        return _breaks_diversity(model, dealt, n)
    part = dealt / n
    own = share[present]
    if isinstance(model, TCloseness):
        if model.distance == "equal":
            distance = np.maximum(part - own, 0).sum(axis=1)
        else:
            every = np.zeros((len(dealt), share.size))
            every[:, order[present]] = part
            common = np.zeros(share.size)
            common[order] = share
            distance = np.abs(np.cumsum(every - common, axis=1)).sum(axis=1) / max(share.size - 1, 1)
        return np.asarray(distance > float(model.exact_t) + 1e-9)
    if isinstance(model, BetaLikeness):
        bound = np.full(own.size, float(model.exact_beta))
        if model.kind == "enhanced":
            bound = np.minimum(bound, -np.log(own))
        return np.asarray(((part - own) / own > bound + 1e-9).any(axis=1))
    if isinstance(model, DeltaDisclosure):
        with np.errstate(divide="ignore"):
            far = np.abs(np.log(part / own)) >= float(model.exact_delta) - 1e-9
        return np.asarray(far.any(axis=1) | (present.size < int((share > 0).sum())))
    return np.zeros(len(dealt), dtype=np.bool_)


def _breaks_diversity(model: LDiversity, dealt: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    if model.kind == "distinct":
        return np.asarray((dealt > 0).sum(axis=1) < int(model.exact_l))
    if model.kind == "frequency":
        return np.asarray(dealt.max(axis=1) * model.exact_l.numerator > n * model.exact_l.denominator)
    if model.kind == "entropy":
        part = dealt / n
        entropy = -(part * np.log(np.where(part > 0, part, 1.0))).sum(axis=1)
        return np.asarray(entropy < math.log(model.exact_l) - 1e-9)
    ascending = np.sort(dealt, axis=1)
    rest = ascending[:, : max(ascending.shape[1] - int(model.exact_l) + 1, 0)].sum(axis=1)
    return np.asarray(ascending[:, -1] >= float(model.exact_c) * rest)
