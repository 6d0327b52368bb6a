"""How well spread the beliefs about a group are, and how far they are from what was believed before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.models.judging.beliefs import Beliefs, Floats
from sfumato.models.judging.weights import Integers

CELLS = 1 << 21  # beliefs in nodes of a hierarchy that are worked on at once


def largest_and_rest(found: Beliefs, l: int) -> tuple[Floats, Floats]:
    """Return p1 and p_l + p_(l+1) + ... of each group, both of shape (b,) and in records, not in shares."""
    offset, nonzero = found.offset, np.diff(found.start)
    largest, rest = np.zeros(found.group.size), np.zeros(found.group.size)
    for some, masses in found.falling():
        largest[some] = masses[:, 0] + offset[some]
        rest[some] = masses[:, l - 1 :].sum(axis=1)  # summed up rather than subtracted: an empty sum is exactly 0
        inside = np.maximum(nonzero[some] - (l - 1), 0)  # labels of p_l, ... that have a mass besides the offset
        outside = np.maximum(found.n_labels - np.maximum(nonzero[some], l - 1), 0)
        rest[some] += (inside + outside) * offset[some]
    return largest, rest


def diversity_bounds(found: Beliefs, c: Fraction, near: float) -> tuple[Integers, Integers]:
    """Return two bounds of l', the largest l with p1 <= c (p_l + ...), both of shape (b,); they differ near ties."""
    ours, theirs = weights_of(c)
    offset, nonzero = found.offset, np.diff(found.start)
    low, high = np.zeros(found.group.size, np.int64), np.zeros(found.group.size, np.int64)
    for some, masses in found.falling():
        shift = offset[some][:, None]
        outside = (found.n_labels - nonzero[some]) * offset[some]
        occurs = np.arange(masses.shape[1]) < nonzero[some][:, None]
        tails = np.cumsum(np.where(occurs, masses + shift, 0.0)[:, ::-1], axis=1)[:, ::-1] + outside[:, None]
        needed = theirs * (masses[:, 0] + offset[some])
        for bound, slack in ((low, near), (high, -near)):
            margin = slack * np.maximum(found.linked[some], 1)
            holds = occurs & (ours * tails - needed[:, None] >= margin[:, None])
            bound[some] = holds.sum(axis=1)
            # Behind the labels with a mass of their own stand those that have the offset only.
            with np.errstate(divide="ignore", invalid="ignore"):
                left = np.ceil((needed + margin) / (ours * offset[some]))
            more = found.n_labels - nonzero[some] - np.maximum(left, 1) + 1
            bound[some] += np.where((offset[some] > 0) & np.isfinite(more), np.maximum(more, 0), 0).astype(np.int64)
    return low, high


def exact_diversity(masses: list[int], c: Fraction) -> int:
    """Return l' of a group, given its masses, largest first.

    >>> [exact_diversity([3, 2, 1], c) for c in (Fraction(1), Fraction(1, 2), Fraction(1, 3))]
    [2, 1, 0]
    """
    rest, reached = sum(masses), 0
    for l, mass in enumerate(masses, start=1):
        if masses[0] * c.denominator > c.numerator * rest:
            break
        reached = l
        rest -= mass
    return reached


def weights_of(c: Fraction) -> tuple[float, float]:
    """Return two floats in 0..1 by which p1 <= c * rest becomes theirs * p1 <= ours * rest, whatever the size of c."""
    return float(c / (c + 1)), float(1 / (c + 1))


def distances_over_levels(found: Beliefs, prior: Floats, levels: NDArray[np.int32]) -> Floats:
    """Return the earth mover's distance of each group's belief to the prior, shape (b,); 0 where nothing is linked.

    levels[h, label] is the node of a label at a level of the hierarchy below the top. The way between labels is the
    level of their lowest common ancestor over the height, so the distance is the mean over levels of the total
    variation there. Beliefs are means over linked records, so that they sum to one as the prior does.
    """
    divisor = found.divisor("linked")
    offset = found.offset / divisor
    size = np.diff(found.start)
    group_of = np.repeat(np.arange(size.size), size)
    share = found.mass / divisor[group_of]
    total = np.zeros(size.size)
    for level in levels:
        before = np.bincount(level, weights=prior)
        even = np.bincount(level)
        step = max(1, CELLS // before.size)
        for first in range(0, size.size, step):
            last = min(first + step, size.size)
            inside = slice(found.start[first], found.start[last])
            place = (group_of[inside] - first) * before.size + level[found.label[inside]]
            belief = np.bincount(place, weights=share[inside], minlength=(last - first) * before.size)
            every = belief.reshape(last - first, before.size) + offset[first:last, None] * even
            total[first:last] += np.abs(every - before).sum(axis=1) / 2
    total[found.vacuous] = 0.0
    return np.asarray(total / levels.shape[0])


def distances(found: Beliefs, prior: Floats, unlinked: str, exact_near: float | None = None) -> Floats:
    """Return the distance of each group's belief to the prior, shape (b,); 0 where nothing is linked.

    Sums run over the labels of a group only, which costs digits when the distance is small, or near a limit. Groups
    closer to it than that are summed up over all labels.
    """
    divisor = found.divisor(unlinked)
    offset = found.offset / divisor
    group_of = np.repeat(np.arange(found.group.size), np.diff(found.start))
    share = found.mass / divisor[group_of]
    gain = share * (share + 2 * (offset[group_of] - prior[found.label]))
    everywhere = found.n_labels * offset**2 - 2 * offset * prior.sum() + prior @ prior
    square = everywhere + np.bincount(group_of, weights=gain, minlength=found.group.size)
    distance: Floats = np.sqrt(np.maximum(square, 0))
    unsure = distance < 1e-3
    if exact_near is not None:
        unsure |= np.abs(distance - exact_near) < 1e-8
    for group in np.flatnonzero(unsure & ~found.vacuous).tolist():
        begin, end = found.start[group], found.start[group + 1]
        difference = offset[group] - prior
        difference[found.label[begin:end]] += share[begin:end]
        distance[group] = np.linalg.norm(difference)
    distance[found.vacuous] = 0.0
    return distance
