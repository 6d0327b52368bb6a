"""How few records hold some known items of each record. Sizes: n records."""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel


@kernel
def fewest_that_fit(members, start, items, weight, most, fewest):
    """Lower fewest[record] to the number of members that hold the luckiest choice of up to `most` of its items.

    members (c,), start (n + 1,), items (o,) ascending in each record, weight (n,), fewest (n,) in place.
    """
    n_records = weight.size
    waiting = [(members, -1, 0)]  # to do: the records that hold a set, its last item, its size
    while len(waiting) > 0:
        group, last, size = waiting.pop()
        fit = 0
        for record in group:
            fit += weight[record]
        for record in group:
            fewest[record] = min(fewest[record], fit)
        if size == most or group.size == 1:  # nobody is lost more than alone
            continue
        total = 0
        for record in group:
            total += start[record + 1] - start[record]
        pairs = np.empty(total, dtype=np.int64)
        n_pairs = 0
        for record in group:
            for place in range(start[record], start[record + 1]):
                if items[place] > last:
                    pairs[n_pairs] = items[place] * n_records + record
                    n_pairs += 1
        pairs = np.sort(pairs[:n_pairs])
        end = n_pairs
        for first in range(n_pairs - 1, -1, -1):
            item = pairs[first] // n_records
            if first == 0 or pairs[first - 1] // n_records != item:
                waiting.append((pairs[first:end] - item * n_records, item, size + 1))
                end = first
