"""How few records hold some known items of each record. Sizes: n records, c classes, v items."""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel


@kernel
def fewest_that_fit(members, bounds, start, items, weight, n_items, most, fewest):
    """Set fewest[record] to how many records of its class hold the luckiest choice of up to `most` of its items.

    members (n,), class after class, with bounds (c + 1,); start (n + 1,), items (o,) ascending in each record, weight
    (n,), fewest (n,) in place: no less than what is found.
    """
    count, end = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    found = np.zeros(n_items, dtype=np.int64)
    # To do: the records that hold a set, its last item, its size.
    waiting = [(members[bounds[c] : bounds[c + 1]], -1, 0) for c in range(bounds.size - 1)]
    while len(waiting) > 0:
        group, last, size = waiting.pop()
        fit = 0
        for record in group:
            fit += weight[record]
        for record in group:
            fewest[record] = min(fewest[record], fit)
        if size == most or group.size == 1:  # nobody is lost more than alone
            continue
        total, n_found = 0, 0
        for record in group:
            for place in range(start[record], start[record + 1]):
                item = items[place]
                if item > last:
                    if count[item] == 0:
                        found[n_found] = item
                        n_found += 1
                    count[item] += 1
                    total += 1
        holders = np.zeros(total, dtype=np.int64)  # of each item that was found, side by side
        total = 0
        for item in found[:n_found]:
            end[item] = total
            total += count[item]
        for record in group:
            for place in range(start[record], start[record + 1]):
                item = items[place]
                if item > last:
                    holders[end[item]] = record
                    end[item] += 1
        for item in found[:n_found]:
            waiting.append((holders[end[item] - count[item] : end[item]], item, size + 1))
            count[item] = 0
