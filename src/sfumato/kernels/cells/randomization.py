"""Loops of randomization: sets drawn from a keystream, and the worst set over a tree.

Sizes: n rows, d values, w words of 64 bits a set. Codes are int32, keystream words uint32. Numbers below m come from a
word u as (u * m) >> 32; words that would make some numbers likelier are skipped, so every number is equally likely.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel, thorough_kernel

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ONE = np.uint64(1)
WORD = np.uint64(6)  # 2**6 bits a word
BIT = np.uint64(63)


@thorough_kernel
def draw_from_tables(codes, place_of, words, coin, threshold, table, n_with, n_without, packed):
    """Draw a set for each row from tables of all subsets; return how many rows the words were enough for.

    The table holds the subsets of d - 1 places that join the true value, then those that stand without it. With `coin`,
    a word below the threshold means that the true value is shown; without, it always is.  (n,) -> packed (n,) in place.
    """
    skip_with = (ONE << HALF) % n_with
    skip_without = (ONE << HALF) % n_without
    at = 0
    for row in range(codes.size):
        shown = True
        if at + 2 > words.size:
            return row
        if coin:
            shown = np.uint64(words[at]) < threshold
            at += 1
        size = n_with if shown else n_without
        skip = skip_with if shown else skip_without
        scaled = np.uint64(words[at]) * size
        at += 1
        while (scaled & LOW) < skip:
            if at == words.size:
                return row
            scaled = np.uint64(words[at]) * size
            at += 1
        place = scaled >> HALF
        if not shown:
            place += n_with
        others = table[place]
        value = np.uint64(place_of[codes[row]])
        below = others & ((ONE << value) - ONE)
        packed[row] = below | ((others ^ below) << ONE) | (np.uint64(shown) << value)
    return codes.size


@thorough_kernel
def draw_one_by_one(codes, place_of, words, coin, threshold, d, eta, packed):
    """Draw a set for each row value by value (Floyd), for domains too large for tables; return rows done as above.

    packed: (n, w) in place.
    """
    at = 0
    n_others = d - 1
    for row in range(codes.size):
        if at == words.size:
            return row
        shown = True
        if coin:
            shown = np.uint64(words[at]) < threshold
            at += 1
        value = np.int64(place_of[codes[row]])
        wanted = eta - 1 if shown else eta
        inverse = 2 * wanted > n_others  # then those that stay out are drawn
        n_drawn = n_others - wanted if inverse else wanted
        for word in range(packed.shape[1]):
            packed[row, word] = 0
        for last in range(n_others - n_drawn, n_others):
            size = np.uint64(last + 1)
            skip = (ONE << HALF) % size
            scaled = np.uint64(0)
            fair = False
            while not fair:
                if at == words.size:
                    return row
                scaled = np.uint64(words[at]) * size
                at += 1
                fair = (scaled & LOW) >= skip
            drawn = np.int64(scaled >> HALF)
            place = np.uint64(drawn + 1 if drawn >= value else drawn)
            if packed[row, place >> WORD] >> (place & BIT) & ONE:
                place = np.uint64(last + 1 if last >= value else last)
            packed[row, place >> WORD] |= ONE << (place & BIT)
        own = np.uint64(value)
        if inverse:
            for word in range(packed.shape[1]):
                packed[row, word] = ~packed[row, word]
            if d & 63:
                packed[row, packed.shape[1] - 1] &= (ONE << np.uint64(d & 63)) - ONE
            packed[row, own >> WORD] &= ~(ONE << (own & BIT))
        if shown:
            packed[row, own >> WORD] |= ONE << (own & BIT)
    return codes.size


@kernel
def largest_ratio(share, first, last, length, size, t):
    """Return the smallest rho that keeps every set of `size` values within t, by trying all of them.

    Values stand so that those behind edge e are first[e]..last[e] - 1; share: (d,).
    """
    d = share.size
    chosen = np.arange(size)
    running = np.zeros(d + 1)  # running[i]: share of chosen values before i
    before = np.zeros(d + 1)
    for value in range(d):
        before[value + 1] = before[value] + share[value]
    worst = 0.0
    at = 0
    while True:
        member = 0
        for value in range(d):
            running[value + 1] = running[value]
            if member < size and chosen[member] == value:
                running[value + 1] += share[value]
                member += 1
        mass = running[d]
        if mass > 0:
            moved = 0.0
            for edge in range(length.size):
                inside = running[last[edge]] - running[first[edge]]
                moved += length[edge] * abs(inside - mass * (before[last[edge]] - before[first[edge]]))
            rho = (moved - t * mass) / (moved + t * (1 - mass))
            if rho > worst:
                worst = rho
        at = size - 1
        while at >= 0 and chosen[at] == d - size + at:
            at -= 1
        if at < 0:
            return worst
        chosen[at] += 1
        for later in range(at + 1, size):
            chosen[later] = chosen[later - 1] + 1
