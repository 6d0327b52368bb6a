"""Records as sets of terms: equal ones numbered once, what each is linked to, and the prior that follows."""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.terms.links import link_nearly
from sfumato.kernels.terms.subsets import BITS


@kernel
def number_sets(start, term_of_item, set_of, set_start, set_terms, unknown):
    """Give records with the same known terms, and as many unknown ones, the same number.

    (n + 1,), items with term -1 where unknown -> set_of (n,), and the sets as rows of ascending terms; return how many.
    """
    n = start.size - 1
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, dtype=np.int32)
    found = 0
    set_start[0] = 0
    for row in range(n):
        first = set_start[found]
        last = first
        strangers = 0
        for item in range(start[row], start[row + 1]):
            term = term_of_item[item]
            if term < 0:
                strangers += 1
                continue
            at = last
            while at > first and set_terms[at - 1] > term:
                set_terms[at] = set_terms[at - 1]
                at -= 1
            set_terms[at] = term
            last += 1
        spot = np.int64(strangers)
        for at in range(first, last):
            spot = (spot ^ set_terms[at]) * np.int64(-7046029254386353131)
            spot ^= (spot >> 29) & np.int64(0x7FFFFFFFF)
        spot &= slots - 1
        while True:
            other = table[spot]
            if other < 0:
                table[spot] = found
                unknown[found] = strangers
                set_start[found + 1] = last
                set_of[row] = found
                found += 1
                break
            same = unknown[other] == strangers and set_start[other + 1] - set_start[other] == last - first
            if same:
                for at in range(last - first):
                    if set_terms[set_start[other] + at] != set_terms[first + at]:
                        same = False
                        break
            if same:
                set_of[row] = other
                break
            spot = (spot + 1) & (slots - 1)
    return found


@kernel
def link_sets(set_start, set_terms, unknown, links, size, at_of):
    """Find the labels that each set is linked to; return them in one array. size and at_of tell where each set's are.

    Rows of the shortest list are looked up for the other terms; a set without terms is linked to all and lists nothing
    (at_of is -1).
    """
    n_sets = unknown.size
    labels = np.empty(max(16, n_sets), dtype=np.int32)
    used = 0
    for number in range(n_sets):
        at_of[number] = used
        size[number] = 0
        first, last = set_start[number], set_start[number + 1]
        if unknown[number] > 0:
            continue
        if first == last:
            size[number], at_of[number] = links.prior.size, -1
            continue
        rarest = set_terms[first]
        for at in range(first + 1, last):
            term = set_terms[at]
            if (
                links.term_start[term + 1] - links.term_start[term]
                < links.term_start[rarest + 1] - links.term_start[rarest]
            ):
                rarest = term
        length = links.term_start[rarest + 1] - links.term_start[rarest]
        needed = length
        if links.misses > 0:
            for at in range(first, last):  # those of the second shortest list are not more
                needed = max(needed, links.term_start[set_terms[at] + 1] - links.term_start[set_terms[at]])
            needed += length
        if used + needed > labels.size:
            grown = np.empty(2 * labels.size + needed, dtype=np.int32)
            for place in range(used):  # not as slices: numba would compile text formatting for its error messages
                grown[place] = labels[place]
            labels = grown
        begin = used
        for place in range(links.term_start[rarest], links.term_start[rarest + 1]):
            row = links.term_rows[place]
            label = links.label_of_row[row]
            if used > begin and labels[used - 1] == label:
                continue
            inside = True
            for at in range(first, last):
                term = set_terms[at]
                low, high = links.row_start[row], links.row_start[row + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if links.row_terms[middle] < term:
                        low = middle + 1
                    else:
                        high = middle
                if low == links.row_start[row + 1] or links.row_terms[low] != term:
                    inside = False
                    break
            if inside:
                labels[used] = label
                used += 1
        if used == begin and links.misses > 0:
            used = link_nearly(set_terms[first:last], links, labels, used)
        size[number] = used - begin
        if size[number] == links.prior.size and links.likelihood.size == 0:
            used, at_of[number] = begin, -1
    return labels[:used].copy()


@kernel
def add_up_prior(by_size, size, at_of, labels, weight, prior):
    """Add up what records as they are tell about each label; return how many of them are linked.

    by_size: sets in ascending order of their number of labels. Whole counts are added first for each size, so the
    sums do not depend on the order of records. weight: records of each set.
    """
    n_labels = prior.size
    count = np.zeros(n_labels, dtype=np.int64)
    linked = np.int64(0)
    at = 0
    while at < by_size.size:
        here = size[by_size[at]]
        stop = at
        everywhere = np.int64(0)
        while stop < by_size.size and size[by_size[stop]] == here:
            number = by_size[stop]
            stop += 1
            if here == 0:
                continue
            linked += weight[number]
            if here == n_labels:
                everywhere += weight[number]
                continue
            for place in range(at_of[number], at_of[number] + here):
                count[labels[place]] += weight[number]
        if here == n_labels:
            for label in range(n_labels):
                prior[label] += everywhere / here
        elif here > 0:
            for again in range(at, stop):
                number = by_size[again]
                for place in range(at_of[number], at_of[number] + here):
                    label = labels[place]
                    prior[label] += count[label] / here
                    count[label] = 0
        at = stop
    return linked


@kernel
def mark_kept(start, term_of_item, kept_bits, keep):
    """Say for every item whether it stays.

    kept_bits[row] has a bit for each known term in ascending order; -1 keeps all.
    """
    words = kept_bits.shape[1]
    for row in range(start.size - 1):
        everything = True
        for word in range(words):
            if kept_bits[row, word] != -1:
                everything = False
        for item in range(start[row], start[row + 1]):
            term = term_of_item[item]
            keep[item] = everything
            if everything or term < 0:
                continue
            bit = 0
            for other in range(start[row], start[row + 1]):
                if term_of_item[other] >= 0 and term_of_item[other] < term:
                    bit += 1
            keep[item] = kept_bits[row, bit // BITS] >> (bit % BITS) & 1


@kernel
def _before(one, two, sets):
    """Return whether set `one` comes before set `two` when sets are ordered by their terms."""
    a, b = sets.start[one], sets.start[two]
    while a < sets.start[one + 1] and b < sets.start[two + 1]:
        if sets.terms[a] != sets.terms[b]:
            return sets.terms[a] < sets.terms[b]
        a += 1
        b += 1
    left_a, left_b = sets.start[one + 1] - a, sets.start[two + 1] - b
    if left_a != left_b:
        return left_a < left_b
    return sets.unknown[one] < sets.unknown[two]


@kernel
def sort_groups(order, start, set_of, sets):
    """Put the rows of every group in the order of their terms, equal ones as they come: all else follows it.

    Group g has the rows order[start[g]:start[g + 1]].
    """
    for group in range(start.size - 1):
        target = order[start[group] : start[group + 1]]
        n = target.size
        source = target.copy()
        width = 1
        while width < n:
            for begin in range(0, n, 2 * width):
                middle, stop = min(begin + width, n), min(begin + 2 * width, n)
                left, right = begin, middle
                for at in range(begin, stop):
                    if left < middle and (
                        right >= stop or not _before(set_of[source[right]], set_of[source[left]], sets)
                    ):
                        target[at] = source[left]
                        left += 1
                    else:
                        target[at] = source[right]
                        right += 1
            for at in range(n):
                source[at] = target[at]
            width *= 2
