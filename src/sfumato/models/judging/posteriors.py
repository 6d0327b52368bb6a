"""What somebody believes about sensitive values who finds a person's class, and knows the person's other secrets.

Sensitive values may be published as labels of their hierarchies. What a label tells about the values below it is a
matter of reading:

| reading | the chance of a value below a label |
| --- | --- |
| `prior` | its base rate over those of all values below: the reader knows how common values are |
| `uniform` | one over the number of values below: the reader knows the hierarchy only |
| `true` | whatever it may be: all rows with the label, as far as so many rows can have the value |

Everything here starts from released labels, public hierarchies and base rates. It shares no code with the anonymizers,
so a mistake there shows here. Sizes: n rows, g groups, v labels and s leaves of a column, p pairs of group and leaf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates
from sfumato.data.codebook import hierarchy_for
from sfumato.data.dataset import TEXT, starts_of
from sfumato.data.hierarchy import Tree
from sfumato.data.kinds import as_number, exact_number, infer_kind
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import LARGEST, NEAR, checked_codes, classes_of, renumbered, sensitive_column
from sfumato.models.judging.weights import Integers, rows_in, tally, tally_keys

READINGS = ("prior", "uniform", "true")
BATCH = 1 << 22  # pairs of a group and a leaf that are worked on at once


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of a sensitive column and the labels above them, as the public knows them.

    Leaves come first among labels; a missing value, where base rates know of one, is the last leaf and lies directly
    below the root. The leaves below a label are an interval.
    """

    names: tuple[str | None, ...]  # (v,): None stands for the missing value
    first: Integers  # (v,)
    last: Integers  # (v,)
    above: Integers  # (v,): the label of which each is a part, -1 above the root
    rates: BaseRates
    n_leaves: int
    numbers: bool = False  # whether leaves are numbers, which may be spelled 2.5 or 2.50

    def number_of(self, name: str | None) -> int:
        """Return the number of a label, -1 when it is none of the domain's."""
        found = self._numbers.get(name, -1)
        if found >= 0 or name is None or not self.numbers or math.isnan(as_number(name)):
            return found
        return self._leaf_of.get(exact_number(name), -1)

    @cached_property
    def _numbers(self) -> dict[str | None, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _leaf_of(self) -> dict[Decimal, int]:
        leaves = enumerate(self.names[: self.n_leaves])
        return {exact_number(name): number for number, name in leaves if name is not None}

    @property
    def weight(self) -> list[int]:
        """The base rate of each leaf, as whole numbers in proportion."""
        return [
            self.rates.missing if name is None else self.rates.weight.get(name, 0)
            for name in self.names[: self.n_leaves]
        ]

    @property
    def common(self) -> NDArray[np.float64]:
        """How common each leaf is, as a share of all."""
        weight = np.array(self.weight, dtype=np.float64)
        return np.asarray(weight / max(float(weight.sum()), 1.0))

    def shares(self, reading: str) -> tuple[Integers, Integers]:
        """Return part (s,) and whole (v,): the chance of a leaf below a label is part / whole."""
        if reading == "prior":
            part = np.array(self.weight, dtype=np.int64)
            upto = starts_of(part)
            return part, upto[self.last + 1] - upto[self.first]
        part = np.ones(self.n_leaves, dtype=np.int64)
        return part, self.last - self.first + 1 if reading == "uniform" else np.ones_like(self.first)

    def bounds(self, alpha: Fraction, reading: str, *, missing_is_sensitive: bool) -> list[Fraction]:
        """Return how likely each leaf may become: alpha, or its base rate where that is higher already."""
        if reading == "true":
            bounds = [alpha] * self.n_leaves
        elif reading == "uniform":
            bounds = [max(alpha, Fraction(1, self.n_leaves))] * self.n_leaves
        else:
            total = max(sum(self.weight), 1)
            bounds = [max(alpha, Fraction(weight, total)) for weight in self.weight]
        if not missing_is_sensitive:
            bounds = [Fraction(1) if name is None else bound for name, bound in zip(self.names, bounds, strict=False)]
        return bounds


def domain_of(release: Release, column: ReleasedColumn, model: PrivacyModel) -> Domain:
    """Return what the public knows of a column, or raise when that is not enough to judge it."""
    asked = f"{model.name} is asked of column {column.name!r}"
    if column.spec is None or column.spec.hierarchy is None:
        raise DataError(
            f"{asked}, which has no hierarchy.\n"
            "Give it one in the plan; { flat = true } is the simplest, whose only mask is *."
        )
    rates = release.public.base_rates.get(column.name)
    if rates is None:
        raise DataError(
            f"{asked}, but nothing says how common its values are.\n"
            "Name the source in the plan, or give the column a table: base_rates = FILE."
        )
    known = list(rates.weight)
    kind = column.spec.kind or infer_kind(known, TEXT)
    hierarchy = hierarchy_for(column.spec, Kind.NUMBER if kind is Kind.NUMBER else Kind.CATEGORY, known)
    assert hierarchy is not None
    missing = hierarchy.n_leaves if rates.missing > 0 else -1
    tree = Tree.over(hierarchy, (*hierarchy.leaves, *[""] * (missing >= 0)), missing)
    return Domain(
        names=tuple(None if node == missing else label for node, label in enumerate(tree.labels)),
        first=tree.first.astype(np.int64),
        last=tree.last.astype(np.int64),
        above=tree.parent.astype(np.int64),
        rates=rates,
        n_leaves=hierarchy.n_leaves + (missing >= 0),
        numbers=kind is Kind.NUMBER,
    )


def labels_of_rows(column: ReleasedColumn, domain: Domain, n_rows: int) -> NDArray[np.int32]:
    """Return the label of each row by its number in the domain, or raise when one is not in it."""
    codes = checked_codes(column, n_rows)
    shown = (None if code == column.missing else label for code, label in enumerate(column.labels))
    numbers = [domain.number_of(name) for name in shown]
    unknown = np.array(numbers, dtype=np.int64) < 0
    strange = int(np.bincount(codes, minlength=len(numbers))[unknown].sum()) if unknown.any() else 0
    if strange:
        raise DataError(
            f"Column {column.name!r} has {strange:,} row(s) whose label is neither a value nor a group of its "
            "hierarchy.\nJudge a release with the hierarchies and base rates that it was made with."
        )
    return np.array(numbers, dtype=np.int32)[codes]


@dataclass(frozen=True, eq=False)
class Secrets:
    """The sensitive columns that a requirement names, as labels."""

    class_of: NDArray[np.int32]  # (n,)
    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    labels: tuple[NDArray[np.int32], ...]  # for each column (n,)
    weights: Integers | None = None  # (n,)

    @classmethod
    def of(cls, release: Release, names: Sequence[str], model: PrivacyModel) -> Secrets:
        """Read them from a release."""
        columns = [sensitive_column(release, name, model) for name in names]
        domains = [domain_of(release, column, model) for column in columns]
        labels = [
            labels_of_rows(column, domain, release.n_rows) for column, domain in zip(columns, domains, strict=True)
        ]
        classes = classes_of(release)
        return cls(classes.class_of, tuple(names), tuple(domains), tuple(labels), classes.weights)

    @property
    def n_rows(self) -> int:
        """How many rows were published."""
        return int(self.class_of.size if self.weights is None else self.weights.sum())

    def groups(self, i: int, *, knowing_others: bool) -> tuple[NDArray[np.int32], int]:
        """Return the group of each row, and how many there are: by class, and by labels of the other columns."""
        keys = self.class_of.astype(np.int64)
        for j, labels in enumerate(self.labels):
            if knowing_others and j != i:
                keys = renumbered(keys * len(self.domains[j].names) + labels)[0].astype(np.int64)
        return renumbered(keys)


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely leaves are in some groups, and whether each keeps its bound."""

    group: Integers  # (p,)
    leaf: Integers  # (p,)
    chance: NDArray[np.float64]  # (p,)
    kept: NDArray[np.bool_]  # (p,): decided exactly


def chances(
    secrets: Secrets, i: int, reading: str, bounds: Sequence[Fraction], *, knowing_others: bool
) -> Iterator[tuple[Integers, Chances]]:
    """Yield sizes of all groups of a column (g,) with what is believed in some of them, batch by batch.

    Of the leaves that only labels above them speak of, those are left out which others stand for: see `_told`.
    """
    domain = secrets.domains[i]
    group_of, n_groups = secrets.groups(i, knowing_others=knowing_others)
    size = tally(group_of, n_groups, secrets.weights)
    width = len(domain.names)
    keys, count = tally_keys(group_of.astype(np.int64) * width + secrets.labels[i], secrets.weights)
    group, label = np.divmod(keys, width)
    if reading == "prior" and (domain.shares(reading)[1][label] == 0).any():
        raise DataError(
            f"The base rates of column {secrets.columns[i]!r} say that values never occur which its release shows.\n"
            "Give every value that occurs a weight above 0."
        )
    hidden = _hidden(secrets, i) if reading == "true" else None
    told = _told(domain, domain.shares(reading)[0] if hidden is None else hidden, bounds)
    ends = np.cumsum(told.spread[label])
    at = 0
    while at < group.size:
        until = max(int(np.searchsorted(ends, (ends[at - 1] if at else 0) + BATCH)), at + 1)
        until = int(np.searchsorted(group, group[until - 1], side="right"))  # groups stay whole
        here = slice(at, until)
        found = _Batch(domain, reading, bounds, told, group[here], label[here], count[here], size)
        yield size, found.hidden_bounded(hidden) if hidden is not None else found.decided()
        at = until


def _hidden(secrets: Secrets, i: int) -> Integers:
    """Return how many rows with each leaf (s,) labels may hide at most: all, where nobody counted."""
    domain = secrets.domains[i]
    everybody = np.full(domain.n_leaves, secrets.n_rows, dtype=np.int64)
    if not domain.rates.counted or domain.rates.total != secrets.n_rows:
        return everybody
    shown = tally(secrets.labels[i], len(domain.names), secrets.weights)[: domain.n_leaves]
    hidden: Integers = np.array(domain.weight, dtype=np.int64) - shown
    return hidden if (hidden >= 0).all() else everybody


@dataclass(frozen=True, eq=False)
class _Told:
    """The leaves below each label that somebody has to look at: leaf[start[label] : start[label] + spread[label]]."""

    leaf: Integers
    start: Integers  # (v,)
    spread: Integers  # (v,)


def _told(domain: Domain, likely: Integers, bounds: Sequence[Fraction]) -> _Told:
    """Return of each label the leaf below that is likeliest, and all whose bound is not the usual one.

    What a group says of a leaf is how likely that is among all (`likely`, or how many rows can hide it), times or up
    to a sum over the labels above it; and a label that is part of another has all that is above that one above itself.
    So of leaves with one bound below a label the likeliest is believed in most, wherever else it is spoken of, and if
    it keeps the bound, all do. Few bounds are not the usual one: alpha or more of all people have such a value, or it
    is missing.
    """
    numbers = {bound: number for number, bound in enumerate(dict.fromkeys(bounds))}
    bound_of = np.array([numbers[bound] for bound in bounds], dtype=np.int64)
    usual = bound_of == np.bincount(bound_of).argmax()
    likeliest = np.lexsort((-likely, ~usual))[: int(usual.sum())]  # the usual leaves, the likeliest first
    rank = np.full(domain.n_leaves, domain.n_leaves)
    rank[likeliest] = np.arange(likeliest.size)
    unusual = np.flatnonzero(~usual)
    told: list[Integers] = []
    for label, (first, last) in enumerate(zip(domain.first.tolist(), domain.last.tolist(), strict=True)):
        if label < domain.n_leaves:
            told.append(np.array([label]))
            continue
        best = first + int(rank[first : last + 1].argmin())
        others = unusual[np.searchsorted(unusual, first) : np.searchsorted(unusual, last, side="right")]
        told.append(np.union1d(others, [best]))
    spread = np.array([leaves.size for leaves in told], dtype=np.int64)
    return _Told(np.concatenate(told), np.cumsum(spread) - spread, spread)


class _Batch:
    """Labels of some groups, laid out as pairs of a group and a leaf, each with the labels that speak of the leaf."""

    def __init__(
        self,
        domain: Domain,
        reading: str,
        bounds: Sequence[Fraction],
        told: _Told,
        group: Integers,
        label: Integers,
        count: Integers,
        size: Integers,
    ) -> None:
        self.bounds = bounds
        self.group, self.label, self.count = group, label, count
        part, whole = domain.shares(reading)
        self._lay_out(domain, told, part)
        self.part, self.whole = part[self.pair_leaf][self.pair_of], whole[label][self.of]
        self.first = np.flatnonzero(np.diff(self.pair_of, prepend=-1))
        self.pair_size = size[self.pair_group]
        self.num = np.array([bound.numerator for bound in bounds], dtype=object)
        self.den = np.array([bound.denominator for bound in bounds], dtype=object)
        if max(max(self.num), max(self.den)) * (int(size.max()) + 1) < LARGEST:
            self.num, self.den = self.num.astype(np.int64), self.den.astype(np.int64)

    def _lay_out(self, domain: Domain, told: _Told, part: Integers) -> None:
        """Find the pairs (p,), and for each the labels of its group that its leaf lies below (z,)."""
        spread = told.spread[self.label]
        place = np.repeat(told.start[self.label] - np.cumsum(spread) + spread, spread) + np.arange(int(spread.sum()))
        pairs = np.unique(np.repeat(self.group, spread) * domain.n_leaves + told.leaf[place])
        pairs = pairs[part[pairs % domain.n_leaves] > 0]
        self.pair_group, self.pair_leaf = np.divmod(pairs, domain.n_leaves)
        width = len(domain.names)
        keys = self.group * width + self.label  # ascending
        speaks: list[Integers] = []
        of: list[Integers] = []
        pair, node = np.arange(pairs.size), self.pair_leaf
        while pair.size:
            wanted = self.pair_group[pair] * width + node
            at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            there = keys[at] == wanted
            speaks.append(pair[there])
            of.append(at[there])
            node = domain.above[node]
            pair, node = pair[node >= 0], node[node >= 0]
        pair_of = np.concatenate(speaks) if speaks else pair
        order = np.argsort(pair_of, kind="stable")
        self.pair_of = pair_of[order]  # (z,)
        self.of = np.concatenate(of)[order] if of else pair  # (z,): which label of its group

    def _sum(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, self.first)

    def decided(self) -> Chances:
        """Return chances, and whether each keeps its bound: in whole numbers, or exact fractions where these differ."""
        count = self.count[self.of]
        chance = self._sum(count * (self.part / self.whole)) / self.pair_size
        num, den = self.num[self.pair_leaf], self.den[self.pair_leaf]
        # A label whose share is the bound changes nothing; one with share 1 or 0 counts in whole numbers.
        sure = self.part == self.whole
        even = ~sure & np.asarray(self.part * den[self.pair_of] == num[self.pair_of] * self.whole, dtype=np.bool_)
        certain = self._sum(np.where(sure, count, 0))
        neutral = self._sum(np.where(even, count, 0))
        fractions = self._sum((~sure & ~even).astype(np.int64))
        kept = np.asarray(certain * (den - num) <= (self.pair_size - certain - neutral) * num, dtype=np.bool_)
        bound = np.array([float(bound) for bound in self.bounds])[self.pair_leaf]
        gap = chance - bound
        kept = np.where(fractions > 0, gap <= 0, kept)
        for pair in np.flatnonzero((fractions > 0) & (np.abs(gap) <= NEAR)).tolist():
            kept[pair] = self._exact(pair) <= self.bounds[self.pair_leaf[pair]]
        return Chances(self.pair_group, self.pair_leaf, chance, kept)

    def _exact(self, pair: int) -> Fraction:
        last = self.first[pair + 1] if pair + 1 < self.first.size else self.of.size
        total = Fraction(0)
        for z in range(self.first[pair], last):
            total += Fraction(int(self.count[self.of[z]]) * int(self.part[z]), int(self.whole[z]))
        return total / int(self.pair_size[pair])

    def hidden_bounded(self, hidden: Integers) -> Chances:
        """Return the highest chance that any original has which fits the release and the base rates."""
        shown = self.label[self.of] == self.pair_leaf[self.pair_of]
        count = self.count[self.of]
        visible = self._sum(np.where(shown, count, 0))
        masked = np.minimum(self._sum(np.where(shown, 0, count)), hidden[self.pair_leaf])
        num, den = self.num[self.pair_leaf], self.den[self.pair_leaf]
        rows = visible + masked
        kept = np.asarray(rows * den <= self.pair_size * num, dtype=np.bool_)
        return Chances(self.pair_group, self.pair_leaf, rows / self.pair_size, kept)


@dataclass(frozen=True, eq=False)
class Judged:
    """One kind of group of all columns, judged."""

    groups: int
    failing: int
    failing_rows: int  # in a group that fails
    worst: float | None  # the highest chance above the base rate; of those that fail, where some do
    highest: float  # the highest chance at all


def judge(
    secrets: Secrets, alpha: Fraction, reading: str, *, knowing_others: bool, missing_is_sensitive: bool
) -> Judged:
    """Judge what is believed in every group of every column."""
    groups = failing = 0
    failing_row = np.zeros(secrets.class_of.size, dtype=np.bool_)
    worst_kept, worst_failing, highest = 0.0, -1.0, 0.0
    for i, domain in enumerate(secrets.domains):
        bounds = domain.bounds(alpha, reading, missing_is_sensitive=missing_is_sensitive)
        base = np.array([float(bound) if bound > alpha else 0.0 for bound in bounds])
        fails = np.zeros(0, dtype=np.bool_)
        for size, found in chances(secrets, i, reading, bounds, knowing_others=knowing_others):
            fails = fails if fails.size else np.zeros(size.size, dtype=np.bool_)
            fails[found.group[~found.kept]] = True
            above = found.kept & (found.chance > base[found.leaf] + NEAR)
            worst_kept = max(worst_kept, float(found.chance[above].max(initial=0.0)))
            worst_failing = max(worst_failing, float(found.chance[~found.kept].max(initial=-1.0)))
            highest = max(highest, float(found.chance.max(initial=0.0)))
        groups += fails.size
        failing += int(fails.sum())
        if fails.any():
            group_of, _ = secrets.groups(i, knowing_others=knowing_others)
            failing_row |= fails[group_of]
    worst = None if not groups else worst_failing if failing else worst_kept
    return Judged(groups, failing, rows_in(failing_row, secrets.weights), worst, highest)
