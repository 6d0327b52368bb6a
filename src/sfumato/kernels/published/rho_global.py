"""Unsafe rules of one size, and which whole types of items to give up for them.

Deleting whole types leaves the supports of all other sets as they were, so an unsafe rule is gone exactly when one of
its items is. Sizes as in `kernels.items.supports`.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import FREE
from sfumato.kernels.published.rho_repair import holders_of, next_places, seen_slot


@kernel
def unsafe_of_size(size, baskets, kept, bound, rules, involved):
    """List unsafe rules with antecedents of a size into `rules`, (m, size + 1), the sensitive item last.

    involved: (v,) records without any of these items are not looked at. Returns how many were found, m at most, and
    whether any record was long enough to have an antecedent of this size.
    """
    start, items = baskets.start, baskets.items
    n_items, n_records = baskets.sensitive.size, start.size - 1
    holders, hits = np.empty(n_records, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    touched = np.empty(n_items, dtype=np.int64)
    longest = 1
    for record in range(n_records):
        longest = max(longest, start[record + 1] - start[record])
    members, place = np.empty(longest, dtype=np.int32), np.empty(longest + 1, dtype=np.int64)
    antecedent = np.empty(size, dtype=np.int32)
    seen = np.zeros(1 << 20, dtype=np.uint64)
    n_seen, found, deep = 0, 0, False
    for record in range(n_records):
        n_members, n_secret, n_involved = 0, 0, 0
        for at in range(start[record], start[record + 1]):
            if kept[at]:
                members[n_members] = items[at]
                n_members += 1
                n_secret += baskets.sensitive[items[at]]
                n_involved += involved[items[at]]
        if n_secret == 0 or n_members <= size or n_involved == 0:
            continue
        deep = True
        for i in range(size):
            place[i] = i
        running = True
        while running:
            key, inside = FREE, 0
            for i in range(size):
                antecedent[i] = members[place[i]]
                key ^= baskets.code[antecedent[i]]
                inside += baskets.sensitive[antecedent[i]]
            if inside < n_secret:
                if 2 * n_seen > seen.size:  # forgetting costs time only
                    for slot in range(seen.size):
                        seen[slot] = FREE
                    n_seen = 0
                slot = seen_slot(key, seen)
                if seen[slot] != key:
                    seen[slot] = key
                    n_seen += 1
                    n_holders, n_touched = holders_of(antecedent, baskets, kept, holders, hits, touched)
                    for index in range(n_touched):
                        e = touched[index]
                        if hits[e] > bound.most[n_holders] and found < rules.shape[0]:
                            for i in range(size):
                                rules[found, i] = antecedent[i]
                            rules[found, size] = e
                            found += 1
                        hits[e] = 0
                    if found == rules.shape[0]:
                        return found, True
            running = next_places(place, size, n_members)
    return found, deep


@kernel
def hit_rules(rules, allowed, occurrences, gone):
    """Give up types of items, the one first that hits most rules for each occurrence lost, until all rules are hit.

    rules: (m, size + 1); allowed, gone: (v,) which may go, and, in place, which go.
    """
    n_rules, width = rules.shape
    alive = np.arange(n_rules)
    hits = np.zeros(occurrences.size, dtype=np.int64)
    while n_rules:
        for rule in range(n_rules):
            for i in range(width):
                hits[rules[alive[rule], i]] += 1
        best, worth = -1, -1.0
        for item in range(hits.size):
            if hits[item] and allowed[item] and hits[item] / occurrences[item] > worth:
                best, worth = item, hits[item] / occurrences[item]
            hits[item] = 0
        gone[best] = True
        left = 0
        for rule in range(n_rules):
            holds = False
            for i in range(width):
                holds |= rules[alive[rule], i] == best
            if not holds:
                alive[left] = alive[rule]
                left += 1
        n_rules = left
