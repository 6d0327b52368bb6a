"""Frequent itemsets and association rules of a table of sets. Sizes: n records, v items, m itemsets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import starts_of
from sfumato.kernels.items.itemsets import list_rules, mine_itemsets, remember
from sfumato.kernels.items.supports import make_store


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
    new_start = starts_of(np.bincount(record, minlength=start.size - 1))
    tid_start = starts_of(np.bincount(ranked, minlength=n_items))
    tids = record[np.argsort(ranked, kind="stable")]
    length = np.diff(new_start)
    room = int(np.bincount(ranked, length[record], minlength=n_items).max(initial=0)) + 1
    members = np.empty((most, longest), dtype=np.int32)
    size, support = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    buffer = np.empty((longest + 1, room), dtype=np.int64)
    found = mine_itemsets(new_start, ranked, tid_start, tids, least, longest, members, size, support, buffer)
    kept = min(int(found), most)
    members = members[:kept]
    for place in range(longest):
        inside = size[:kept] > place
        members[inside, place] = order[members[inside, place]]
    return Itemsets(members, size[:kept], support[:kept], complete=found <= most)


class Rules(NamedTuple):
    """Association rules. Sizes: r rules."""

    keys: NDArray[np.uint64]  # (r,)
    kind: NDArray[np.uint8]  # (r,)
    itemset: NDArray[np.int64]  # (r,): of which set of items each is


def rules_of(
    itemsets: Itemsets,
    sensitive: NDArray[np.bool_],
    code: NDArray[np.uint64],
    confidence: tuple[int, int],
    *,
    name: NDArray[np.uint64] | None = None,
) -> Rules:
    """Return the rules of at least a confidence (numerator, denominator); `name` are other codes to make keys of.

    Rules whose consequent holds a sensitive item are left out.
    """
    store = make_store(itemsets.size.size)
    remember(itemsets.members, itemsets.size, itemsets.support, code, store)
    names = code if name is None else name
    parts = (itemsets.members, itemsets.size, itemsets.support, sensitive, code, names, store, *confidence)
    n_rules = list_rules(*parts, *Rules(np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64)))
    rules = Rules(np.empty(n_rules, np.uint64), np.empty(n_rules, np.uint8), np.empty(n_rules, np.int64))
    list_rules(*parts, *rules)
    return rules
