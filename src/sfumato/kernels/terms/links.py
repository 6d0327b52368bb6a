"""The knowledge table as loops use it, sets of terms, and lists of labels: even, or weighed by how typical terms are.

Where a table says how often who has a label has a term, labels of a list are not equally likely: each gets the product
of these for the terms that are kept, divided by the sum over the list. Labels have one row each then, so the number of
a row is that of its label. A term that a label lacks, where one may be overlooked, is a slip: it counts 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.measures import PRIMES, power

Ints = NDArray[np.int64]
_TINY = 1e-100  # products are scaled up before they vanish


class Links(NamedTuple):
    """The knowledge table from both sides, and the prior. Sizes: r rows, e terms, n labels."""

    row_start: Ints  # (r + 1,)
    row_terms: NDArray[np.int32]  # ascending within a row
    label_of_row: NDArray[np.int32]  # (r,) ascending
    term_start: Ints  # (e + 1,)
    term_rows: NDArray[np.int32]  # rows with a term, ascending
    prior: NDArray[np.float64]  # (n,)
    likelihood: NDArray[np.float64]  # how often who has the label has the term, as row_terms; empty: not told
    residue: Ints  # (2, terms of rows): the same modulo the primes
    worth: Ints  # (e,) what each term is worth in whole units; empty: terms are worth what their number says
    misses: int  # terms that a label may lack, 0 or 1, where no label has all terms of a set


class Lists(NamedTuple):
    """Labels of many sets, one list after the other."""

    label: NDArray[np.int32]
    share: NDArray[np.float64]  # of each label in its list; empty: all labels of a list are equally likely
    residue: Ints  # (2, labels): the same modulo the primes


def make_lists(room: int, links: Links) -> Lists:
    """Return room for so many labels."""
    weighed = room if links.likelihood.size else 0
    return Lists(np.empty(room, dtype=np.int32), np.empty(weighed), np.empty((2, weighed), dtype=np.int64))


class Sets(NamedTuple):
    """Distinct sets of terms, and which labels each is linked to as it is. Sizes: s sets."""

    start: Ints  # (s + 1,)
    terms: NDArray[np.int32]  # ascending within a set
    unknown: NDArray[np.int32]  # (s,)
    size: NDArray[np.int32]  # (s,) labels that it is linked to
    at: Ints  # (s,) where they stand in `labels`; -1: they are all, equally likely, and not listed
    labels: Lists
    worth: Ints  # (s,) of all terms, in whole units


@kernel
def _lacks(row, terms, links):
    """Return how many of the terms a row lacks: 0, 1, or 2 for more."""
    lacking = 0
    for i in range(terms.size):
        low, high = links.row_start[row], links.row_start[row + 1]
        while low < high:
            middle = (low + high) >> 1
            if links.row_terms[middle] < terms[i]:
                low = middle + 1
            else:
                high = middle
        if low == links.row_start[row + 1] or links.row_terms[low] != terms[i]:
            lacking += 1
            if lacking > 1:
                break
    return lacking


@kernel
def link_nearly(terms, links, labels, used):
    """Append the labels with a row that lacks one of the terms; return where they end.

    Such a row has one of any two terms: those of the shortest lists. There is room for both lists.
    """
    start = links.term_start
    one, two = -1, -1
    for i in range(terms.size):
        length = start[terms[i] + 1] - start[terms[i]]
        if one < 0 or length < start[terms[one] + 1] - start[terms[one]]:
            one, two = i, one
        elif two < 0 or length < start[terms[two] + 1] - start[terms[two]]:
            two = i
    if two < 0:
        return used
    begin = used
    a, end_a = start[terms[one]], start[terms[one] + 1]
    b, end_b = start[terms[two]], start[terms[two] + 1]
    while a < end_a or b < end_b:
        row = links.term_rows[a] if a < end_a else links.term_rows[b]
        if b < end_b and links.term_rows[b] < row:
            row = links.term_rows[b]
        a += a < end_a and links.term_rows[a] == row
        b += b < end_b and links.term_rows[b] == row
        label = links.label_of_row[row]
        if (used == begin or labels[used - 1] != label) and _lacks(row, terms, links) < 2:
            labels[used] = label
            used += 1
    return used


@kernel
def weigh(terms, n, first, size, links, lists):
    """Write the shares of a list of labels, given the n first of `terms` as those that are kept."""
    label, share, residue = lists
    for at in range(first, first + size):
        share[at], residue[0, at], residue[1, at] = 1.0, 1, 1
    for i in range(n):
        largest = 0.0
        for at in range(first, first + size):
            low, high = links.row_start[label[at]], links.row_start[label[at] + 1]
            while low < high:
                middle = (low + high) >> 1
                if links.row_terms[middle] < terms[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < links.row_start[label[at] + 1] and links.row_terms[low] == terms[i]:
                share[at] *= links.likelihood[low]
                for which in range(2):
                    residue[which, at] = residue[which, at] * links.residue[which, low] % PRIMES[which]
            largest = max(largest, share[at])
        if largest < _TINY:
            for at in range(first, first + size):
                share[at] /= largest
    total, rest = 0.0, np.zeros(2, dtype=np.int64)
    for at in range(first, first + size):
        total += share[at]
        for which in range(2):
            rest[which] = (rest[which] + residue[which, at]) % PRIMES[which]
    for which in range(2):
        rest[which] = power(rest[which], PRIMES[which] - 2, PRIMES[which])
    for at in range(first, first + size):
        share[at] /= total
        for which in range(2):
            residue[which, at] = residue[which, at] * rest[which] % PRIMES[which]


@kernel
def weigh_sets(set_start, set_terms, size, at_of, links, lists):
    """Write the shares of the labels of every set as it is."""
    for number in range(size.size):
        terms = set_terms[set_start[number] : set_start[number + 1]]
        if size[number] > 0 and at_of[number] >= 0:
            weigh(terms, terms.size, at_of[number], size[number], links, lists)


def inverted(links_start: Ints, terms: NDArray[np.int32], n_terms: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return for every term the rows that have it: where each term's rows start, and the rows."""
    row_of = np.repeat(np.arange(links_start.size - 1, dtype=np.int32), np.diff(links_start))
    order = np.argsort(terms, kind="stable")
    start = np.zeros(n_terms + 1, dtype=np.int64)
    np.cumsum(np.bincount(terms, minlength=n_terms), out=start[1:])
    return start, row_of[order]


def make_links(
    start: Ints,
    terms: Any,
    label_of_row: Any,
    n_terms: int,
    prior: NDArray[np.float64],
    likelihood: tuple[NDArray[np.float64], Ints] | None = None,
    misses: int = 0,
    worth: Ints | None = None,
) -> Links:
    """Return the knowledge table, given as rows of terms and the label of each row, from both sides.

    likelihood: how often who has the label of a row has each of its terms, and the same modulo the primes.
    """
    even = np.empty(0), np.empty((2, 0), dtype=np.int64)
    terms = np.ascontiguousarray(terms, dtype=np.int32)
    term_start, term_rows = inverted(np.asarray(start, dtype=np.int64), terms, n_terms)
    return Links(
        row_start=np.ascontiguousarray(start, dtype=np.int64),
        row_terms=terms,
        label_of_row=np.ascontiguousarray(label_of_row, dtype=np.int32),
        term_start=term_start,
        term_rows=term_rows,
        prior=np.ascontiguousarray(prior, dtype=np.float64),
        likelihood=(likelihood or even)[0],
        residue=(likelihood or even)[1],
        worth=np.empty(0, dtype=np.int64) if worth is None else worth,
        misses=misses,
    )
