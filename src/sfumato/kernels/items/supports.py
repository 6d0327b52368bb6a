"""Supports of itemsets in a table of sets that is being changed: the store that growth and repair count in.

Sizes: n records, v items, o occurrences. Record r holds items[start[r]:start[r + 1]], ascending, of which those with
kept[occurrence] are published at the moment. An itemset's key is the exclusive-or of its items' random codes; two
itemsets share a key once in about 10^19, and an audit judges every release besides.

A set with a sensitive item has been counted from the start: if it is not in the store, it does not occur. Any other set
is counted when it is first asked for, as far as a rule needs it, and kept up to date from then on. A support that may
be larger than what was counted is stored as a negative number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiling import kernel

MANY = 4096  # records from which on frequent items have bits
FIRST = 64  # records that are counted of a set at least, where there are as many
FREE = np.uint64(0)  # key of an unused slot; the empty set is never stored


class Baskets(NamedTuple):
    """A table of sets, never changed."""

    start: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]  # (o,)
    sensitive: NDArray[np.bool_]  # (v,)
    code: NDArray[np.uint64]  # (v,)
    tid_start: NDArray[np.int64]  # (v + 1,)
    tids: NDArray[np.int32]  # (o,): the records with item i are tids[tid_start[i]:tid_start[i + 1]]
    occurrence: NDArray[np.int64]  # (o,): and this is where each of them holds it
    bit_row: NDArray[np.int32]  # (v,): row of a frequent item in `bits`, -1 for others
    bits: NDArray[np.uint64]  # which records hold it: bit r % 64 of word r // 64


class Published(NamedTuple):
    """Which occurrences are kept, changed in place."""

    kept: NDArray[np.bool_]  # (o,)
    size: NDArray[np.int64]  # (n,): kept items of each record


class Store(NamedTuple):
    """Supports by key: an open hash table."""

    keys: NDArray[np.uint64]  # a power of two of them
    counts: NDArray[np.int32]
    used: NDArray[np.int64]  # (1,)


class Bound(NamedTuple):
    """What must hold: of s records with an antecedent, most[s] may hold a sensitive item besides."""

    most: NDArray[np.int64]  # (n + 1,)
    empty: bool  # whether knowing nothing is an antecedent, too
    least: NDArray[np.int64]  # (n + 2,): h records with the item need least[h] with the antecedent; beyond n: never


def make_bound(most: NDArray[np.int64], *, empty: bool) -> Bound:
    """Return a bound with its inverse."""
    return Bound(most, empty, np.searchsorted(most, np.arange(most.size + 1)).astype(np.int64))


def make_baskets(
    start: NDArray[np.int64], items: NDArray[np.int32], sensitive: NDArray[np.bool_], code: NDArray[np.uint64]
) -> Baskets:
    """Return a table with its inverted lists."""
    n_items = sensitive.size
    record = np.repeat(np.arange(start.size - 1, dtype=np.int32), np.diff(start))
    by_item = np.argsort(items, kind="stable")
    tid_start = np.zeros(n_items + 1, dtype=np.int64)
    np.cumsum(np.bincount(items, minlength=n_items), out=tid_start[1:])
    tids = record[by_item]
    n_records = start.size - 1
    frequent = np.flatnonzero(np.diff(tid_start) * 64 >= max(n_records, MANY))
    bit_row = np.full(n_items, -1, dtype=np.int32)
    bit_row[frequent] = np.arange(frequent.size, dtype=np.int32)
    bits = np.zeros((frequent.size, n_records // 64 + 1), dtype=np.uint64)
    for row, item in enumerate(frequent):
        holds = np.zeros(bits.shape[1] * 64, dtype=np.bool_)
        holds[tids[tid_start[item] : tid_start[item + 1]]] = True
        bits[row] = np.packbits(holds, bitorder="little").view(np.uint64)
    return Baskets(
        start=start,
        items=items,
        sensitive=sensitive,
        code=code,
        tid_start=tid_start,
        tids=tids,
        occurrence=by_item.astype(np.int64),
        bit_row=bit_row,
        bits=bits,
    )


def make_published(baskets: Baskets, kept: NDArray[np.bool_]) -> Published:
    """Return a state in which these occurrences are kept."""
    record = np.repeat(np.arange(baskets.start.size - 1), np.diff(baskets.start))
    return Published(kept=kept, size=np.bincount(record[kept], minlength=baskets.start.size - 1).astype(np.int64))


def item_codes(n_items: int) -> NDArray[np.uint64]:
    """Return well mixed 64-bit codes, the same ones every time (after Steele, Lea and Flood, 2014)."""
    code: NDArray[np.uint64] = np.arange(1, n_items + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        code = (code ^ (code >> np.uint64(shift))) * np.uint64(factor)
    return code ^ (code >> np.uint64(31))


def make_store(room: int = 1 << 16) -> Store:
    """Return an empty store with room for at least so many itemsets."""
    slots = 1 << max(10, int(2 * room - 1).bit_length())
    return Store(np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int32), np.zeros(1, dtype=np.int64))


def with_room(store: Store, room: int) -> Store:
    """Return a store that takes `room` further itemsets: the same one if it does already."""
    if 2 * (int(store.used[0]) + room) <= store.keys.size:
        return store
    larger = make_store(int(store.used[0]) + room)
    _move(store, larger)
    return larger


@kernel
def _move(store, larger):
    for slot in range(store.keys.size):
        if store.keys[slot] != FREE:
            new = slot_of(store.keys[slot], larger)
            larger.keys[new] = store.keys[slot]
            larger.counts[new] = store.counts[slot]
    larger.used[0] = store.used[0]


@kernel
def slot_of(key, store):
    """Return where a key is, or where it would go."""
    last = np.uint64(store.keys.size - 1)
    slot = (key ^ (key >> np.uint64(29))) & last
    while store.keys[slot] != FREE and store.keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return np.int64(slot)


@kernel
def add(key, change, store):
    """Add to the support of a set, which is stored from now on."""
    slot = slot_of(key, store)
    if store.keys[slot] != key:
        store.keys[slot] = key
        store.counts[slot] = 0
        store.used[0] += 1
    store.counts[slot] += change


@kernel
def scan(wanted, enough, baskets, kept):
    """Return in how many records all `wanted` items, ascending, are kept; stop at `enough`.

    The list of the rarest item is run through beside that of the second, or its bits, and only records that hold both
    are looked into.
    """
    start, items, tid_start, tids = baskets.start, baskets.items, baskets.tid_start, baskets.tids
    rarest, second = wanted[0], wanted[wanted.size - 1]
    for item in wanted:
        length = tid_start[item + 1] - tid_start[item]
        if length < tid_start[rarest + 1] - tid_start[rarest]:
            second, rarest = rarest, item
        elif item != rarest and (second == rarest or length < tid_start[second + 1] - tid_start[second]):
            second = item
    found = 0
    other, last = tid_start[second], tid_start[second + 1]
    row = baskets.bit_row[second]
    for at in range(tid_start[rarest], tid_start[rarest + 1]):
        record = tids[at]
        if row >= 0:
            if not baskets.bits[row, record >> 6] >> np.uint64(record & 63) & np.uint64(1):
                continue
        else:
            while other < last and tids[other] < record:
                other += 1
            if other == last:
                break
            if tids[other] != record:
                continue
        if not kept[baskets.occurrence[at]]:
            continue
        place, end = start[record], start[record + 1]
        seen = 0
        while seen < wanted.size and place < end:
            item = items[place]
            if item == wanted[seen]:
                if not kept[place]:
                    break
                seen += 1
            elif item > wanted[seen]:
                break
            place += 1
        if seen == wanted.size:
            found += 1
            if found >= enough:
                break
    return found


@kernel
def load(record, baskets, kept, members, key):
    """Put the kept items of a record into `members` and the keys of their subsets into `key`.

    Bit i of a subset's number stands for members[i]. Returns how many members there are, and which are sensitive.
    """
    size, secret = 0, 0
    for at in range(baskets.start[record], baskets.start[record + 1]):
        if kept[at]:
            item = np.int64(baskets.items[at])
            members[size] = item
            if baskets.sensitive[item]:
                secret |= 1 << size
            size += 1
    key[0] = FREE
    for place in range(size):
        put_last(np.int64(members[place]), place, baskets, members, key)
    return size, secret


@kernel
def put_last(item, place, baskets, members, key):
    """Make an item the member at `place`, behind all others, with keys for the subsets that hold it."""
    members[place] = item
    code = baskets.code[item]
    for subset in range(1 << place):
        key[(1 << place) | subset] = key[subset] ^ code


@kernel
def support(subset, needed, secret, members, key, baskets, kept, store, bound, scratch):
    """Return the support of a subset of the loaded record, or less if that is at least what is needed."""
    if subset == 0:
        return np.int32(bound.most.size - 1)
    slot = slot_of(key[subset], store)
    if store.keys[slot] == key[subset]:
        if store.counts[slot] >= 0:
            return store.counts[slot]
        if -store.counts[slot] >= needed:
            return np.int32(-store.counts[slot])
    elif subset & secret:
        return np.int32(0)
    size = 0
    for place in range(scratch.size):  # ascending: the last member may be out of order
        if subset >> place & 1:
            at = size
            while at > 0 and scratch[at - 1] > members[place]:
                scratch[at] = scratch[at - 1]
                at -= 1
            scratch[at] = members[place]
            size += 1
    enough = max(FIRST, 4 * needed)
    found = np.int32(scan(scratch[:size], enough, baskets, kept))
    if store.keys[slot] != key[subset]:
        store.keys[slot] = key[subset]
        store.used[0] += 1
    store.counts[slot] = -found if found >= enough else found
    return found


@kernel
def unsafe_rules(size, secret, more, members, key, baskets, kept, store, bound, scratch, enough):
    """Return how many rules within the loaded record that involve its last member are unsafe, up to `enough`.

    more: 1 judges as if the last member were in this record already, 0 as things are.
    """
    last = 1 << (size - 1)
    found = 0
    for subset in range((1 << size) - 1, last - 1, -1):  # the longest antecedents fail soonest
        rest = subset & secret
        if rest == 0:
            continue
        slot = slot_of(key[subset], store)
        hits = more
        if store.keys[slot] == key[subset]:
            hits += store.counts[slot]
        while rest:
            item = rest & -rest
            rest ^= item
            antecedent = subset ^ item
            if antecedent == 0 and not bound.empty:
                continue
            needed = bound.least[min(hits, bound.most.size)]
            records = support(antecedent, needed, secret, members, key, baskets, kept, store, bound, scratch)
            if item != last:
                records += more
            if hits > bound.most[records]:
                found += 1
                if found >= enough:
                    return found
    return found
