"""Loops over frequent itemsets and association rules, without a matrix over all items.

Depth first, with the records of each itemset handed down (occurrence deliver of Uno et al., 2004). Sizes: n records,
v items, m itemsets.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import add, slot_of

BOTH, PLAIN_CONSEQUENT = 1, 2  # kinds of rules: nothing sensitive at all, or not in the consequent


@kernel
def mine_itemsets(start, items, tid_start, tids, least, longest, members, size, support, buffer):
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


@kernel
def remember(members, size, support, code, store):
    """Store the support of every itemset."""
    for row in range(size.size):
        key = np.uint64(0)
        for i in range(size[row]):
            key ^= code[members[row, i]]
        add(key, np.int64(support[row]), store)


@kernel
def list_rules(members, size, support, sensitive, code, name, store, numerator, denominator, keys, kind, itemset):
    """Count the rules, and list them where there is room; keys are made of the codes in `name`."""
    found = 0
    for row in range(size.size):
        whole, named, any_secret = np.uint64(0), np.uint64(0), False
        for i in range(size[row]):
            whole ^= code[members[row, i]]
            named ^= name[members[row, i]]
            any_secret |= sensitive[members[row, i]]
        for consequent in range(1, (1 << size[row]) - 1):
            antecedent, known, secret = whole, named, False
            for i in range(size[row]):
                if consequent >> i & 1:
                    antecedent ^= code[members[row, i]]
                    known ^= name[members[row, i]]
                    secret |= sensitive[members[row, i]]
            if secret:
                continue
            if support[row] * denominator < numerator * store.counts[slot_of(antecedent, store)]:
                continue
            if found < keys.size:
                # The pair of keys, mixed so that a rule and its reverse differ.
                keys[found] = (named ^ (known >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + known
                kind[found] = PLAIN_CONSEQUENT if any_secret else BOTH
                itemset[found] = row
            found += 1
    return found
