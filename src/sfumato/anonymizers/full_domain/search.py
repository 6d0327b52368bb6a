"""The best node of the lattice of levels, and the proof that no other is better.

What a node loses is at least its base, which grows from finer to coarser nodes, plus what it loses for rows that it
drops. So classes that fail at a node, whatever their parts, raise what is known of all finer nodes, and class sizes at
a node what is known of all coarser ones. A node is judged only if what is known does not rule it out; coarse ones come
first, since one that fails rules out most, unless rows may be dropped and the base is not known: then those of which
most is known. When none is left, the best that was judged is the best there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.cells import Judge, Judged, Node


class Loss(Protocol):
    """What is minimized, and what a judged node tells about others."""

    base_is_known: ClassVar[bool]  # before anything is judged

    def base(self, judge: Judge) -> NDArray[np.float64]:
        """Return what each node loses at least, of the shape of the lattice."""

    def of(self, judged: Judged) -> float:
        """Return what a node loses."""

    def of_coarser(self, judged: Judged) -> float:
        """Return the least base of all coarser nodes."""

    def of_dropped(self, judged: Judged) -> float:
        """Return what finer nodes lose besides their base for rows that are dropped in all of them."""


@dataclass(frozen=True)
class Ncp(Loss):
    """The share of detail lost; a dropped row loses all of it."""

    base_is_known: ClassVar[bool] = True

    rows: int
    columns: int

    def base(self, judge: Judge) -> NDArray[np.float64]:
        """Return what is lost if no row is dropped."""
        base = np.zeros(())
        for ladder, codes in zip(judge.ladders, judge.table.code, strict=True):
            weight = np.bincount(codes, weights=judge.table.weight, minlength=ladder.node.shape[1])
            base = np.add.outer(base, ladder.loss @ weight / self._whole)
        return base

    def of(self, judged: Judged) -> float:
        """Return the share of detail lost."""
        lost = float((judged.size[judged.kept] * judged.loss[judged.kept]).sum())
        return (lost + judged.dropped * self.columns) / self._whole

    def of_coarser(self, judged: Judged) -> float:
        """The base is known from the start."""
        return 0.0

    def of_dropped(self, judged: Judged) -> float:
        """A row loses no more at a finer node, so that dropping it costs no less."""
        dropped = judged.fails_below
        return float((judged.size[dropped] * (self.columns - judged.loss[dropped])).sum()) / self._whole

    @property
    def _whole(self) -> float:
        return float(max(self.rows * self.columns, 1))


@dataclass(frozen=True)
class Discernibility(Loss):
    """The sum of squared class sizes; a dropped row counts as if it could be any of all."""

    base_is_known: ClassVar[bool] = False

    rows: int

    def base(self, judge: Judge) -> NDArray[np.float64]:
        """Nothing is known yet."""
        return np.zeros(judge.shape)

    def of(self, judged: Judged) -> float:
        """Return the sum."""
        return _squares(judged.size[judged.kept]) + float(judged.dropped) * self.rows

    def of_coarser(self, judged: Judged) -> float:
        """Coarser classes are unions of these."""
        return _squares(judged.size)

    def of_dropped(self, judged: Judged) -> float:
        """A row's class is no larger at a finer node, so that dropping it costs no less."""
        size = judged.size[judged.fails_below]
        return float(size.sum()) * self.rows - _squares(size)


def _squares(size: NDArray[np.int64]) -> float:
    return float(np.square(size, dtype=np.float64).sum())


@dataclass(frozen=True)
class ClassSize(Loss):
    """All rows, over the classes that are published."""

    base_is_known: ClassVar[bool] = False

    rows: int

    def base(self, judge: Judge) -> NDArray[np.float64]:
        """Nothing is known yet."""
        return np.zeros(judge.shape)

    def of(self, judged: Judged) -> float:
        """Return the average size, with dropped rows in it."""
        return self.rows / max(int(np.count_nonzero(judged.kept)), 1)

    def of_coarser(self, judged: Judged) -> float:
        """Coarser nodes have no more classes."""
        return self.rows / max(judged.size.size, 1)

    def of_dropped(self, judged: Judged) -> float:
        """How many classes they would have made is not known."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Found:
    """The best node, and how sure that is."""

    best: Judged
    loss: float
    lowest: float  # no node loses less; the loss itself where that is proven
    checked: int


class Search:
    """What is known of every node of a lattice, and the best one so far.

    The top, one class of all rows, passes, unless rows may be dropped: then finer nodes may, which leave fewer.
    """

    def __init__(self, judge: Judge, loss: Loss, checks: int, on_check: Callable[[], None]) -> None:
        self._judge, self._loss, self._checks, self._on_check = judge, loss, checks, on_check
        self._base, self._dropped = loss.base(judge), np.zeros(judge.shape)
        self._open = np.ones(judge.shape, dtype=np.bool_)
        coarse_first = loss.base_is_known or not judge.limit
        self._height = np.indices(judge.shape).sum(axis=0).ravel() if coarse_first else None
        self.checked = 0
        self.best, self.loss = self._check(tuple(levels - 1 for levels in judge.shape))

    def run(self) -> Found | None:
        """Return the best node that is found before the checks are used up; None where no node was found to pass."""
        if self._judge.limit:  # else whatever fails rules it out
            self._try(tuple(0 for _ in self._judge.shape))
        self._descend()
        while True:
            candidates, bound = self._candidates()
            if not candidates.size or self.checked >= self._checks:
                break
            if self._height is not None:
                height = self._height[candidates]
                bound = np.where(height == height.max(), bound, -np.inf)
            node = tuple(int(level) for level in np.unravel_index(candidates[np.argmax(bound)], self._judge.shape))
            if self._try(node):
                self._descend()
        if np.isinf(self.loss):
            return None
        lowest = float(bound.min()) if candidates.size else self.loss
        return Found(self.best, self.loss, min(lowest, self.loss), self.checked)

    def _candidates(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nodes that may still be better, and what each loses at least."""
        bound = self._base + self._dropped
        candidates = np.flatnonzero((self._open & (bound < self.loss * (1 - 1e-12))).ravel())
        return candidates, bound.ravel()[candidates]

    def _descend(self) -> None:
        """Go to finer nodes as long as one column's step is for the better, the step that gains most first."""
        while True:
            node = self.best.node
            steps = [(*node[:at], level - 1, *node[at + 1 :]) for at, level in enumerate(node) if level]
            steps.sort(key=lambda step: (float(self._base[step] + self._dropped[step]), step))
            if not any(self._try(step) for step in steps):
                return

    def _try(self, node: Node) -> bool:
        """Judge a node unless it is ruled out; return whether it is the best by now."""
        ruled_out = not self._open[node] or self._base[node] + self._dropped[node] >= self.loss * (1 - 1e-12)
        if ruled_out or self.checked >= self._checks:
            return False
        judged, lost = self._check(node)
        if lost >= self.loss:
            return False
        self.best, self.loss = judged, lost
        return True

    def _check(self, node: Node) -> tuple[Judged, float]:
        """Judge a node, and keep what that tells about others; a node that drops too much loses without bound."""
        self._on_check()
        self.checked += 1
        judged, limit = self._judge(node), self._judge.limit
        finer = tuple(slice(level + 1) for level in node)
        coarser = tuple(slice(level, None) for level in node)
        self._open[node] = False
        if not judged.allowed or int(judged.size[judged.fails_below].sum()) > limit:
            self._open[finer] = False
        np.maximum(self._dropped[finer], self._loss.of_dropped(judged), out=self._dropped[finer])
        np.maximum(self._base[coarser], self._loss.of_coarser(judged), out=self._base[coarser])
        return judged, self._loss.of(judged) if judged.allowed and judged.dropped <= limit else np.inf
