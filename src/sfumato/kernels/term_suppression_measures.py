"""How safe a group is: the distance to the prior, and the margin of (c, l)-diversity.

A tally holds the mass of every label in a group: each linked record spreads one over its labels. Records with all labels
are counted apart, for they add the same to every label. `m` is the number of records that a belief is an average over.

With masses p1 >= p2 >= ... and their sum M, (c, l)-diversity asks that p1 + c * (sum of the l - 1 largest) <= c * M; the
left side minus the right is called the excess. It is decided in floats unless it is very near zero; then remainders
modulo two primes tell whether it is zero, and what is not surely zero counts as failed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import kernel

LINKED, ZERO, FORBID = range(3)  # what a record counts that no label explains
NEAR = 1e-11  # excess per record below which floats do not decide
PRIMES = (2_147_483_647, 2_147_483_629)
_SAME = 1e-13  # masses that differ by less are compared by their remainders

N_TOUCHED, N_ALL, N_LINKED = range(3)


class Requirement(NamedTuple):
    """What a group must satisfy; l = 0 asks for no diversity, limit < 0 for no closeness."""

    unlinked: int  # LINKED, ZERO or FORBID
    limit: float  # of the squared distance, for answers
    bound: float  # the same, a little larger: what is beyond it is surely too far
    l: int
    c: float
    c_modulo: tuple[int, int, int, int]  # numerator and denominator of c modulo the first prime, then the second
    prior_sum: float
    prior_square: float


class Tally(NamedTuple):
    """The mass of every label. n labels."""

    mass: NDArray[np.float64]  # (n,), zero where not seen
    seen: NDArray[np.bool_]  # (n,)
    touched: NDArray[np.int32]  # (n,)
    number: NDArray[np.int64]  # (3,)
    sorted: NDArray[np.float64]  # (n + more,) room to sort in
    remainder: NDArray[np.int64]  # (n, 2) zero between uses


@kernel
def make_tally(n_labels, more):
    """Return an empty tally, with room to sort `more` masses besides those of labels."""
    return Tally(
        np.zeros(n_labels),
        np.zeros(n_labels, dtype=np.bool_),
        np.empty(n_labels, dtype=np.int32),
        np.zeros(3, dtype=np.int64),
        np.empty(n_labels + more),
        np.zeros((n_labels, 2), dtype=np.int64),
    )


@kernel
def clear(tally):
    """Take everything out of a tally."""
    for i in range(tally.number[N_TOUCHED]):
        label = tally.touched[i]
        tally.mass[label] = 0.0
        tally.seen[label] = False
    tally.number[:] = 0


@kernel
def put(size, at, labels, tally):
    """Add a record with `size` labels."""
    if size == 0:
        return
    tally.number[N_LINKED] += 1
    if size == tally.mass.size:
        tally.number[N_ALL] += 1
        return
    share = 1.0 / size
    n = tally.number[N_TOUCHED]
    for i in range(at, at + size):
        label = labels[i]
        if not tally.seen[label]:
            tally.seen[label] = True
            tally.touched[n] = label
            n += 1
        tally.mass[label] += share
    tally.number[N_TOUCHED] = n


@kernel
def take(size, at, labels, tally):
    """Remove a record that was added before."""
    if size == 0:
        return
    tally.number[N_LINKED] -= 1
    if size == tally.mass.size:
        tally.number[N_ALL] -= 1
        return
    share = 1.0 / size
    for i in range(at, at + size):
        left = tally.mass[labels[i]] - share
        tally.mass[labels[i]] = left if left > 1e-12 else 0.0


@kernel
def squared_distance(m, prior, requirement, tally):
    """Return the squared distance between the belief and the prior; 0 when nothing is linked."""
    if tally.number[N_LINKED] == 0:
        return 0.0
    n_labels = prior.size
    floor = tally.number[N_ALL] / n_labels
    square, product = 0.0, 0.0
    for i in range(tally.number[N_TOUCHED]):
        label = tally.touched[i]
        mass = tally.mass[label]
        square += mass * (mass + 2.0 * floor)
        product += mass * prior[label]
    square += n_labels * floor * floor
    product += floor * requirement.prior_sum
    distance = requirement.prior_square + square / (m * m) - 2.0 * product / m
    if distance < 1e-5:  # the difference of nearly equal numbers: sum small squares instead
        distance = 0.0
        for label in range(n_labels):
            gap = (tally.mass[label] + floor) / m - prior[label]
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
def excess(l, c, tally):
    """Return the excess of (c, l)-diversity."""
    n_labels = tally.mass.size
    floor = tally.number[N_ALL] / n_labels
    largest = 0.0
    n = tally.number[N_TOUCHED]
    for i in range(n):
        mass = tally.mass[tally.touched[i]]
        tally.sorted[i] = mass
        largest = max(largest, mass)
    top = sum_of_largest(tally.sorted, n, l - 1) + min(l - 1, n_labels) * floor
    return largest + floor + c * top - c * tally.number[N_LINKED]


@kernel
def _power(base, exponent, prime):
    result = np.int64(1)
    while exponent > 0:
        if exponent & 1:
            result = result * base % prime
        base = base * base % prime
        exponent >>= 1
    return result


@kernel
def _is_zero(l, c_modulo, sizes, ats, labels, tally):
    """Return whether the excess is zero modulo both primes, and no choice among equal masses is in doubt."""
    n_labels = tally.mass.size
    n = tally.number[N_TOUCHED]
    remainder = tally.remainder
    largest = 0.0
    for i in range(n):
        tally.sorted[i] = tally.mass[tally.touched[i]]
        largest = max(largest, tally.sorted[i])
    count = min(l - 1, n)
    sum_of_largest(tally.sorted, n, count)
    least = 0.0  # the smallest of the l - 1 largest
    for i in range(count):
        least = tally.sorted[i] if i == 0 else min(least, tally.sorted[i])
    zero = True
    for which in range(2):
        prime = PRIMES[which]
        for i in range(sizes.size):
            if sizes[i] > 0 and sizes[i] < n_labels:
                inverse = _power(np.int64(sizes[i]), prime - 2, prime)
                for at in range(ats[i], ats[i] + sizes[i]):
                    remainder[labels[at], which] = (remainder[labels[at], which] + inverse) % prime
        of_largest, of_least, top, above = np.int64(-1), np.int64(-1), np.int64(0), 0
        for i in range(n):
            label = tally.touched[i]
            mass, rest = tally.mass[label], remainder[label, which]
            if mass > largest - _SAME:
                zero &= of_largest < 0 or of_largest == rest
                of_largest = rest
            if mass > least + _SAME:
                top += rest
                above += 1
            elif mass > least - _SAME:
                zero &= of_least < 0 or of_least == rest
                of_least = rest
            remainder[label, which] = 0
        if count > above:
            top += (count - above) * of_least
        floor = tally.number[N_ALL] % prime * _power(np.int64(n_labels), prime - 2, prime) % prime
        top = (top + min(l - 1, n_labels) * floor) % prime
        first = (max(of_largest, 0) + floor) % prime
        over, under = np.int64(c_modulo[2 * which]), np.int64(c_modulo[2 * which + 1])
        rest = (top - tally.number[N_LINKED]) % prime
        zero &= (under * first + over * rest) % prime == 0
    return zero


@kernel
def satisfies(sizes, ats, labels, prior, requirement, tally):
    """Fill the tally with a group and return whether it is safe, its squared distance, its excess and whether it is a tie.

    sizes[i] and ats[i] tell the labels of record i: labels[at:at + size]. The tally is left filled.
    """
    clear(tally)
    allowed = True
    for i in range(sizes.size):
        put(sizes[i], ats[i], labels, tally)
        if sizes[i] == 0 and requirement.unlinked == FORBID:
            allowed = False
    linked = tally.number[N_LINKED]
    m = linked if requirement.unlinked == LINKED else sizes.size
    distance = squared_distance(m, prior, requirement, tally)
    over, tie = 0.0, False
    if linked == 0:
        return allowed, distance, over, tie
    if requirement.limit >= 0.0 and distance > requirement.bound:
        allowed = False
    if requirement.l > 0:
        over = excess(requirement.l, requirement.c, tally)
        if over > NEAR * linked:
            allowed = False
        elif over > -NEAR * linked and allowed:
            tie = True
            allowed = _is_zero(requirement.l, requirement.c_modulo, sizes, ats, labels, tally)
    return allowed, distance, over, tie
