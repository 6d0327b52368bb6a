"""What a record can be published with: the kept term sets that matter, and the labels that each is linked to.

Only closed sets matter: keeping one more term must lose a label, or else the larger set is as safe and cheaper. Up to
`SMALL` terms all subsets are counted at once; beyond that closed sets are found as intersections of what knowledge rows
have in common with the record, `CAP` of them at most.

Words: a *set* is the terms of a record that the knowledge table knows, plus a count of terms that it does not know; an
*option* is one way to publish a set. Options of a set stand together, cheapest first, then those with the most labels.
An option without labels keeps everything and is linked to nothing. An option with all labels needs no list.

Costs are whole numbers, so equal costs are equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

SMALL = 14  # terms in a set whose subsets are all counted
CAP = 4096  # closed sets of a larger one
BITS = 60  # of a word
_TABLE = 1 << SMALL
_HASH = 4 * CAP

COST, KEPT, SIZE, AT = range(4)  # columns of Menu.table
PRIOR, PLAIN, TANGENT = range(3)  # columns of Menu.value
COUNT, PLACE, START, LENGTH, KEY = range(5)  # columns of Subsets.note

Ints = NDArray[np.int64]


class Links(NamedTuple):
    """The knowledge table from both sides, and the prior. Sizes: r rows, e terms, n labels."""

    row_start: Ints  # (r + 1,)
    row_terms: NDArray[np.int32]  # ascending within a row
    label_of_row: NDArray[np.int32]  # (r,) ascending
    term_start: Ints  # (e + 1,)
    term_rows: NDArray[np.int32]  # rows with a term, ascending
    prior: NDArray[np.float64]  # (n,)


class Sets(NamedTuple):
    """Distinct sets of terms, and which labels each is linked to as it is. Sizes: s sets."""

    start: Ints  # (s + 1,)
    terms: NDArray[np.int32]  # ascending within a set
    unknown: NDArray[np.int32]  # (s,)
    size: NDArray[np.int32]  # (s,) labels that it is linked to
    at: Ints  # (s,) where they stand in `labels`; not listed when they are all
    labels: NDArray[np.int32]


class Menu(NamedTuple):
    """Options of many sets, one row each."""

    table: Ints  # (options, 4): COST, KEPT, SIZE, AT; labels of an option are labels[AT:AT + SIZE]
    value: NDArray[np.float64]  # (options, 3): the labels' mass in the prior, and room for a search
    labels: NDArray[np.int32]


class Pool(NamedTuple):
    """A menu under construction, and which set each part of it belongs to."""

    used: Ints  # (3,) slots, options and labels in use
    slot: Ints  # (slots, 4): the set, its first option, the one after its last, whether options are missing
    kept_bits: Ints  # (options, words): which terms are kept
    slot_of_set: NDArray[np.int32]  # (s,) -1: not in the pool


class Subsets(NamedTuple):
    """The closed subsets of one set of terms while they are listed; room for one thread."""

    row_bits: Ints  # (r, words), zero between uses
    touched: NDArray[np.int32]  # (r,)
    bits: Ints  # (_TABLE, words)
    note: Ints  # (_TABLE, 5): COUNT and PLACE by subset; START, LENGTH and KEY by option
    slots: NDArray[np.int32]  # (_HASH,)


def make_subsets(n_rows: int, words: int) -> Subsets:
    """Return empty room for a knowledge table of so many rows."""
    return Subsets(
        row_bits=np.zeros((n_rows, words), dtype=np.int64),
        touched=np.empty(n_rows, dtype=np.int32),
        bits=np.empty((_TABLE, words), dtype=np.int64),
        note=np.empty((_TABLE, 5), dtype=np.int64),
        slots=np.empty(_HASH, dtype=np.int32),
    )


def make_pool(n_sets: int, words: int, options: int, labels: int) -> tuple[Pool, Menu]:
    """Return a pool without options, and room for so many of them and their labels."""
    pool = Pool(
        used=np.zeros(3, dtype=np.int64),
        slot=np.empty((options, 4), dtype=np.int64),
        kept_bits=np.empty((options, words), dtype=np.int64),
        slot_of_set=np.full(n_sets, -1, dtype=np.int32),
    )
    menu = Menu(
        table=np.empty((options, 4), dtype=np.int64),
        value=np.empty((options, 3), dtype=np.float64),
        labels=np.empty(labels, dtype=np.int32),
    )
    return pool, menu


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
def closed_by_counting(width, n_touched, subsets):
    """List the closed subsets of a small set in subsets.bits and how many rows have each as LENGTH; return how many."""
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
        while closed and flag < full:
            if subset & flag == 0 and note[subset | flag, COUNT] == count:
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


@kernel
def _sort(note, n):
    """Sort the first n keys."""
    gap = 1
    while gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key = note[i, KEY]
            at = i
            while at >= gap and note[at - gap, KEY] > key:
                note[at, KEY] = note[at - gap, KEY]
                at -= gap
            note[at, KEY] = key
        gap //= 3


@kernel
def _list_labels(small, n, n_touched, label_of_row, subsets, labels, listed):
    """Write the labels of every option found, in the order of rows; return where they end, -1 when there is no room."""
    row_bits, touched, bits, note = subsets.row_bits, subsets.touched, subsets.bits, subsets.note
    words = bits.shape[1]
    for option in range(n):
        note[option, START] = listed
        if small:
            if bits[option, 0] != 0:
                listed += note[option, LENGTH]
                note[option, LENGTH] = 0
            continue
        if listed + n_touched > labels.size:
            return np.int64(-1)
        first = listed
        for i in range(n_touched):
            row = touched[i]
            inside = True
            for word in range(words):
                if bits[option, word] & ~row_bits[row, word] != 0:
                    inside = False
            if inside and (listed == first or labels[listed - 1] != label_of_row[row]):
                labels[listed] = label_of_row[row]
                listed += 1
        note[option, LENGTH] = listed - first
    if not small:
        return listed
    if listed > labels.size:
        return np.int64(-1)
    for i in range(n_touched):
        row = touched[i]
        label = label_of_row[row]
        whole = row_bits[row, 0]
        subset = whole
        while subset != 0:
            option = note[subset, PLACE]
            if option >= 0:
                end = note[option, START] + note[option, LENGTH]
                if note[option, LENGTH] == 0 or labels[end - 1] != label:
                    labels[end] = label
                    note[option, LENGTH] += 1
            subset = (subset - 1) & whole
    return listed


@kernel
def add_options(numbers, sets, links, harmonic, pool, menu, subsets):
    """Append the options of some sets, in turn, until there is no room; return how many sets are done.

    harmonic[n] is 1 + 1/2 + ... + 1/n in whole units.
    """
    table, value, labels = menu
    used, slots, kept_bits, slot_of_set = pool
    row_bits, touched, bits, note, prior = subsets.row_bits, subsets.touched, subsets.bits, subsets.note, links.prior
    set_start, set_terms, set_unknown, set_size = sets.start, sets.terms, sets.unknown, sets.size
    n_labels = prior.size
    words = bits.shape[1]
    for done in range(numbers.size):
        number = numbers[done]
        terms = set_terms[set_start[number] : set_start[number + 1]]
        width, unknown = terms.size, set_unknown[number]
        n_touched = touch_rows(terms, links, subsets)
        capped = False
        small = width <= SMALL
        if small:
            n = np.int64(closed_by_counting(width, n_touched, subsets))
            for option in range(n):
                for word in range(1, words):
                    bits[option, word] = 0
        else:
            n, capped = closed_by_intersection(width, n_touched, subsets)
        listed = _list_labels(small, n, n_touched, links.label_of_row, subsets, labels, used[2])
        for i in range(n_touched):
            for word in range(words):
                row_bits[touched[i], word] = 0
        if listed < 0 or used[1] + n + 1 > table.shape[0]:
            return done

        for option in range(n):
            kept = bits_in(bits, option)
            if kept == 0:
                note[option, LENGTH] = n_labels
            low = bits[option, 0] if small else option
            note[low, PLACE] = option
            note[option, KEY] = (np.int64(width - kept) << 48) | (np.int64(n_labels - note[option, LENGTH]) << 14) | low
        _sort(note, n)

        into = used[1]
        slot = used[0]
        slots[slot, 0], slots[slot, 1], slots[slot, 3] = number, into, capped
        total = harmonic[width + unknown]
        if set_size[number] == 0:
            table[into, COST], table[into, KEPT], table[into, SIZE], table[into, AT] = 0, width + unknown, 0, listed
            value[into, PRIOR] = 0.0
            for word in range(words):
                kept_bits[into, word] = -1
            into += 1
        for i in range(n):
            option = note[note[i, KEY] & (_TABLE - 1), PLACE]
            kept = width - (note[i, KEY] >> 48)
            first, size = note[option, START], note[option, LENGTH]
            table[into, COST], table[into, KEPT] = total - harmonic[kept], kept
            table[into, SIZE], table[into, AT] = size, first
            for word in range(words):
                kept_bits[into, word] = bits[option, word]
            mass = 0.0
            for at in range(size):
                mass += prior[labels[first + at]] if size < n_labels else prior[at]
            value[into, PRIOR] = mass
            into += 1
        slots[slot, 2] = into
        used[0], used[1], used[2] = slot + 1, into, listed
        slot_of_set[number] = slot
    return numbers.size


def forget_options(pool: Pool) -> None:
    """Empty a pool."""
    pool.slot_of_set[pool.slot[: pool.used[0], 0]] = -1
    pool.used[:] = 0


def inverted(links_start: Ints, terms: NDArray[np.int32], n_terms: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return for every term the rows that have it: where each term's rows start, and the rows."""
    row_of = np.repeat(np.arange(links_start.size - 1, dtype=np.int32), np.diff(links_start))
    order = np.argsort(terms, kind="stable")
    start = np.zeros(n_terms + 1, dtype=np.int64)
    np.cumsum(np.bincount(terms, minlength=n_terms), out=start[1:])
    return start, row_of[order]


def make_links(start: Ints, terms: Any, label_of_row: Any, n_terms: int, prior: NDArray[np.float64]) -> Links:
    """Return the knowledge table, given as rows of terms and the label of each row, from both sides."""
    terms = np.ascontiguousarray(terms, dtype=np.int32)
    term_start, term_rows = inverted(np.asarray(start, dtype=np.int64), terms, n_terms)
    return Links(
        row_start=np.ascontiguousarray(start, dtype=np.int64),
        row_terms=terms,
        label_of_row=np.ascontiguousarray(label_of_row, dtype=np.int32),
        term_start=term_start,
        term_rows=term_rows,
        prior=np.ascontiguousarray(prior, dtype=np.float64),
    )
