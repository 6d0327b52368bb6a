"""Records as numbered sets of terms, linked to labels, with what their terms are worth, and the prior that follows.

Sizes: n records, r rows and e terms of the knowledge table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.terms.links import Links, Lists, Sets, make_links, weigh_sets
from sfumato.kernels.terms.measures import FORBID, LINKED, PRIMES, ZERO
from sfumato.kernels.terms.sets import add_up_prior, link_sets, number_sets
from sfumato.kernels.terms.subsets import BITS

POLICIES = {"ask": FORBID, "linked": LINKED, "zero": ZERO, "forbid": FORBID}
_EXACT_WIDTH = 30  # terms up to which costs are exact: the least common multiple of 1..30 leaves room for large groups
_LARGEST_WORTH = 1 << 31  # of a record's terms, in whole units
INVERSE, COUNT = "inverse", "count"  # what a removed term costs: 1 / terms left, or one

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Records(NamedTuple):
    """Records as numbered sets of terms, with the knowledge table that they are looked up in."""

    start: Ints  # (n + 1,)
    term_of_item: NDArray[np.int32]  # -1: not in the knowledge table
    set_of: NDArray[np.int32]  # (n,)
    sets: Sets
    links: Links  # without a prior yet
    harmonic: Ints  # 1 + 1/2 + ... + 1/i in whole units
    unit: int  # how many of them make one
    words: int  # that say which terms stay

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Which records some label explains as they are, shape (n,)."""
        return (self.sets.size > 0)[self.set_of]


def code_records(
    start: Ints,
    term_of_item: NDArray[np.int32],
    row_start: Ints,
    row_terms: NDArray[np.int32],
    label_of_row: NDArray[np.int32],
    n_terms: int,
    n_labels: int,
    likelihood: Sequence[Fraction] | None = None,
    misses: int = 0,
    cost: str = INVERSE,
    worth: Sequence[Fraction] | None = None,
) -> Records:
    """Number equal records once and link them to labels.

    Record i has the terms term_of_item[start[i]:start[i + 1]], without repeats; row j of the knowledge table belongs to
    label_of_row[j], ascending, and has the terms row_terms[row_start[j]:row_start[j + 1]], ascending. With a
    likelihood, of each of these terms, labels have one row each. `worth` is that of each term of the table; one
    that is not in it is worth 1.
    """
    start = np.ascontiguousarray(start, dtype=np.int64)
    term_of_item = np.ascontiguousarray(term_of_item, dtype=np.int32)
    scaled, unit = (None, 0) if worth is None else whole_numbers(worth, int(np.diff(start).max(initial=0)))
    weighed = None if likelihood is None else _modulo_primes(likelihood)
    links = make_links(row_start, row_terms, label_of_row, n_terms, np.zeros(n_labels), weighed, misses, scaled)
    n = start.size - 1
    set_of, unknown = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    set_start = np.zeros(n + 1, dtype=np.int64)
    terms = np.empty(max(term_of_item.size, 1), dtype=np.int32)
    n_sets = number_sets(start, term_of_item, set_of, set_start, terms, unknown)
    set_start, unknown = set_start[: n_sets + 1].copy(), unknown[:n_sets].copy()
    terms = terms[: set_start[-1]].copy()
    size, at_of = np.empty(n_sets, dtype=np.int32), np.empty(n_sets, dtype=np.int64)
    found = link_sets(set_start, terms, unknown, links, size, at_of)
    weights = found.size if likelihood is not None else 0
    labels = Lists(found, np.empty(weights), np.empty((2, weights), dtype=np.int64))
    if likelihood is not None:
        weigh_sets(set_start, terms, size, at_of, links, labels)
    known = int(np.diff(set_start).max(initial=0))
    most = int((np.diff(set_start) + unknown).max(initial=0))
    if scaled is None:
        harmonic, unit = harmonic_numbers(most) if cost == INVERSE else (np.arange(most + 1), 1)
        total = harmonic[np.diff(set_start) + unknown]
    else:
        harmonic = np.zeros(most + 1, dtype=np.int64)  # not used
        of_set = np.repeat(np.arange(n_sets), np.diff(set_start))
        total = np.bincount(of_set, weights=scaled[terms], minlength=n_sets).astype(np.int64) + unknown * unit
    sets = Sets(start=set_start, terms=terms, unknown=unknown, size=size, at=at_of, labels=labels, worth=total)
    words = max(1, -(-known // BITS))
    return Records(start, term_of_item, set_of, sets, links, harmonic, unit, words)


def whole_numbers(worth: Sequence[Fraction], most: int) -> tuple[Ints, int]:
    """Return what terms are worth in whole units, and how many units make one; rounded where too many are needed.

    A record has `most` terms at most; what all its terms are worth together has to fit 31 bits.

    >>> whole_numbers([Fraction(1, 2), Fraction(2)], 3)
    (array([1, 4]), 2)
    """
    largest = max(*worth, Fraction(1)) * max(most, 1)
    exact = math.lcm(*(each.denominator for each in worth))
    unit = exact if exact * largest < _LARGEST_WORTH else int(_LARGEST_WORTH / largest)
    return np.array([max(round(each * unit), 1) for each in worth], dtype=np.int64), unit


def _modulo_primes(likelihood: Sequence[Fraction]) -> tuple[Floats, Ints]:
    """Return how often terms go with labels as floats, and modulo the primes, shapes (terms,) and (2, terms)."""
    known: dict[Fraction, tuple[float, list[int]]] = {}
    for each in likelihood:
        if each not in known:
            residue = [each.numerator * pow(each.denominator, -1, prime) % prime for prime in PRIMES]
            known[each] = float(each), residue
    found = [known[each] for each in likelihood]
    residues = np.array([residue for _, residue in found], dtype=np.int64).reshape(-1, 2).T
    return np.array([value for value, _ in found]), np.ascontiguousarray(residues)


def harmonic_numbers(most: int) -> tuple[Ints, int]:
    """Return H(0), ..., H(most) in whole units, and how many units make one; exact up to 30 terms.

    >>> harmonic_numbers(3)
    (array([ 0,  6,  9, 11]), 6)
    """
    unit = math.lcm(*range(1, most + 1)) if most <= _EXACT_WIDTH else 1 << 40
    parts = [Fraction(unit, number) for number in range(1, most + 1)]
    return np.array([round(sum(parts[:i])) for i in range(most + 1)], dtype=np.int64), unit


def estimate_prior(records: Records, unlinked: str = "linked") -> Floats:
    """Return what records as they are tell about each label: the mean of their beliefs, shape (labels,).

    >>> knowledge = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    >>> records = code_records(np.array([0, 1, 1]), np.array([0], np.int32), *knowledge, 2, 2)
    >>> estimate_prior(records)
    array([0.75, 0.25])
    """
    weight = np.bincount(records.set_of, minlength=records.sets.size.size).astype(np.int64)
    by_size = np.argsort(records.sets.size, kind="stable")
    prior = np.zeros(records.links.prior.size)
    sets = records.sets
    if sets.labels.share.size:
        size = np.where(sets.at < 0, 0, sets.size)
        place = np.concatenate([np.arange(at, at + n) for at, n in zip(sets.at, size, strict=True)])
        np.add.at(prior, sets.labels.label[place], sets.labels.share[place] * np.repeat(weight, size))
        prior += weight[sets.at < 0].sum() / prior.size
        linked = weight[sets.size > 0].sum()
    else:
        linked = add_up_prior(by_size, sets.size, sets.at, sets.labels.label, weight, prior)
    m = records.set_of.size if POLICIES[unlinked] == ZERO else int(linked)
    return prior / max(m, 1)
