"""Masking: classes of quasi-identifiers and labels of sensitive values that keep every bound, at little loss.

Identical rows are counted once; what is sensitive in a distinct row is one of t tuples. These come in, classes and
flows go out: a flow is some rows of one tuple in one class with the labels that they carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.masking import program as linear_program
from sfumato.anonymizers.masking.regions import best_classes, greedy_classes, merged, starts_of
from sfumato.data.dataset import Codes
from sfumato.data.recoding import Pieces, divide_rows
from sfumato.kernels.masks.moves import ENTRY, HELD, ORIGIN, begin, deal_out, improve, replay, spoil_vacuous
from sfumato.kernels.masks.raising import settle
from sfumato.kernels.masks.regions import Axes, Distinct
from sfumato.kernels.masks.state import (
    DEN,
    FIRST,
    LABEL,
    LAST,
    MOVES,
    NUM,
    OF,
    OVERFLOW,
    PART,
    RISKY_FROM,
    RISKY_TO,
    UP,
    Secrets,
    State,
    make_state,
)

FINEST = 10**9  # bounds are fractions of at most so many parts, rounded down: to the safe side
LARGEST_PROGRAM = 3000  # variables of a linear program that is worth its time
MOST_VARIABLES = 4_500_000  # of all programs together: those of classes that lose most for their size
BATCH = 1500  # variables of programs that are solved at once


# The class of each distinct row, (c,), and the labels of each class, (p, quasi-identifiers).
Classes: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]


class Column(NamedTuple):
    """A sensitive column: s leaves first, v labels in all, the root last."""

    up: NDArray[np.int32]  # (v,): the label that a value may be masked to next, -1 above the root
    first: NDArray[np.int32]  # (v,): the leaves below
    last: NDArray[np.int32]
    loss: NDArray[np.float64]  # (v,): of one row
    part: NDArray[np.int64]  # (s,): share of leaf l below label v is part[l] / of[v]
    of: NDArray[np.int64]  # (v,)
    sub_bound: Sequence[Fraction] | None  # (s,): in sensitive equivalence classes
    whole_bound: Sequence[Fraction] | None  # (s,): in quasi-identifier classes


class Effort(NamedTuple):
    """How much work is put into a low loss once the classes are there."""

    rounds: int  # of moves to labels that lose less
    reach: int  # columns that a move may change at once
    program: bool  # whether linear programs are solved
    varied: bool = False  # whether labels that hide a single value are spoiled on purpose


class Masked(NamedTuple):
    """What is published: f flows in p classes."""

    class_of: NDArray[np.int32]  # (c,): the class of each distinct row
    nodes: NDArray[np.int32]  # (p, quasi-identifiers): its labels
    flow_class: NDArray[np.int64]  # (f,), ascending
    flow_tuple: NDArray[np.int64]  # (f,)
    flow_labels: NDArray[np.int64]  # (f, m)
    flow_rows: NDArray[np.int64]  # (f,)


def make_secrets(columns: Sequence[Column]) -> Secrets:
    """Return the columns side by side, as loops want them."""
    m = len(columns)
    labels = max(column.up.size for column in columns)
    leaves = max(column.part.size for column in columns)
    label = np.zeros((m, labels, 8), dtype=np.int64)
    label[:, :, UP] = label[:, :, LAST] = -1
    label[:, :, OF] = 1
    loss = np.zeros((m, labels))
    leaf = np.ones((m, leaves, 5), dtype=np.int64)
    risky: list[int] = []
    for i, column in enumerate(columns):
        v, s = column.up.size, column.part.size
        label[i, :v, UP], label[i, :v, FIRST], label[i, :v, LAST] = column.up, column.first, column.last
        label[i, :v, OF], loss[i, :v], leaf[i, :s, PART] = column.of, column.loss, column.part
        for level, bounds in enumerate((column.sub_bound, column.whole_bound)):
            for at, bound in enumerate(bounds or ()):
                down = Fraction(int(bound * FINEST), FINEST) if bound.denominator > FINEST else bound
                leaf[i, at, NUM + 2 * level], leaf[i, at, DEN + 2 * level] = down.numerator, down.denominator
            for node in range(v):
                below = np.arange(column.first[node], column.last[node] + 1)
                num, den = leaf[i, below, NUM + 2 * level], leaf[i, below, DEN + 2 * level]
                label[i, node, RISKY_FROM + 2 * level] = len(risky)
                risky += below[column.part[below] * den > num * column.of[node]].tolist()
                label[i, node, RISKY_TO + 2 * level] = len(risky)
    asked = [any(column.sub_bound for column in columns), any(column.whole_bound for column in columns)]
    return Secrets(
        label=label,
        loss=loss,
        leaf=leaf,
        bound=np.stack([leaf[:, :, NUM] / leaf[:, :, DEN], leaf[:, :, NUM + 2] / leaf[:, :, DEN + 2]]),
        risky=np.array(risky, dtype=np.int64),
        asked=np.array(asked, dtype=np.int64),
        leaves=np.array([column.part.size for column in columns], dtype=np.int64),
    )


def mask(
    distinct: Distinct,
    axes: Axes,
    secrets: Secrets,
    k: int,
    effort: Effort,
    workplace: Workplace,
    rival: Classes | None = None,
) -> Masked | None:
    """Return classes of at least k rows and their masks; None when not even the whole table can be masked.

    Of the classes found here and of `rival`, those that lose less with their masks are taken.
    """
    stage = workplace.stage("classes", distinct.tuple_of.size)
    found = best_classes(distinct, axes, secrets, k)
    if found is None:
        found = greedy_classes(distinct, axes, secrets, k, stage.advance)
    else:
        stage.advance(distinct.tuple_of.size)
    stage.done()
    starts = [classes for classes in (found, rival) if classes is not None]
    made = [_masked(distinct, *classes, secrets, effort, workplace) for classes in starts]
    return min(
        (masked for masked in made if masked is not None),
        key=lambda masked: _total_loss(distinct, axes, secrets, masked),
        default=None,
    )


def _total_loss(distinct: Distinct, axes: Axes, secrets: Secrets, masked: Masked) -> float:
    """Return what labels of quasi-identifiers and of sensitive columns lose together, added up over rows."""
    of_class = np.zeros(len(masked.nodes))
    for axis, loss in enumerate(axes.loss):
        of_class += loss[masked.nodes[:, axis]]
    of_flows = _loss(secrets, (masked.flow_tuple, masked.flow_labels, masked.flow_rows))
    return float(distinct.rows @ of_class[masked.class_of]) + of_flows


def mask_within(
    distinct: Distinct, class_of: Codes, secrets: Secrets, effort: Effort, workplace: Workplace
) -> Masked | None:
    """Return masks within given classes of the distinct rows."""
    nodes = np.empty((int(class_of.max()) + 1, 0), dtype=np.int32)
    return _masked(distinct, class_of, nodes, secrets, effort, workplace)


def _masked(
    distinct: Distinct, class_of: Codes, nodes: Codes, secrets: Secrets, effort: Effort, workplace: Workplace
) -> Masked | None:
    keys, rows = merged(class_of.astype(np.int64) * len(distinct.leaf_of) + distinct.tuple_of, distinct.rows)
    in_class, tuples = np.divmod(keys, len(distinct.leaf_of))
    start = np.searchsorted(in_class, np.arange(len(nodes) + 1))
    work = ClassInWork.sized(secrets, int(np.diff(start).max()))
    stage = workplace.stage("masking", len(nodes))
    parts: list[Flows | None] = []
    starts = starts_of(distinct, secrets)
    for number in range(len(nodes)):
        here = slice(start[number], start[number + 1])
        best: Flows | None = None
        for labels in starts.labels:
            given = (tuples[here], labels[tuples[here]], rows[here])
            done, work = _finished(secrets, distinct.leaf_of, given, work, effort)
            best = _cheaper(secrets, best, done)
        parts.append(best)
        stage.advance()
    stage.done()
    if effort.program:
        of_class = ((tuples[here], rows[here]) for here in map(slice, start[:-1], start[1:]))
        parts, work = _programmed(secrets, distinct.leaf_of, list(of_class), parts, work, effort, workplace)
    masks = [part for part in parts if part is not None]
    if len(masks) < len(parts):
        return None
    if effort.varied:
        for number, part in enumerate(masks):
            done, work = _finished(secrets, distinct.leaf_of, part, work, effort, varied=True)
            assert done is not None
            masks[number] = done
    return Masked(
        class_of,
        nodes,
        np.repeat(np.arange(len(nodes)), [part[0].size for part in masks]),
        np.concatenate([part[0] for part in masks]),
        np.concatenate([part[1] for part in masks]),
        np.concatenate([part[2] for part in masks]),
    )


class ClassInWork(NamedTuple):
    """Room to work on one class: its groups, the moves made so far, and which flow carries what."""

    state: State
    log: NDArray[np.int64]
    flows: NDArray[np.int64]
    head: NDArray[np.int64]

    @classmethod
    def sized(cls, secrets: Secrets, entries: int) -> ClassInWork:
        """Return room for a class that starts with so many entries."""
        room = 8 * entries + 256
        return cls(
            state=make_state(secrets, room),
            log=np.empty((4 * room, 3), dtype=np.int64),
            flows=np.empty((4 * room, 4), dtype=np.int64),
            head=np.empty(room, dtype=np.int64),
        )


Flows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # tuple, labels and rows of each


def _batches(secrets: Secrets, size: NDArray[np.int64], parts: Sequence[Flows | None]) -> Iterator[list[int]]:
    """Yield the classes that get a program, of so many variables, in batches that are solved at once.

    Those that lose most for the size of their program come first.
    """
    loss = np.array([np.inf if part is None else _loss(secrets, part) for part in parts])
    some = np.flatnonzero((loss > 0) & (size <= LARGEST_PROGRAM))
    some = some[np.argsort(-loss[some] / size[some], kind="stable")]
    some = some[np.cumsum(size[some]) <= MOST_VARIABLES]
    batch = np.cumsum(size[some]) // BATCH
    for members in np.split(some, np.flatnonzero(np.diff(batch)) + 1):
        yield members.tolist()


def _programmed(
    secrets: Secrets,
    leaf_of: NDArray[np.int64],
    of_class: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    parts: Sequence[Flows | None],
    work: ClassInWork,
    effort: Effort,
    workplace: Workplace,
) -> tuple[list[Flows | None], ClassInWork]:
    """Return the flows of classes, the cheaper of what raising gave and of what linear programs give.

    of_class: the tuples of each class, and their rows.
    """
    best = list(parts)
    ways = linear_program.ways_of(secrets, leaf_of)
    size = np.array([ways[tuples].sum() for tuples, _ in of_class], dtype=np.int64)
    batches = list(_batches(secrets, size, parts))
    stage = workplace.stage("masking anew", sum(len(batch) for batch in batches))
    for batch in batches:
        programs = [linear_program.program_of(secrets, leaf_of[of_class[number][0]]) for number in batch]
        chosen = linear_program.solve(programs, [of_class[number][1] for number in batch]) if batch else []
        for number, program, rows in zip(batch, programs, chosen, strict=True):
            if rows is not None:
                used = np.flatnonzero(rows)
                rounded = (of_class[number][0][program.origin[used]], program.labels[used], rows[used])
                other, work = _finished(secrets, leaf_of, rounded, work, effort)
                best[number] = _cheaper(secrets, best[number], other)
            stage.advance()
    stage.done()
    return best, work


def _cheaper(secrets: Secrets, best: Flows | None, other: Flows | None) -> Flows | None:
    """Return those flows of a class that lose less; the first ones when both lose as much."""
    if best is None or other is None:
        return other if best is None else best
    return other if _loss(secrets, other) < _loss(secrets, best) - 1e-12 else best


def _loss(secrets: Secrets, flows: Flows) -> float:
    each = secrets.loss[np.arange(secrets.loss.shape[0]), flows[1]].sum(axis=1)
    return float(each @ flows[2])


def _finished(
    secrets: Secrets,
    leaf_of: NDArray[np.int64],
    given: Flows,
    work: ClassInWork,
    effort: Effort,
    *,
    varied: bool = False,
) -> tuple[Flows | None, ClassInWork]:
    """Return flows that keep all bounds, from flows that may not; more room is made when it takes more."""
    while True:
        found = begin(work.state, leaf_of, *given, work.flows)
        if found >= 0 and varied:
            found = spoil_vacuous(work.state, secrets, leaf_of, work.flows, found)
        elif found >= 0:
            cost = settle(work.state, secrets, work.log, np.inf)
            if not np.isfinite(cost) and not work.state.number[OVERFLOW]:
                return None, work
            found = replay(work.flows, found, work.log, work.state.number[MOVES], work.head)
            if found >= 0 and effort.rounds:
                found = improve(work.state, secrets, work.flows, found, leaf_of, effort.rounds, effort.reach)
        if found >= 0 and not work.state.number[OVERFLOW]:
            break
        work = ClassInWork.sized(secrets, work.head.size // 2)
    state, flows = work.state, work.flows
    kept = flows[:found][flows[:found, HELD] > 0]
    return (kept[:, ORIGIN].copy(), state.entry[kept[:, ENTRY], LABEL].copy(), kept[:, HELD].copy()), work


def labels_of_rows(
    distinct_of: NDArray[np.int32], distinct: Distinct, masked: Masked, weights: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int32], Pieces | None]:
    """Return the label of each row in each sensitive column, (m, n).

    With `weights`, (n,), each row stands for as many; then these are the labels of pieces of rows, which come along.
    """
    width = len(distinct.leaf_of)
    key = masked.flow_class * width + masked.flow_tuple
    order = np.argsort(key, kind="stable")
    pair_key = key[order]
    first = np.flatnonzero(np.concatenate([[True], pair_key[1:] != pair_key[:-1]]))
    pair_of_distinct = np.searchsorted(pair_key[first], masked.class_of.astype(np.int64) * width + distinct.tuple_of)
    if weights is not None:
        pieces, option_of = divide_rows(pair_of_distinct[distinct_of], weights, masked.flow_rows[order])
        return np.ascontiguousarray(masked.flow_labels[order][option_of].T, dtype=np.int32), pieces
    shown = np.empty((distinct.leaf_of.shape[1], distinct_of.size), dtype=np.int32)
    deal_out(
        distinct_of, pair_of_distinct, first.copy(), masked.flow_labels[order], masked.flow_rows[order].copy(), shown
    )
    return shown, None
