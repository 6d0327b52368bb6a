"""Frequent itemsets and association rules of a table of sets, without a matrix over all items.

Depth first, with the records of each itemset handed down (occurrence deliver of Uno et al., 2004). Sizes: n records,
v items, m itemsets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import Store, add, make_store, slot_of

BOTH, PLAIN_CONSEQUENT = 1, 2  # kinds of rules: nothing sensitive at all, or not in the consequent


class Itemsets(NamedTuple):
    """Frequent itemsets, single items included. Members stand in the first size[i] places of a row."""

    members: NDArray[np.int32]  # (m, longest)
    size: NDArray[np.int64]  # (m,)
    support: NDArray[np.int64]  # (m,)
    complete: bool  # False: there are more than was allowed


def frequent_itemsets(
    start: NDArray[np.int64], items: NDArray[np.int32], n_items: int, *, least: int, longest: int, most: int
) -> Itemsets:
    """Return all sets of at most `longest` items that `least` records hold; no more than `most` of them.

    >>> table = np.array([0, 1, 0, 1, 2, 1], dtype=np.int32)
    >>> found = frequent_itemsets(np.array([0, 2, 5, 6]), table, 3, least=2, longest=3, most=100)
    >>> [(found.members[i, : found.size[i]].tolist(), int(found.support[i])) for i in range(found.size.size)]
    [([0], 2), ([0, 1], 2), ([1], 3)]
    """
    count = np.bincount(items, minlength=n_items)
    # Rare items first: each is extended by more frequent ones, so lists are short from the beginning.
    order = np.argsort(count, kind="stable")
    rank = np.empty(n_items, dtype=np.int32)
    rank[order] = np.arange(n_items, dtype=np.int32)
    frequent = count[items] >= least
    record = np.repeat(np.arange(start.size - 1), np.diff(start))[frequent]
    ranked = rank[items[frequent]]
    by_record = np.lexsort((ranked, record))
    ranked, record = ranked[by_record], record[by_record]
    new_start = np.zeros(start.size, dtype=np.int64)
    np.cumsum(np.bincount(record, minlength=start.size - 1), out=new_start[1:])
    tid_start = np.zeros(n_items + 1, dtype=np.int64)
    np.cumsum(np.bincount(ranked, minlength=n_items), out=tid_start[1:])
    tids = record[np.argsort(ranked, kind="stable")]
    length = np.diff(new_start)
    room = int(np.bincount(ranked, length[record], minlength=n_items).max(initial=0)) + 1
    members = np.empty((most, longest), dtype=np.int32)
    size, support = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    buffer = np.empty((longest + 1, room), dtype=np.int64)
    found = _mine(new_start, ranked, tid_start, tids, least, longest, members, size, support, buffer)
    kept = min(int(found), most)
    members = members[:kept]
    for place in range(longest):
        inside = size[:kept] > place
        members[inside, place] = order[members[inside, place]]
    return Itemsets(members, size[:kept], support[:kept], complete=found <= most)


@kernel
def _mine(start, items, tid_start, tids, least, longest, members, size, support, buffer):
    """List frequent itemsets; return how many there are, or one more than there is room for."""
    n_items = tid_start.size - 1
    held, place = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    # Level d holds the extensions of a set of d items: each with its records, one after the other in the buffer.
    extension = np.empty((longest + 1, n_items), dtype=np.int32)
    begin = np.empty((longest + 1, n_items + 1), dtype=np.int64)
    n_extensions, following = np.zeros(longest + 1, dtype=np.int64), np.zeros(longest + 1, dtype=np.int64)
    prefix = np.empty(longest + 1, dtype=np.int32)
    found = 0
    for first in range(n_items):
        if tid_start[first + 1] - tid_start[first] < least:
            continue
        depth = 0
        prefix[0] = first
        while True:
            # The set prefix[: depth + 1] is frequent: note it, and look for what extends it.
            last = prefix[depth]
            if depth == 0:
                low, high = tid_start[first], tid_start[first + 1]
            else:
                at = following[depth - 1] - 1
                low, high = begin[depth - 1, at], begin[depth - 1, at + 1]
            if found == size.size:
                return found + 1
            for i in range(depth + 1):
                members[found, i] = prefix[i]
            size[found], support[found] = depth + 1, high - low
            found += 1
            n_extensions[depth], following[depth] = 0, 0
            if depth + 1 < longest:
                n = 0
                for index in range(low, high):
                    record = tids[index] if depth == 0 else buffer[depth - 1, index]
                    at = start[record + 1] - 1
                    while at >= start[record] and items[at] > last:
                        item = items[at]
                        if held[item] == 0:
                            extension[depth, n] = item
                            n += 1
                        held[item] += 1
                        at -= 1
                kept, offset = 0, 0
                for i in range(n):
                    item = extension[depth, i]
                    if held[item] >= least:
                        extension[depth, kept] = item
                        begin[depth, kept] = offset
                        place[item] = offset
                        offset += held[item]
                        kept += 1
                    else:
                        place[item] = -1
                    held[item] = 0
                begin[depth, kept] = offset
                n_extensions[depth] = kept
                if kept:
                    for index in range(low, high):
                        record = tids[index] if depth == 0 else buffer[depth - 1, index]
                        at = start[record + 1] - 1
                        while at >= start[record] and items[at] > last:
                            item = items[at]
                            if place[item] >= 0:
                                buffer[depth, place[item]] = record
                                place[item] += 1
                            at -= 1
            while depth >= 0 and following[depth] == n_extensions[depth]:
                depth -= 1
            if depth < 0:
                break
            prefix[depth + 1] = extension[depth, following[depth]]
            following[depth] += 1
            depth += 1
    return found


def rules_of(
    itemsets: Itemsets, sensitive: NDArray[np.bool_], code: NDArray[np.uint64], confidence: tuple[int, int]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the rules of at least a confidence (numerator, denominator): a key of each, and which kind it is.

    Rules whose consequent holds a sensitive item are left out.
    """
    store = make_store(itemsets.size.size)
    _remember(itemsets.members, itemsets.size, itemsets.support, code, store)
    parts = (itemsets.members, itemsets.size, itemsets.support, sensitive, code, store, *confidence)
    n_rules = _list_rules(*parts, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8))
    keys, kind = np.empty(n_rules, dtype=np.uint64), np.empty(n_rules, dtype=np.uint8)
    _list_rules(*parts, keys, kind)
    return keys, kind


@kernel
def _remember(members, size, support, code, store: Store) -> None:
    for row in range(size.size):
        key = np.uint64(0)
        for i in range(size[row]):
            key ^= code[members[row, i]]
        add(key, np.int32(support[row]), store)


@kernel
def _list_rules(members, size, support, sensitive, code, store, numerator, denominator, keys, kind):
    """Count the rules, and list them where there is room."""
    found = 0
    for row in range(size.size):
        whole, any_secret = np.uint64(0), False
        for i in range(size[row]):
            whole ^= code[members[row, i]]
            any_secret |= sensitive[members[row, i]]
        for consequent in range(1, (1 << size[row]) - 1):
            antecedent, secret = whole, False
            for i in range(size[row]):
                if consequent >> i & 1:
                    antecedent ^= code[members[row, i]]
                    secret |= sensitive[members[row, i]]
            if secret:
                continue
            if support[row] * denominator < numerator * store.counts[slot_of(antecedent, store)]:
                continue
            if found < keys.size:
                # The pair of keys, mixed so that a rule and its reverse differ.
                keys[found] = (whole ^ (antecedent >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + antecedent
                kind[found] = PLAIN_CONSEQUENT if any_secret else BOTH
            found += 1
    return found
