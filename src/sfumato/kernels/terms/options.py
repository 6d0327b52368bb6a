"""What a record can be published with: the kept term sets that matter, and the labels that each is linked to.

Where all labels of a list are equally likely, these are the closed sets (see `subsets`). Where labels are weighed, sets
with the same labels tell different things, so all subsets of up to `WEIGHED` terms are options; of more, closed ones.

Words: a *set* is the terms of a record that the knowledge table knows, plus a count of terms that it does not know; an
*option* is one way to publish a set. Options of a set stand together, cheapest first, then those with the most labels.
An option without labels keeps everything and is linked to nothing. An option with all labels needs no list.

Costs are whole numbers, so equal costs are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.terms.links import Links, Lists, make_lists, weigh
from sfumato.kernels.terms.subsets import (
    BITS,
    COUNT,
    KEY,
    LENGTH,
    PLACE,
    SMALL,
    START,
    TABLE,
    bits_in,
    closed_by_counting,
    closed_by_intersection,
    touch_rows,
)

_FEWER = np.int64(1 << 18) - 1  # labels that a key tells apart
WEIGHED = 10  # terms in a set whose subsets are all options where labels are weighed

COST, KEPT, SIZE, AT = range(4)  # columns of Menu.table
PRIOR, PLAIN, TANGENT, SQUARE = range(4)  # columns of Menu.value

Ints = NDArray[np.int64]


class Menu(NamedTuple):
    """Options of many sets, one row each."""

    table: Ints  # (options, 4): COST, KEPT, SIZE, AT; labels of an option are labels[AT:AT + SIZE]; AT is -1 where
    #               all labels are equally likely, which needs no list
    value: NDArray[np.float64]  # (options, 4): PRIOR, the mass of the labels in the prior (where they are weighed: of
    #                             each by its share); room for a search; and SQUARE, the sum of squared shares
    labels: Lists


class Pool(NamedTuple):
    """A menu under construction, and which set each part of it belongs to."""

    used: Ints  # (3,) slots, options and labels in use
    slot: Ints  # (slots, 4): the set, its first option, the one after its last, whether options are missing
    kept_bits: Ints  # (options, words): which terms are kept
    slot_of_set: NDArray[np.int32]  # (s,) -1: not in the pool


def make_pool(n_sets: int, words: int, options: int, labels: int, links: Links) -> tuple[Pool, Menu]:
    """Return a pool without options, and room for so many of them and their labels."""
    pool = Pool(
        used=np.zeros(3, dtype=np.int64),
        slot=np.empty((options, 4), dtype=np.int64),
        kept_bits=np.empty((options, words), dtype=np.int64),
        slot_of_set=np.full(n_sets, -1, dtype=np.int32),
    )
    menu = Menu(
        table=np.empty((options, 4), dtype=np.int64),
        value=np.empty((options, 4), dtype=np.float64),
        labels=make_lists(labels, links),
    )
    return pool, menu


@kernel
def own_value(option, m, menu):
    """Return what an option adds to the squared distance by itself, pairs of records left out."""
    size = menu.table[option, SIZE]
    if size == 0:
        return 0.0
    if menu.labels.share.size > 0:
        return menu.value[option, SQUARE] / (m * m) - 2.0 * menu.value[option, PRIOR] / m
    return 1.0 / (m * m * size) - 2.0 * menu.value[option, PRIOR] / (m * size)


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
def _list_labels(small, width, n, n_touched, links, subsets, labels, listed):
    """Write the labels of every option found, in the order of rows; return where they end, -1 when there is no room."""
    row_bits, touched, bits, note = subsets.row_bits, subsets.touched, subsets.bits, subsets.note
    words, label_of_row = bits.shape[1], links.label_of_row
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
        label = label_of_row[touched[i]]
        whole = row_bits[touched[i], 0]
        subset = whole
        while subset != 0:
            option = note[subset, PLACE]
            if option >= 0:
                end = note[option, START] + note[option, LENGTH]
                # Rows of a label come one after the other.
                if note[option, LENGTH] == 0 or labels[end - 1] != label:
                    labels[end] = label
                    note[option, LENGTH] += 1
            subset = (subset - 1) & whole
        if links.misses > 0:
            _list_nearly(whole, width, label, subsets, labels)
    return listed


@kernel
def _list_nearly(whole, width, label, subsets, labels):
    """Add a label to the options that no row has as a whole, and a row with these terms but for one."""
    note = subsets.note
    subset = whole
    while subset != 0:
        for bit in range(width):
            more = subset | np.int64(1) << bit
            option = note[more, PLACE]
            if whole >> bit & 1 == 0 and note[more, COUNT] == 0 and option >= 0:
                end = note[option, START] + note[option, LENGTH]
                if note[option, LENGTH] == 0 or labels[end - 1] != label:
                    labels[end] = label
                    note[option, LENGTH] += 1
        subset = (subset - 1) & whole


@kernel
def _worth(kept, terms, links):
    """Return what the terms that are kept are worth."""
    worth = np.int64(0)
    for bit in range(terms.size):
        if kept[bit // BITS] >> (bit % BITS) & 1:
            worth += links.worth[terms[bit]]
    return worth


@kernel
def _sum_up(option, links, menu):
    """Write what the labels of an option are in the prior, where they are equally likely."""
    size, first = menu.table[option, SIZE], menu.table[option, AT]
    mass = 0.0
    for at in range(size):
        mass += links.prior[menu.labels.label[first + at] if first >= 0 else at]
    menu.value[option, PRIOR], menu.value[option, SQUARE] = mass, 1.0 / size


@kernel
def _weigh_up(option, width, terms, kept, links, menu):
    """Write the shares of the labels of an option, and what they are in the prior by these."""
    table, value, labels = menu
    size, first = table[option, SIZE], table[option, AT]
    if first < 0:
        _sum_up(option, links, menu)
        value[option, PRIOR] /= size
        return
    n = 0
    for bit in range(width):
        if kept[bit // BITS] >> (bit % BITS) & 1:
            terms[n] = terms[width + bit]
            n += 1
    weigh(terms, n, first, size, links, labels)
    mass, square = 0.0, 0.0
    for at in range(first, first + size):
        mass += links.prior[labels.label[at]] * labels.share[at]
        square += labels.share[at] * labels.share[at]
    value[option, PRIOR], value[option, SQUARE] = mass, square


@kernel
def add_options(numbers, sets, links, harmonic, pool, menu, subsets):
    """Append the options of some sets, in turn, until there is no room; return how many sets are done.

    sets.worth and harmonic tell what terms are worth: of a set, and of so many terms.
    """
    table, value, labels = menu
    used, slots, kept_bits, slot_of_set = pool
    row_bits, touched, bits, note = subsets.row_bits, subsets.touched, subsets.bits, subsets.note
    set_start, set_terms, set_unknown, set_size = sets.start, sets.terms, sets.unknown, sets.size
    n_labels = links.prior.size
    words = bits.shape[1]
    weighed = labels.share.size > 0
    for done in range(numbers.size):
        number = numbers[done]
        terms = set_terms[set_start[number] : set_start[number + 1]]
        width, unknown = terms.size, set_unknown[number]
        n_touched = touch_rows(terms, links, subsets)
        capped = False
        small = width <= (WEIGHED if weighed else SMALL)
        if small:
            n = np.int64(closed_by_counting(width, n_touched, weighed, links.misses, subsets))
            for option in range(n):
                for word in range(1, words):
                    bits[option, word] = 0
        else:
            n, capped = closed_by_intersection(width, n_touched, subsets)
            capped = capped or weighed or links.misses > 0
        listed = _list_labels(small, width, n, n_touched, links, subsets, labels.label, used[2])
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
            fewer = np.int64(n_labels - note[option, LENGTH])
            note[option, KEY] = (np.int64(width - kept) << 48) | (fewer << 14) | low
            if links.worth.size > 0:
                lost = sets.worth[number] - _worth(bits[option], terms, links)
                note[option, KEY] = (lost << 32) | (min(fewer, _FEWER) << 14) | low
        _sort(note, n)

        into = used[1]
        slot = used[0]
        slots[slot, 0], slots[slot, 1], slots[slot, 3] = number, into, capped
        room = np.empty(2 * width if weighed else 0, dtype=np.int32)
        for i in range(room.size - width):
            room[width + i] = terms[i]
        if set_size[number] == 0:
            table[into, COST], table[into, KEPT], table[into, SIZE], table[into, AT] = 0, width + unknown, 0, listed
            value[into, PRIOR] = 0.0
            for word in range(words):
                kept_bits[into, word] = -1
            into += 1
        for i in range(n):
            option = note[note[i, KEY] & (TABLE - 1), PLACE]
            kept = bits_in(bits, option)
            size = note[option, LENGTH]
            worth = harmonic[kept] if links.worth.size == 0 else _worth(bits[option], terms, links)
            table[into, COST], table[into, KEPT], table[into, SIZE] = sets.worth[number] - worth, kept, size
            even = kept == 0 or (size == n_labels and not weighed)
            table[into, AT] = -1 if even else note[option, START]
            for word in range(words):
                kept_bits[into, word] = bits[option, word]
            if weighed:
                _weigh_up(into, width, room, kept_bits[into], links, menu)
            else:
                _sum_up(into, links, menu)
            into += 1
        slots[slot, 2] = into
        used[0], used[1], used[2] = slot + 1, into, listed
        slot_of_set[number] = slot
    return numbers.size


def forget_options(pool: Pool) -> None:
    """Empty a pool."""
    pool.slot_of_set[pool.slot[: pool.used[0], 0]] = -1
    pool.used[:] = 0
