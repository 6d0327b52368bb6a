"""t-closeness: a class must not tell more about its members than the whole table does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, Problem
from sfumato.models.base import (
    JOINED,
    KNOWN,
    Policy,
    PrivacyModel,
    Verdict,
    as_number,
    known_columns,
    plain_number,
    quoted,
)
from sfumato.models.judging.classes import (
    LARGEST,
    Counts,
    Values,
    at_most,
    class_verdict,
    classes_of,
    known_with,
    read_label,
    sensitive_column,
    total_in,
    values_in,
    values_of,
)
from sfumato.models.judging.weights import Integers
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized

if TYPE_CHECKING:
    from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness

DISTANCES = ("equal", "ordered", "hierarchical")


def hierarchies_missing(model: TCloseness | SensitiveQidCloseness, schema: Schema) -> Iterator[Problem]:
    """Yield columns whose distance follows a hierarchy that they do not have."""
    known = getattr(model, "known", None) or ()
    for name in (each for each in model.judged_columns if model.distance == "hierarchical" and each not in known):
        spec = schema.spec(name)
        if spec is not None and spec.role is model.judged_role and spec.hierarchy is None:
            yield Problem(
                f"columns.{name}.hierarchy",
                f"requirement {model.name} needs a hierarchy for column {name!r}. Add one to [columns.{name}].",
            )


@parametrized
class TCloseness(PrivacyModel):
    """In every equivalence class, a sensitive column is distributed as in the whole release, up to a distance `t`.

    The distance is the earth mover's: the least share of rows times way that turns one distribution into the other,
    where the way between two values, from 0 to 1, is

    | distance | way from one value to another |
    | --- | --- |
    | `equal` | 1 between any two: the distance is the total variation |
    | `ordered` | steps between them in the order of the m values, over m - 1 |
    | `hierarchical` | level of their lowest common ancestor, over the level of the root |

    Ordered values are numbers, or stand in the order of the declared domain, else of the leaves of the hierarchy. The
    domain counts in full when it is declared, otherwise the values that occur do. A missing value is a value of its
    own: after all others in the order, directly below the root in a hierarchy. Distances are whole numbers over whole
    numbers here, so decisions are exact, on ties too.

    Of several sensitive columns each is asked for on its own. Whoever knows the other ones of a person (`known`) looks
    at those rows of a class that agree in them: then these count as quasi-identifiers.

    Source: Li, Li and Venkatasubramanian (2007).
    Limit: what the whole release gives away about everybody counts as known.

    >>> table = {"age": ["20-29"] * 2 + ["30-39"] * 2, "income": [10, 20, 30, 40]}
    >>> release = Release.of(table, age="quasi-identifier", income="sensitive")
    >>> print(TCloseness(sensitive="income", t=0.4, distance="ordered").audit(release))
    t-closeness of 'income' holds: largest distance 0.3333, required at most 0.4 (2 classes)
    >>> print(TCloseness(sensitive="income", t=0.4).audit(release))
    t-closeness of 'income' FAILS: largest distance 0.5, required at most 0.4 (2 of 2 classes, 4 rows)
    """

    name: ClassVar[str] = "t-closeness"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    counts_people: ClassVar[bool] = True
    limit: ClassVar[str] = (
        "The distribution in the whole release is taken as known to all: what it gives away, it gives away. "
        "And a small distance can still make a rare value many times likelier for some people."
        f"{JOINED}"
    )
    judges_apart: ClassVar[bool] = True

    sensitive: str = parameter(Takes.COLUMN, "Sensitive column", "Whose distribution is compared.")
    t: Exact = parameter(
        Takes.FRACTION,
        "Largest distance",
        "How far the distribution in a class may be from that in the whole release.",
        least=0,
        most=1,
        example=0.2,
        why="distances are shares",
    )
    distance: str = parameter(
        Takes.CHOICE, "Distance", "How far two values are apart.", default="equal", choices=DISTANCES
    )
    known: str | Sequence[str] | None = field(default=None, metadata=KNOWN)  # becomes a tuple of names

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known", known_columns(self.known, self.sensitive, self.name) or None)

    exact_t = AsWritten("t")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        among = f" and among its rows with equal {quoted(self.known)}" if self.known else ""
        return (
            f"In every class{among}, {self.sensitive!r} is distributed as in the whole release, "
            f"up to a distance of {plain_number(self.exact_t)}."
        )

    def promise_beside(self, schema: Schema) -> str:
        """What holds where people are judged, who may have several values."""
        if schema.person is None:
            return self.promise
        return (
            f"In every class, what people have of {self.sensitive!r}, all their rows together, is distributed as among "
            f"all people, up to a distance of {plain_number(self.exact_t)}."
        )

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield a missing hierarchy."""
        yield from hierarchies_missing(self, schema)

    def most_classes(self, release: Release) -> float:
        """Return 1 where no two classes can be near enough: no share of m rows is nearer than the next m-th.

        Of two classes, one has at most half of the rows, and it is the farther one.
        """
        column = sensitive_column(release, self.sensitive, self)
        values = values_of(column, release.n_rows)
        ground = _GROUNDS[self.distance](column, values)
        total = classes_of(release).counts(column, ground.rank[values.value_of]).total(ground.n_values)
        n_rows, steps = int(total.sum()), np.cumsum(total) if self.distance == "ordered" else total
        if n_rows < 2 or n_rows * steps.size > _LOOKED_AT:
            return math.inf
        # Sums of gains are half of all differences; two values of a hierarchy are at least one level apart.
        scale = 2 if self.distance == "equal" else ground.scale
        for first in range(1, n_rows // 2 + 1, _AT_ONCE):
            sizes = np.arange(first, min(first + _AT_ONCE, n_rows // 2 + 1))
            over = sizes[:, None] * steps[None, :] % n_rows
            least = np.minimum(over, n_rows - over).sum(axis=1) / (sizes * float(n_rows) * scale)
            if (least <= float(self.exact_t) * (1 + 1e-9)).any():
                return math.inf
        return 1

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the distribution of sensitive values in each class."""
        column = sensitive_column(release, self.sensitive, self)
        classes = known_with(release, self, self.known or ())
        values = values_in(release, column)
        if column.several and self.distance != "equal":
            raise DataError(
                f"t-closeness with distance = {self.distance!r} is asked of column {column.name!r}, but some people "
                'have several values in it.\nAsk for distance = "equal", or gather the rows of a person.'
            )
        if ROOT in values.known:
            raise DataError(
                f"t-closeness is asked of column {column.name!r}, which has withheld values ({ROOT!r}): how they are "
                "distributed cannot be judged.\nPublish them, or ask for l-diversity instead."
            )
        ground = _GROUNDS[self.distance](column, values)
        counts = classes.counts(column, ground.rank[values.value_of])
        total = total_in(release, column, counts, ground.rank, ground.n_values)
        numerator, denominator = ground.distances(counts, total)
        return class_verdict(
            self,
            classes,
            passes=at_most(numerator, denominator, self.exact_t),
            reached=(numerator / denominator).astype(np.float64),
            required=as_number(self.exact_t),
            measure="largest distance",
            bound="at most",
            values=len(values),
        )


_LOOKED_AT = 20_000_000  # rows times values up to which it is worked out how near two classes can be
_AT_ONCE = 10_000  # sizes of classes


@dataclass(frozen=True, eq=False)
class _Ground:
    """How far values are apart, and so distributions. A distance is one whole number over another: nothing rounds."""

    rank: Integers  # (values that occur + 1,): where each stands among those that count
    n_values: int
    scale: int  # `sums` divided by scale * n * N is the distance
    sums: Callable[[Counts, Integers], Integers]  # of a class of n rows to a release of N rows with these totals

    def distances(self, counts: Counts, total: Integers) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return numerator and denominator of each class's distance to the whole release, both of shape (c,).

        total: how often each value occurs in the whole release, those that count and do not occur included.
        """
        if not counts.size.size:
            return np.zeros(0, dtype=np.int64), np.ones(0, dtype=np.int64)
        n_rows = int(total.sum())
        # No sum below exceeds this bound in between. What does not fit into 64 bits goes into Python's integers:
        # a few huge classes of a column with very many values.
        large = counts.size > LARGEST // (4 * max(n_rows, 1) * (self.scale + 1))
        if not large.any():
            return self.sums(counts, total), counts.size * (n_rows * self.scale)
        numerator, denominator = np.empty(large.size, dtype=object), counts.size.astype(object) * (n_rows * self.scale)
        for chosen, kind in ((~large, np.int64), (large, object)):
            if chosen.any():
                numerator[chosen] = self.sums(counts.only(chosen).astype(kind), total.astype(kind))
        return numerator, denominator


def _equal(column: ReleasedColumn, values: Values) -> _Ground:
    return _Ground(np.arange(len(values) + 1), len(values), 1, _sums_of_gains)


def _sums_of_gains(counts: Counts, total: Integers) -> Integers:
    """Total variation: what the class has too much of, over the values that occur in it."""
    n_rows = total.sum()
    size = np.repeat(counts.size, np.diff(counts.start))
    gain = counts.count * n_rows - total[counts.value] * size
    return np.add.reduceat(np.maximum(gain, 0), counts.start[:-1])


def _ordered(column: ReleasedColumn, values: Values) -> _Ground:
    order = _order(column, values)
    rank_of = {value: rank for rank, value in enumerate(order)}
    outside = sum(value not in rank_of for value in values.known)
    if outside:
        raise DataError(
            f"The ordered distance is asked of column {column.name!r}, but {outside:,} of its {len(values.known):,} "
            f"values are not in its declared order of {len(order):,}.\nComplete the domain or the hierarchy."
        )
    rank = np.array([*(rank_of[value] for value in values.known), len(order)], dtype=np.int64)
    n_values = len(order) + values.has_missing
    return _Ground(rank, n_values, max(n_values - 1, 1), _sums_of_steps)


def _order(column: ReleasedColumn, values: Values) -> list[Any]:
    """Return the values in order: the declared domain, or those that occur."""
    domain = column.spec.domain if column.spec is not None else None
    if column.kind is Kind.NUMBER:
        numbers = {read_label(label, column.kind) for label in domain} if domain is not None else set(values.known)
        texts = sum(isinstance(value, str) for value in numbers)
        if texts:
            raise DataError(
                f"The ordered distance is asked of column {column.name!r}, which holds numbers, but {texts:,} of its "
                f"{len(numbers):,} values are none.\n"
                "List their spelling under missing = [...] if they stand for missing values, or correct the domain."
            )
        return sorted(numbers)
    if domain is not None:
        return list(dict.fromkeys(domain))
    if column.spec is not None and column.spec.hierarchy is not None:
        present = set(values.known)
        return [leaf for leaf in _hierarchy(column, values).leaves if leaf in present]
    raise DataError(
        f"The ordered distance is asked of column {column.name!r}, but nothing says in which order its values stand.\n"
        'Give it domain = [lowest, ..., highest], or ask for distance = "equal".'
    )


def _sums_of_steps(counts: Counts, total: Integers) -> Integers:
    """Sum of |cumulative difference| over all values, without visiting the values that do not occur in a class.

    Between one value of a class and the next, its cumulative count C stays the same while the release's cumulative
    count F rises: F * n <= C * N up to one place, and not beyond. Sums of F up to any place are known beforehand.
    """
    n_rows = total.sum()
    first, pairs = counts.start[:-1], np.diff(counts.start)
    cumulative = np.cumsum(total)
    below = np.concatenate([[0], np.cumsum(cumulative)])  # below[j]: the sum of F over values 0 to j - 1
    running = np.cumsum(counts.count)
    before = np.repeat(running[first] - counts.count[first], pairs)
    size = np.repeat(counts.size, pairs)
    level = (running - before) * n_rows  # C * N

    low = counts.value
    high = np.append(low[1:], 0)
    high[counts.start[1:] - 1] = total.size
    turn = np.searchsorted(cumulative, level // size, side="right")
    turn = np.clip(turn, low, high)
    steps = level * (2 * turn - low - high) + size * (below[low] + below[high] - 2 * below[turn])
    sums: Integers = np.add.reduceat(steps, first) + counts.size * below[low[first]]
    return sums


def _hierarchical(column: ReleasedColumn, values: Values) -> _Ground:
    if not values.known:  # no row, or missing values only
        return _equal(column, values)
    hierarchy = _hierarchy(column, values)
    leaf_of = [min(hierarchy.node_of.get(label, hierarchy.n_leaves) for label in labels) for labels in values.labels]
    outside = sum(leaf >= hierarchy.n_leaves for leaf in leaf_of)
    if outside:
        raise DataError(
            f"The hierarchical distance is asked of column {column.name!r}, but {outside:,} of its {len(leaf_of):,} "
            "values are not among the lowest labels of its hierarchy.\n"
            "Add a line for each, or publish the column without generalizing it."
        )
    # Leaves stand in the order of a walk through the tree, so what lies below a node stands side by side.
    order = sorted(range(len(leaf_of)), key=leaf_of.__getitem__)
    rank = np.full(len(leaf_of) + 1, len(leaf_of), dtype=np.int64)
    rank[order] = np.arange(len(order))
    layers = _layers(hierarchy, sorted(leaf_of), values.has_missing)
    return _Ground(rank, len(values), 2 * max(hierarchy.height, 1), partial(_sums_of_branches, layers))


@dataclass(frozen=True, eq=False)
class _Layer:
    """The nodes of one level, without the root: those above an occurring value."""

    node_of: Integers  # (v,): the node above each value, -1 where its branch skips the level
    span: Integers  # (m,): levels from a node to its parent


def _layers(hierarchy: Hierarchy, leaves: list[int], missing: bool) -> list[_Layer]:
    """Return the levels of a hierarchy over some leaves in order; a missing value follows, directly below the root."""
    chains: list[dict[int, int]] = []  # for each value: level -> node
    for leaf in leaves:
        chain, node = {}, leaf
        while hierarchy.parent[node] >= 0:
            chain[hierarchy.level[node]] = node
            node = hierarchy.parent[node]
        chains.append(chain)
    if missing:
        chains.append({0: -1})
    layers = []
    for level in sorted({level for chain in chains for level in chain}):
        number: dict[int, int] = {}
        node_of = [number.setdefault(chain[level], len(number)) if level in chain else -1 for chain in chains]
        span = [(hierarchy.level[hierarchy.parent[node]] if node >= 0 else hierarchy.height) - level for node in number]
        layers.append(_Layer(np.array(node_of, dtype=np.int64), np.array(span, dtype=np.int64)))
    return layers


def _sums_of_branches(layers: list[_Layer], counts: Counts, total: Integers) -> Integers:
    """Sum of span * |difference of mass| over all nodes but the root.

    Nodes without rows of the class differ by the mass of the release: all nodes are taken so at first, and those that
    do have rows of the class are corrected.
    """
    n_rows = total.sum()
    class_of = counts.class_of
    sums = np.zeros_like(counts.size)
    for layer in layers:
        span = layer.span.astype(total.dtype)
        mass = np.zeros_like(span)
        present = layer.node_of >= 0
        np.add.at(mass, layer.node_of[present], total[present])
        sums = sums + counts.size * (span * mass).sum()

        node = layer.node_of[counts.value]
        pairs = np.flatnonzero(node >= 0)
        if not pairs.size:
            continue
        in_class, node = class_of[pairs], node[pairs]
        first = np.flatnonzero(np.concatenate([[True], (in_class[1:] != in_class[:-1]) | (node[1:] != node[:-1])]))
        in_class, node = in_class[first], node[first]
        expected = mass[node] * counts.size[in_class]
        found = np.add.reduceat(counts.count[pairs], first) * n_rows
        running = np.concatenate([[0], np.cumsum(span[node] * (np.abs(found - expected) - expected))])
        bounds = np.searchsorted(in_class, np.arange(counts.size.size + 1))
        sums = sums + running[bounds[1:]] - running[bounds[:-1]]
    return sums


def _hierarchy(column: ReleasedColumn, values: Values) -> Hierarchy:
    """Return the hierarchy that the plan gives a column."""
    return hierarchy_of(column.name, column.spec, [label for labels in values.labels for label in labels])


def hierarchy_of(name: str, spec: ColumnSpec | None, known: Sequence[str]) -> Hierarchy:
    """Return the hierarchy over the known values of a column that a distance follows, or raise."""
    if spec is None or spec.hierarchy is None:
        raise DataError(
            f"The hierarchical distance is asked of column {name!r}, which has no hierarchy.\n"
            'Give it one in the plan, or ask for distance = "equal".'
        )
    return spec.hierarchy.build(known, f"The hierarchy of column {name!r}", secret=spec.secret)


_GROUNDS = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
