"""The best masking of one class as a linear program, solved by HiGHS.

A variable is how many rows of an original tuple carry a tuple of labels. The excess of a leaf in a group is linear in
these numbers, so the bounds are rows of a matrix, those of the class as a whole too. Solutions are rounded down; what
is left over goes where the fractions are largest, and repairing and improving follow as after any other masking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import ranges
from sfumato.kernels.masks.state import FIRST, LAST, OF, PART, RISKY_FROM, RISKY_TO, SUB, UP, WHOLE, Secrets


class Program(NamedTuple):
    """Variables (x of them) and the entries of the matrix of bounds."""

    origin: NDArray[np.int64]  # (x,): place of the original tuple in the class
    labels: NDArray[np.int64]  # (x, m)
    loss: NDArray[np.float64]  # (x,)
    row: NDArray[np.int64]  # (z,)
    column: NDArray[np.int64]  # (z,)
    value: NDArray[np.float64]  # (z,)
    n_rows: int


def ways_of(secrets: Secrets, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how many ways each of some tuples, (n, m), can be labelled: so many variables it adds to a program."""
    ways = np.ones(len(leaves), dtype=np.int64)
    for i in range(leaves.shape[1]):
        label, height = leaves[:, i].copy(), np.ones(len(leaves), dtype=np.int64)
        while (label := np.where(label >= 0, secrets.label[i, label, UP], -1)).max(initial=-1) >= 0:
            height += label >= 0
        ways *= height
    return ways


def variables_of(secrets: Secrets, leaves: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return origin and labels of every way to label the tuples of a class, (x,) and (x, m)."""
    n, m = leaves.shape
    origin = np.arange(n)
    labels = leaves
    for i in range(m):
        blocks_origin, blocks = [origin], [labels]
        while True:
            above = secrets.label[i, labels[:, i], UP]
            keep = above >= 0
            if not keep.any():
                break
            origin, labels = origin[keep], labels[keep].copy()
            labels[:, i] = above[keep]
            blocks_origin.append(origin)
            blocks.append(labels)
        origin, labels = np.concatenate(blocks_origin), np.concatenate(blocks)
    return origin, labels


def program_of(secrets: Secrets, leaves: NDArray[np.int64]) -> Program:
    """Return the linear program of a class with these original tuples, (n, m)."""
    origin, labels = variables_of(secrets, leaves)
    m = leaves.shape[1]
    loss = np.zeros(origin.size)
    for i in range(m):
        loss += secrets.loss[i, labels[:, i]]
    rows, columns, values = [], [], []
    n_rows = 0
    for level in (SUB, WHOLE):
        if not secrets.asked[level]:
            continue
        for i in range(m):
            group = np.zeros(origin.size, dtype=np.int64)
            if level == SUB:
                for j in range(m):
                    if j != i:
                        group = group * secrets.loss.shape[1] + labels[:, j]
                _, group = np.unique(group, return_inverse=True)
            pairs = _bounds(secrets, level, i, group, labels[:, i])
            by_group = np.argsort(group, kind="stable")
            first = np.searchsorted(group[by_group], pairs[:, 0])
            size = np.searchsorted(group[by_group], pairs[:, 0] + 1) - first
            row = np.repeat(np.arange(len(pairs)), size)
            column = by_group[ranges(first, first + size)]
            leaf, v = pairs[row, 1], labels[column, i]
            below = (secrets.label[i, v, FIRST] <= leaf) & (leaf <= secrets.label[i, v, LAST])
            share = np.where(below, secrets.leaf[i, leaf, PART] / secrets.label[i, v, OF], 0.0)
            rows.append(row + n_rows)
            columns.append(column)
            values.append(share - secrets.bound[level, i, leaf])
            n_rows += len(pairs)
    return Program(origin, labels, loss, np.concatenate(rows), np.concatenate(columns), np.concatenate(values), n_rows)


def _bounds(
    secrets: Secrets, level: int, i: int, group: NDArray[np.int64], label: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the pairs of a group and a leaf that some label in it can lift above its bound, (p, 2)."""
    pairs = np.unique(group * secrets.loss.shape[1] + label)
    group, label = np.divmod(pairs, secrets.loss.shape[1])
    first, last = (secrets.label[i, label, end + 2 * level] for end in (RISKY_FROM, RISKY_TO))
    leaf, width = secrets.risky[ranges(first, last)], secrets.bound.shape[2]
    return np.stack(np.divmod(np.unique(np.repeat(group, last - first) * width + leaf), width), axis=1)


def solve(programs: Sequence[Program], weights: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64] | None]:
    """Return how many rows take each variable, rounded and (nearly) within the bounds; None when there is no answer.

    Small programs are solved as one, side by side: calling the solver takes longer than what it does for each.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    variables = np.cumsum([0, *(program.origin.size for program in programs)])
    tuples = np.cumsum([0, *(weight.size for weight in weights)])
    rows = np.cumsum([0, *(program.n_rows for program in programs)])
    value = np.concatenate([program.value for program in programs])
    row = np.concatenate([program.row + first for program, first in zip(programs, rows, strict=False)])
    column = np.concatenate([program.column + first for program, first in zip(programs, variables, strict=False)])
    origin = np.concatenate([program.origin + first for program, first in zip(programs, tuples, strict=False)])
    found = linprog(
        np.concatenate([program.loss for program in programs]),
        A_ub=sparse.csr_array((value, (row, column)), shape=(rows[-1], variables[-1])),
        b_ub=np.zeros(rows[-1]),
        A_eq=sparse.csr_array((np.ones(origin.size), (origin, np.arange(origin.size)))),
        b_eq=np.concatenate(weights),
        method="highs",
        options={"presolve": False},  # which takes longer than it saves
    )
    if found.status != 0:
        if len(programs) == 1:
            return [None]
        return [solve([program], [weight])[0] for program, weight in zip(programs, weights, strict=True)]
    parts = np.split(found.x, variables[1:-1])
    return [_rounded(*each) for each in zip(programs, weights, parts, strict=True)]


def _rounded(program: Program, weight: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole rows near to a solution."""
    rows: NDArray[np.int64] = np.floor(x + 1e-7).astype(np.int64)
    fraction = x - rows
    left = weight - np.bincount(program.origin, weights=rows, minlength=weight.size).astype(np.int64)
    order = np.lexsort((program.loss, -np.round(fraction, 9), program.origin))
    rank = np.arange(order.size) - np.searchsorted(program.origin[order], program.origin[order])
    rows[order] += rank < left[program.origin[order]]
    return rows
