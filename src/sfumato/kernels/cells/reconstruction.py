"""Loops of reconstruction: how many records show each combination of values, and steps of the likelihood of whole sets.

Sizes: n records, q columns, c cells of a table. A record's cell of column j is one of the distinct sets of that column;
set s of column j holds members[start[first[j] + s]:start[first[j] + s + 1]], each already multiplied by the stride of
its column, so that the place of a combination is the sum of its members.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import intrinsic, ir, overload, thorough_kernel, types


def ones_in(word):
    """Return how many bits of a 64-bit word are set."""
    return int(word).bit_count()


@intrinsic
def _ones_in(typing_context, word):
    def generate(context, builder, signature, arguments):
        function = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(function, arguments)

    return types.int64(types.uint64), generate


@overload(ones_in)
def _compiled_ones_in(word):
    """One instruction, once it is compiled."""
    return lambda word: _ones_in(word)


@thorough_kernel
def count_planes(planes, first, sizes, at, prefix, counts):
    """Count for each combination of values the records that show all of them, from one bit a record and value.

    planes: (values of all columns, words); first, sizes: (q,), where each column's planes begin and how many it has;
    at: (q,) and prefix: (q, a block of words), room to work in, all bits of prefix set.
    -> counts (c,) in place, the last column changing fastest.
    """
    q = sizes.size
    n_words = planes.shape[1]
    block = prefix.shape[1]
    for begin in range(0, n_words, block):
        end = min(begin + block, n_words)
        width = end - begin
        at[:] = 0
        level = 0  # the first column whose prefix must be made anew
        place = 0
        while True:
            for j in range(level, q - 1):
                here, now = planes[first[j] + at[j], begin:end], prefix[j, :width]
                if j > 0:
                    before = prefix[j - 1, :width]
                    for word in range(width):
                        now[word] = here[word] & before[word]
                else:
                    for word in range(width):
                        now[word] = here[word]
            last = prefix[max(q - 2, 0), :width]  # of a single column: everyone
            for value in range(sizes[q - 1]):
                here = planes[first[q - 1] + value, begin:end]
                total = 0
                for word in range(width):
                    total += ones_in(here[word] & last[word])
                counts[place + value] += total
            place += sizes[q - 1]
            level = q - 2
            while level >= 0 and at[level] == sizes[level] - 1:
                at[level] = 0
                level -= 1
            if level < 0:
                break
            at[level] += 1


@thorough_kernel
def count_records(sets, first, start, members, weight, places, counts):
    """Add each record's weight to every combination of values that it shows.

    sets: (n, q); places: room for the combinations of one record.  -> counts (c,) in place.
    """
    for row in range(sets.shape[0]):
        n_places = 1
        places[0] = 0
        for j in range(sets.shape[1]):
            begin = start[first[j] + sets[row, j]]
            size = start[first[j] + sets[row, j] + 1] - begin
            for place in range(n_places - 1, -1, -1):
                base = places[place]
                for member in range(size - 1, -1, -1):
                    places[place * size + member] = base + members[begin + member]
            n_places *= size
        for place in range(n_places):
            counts[places[place]] += weight[row]


@thorough_kernel
def likelihood_pass(sets, first, start, members, weight, table, places, gathered):
    """Add weight / likelihood of each pattern to all cells that it is a sum of; return the sum of weight * log.

    sets: (patterns, q), in ascending order, so that neighbours share most columns; table: (cells,), the likelihood of a
    pattern is the sum of its cells.  -> gathered (cells,) in place; nothing is gathered when it is empty.
    """
    q = sets.shape[1]
    total_log = 0.0
    n_places = 0
    before = -1  # the pattern that the places belong to
    for row in range(sets.shape[0]):
        if weight[row] == 0:
            continue
        fresh = before < 0
        if not fresh:
            for j in range(q - 1):
                if sets[row, j] != sets[before, j]:
                    fresh = True
        before = row
        if fresh:
            n_places = 1
            places[0] = 0
            for j in range(q - 1):
                begin = start[first[j] + sets[row, j]]
                size = start[first[j] + sets[row, j] + 1] - begin
                for place in range(n_places - 1, -1, -1):
                    base = places[place]
                    for member in range(size - 1, -1, -1):
                        places[place * size + member] = base + members[begin + member]
                n_places *= size
        begin = start[first[q - 1] + sets[row, q - 1]]
        end = start[first[q - 1] + sets[row, q - 1] + 1]
        total = 0.0
        for place in range(n_places):
            base = places[place]
            for member in range(begin, end):
                total += table[base + members[member]]
        if total <= 0:
            return -np.inf
        total_log += weight[row] * np.log(total)
        if gathered.size:
            share = weight[row] / total
            for place in range(n_places):
                base = places[place]
                for member in range(begin, end):
                    gathered[base + members[member]] += share
    return total_log
