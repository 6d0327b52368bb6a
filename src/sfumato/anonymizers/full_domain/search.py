"""The best node of the lattice of levels, and the proof that no other is better.

What a node loses is at least its base, which grows from finer to coarser nodes, plus what it loses for rows that it
drops. So classes that fail at a node, whatever their parts, raise what is known of all finer nodes, and class sizes at
a node what is known of all coarser ones. A node is judged only if what is known does not rule it out; coarse ones come
first, since one that fails rules out most, unless rows may be dropped and the base is not known: then those of which
most is known. When none is left, the best that was judged is the best there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.judging import Judge, Judged
from sfumato.anonymizers.full_domain.lattice import Lattice
from sfumato.kernels.classes.lattice import count_values
from sfumato.kernels.classes.nodes import Known, learn, list_steps, next_node

CLOSE = 1 - 1e-12  # losses that differ by less are the same


class Loss(Protocol):
    """What is minimized, and what a judged node tells about others."""

    base_is_known: ClassVar[bool] = False  # before anything is judged

    def base(self, lattice: Lattice) -> NDArray[np.float64]:
        """Return what each node loses at least, of the shape of the lattice: nothing, where that is not known."""
        return np.zeros(lattice.shape)

    def of(self, judged: Judged, base: float) -> float:
        """Return what a node loses, given what it loses at least."""

    def of_coarser(self, judged: Judged) -> float:
        """Return the least base of all coarser nodes."""

    def of_dropped(self, judged: Judged) -> float:
        """Return what finer nodes lose besides their base for rows that are dropped in all of them."""


@dataclass(frozen=True)
class Ncp(Loss):
    """The share of detail lost over the values that occur; a dropped row loses all of it."""

    base_is_known: ClassVar[bool] = True

    rows: int
    columns: int

    def base(self, lattice: Lattice) -> NDArray[np.float64]:
        """Return what is lost if no row is dropped."""
        count = np.zeros(lattice.layout.field.size)
        count_values(lattice.layout, lattice.key, lattice.weight, count)
        base = np.zeros(())
        for ladder, begin in zip(lattice.ladders, lattice.layout.begin[:, 0].tolist(), strict=True):
            weight = count[begin : begin + ladder.node.shape[1]]
            base = np.add.outer(base, ladder.loss @ weight / self._whole)
        return base

    def of(self, judged: Judged, base: float) -> float:
        """Return the share of detail lost: all that dropped rows would have kept is lost besides."""
        return base + judged.gone_detail / self._whole

    def of_coarser(self, judged: Judged) -> float:
        """The base is known from the start."""
        return 0.0

    def of_dropped(self, judged: Judged) -> float:
        """A row loses no more at a finer node, so that dropping it costs no less."""
        return judged.lasting_detail / self._whole

    @property
    def _whole(self) -> float:
        return float(max(self.rows * self.columns, 1))


@dataclass(frozen=True)
class Discernibility(Loss):
    """The sum of squared class sizes; a dropped row counts as if it could be any of all."""

    rows: int

    def of(self, judged: Judged, base: float) -> float:
        """Return the sum."""
        return judged.squares - judged.gone_squares + judged.gone_rows * self.rows

    def of_coarser(self, judged: Judged) -> float:
        """Coarser classes are unions of these."""
        return judged.squares

    def of_dropped(self, judged: Judged) -> float:
        """A row's class is no larger at a finer node, so that dropping it costs no less."""
        return judged.lasting_rows * self.rows - judged.lasting_squares


@dataclass(frozen=True)
class ClassSize(Loss):
    """All rows, over the classes that are published."""

    rows: int

    def of(self, judged: Judged, base: float) -> float:
        """Return the average size, with dropped rows in it."""
        return self.rows / max(judged.classes - judged.gone, 1)

    def of_coarser(self, judged: Judged) -> float:
        """Coarser nodes have no more classes."""
        return self.rows / max(judged.classes, 1)

    def of_dropped(self, judged: Judged) -> float:
        """How many classes they would have made is not known."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Found:
    """The best node, and how sure that is."""

    node: int
    loss: float
    lowest: float  # no node loses less; the loss itself where that is proven
    checked: int


class Search:
    """What is known of every node of a lattice, and the best one so far.

    The top, one class of all rows, passes, unless rows may be dropped: then finer nodes may, which leave fewer.
    """

    def __init__(self, judge: Judge, loss: Loss, checks: int, on_check: Callable[[], None]) -> None:
        self._judge, self._loss, self._checks, self._on_check = judge, loss, checks, on_check
        coarse_first = loss.base_is_known or not judge.limit
        self._known = _nothing_known(judge.lattice.shape, loss.base(judge.lattice), coarse_first=coarse_first)
        self.checked, self.best, self.loss = 0, self._known.open.size - 1, np.inf
        self._check(self.best)

    def run(self) -> Found | None:
        """Return the best node that is found before the checks are used up; None where no node was found to pass."""
        known = self._known
        if self._judge.limit and self._checks > 1 and self._may_be_better()[0]:  # else whatever fails rules it out
            self._check(0)
        list_steps(known, self.best)
        while self.checked < self._checks:
            node = next_node(known, self.loss * CLOSE)
            if node < 0:
                break
            if self._check(node):
                list_steps(known, node)
        if np.isinf(self.loss):
            return None
        bound = (known.base + known.dropped)[self._may_be_better()]
        return Found(self.best, self.loss, min(float(bound.min(initial=np.inf)), self.loss), self.checked)

    def _may_be_better(self) -> NDArray[np.bool_]:
        known = self._known
        return known.open & (known.base + known.dropped < self.loss * CLOSE)

    def _check(self, node: int) -> bool:
        """Judge a node, and keep what that tells about others; return whether it is the best by now."""
        self._on_check()
        self.checked += 1
        known = self._known
        judged = self._judge(node, hopeless=bool(known.hopeless[node]))
        lost = self._loss.of(judged, float(known.base[node])) if judged.allowed else np.inf
        dropped, base = self._loss.of_dropped(judged), self._loss.of_coarser(judged)
        learn(known, node, judged.closes, judged.hopeless, dropped, base)
        if lost >= self.loss:
            return False
        self.best, self.loss = node, lost
        return True


def _nothing_known(shape: tuple[int, ...], base: NDArray[np.float64], *, coarse_first: bool) -> Known:
    """Return what is known before any node is judged; coarse ones come first, or all at once."""
    size, shape = base.size, shape or (1,)
    waiting, group = np.arange(size), np.array([[0, size]])
    if coarse_first:
        height = reduce(np.add.outer, [np.arange(levels, dtype=np.int16)[::-1] for levels in shape]).ravel()
        waiting = np.argsort(height, kind="stable")
        last = np.cumsum(np.bincount(height))
        group = np.stack([np.concatenate([[0], last[:-1]]), last], axis=1)
    return Known(
        levels=np.array(shape, dtype=np.int64),
        stride=np.array([math.prod(shape[at + 1 :]) for at in range(len(shape))], dtype=np.int64),
        base=base.ravel(),
        dropped=np.zeros(size),
        open=np.ones(size, dtype=np.bool_),
        hopeless=np.zeros(size, dtype=np.bool_),
        waiting=waiting,
        group=np.ascontiguousarray(group),
        step=np.zeros(len(shape), dtype=np.int64),
        at=np.zeros(3, dtype=np.int64),
    )
