"""What can be inferred about each record from a few of its items. Sizes as in `kernels.items.supports`."""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import FREE, scan, slot_of


@kernel
def _remembered(wanted, size, baskets, everything, store):
    """Return the support of some items, counted once."""
    key = FREE
    for place in range(size):
        key ^= baskets.code[wanted[place]]
    slot = slot_of(key, store)
    if store.keys[slot] != key:
        # Ascending, as the scan wants them.
        for at in range(1, size):
            item = wanted[at]
            hole = at
            while hole > 0 and wanted[hole - 1] > item:
                wanted[hole] = wanted[hole - 1]
                hole -= 1
            wanted[hole] = item
        store.keys[slot] = key
        store.counts[slot] = scan(wanted[:size], everything.size + 1, baskets, everything)
        store.used[0] += 1
    return store.counts[slot]


@kernel
def infer_from_one(baskets, best_hits, best_support):
    """Find for each record the rule with the highest confidence from one of its items to a sensitive one.

    best_hits / best_support: (n,) the confidence, 0 / 1 when there is no rule.
    """
    start, items, sensitive = baskets.start, baskets.items, baskets.sensitive
    hits = np.zeros(sensitive.size, dtype=np.int64)
    for item in range(sensitive.size):
        support = baskets.tid_start[item + 1] - baskets.tid_start[item]
        for phase in range(3):  # count, compare, clear
            for index in range(baskets.tid_start[item], baskets.tid_start[item + 1]):
                record = baskets.tids[index]
                for at in range(start[record], start[record + 1]):
                    e = items[at]
                    if not sensitive[e] or e == item:
                        continue
                    if phase == 0:
                        hits[e] += 1
                    elif phase == 2:
                        hits[e] = 0
                    elif hits[e] * best_support[record] > best_hits[record] * support:
                        best_hits[record], best_support[record] = hits[e], support


@kernel
def infer_from_few(first, size, budget, baskets, everything, store, best_hits, best_support, cut_short):
    """Look for rules with antecedents of a size that beat the best found so far, record by record.

    A record is done with at certainty, or after `budget` antecedents, which cut_short then says. Starts with record
    `first`; returns the record to go on with once the store has more room, n when all are done.
    """
    start, items, sensitive = baskets.start, baskets.items, baskets.sensitive
    place = np.empty(size, dtype=np.int64)
    wanted = np.empty(size + 1, dtype=np.int32)
    members = np.empty(budget, dtype=np.int32)
    for record in range(first, start.size - 1):
        n_members, n_secret = start[record + 1] - start[record], 0
        for at in range(start[record], start[record + 1]):
            n_secret += sensitive[items[at]]
        if n_secret == 0 or n_members <= size or best_hits[record] == best_support[record]:
            continue
        if n_members > budget:
            cut_short[record] = True
            continue
        for at in range(n_members):  # rare items first: they tell most
            item = items[start[record] + at]
            rarity = baskets.tid_start[item + 1] - baskets.tid_start[item]
            hole = at
            while hole > 0:
                other = members[hole - 1]
                if baskets.tid_start[other + 1] - baskets.tid_start[other] <= rarity:
                    break
                members[hole] = other
                hole -= 1
            members[hole] = item
        for i in range(size):
            place[i] = i
        tried, running = 0, True
        while running:
            if store.used[0] + n_secret + 2 > store.keys.size // 2:
                return record
            for i in range(size):
                wanted[i] = members[place[i]]
            support = _remembered(wanted, size, baskets, everything, store)
            for at in range(start[record], start[record + 1]):
                e = items[at]
                inside = not sensitive[e]
                for i in range(size):
                    wanted[i] = members[place[i]]
                    inside |= wanted[i] == e
                if inside:
                    continue
                wanted[size] = e
                hits = _remembered(wanted, size + 1, baskets, everything, store)
                if hits * best_support[record] > best_hits[record] * support:
                    best_hits[record], best_support[record] = hits, support
            tried += 1
            i = size - 1
            while i >= 0 and place[i] == n_members - size + i:
                i -= 1
            running = i >= 0 and best_hits[record] < best_support[record]
            if running and tried >= budget:
                cut_short[record] = True
                running = False
            if running:
                place[i] += 1
                for j in range(i + 1, size):
                    place[j] = place[j - 1] + 1
    return start.size - 1
