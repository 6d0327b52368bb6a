"""How safe a group is: the distance to the prior, and the margin of (c, l)-diversity.

A tally holds the mass of every label in a group: each linked record spreads one over its labels. Records with all
labels are counted apart, for they add the same to every label. `m` is the number of records that a belief is an
average over.

With masses p1 >= p2 >= ... and their sum M, (c, l)-diversity asks that p1 + c * (sum of the l - 1 largest) <= c * M;
the left side minus the right is called the excess. It is decided in floats unless it is very near zero; then remainders
modulo two primes tell whether it is zero, and what is not surely zero counts as failed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

Ints = NDArray[np.int64]

LINKED, ZERO, FORBID = range(3)  # what a record counts that no label explains
NEAR = 1e-11  # excess per record below which floats do not decide
PRIMES = (2_147_483_647, 2_147_483_629)
_SAME = 1e-13  # masses that differ by less are compared by their remainders

SEEN, TOUCHED, REMAINDER = range(3)  # columns of Tally.note; the last row counts N_TOUCHED, N_ALL and N_LINKED
N_TOUCHED, N_ALL, N_LINKED = range(3)


class Requirement(NamedTuple):
    """What a group must satisfy; l = 0 asks for no diversity, limit < 0 for no closeness."""

    unlinked: int  # LINKED, ZERO or FORBID
    limit: float  # of the squared distance, for answers
    bound: float  # the same, a little larger: what is beyond it is surely too far
    l: int
    c: float
    over: tuple[int, int]  # the numerator of c modulo the primes
    under: tuple[int, int]  # the denominator
    prior_sum: float
    prior_square: float


class Tally(NamedTuple):
    """The mass of every label. n labels."""

    mass: NDArray[np.float64]  # (n,), zero where not seen
    sorted: NDArray[np.float64]  # (n + more,) room to sort in
    note: NDArray[np.int64]  # (n + 1, 3)


@kernel
def make_tally(n_labels, more):
    """Return an empty tally, with room to sort `more` masses besides those of labels."""
    return Tally(np.zeros(n_labels), np.empty(n_labels + more), np.zeros((n_labels + 1, 3), dtype=np.int64))


@kernel
def clear(tally):
    """Take everything out of a tally."""
    mass, _sorted, note = tally
    end = mass.size
    for i in range(note[end, N_TOUCHED]):
        label = note[i, TOUCHED]
        mass[label] = 0.0
        note[label, SEEN] = 0
    note[end, N_TOUCHED], note[end, N_ALL], note[end, N_LINKED] = 0, 0, 0


@kernel
def put(size, at, labels, sign, tally):
    """Add a record with `size` labels when the sign is 1.0, take it out again when it is -1.0.

    They stand in the lists `labels` from `at` on; -1: they are all, equally likely.
    """
    mass, _sorted, note = tally
    end = mass.size
    if size == 0:
        return
    note[end, N_LINKED] += int(sign)
    if at < 0:
        note[end, N_ALL] += int(sign)
        return
    weighed = labels.share.size > 0
    share = sign / size
    n = note[end, N_TOUCHED]
    for i in range(at, at + size):
        label = labels.label[i]
        if weighed:
            share = sign * labels.share[i]
        if note[label, SEEN] == 0:
            note[label, SEEN] = 1
            note[n, TOUCHED] = label
            n += 1
        left = mass[label] + share
        mass[label] = left if left > 1e-12 else 0.0
    note[end, N_TOUCHED] = n


@kernel
def squared_distance(m, prior, requirement, tally):
    """Return the squared distance between the belief and the prior; 0 when nothing is linked."""
    mass, _sorted, note = tally
    n_labels = prior.size
    if note[n_labels, N_LINKED] == 0:
        return 0.0
    floor = note[n_labels, N_ALL] / n_labels
    square, product = 0.0, 0.0
    for i in range(note[n_labels, N_TOUCHED]):
        label = note[i, TOUCHED]
        square += mass[label] * (mass[label] + 2.0 * floor)
        product += mass[label] * prior[label]
    square += n_labels * floor * floor
    product += floor * requirement.prior_sum
    distance = requirement.prior_square + square / (m * m) - 2.0 * product / m
    if distance < 1e-5:  # the difference of nearly equal numbers: sum small squares instead
        distance = 0.0
        for label in range(n_labels):
            gap = (mass[label] + floor) / m - prior[label]
            distance += gap * gap
    return distance


@kernel
def sum_of_largest(values, n, count):
    """Return the sum of the `count` largest of the first n values, which are reordered."""
    if count < n:
        low, high = 0, n - 1
        while low < high:
            pivot = values[(low + high) >> 1]
            i, j = low, high
            while i <= j:
                while values[i] > pivot:
                    i += 1
                while values[j] < pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if count - 1 <= j:
                high = j
            elif count - 1 >= i:
                low = i
            else:
                break
    total = 0.0
    for i in range(min(count, n)):
        total += values[i]
    return total


@kernel
def mixed_excess(l, c, rest, n_rest, rest_all, rest_linked, tally):
    """Return the excess of the tally together with n_rest disjoint sets of the sizes in `rest`, ascending.

    rest_all and rest_linked: further records with all labels, and all further linked ones.
    """
    mass, values, note = tally
    n_labels = mass.size
    floor = (note[n_labels, N_ALL] + rest_all) / n_labels
    largest = 0.0
    n = note[n_labels, N_TOUCHED]
    for i in range(n):
        here = mass[note[i, TOUCHED]]
        values[i] = here
        largest = max(largest, here)
    left = l - 1
    for i in range(n_rest):
        share = 1.0 / rest[i]
        largest = max(largest, share)
        copies = min(left, rest[i])
        left -= copies
        for _ in range(copies):
            values[n] = share
            n += 1
    top = sum_of_largest(values, n, l - 1) + min(l - 1, n_labels) * floor
    return largest + floor + c * top - c * (note[n_labels, N_LINKED] + rest_linked)


@kernel
def power(base, exponent, prime):
    """Return base ** exponent modulo a prime."""
    result = np.int64(1)
    while exponent > 0:
        if exponent & 1:
            result = result * base % prime
        base = base * base % prime
        exponent >>= 1
    return result


@kernel
def is_tied(sizes, ats, labels, requirement, tally):
    """Return whether the excess is zero modulo both primes, and no choice among equal masses is in doubt.

    The tally holds the records, whose labels are labels[at:at + size].
    """
    mass, values, note = tally
    n_labels = mass.size
    n, l = note[n_labels, N_TOUCHED], requirement.l
    largest = 0.0
    for i in range(n):
        values[i] = mass[note[i, TOUCHED]]
        largest = max(largest, values[i])
    count = min(l - 1, n)
    sum_of_largest(values, n, count)
    least = np.inf  # the smallest of the l - 1 largest
    for i in range(count):
        least = min(least, values[i])
    tied = True
    for which in range(2):
        prime = PRIMES[which]
        for i in range(sizes.size):
            if sizes[i] > 0 and ats[i] >= 0:
                own = power(np.int64(sizes[i]), prime - 2, prime)
                for at in range(ats[i], ats[i] + sizes[i]):
                    if labels.share.size > 0:
                        own = labels.residue[which, at]
                    note[labels.label[at], REMAINDER] = (note[labels.label[at], REMAINDER] + own) % prime
        of_largest, of_least, top, above = np.int64(-1), np.int64(-1), np.int64(0), 0
        for i in range(n):
            label = note[i, TOUCHED]
            here, rest = mass[label], note[label, REMAINDER]
            if here > largest - _SAME:
                if of_largest >= 0 and of_largest != rest:
                    tied = False
                of_largest = rest
            if here > least + _SAME:
                top += rest
                above += 1
            elif here > least - _SAME:
                if of_least >= 0 and of_least != rest:
                    tied = False
                of_least = rest
            note[label, REMAINDER] = 0
        if count > above:
            top += (count - above) * of_least
        floor = note[n_labels, N_ALL] % prime * power(np.int64(n_labels), prime - 2, prime) % prime
        top = (top + min(l - 1, n_labels) * floor) % prime
        first = (max(of_largest, 0) + floor) % prime
        rest = (top - note[n_labels, N_LINKED]) % prime
        if (requirement.under[which] * first % prime + requirement.over[which] * rest) % prime != 0:
            tied = False
    return tied


@kernel
def satisfies(sizes, ats, labels, prior, requirement, tally):
    """Tally a group; return whether it is safe, its squared distance, its excess and whether it is a tie.

    sizes[i] and ats[i] tell the labels of record i: labels[at:at + size]. The tally is left filled.
    """
    clear(tally)
    safe = True
    for i in range(sizes.size):
        put(sizes[i], ats[i], labels, 1.0, tally)
        if sizes[i] == 0 and requirement.unlinked == FORBID:
            safe = False
    linked = tally.note[prior.size, N_LINKED]
    m = linked if requirement.unlinked == LINKED else sizes.size
    distance = squared_distance(m, prior, requirement, tally)
    over, tie, none = 0.0, False, np.int64(0)
    if linked > 0 and requirement.limit >= 0.0 and distance > requirement.bound:
        safe = False
    if linked > 0 and requirement.l > 0:
        over = mixed_excess(requirement.l, requirement.c, sizes, none, none, none, tally)
        if over > NEAR * linked:
            safe = False
        elif over > -NEAR * linked and safe:
            tie = True
            safe = is_tied(sizes, ats, labels, requirement, tally)
    return safe, distance, over, tie


@kernel
def judge_both(groups, start, size_at, at_at, labels, prior, requirement, safe, distance, tie):
    """Say for each of some groups whether it is safe, its squared distance and whether its diversity is a tie.

    The records of group g are the positions start[g]:start[g + 1]; size_at and at_at tell their labels.
    """
    tally = make_tally(prior.size, requirement.l)
    for i in range(groups.size):
        group = groups[i]
        first, last = start[group], start[group + 1]
        safe[group], distance[group], _over, tie[group] = satisfies(
            size_at[first:last], at_at[first:last], labels, prior, requirement, tally
        )


@kernel
def judge_closeness(groups, start, size_at, at_at, labels, prior, requirement, safe, distance):
    """Say for each of some groups whether it is close enough to the prior, and its squared distance."""
    tally = make_tally(prior.size, np.int64(0))
    for i in range(groups.size):
        group = groups[i]
        clear(tally)
        explained = True
        for at in range(start[group], start[group + 1]):
            put(size_at[at], at_at[at], labels, 1.0, tally)
            if size_at[at] == 0:
                explained = False
        linked = tally.note[prior.size, N_LINKED]
        m = linked if requirement.unlinked == LINKED else start[group + 1] - start[group]
        distance[group] = squared_distance(m, prior, requirement, tally)
        safe[group] = (explained or requirement.unlinked != FORBID) and not (
            linked > 0 and requirement.limit >= 0.0 and distance[group] > requirement.bound
        )


def judge(
    groups: Ints,
    start: Ints,
    size_at: Ints,
    at_at: Ints,
    labels: Any,
    prior: NDArray[np.float64],
    requirement: Requirement,
    safe: NDArray[np.bool_],
    distance: NDArray[np.float64],
    tie: NDArray[np.bool_],
) -> None:
    """Judge some groups; what is not asked for is not compiled either."""
    where = (groups, start, size_at, at_at, labels, prior, requirement, safe, distance)
    if requirement.l > 0:
        judge_both(*where, tie)
    else:
        tie[groups] = False
        judge_closeness(*where)
