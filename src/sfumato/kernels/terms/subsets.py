"""The subsets of a record's terms that matter, and the knowledge rows that have any of them.

Only closed sets matter where all labels of a list are equally likely: keeping one more term must lose a label, or else
the larger set is as safe and cheaper. Up to `SMALL` terms all subsets are counted at once; beyond that closed sets are
found as intersections of what knowledge rows have in common with the record, `CAP` of them at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

SMALL = 14  # terms in a set whose subsets are all counted
CAP = 4096  # closed sets of a larger one
BITS = 60  # of a word
TABLE = 1 << SMALL
_HASH = 4 * CAP

COUNT, PLACE, START, LENGTH, KEY = range(5)  # columns of Subsets.note

Ints = NDArray[np.int64]


class Subsets(NamedTuple):
    """The closed subsets of one set of terms while they are listed; room for one thread."""

    row_bits: Ints  # (r, words), zero between uses
    touched: NDArray[np.int32]  # (r,)
    bits: Ints  # (TABLE, words)
    note: Ints  # (TABLE, 5): COUNT and PLACE by subset; START, LENGTH and KEY by option
    slots: NDArray[np.int32]  # (_HASH,)


def make_subsets(n_rows: int, words: int) -> Subsets:
    """Return empty room for a knowledge table of so many rows."""
    return Subsets(
        row_bits=np.zeros((n_rows, words), dtype=np.int64),
        touched=np.empty(n_rows, dtype=np.int32),
        bits=np.empty((TABLE, words), dtype=np.int64),
        note=np.empty((TABLE, 5), dtype=np.int64),
        slots=np.empty(_HASH, dtype=np.int32),
    )


@kernel
def touch_rows(terms, links, subsets):
    """Set bit b of row_bits[row] where a row has terms[b]; return how many rows have any. `touched` lists them."""
    row_bits, touched = subsets.row_bits, subsets.touched
    term_start, term_rows = links.term_start, links.term_rows
    n_rows, words = row_bits.shape
    n = 0
    for bit in range(terms.size):
        word, flag = bit // BITS, np.int64(1) << (bit % BITS)
        for at in range(term_start[terms[bit]], term_start[terms[bit] + 1]):
            row = term_rows[at]
            fresh = True
            for other in range(words):
                if row_bits[row, other] != 0:
                    fresh = False
            if fresh:
                touched[n] = row
                n += 1
            row_bits[row, word] |= flag
    if n_rows > links.prior.size:  # labels with several rows: bring those of one label together
        n = 0
        for row in range(n_rows):
            fresh = False
            for other in range(words):
                if row_bits[row, other] != 0:
                    fresh = True
            if fresh:
                touched[n] = row
                n += 1
    return n


@kernel
def _nearly(subset, note):
    """Return how many rows lack one term of a subset that no row has as a whole; 0 where one has it."""
    if note[subset, COUNT] > 0:
        return np.int64(0)
    count, rest = np.int64(0), subset
    while rest != 0:
        count += note[subset & ~(rest & -rest), COUNT]
        rest &= rest - 1
    return count


@kernel
def closed_by_counting(width, n_touched, every, misses, subsets):
    """List the closed subsets of a small set in subsets.bits and how many rows have each as LENGTH; return how many.

    `every`: also those that are not closed, if some row has them. With `misses`, also those that no row has as a whole,
    where one term more would lose a row that lacks a single one of them, or every one that some row lacks one of.
    """
    row_bits, touched, bits, note = subsets.row_bits, subsets.touched, subsets.bits, subsets.note
    full = np.int64(1) << width
    for subset in range(full):
        note[subset, COUNT] = 0
        note[subset, PLACE] = -1
    note[0, COUNT] = touched.size - n_touched
    for i in range(n_touched):
        note[row_bits[touched[i], 0], COUNT] += 1
    for bit in range(width):
        flag = np.int64(1) << bit
        for subset in range(full):
            if subset & flag == 0:
                note[subset, COUNT] += note[subset | flag, COUNT]
    n = 0
    for subset in range(full):
        count = note[subset, COUNT]
        closed = count > 0
        flag = np.int64(1)
        while closed and flag < full and not every:
            if subset & flag == 0 and note[subset | flag, COUNT] == count:
                closed = False
            flag <<= 1
        if closed:
            note[subset, PLACE] = n
            bits[n, 0] = subset
            note[n, LENGTH] = count
            n += 1
    if misses == 0:
        return n
    for subset in range(full):
        count = _nearly(subset, note)
        closed = count > 0
        flag = np.int64(1)
        while closed and flag < full and not every:
            if subset & flag == 0 and _nearly(subset | flag, note) == count:
                closed = False
            flag <<= 1
        if closed:
            note[subset, PLACE] = n
            bits[n, 0] = subset
            note[n, LENGTH] = count
            n += 1
    return n


@kernel
def bits_in(bits, row):
    """Return how many bits are set in a row."""
    count = 0
    for word in range(bits.shape[1]):
        rest = bits[row, word]
        while rest != 0:
            rest &= rest - 1
            count += 1
    return count


@kernel
def _enter(n, bits, slots, note):
    """Return where bits[n] stands among the sets before it; n itself when it is new."""
    words = bits.shape[1]
    spot = np.int64(0)
    for word in range(words):
        spot = (spot ^ bits[n, word]) * np.int64(-7046029254386353131)
        spot ^= (spot >> 29) & np.int64(0x7FFFFFFFF)
    spot &= _HASH - 1
    while slots[spot] >= 0:
        other = slots[spot]
        same = True
        for word in range(words):
            if bits[other, word] != bits[n, word]:
                same = False
        if same:
            return np.int64(other)
        spot = (spot + 1) & (_HASH - 1)
    slots[spot] = n
    note[n, COUNT] = 0
    return np.int64(n)


@kernel
def closed_by_intersection(width, n_touched, subsets):
    """List closed subsets of a large set in subsets.bits; return how many there are and whether some are missing.

    First those that single terms and pairs lead to, so that small sets are there when the cap bites, then what
    knowledge rows have in common, largest first. COUNT tells which sets were already intersected with all others.
    """
    row_bits, touched, bits, note, slots = subsets.row_bits, subsets.touched, subsets.bits, subsets.note, subsets.slots
    words = bits.shape[1]
    for spot in range(_HASH):
        slots[spot] = -1
    n = np.int64(0)
    one, two = -1, 0
    row_at, most = 0, width
    known, other, row = np.int64(0), np.int64(0), np.int64(-1)
    while True:  # each turn writes one candidate to bits[n]
        if n >= CAP:
            return n, True
        found = False
        seed = False
        if one < width:  # what all rows with two terms (or one, or none) have in common
            for word in range(words):
                bits[n, word] = -1
            for i in range(n_touched):
                here = touched[i]
                if one < 0 or (
                    row_bits[here, one // BITS] >> (one % BITS) & 1 and row_bits[here, two // BITS] >> (two % BITS) & 1
                ):
                    found = True
                    for word in range(words):
                        bits[n, word] &= row_bits[here, word]
            if one < 0 and n_touched < touched.size:
                found = True
                for word in range(words):
                    bits[n, word] = 0
            two += 1
            if two > one:
                one, two = one + 1, 0
        elif row >= 0 and other < known:
            found = True
            for word in range(words):
                bits[n, word] = bits[other, word] & row_bits[row, word]
            other += 1
        else:  # the next row, those with the most terms first
            while most > 0:
                if row_at == n_touched:
                    row_at, most = 0, most - 1
                    continue
                row_at += 1
                if bits_in(row_bits, np.int64(touched[row_at - 1])) == most:
                    break
            if most == 0:
                return n, False
            row, seed, found = np.int64(touched[row_at - 1]), True, True
            known, other = n, np.int64(0)
            for word in range(words):
                bits[n, word] = row_bits[row, word]
        if not found:
            continue
        entry = _enter(n, bits, slots, note)
        if entry == n:
            n += 1
        if seed:
            if note[entry, COUNT] != 0:
                row = np.int64(-1)  # another row has the same terms of the set
            note[entry, COUNT] = 1
