"""Moves over several records at once, for what growth one type after the other cannot reach.

Growth gives the first type to all records that may hold it; a second type that stands in the same records would then
give the first away, and stays out. `insert_together` puts all types in at once and takes back what breaks most rules.
`insert_by_item` with `exchange` takes a whole type out, lets others in, and puts it back where it still fits.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.growth import hopeless, settle, sort_by, waiting_for
from sfumato.kernels.items.supports import add, load, put_last, unsafe_rules


@kernel
def _change(at, record, change, baskets, published, store, members, key):
    """Put a withheld sensitive occurrence into its record (change = 1), or take a kept one out (-1)."""
    kept = published.kept
    kept[at] = False
    size, _ = load(record, baskets, kept, members, key)
    put_last(np.int64(baskets.items[at]), size, baskets, members, key)
    for subset in range(1 << size, 2 << size):
        add(key[subset], change, store)
    kept[at] = change > 0
    published.size[record] += change


@kernel
def insert_together(records, longest, baskets, published, store, bound):
    """Put all sensitive items into some records at once, and take back those in most unsafe rules until none is.

    Types that often occur together support one another, which one after the other cannot: the first would take all
    records, and be given away by the second in each. Records hold at most `longest` items; none is kept of them that is
    sensitive. Returns how many came back.
    """
    kept, sensitive = published.kept, baskets.sensitive
    members, scratch = np.empty(longest + 1, dtype=np.int32), np.empty(longest + 1, dtype=np.int32)
    key = np.empty(2 << longest, dtype=np.uint64)
    n_all = 0
    for record in records:
        n_all += baskets.start[record + 1] - baskets.start[record]
    place_of, record_of = np.empty(n_all, dtype=np.int64), np.empty(n_all, dtype=np.int64)
    n_all = 0
    for record in records:
        if hopeless(record, baskets, kept, store, bound, members, scratch, key):
            continue
        for at in range(baskets.start[record], baskets.start[record + 1]):
            if sensitive[baskets.items[at]]:
                kept[at] = True
                published.size[record] += 1
                place_of[n_all], record_of[n_all] = at, record
                n_all += 1
        size, secret = load(record, baskets, kept, members, key)
        for subset in range(1, 1 << size):
            if subset & secret:
                add(key[subset], 1, store)
    broken, order = np.empty(n_all, dtype=np.int64), np.arange(n_all)
    counting, lost, gained = True, 1, n_all
    while lost > 0:
        lost = 0
        for step in range(n_all):
            place = order[n_all - 1 - step]
            at, record = place_of[place], record_of[place]
            if not kept[at]:
                continue
            kept[at] = False
            size, secret = load(record, baskets, kept, members, key)
            kept[at] = True
            put_last(np.int64(baskets.items[at]), size, baskets, members, key)
            secret |= 1 << size
            enough = 1 << 30 if counting else 1
            found = unsafe_rules(size + 1, secret, 0, members, key, baskets, kept, store, bound, scratch, enough)
            if counting:
                # Equal counts are told apart by chance: else some records lose everything, and others nothing.
                chance = (baskets.code[baskets.items[at]] * np.uint64(2 * record + 1)) >> np.uint64(48)
                broken[place] = (found << 16) | np.int64(chance)
            elif found:
                kept[at] = False
                _change(at, record, -1, baskets, published, store, members, key)
                lost += 1
        gained -= lost
        if counting:
            sort_by(broken, order, n_all)
            counting, lost = False, 1
    return gained


@kernel
def _exchange(
    item,
    longest,
    ties,
    baskets,
    published,
    store,
    bound,
    members,
    scratch,
    key,
    waiting,
    holds,
    broken,
    order,
    held,
    came,
    came_to,
):
    """Take a sensitive item out of all its records, put others back there, then the item itself; undo what lost.

    Growth ends where no single occurrence, and no single type, can come back: often because one type stands in the
    way of several. A type that is gone altogether breaks no rule, so every step is safe. Returns how many more
    occurrences are kept than before.
    """
    kept, sensitive = published.kept, baskets.sensitive
    first, last = baskets.tid_start[item], baskets.tid_start[item + 1]
    n_held, n_came = 0, 0
    for at in range(first, last):
        held[at - first] = kept[baskets.occurrence[at]]
        if held[at - first]:
            n_held += 1
            _change(baskets.occurrence[at], np.int64(baskets.tids[at]), -1, baskets, published, store, members, key)
    if n_held == 0:
        return 0
    for at in range(first, last):
        record = np.int64(baskets.tids[at])
        if published.size[record] >= longest or hopeless(record, baskets, kept, store, bound, members, scratch, key):
            continue
        for other in range(baskets.start[record], baskets.start[record + 1]):
            if kept[other] or not sensitive[baskets.items[other]] or baskets.items[other] == item:
                continue
            if published.size[record] >= longest or 4 * store.used[0] > 3 * store.keys.size:
                break
            size, secret = load(record, baskets, kept, members, key)
            put_last(np.int64(baskets.items[other]), size, baskets, members, key)
            secret |= 1 << size
            if unsafe_rules(size + 1, secret, 1, members, key, baskets, kept, store, bound, scratch, 1) == 0:
                _change(other, record, 1, baskets, published, store, members, key)
                came[n_came] = other
                came_to[n_came] = record
                n_came += 1
    n_waiting, _ = waiting_for(item, longest, baskets, published, store, bound, members, scratch, key, waiting)
    back = settle(
        item, n_waiting, False, baskets, published, store, bound, members, scratch, key, waiting, holds, broken, order
    )
    if n_came + back > n_held or (ties and n_came + back == n_held):
        return n_came + back - n_held
    for at in range(first, last):
        if kept[baskets.occurrence[at]]:
            _change(baskets.occurrence[at], np.int64(baskets.tids[at]), -1, baskets, published, store, members, key)
    while n_came > 0:
        n_came -= 1
        _change(came[n_came], came_to[n_came], -1, baskets, published, store, members, key)
    for at in range(first, last):
        if held[at - first]:
            _change(baskets.occurrence[at], np.int64(baskets.tids[at]), 1, baskets, published, store, members, key)
    return 0


@kernel
def insert_by_item(types, longest, whole_types, exchange, ties, baskets, published, store, bound):
    """Put sensitive items back, one type after the other, each into as many records as rules allow.

    With `whole_types` a type comes back everywhere or nowhere. With `exchange` it is exchanged for others, and with
    `ties` that counts if as many occurrences are kept as before. Both in one loop: what they call is compiled once.

    A record that holds a sensitive item keeps at most `longest` items. Returns how many types were done, how many
    occurrences came back, and the room that the store needs for the type it stopped at (0: all are done).
    """
    kept = published.kept
    members, scratch = np.empty(longest + 1, dtype=np.int32), np.empty(longest + 1, dtype=np.int32)
    key = np.empty(1 << longest, dtype=np.uint64)
    most = 0
    for item in types:
        most = max(most, baskets.tid_start[item + 1] - baskets.tid_start[item])
    waiting, broken = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    order, holds = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.bool_)
    room_for_one = (members, scratch, key, waiting, holds, broken, order)
    others = most * longest if exchange else 0  # occurrences of other types that may come back
    held, came, came_to = np.empty(most, dtype=np.bool_), np.empty(others, dtype=np.int64), np.empty(others, np.int64)
    gained = 0
    for index in range(types.size):
        item = types[index]
        first, last = baskets.tid_start[item], baskets.tid_start[item + 1]
        if not exchange and store.used[0] + last - first > store.keys.size // 2:
            return index, gained, last - first
        n_waiting, room = waiting_for(item, longest, baskets, published, store, bound, members, scratch, key, waiting)
        for at in range(first, last if exchange else first):
            if kept[baskets.occurrence[at]]:
                room += 4 << published.size[baskets.tids[at]]
        if store.used[0] + room > store.keys.size // 2:
            return index, gained, room
        if exchange:
            gained += _exchange(
                item, longest, ties, baskets, published, store, bound, *room_for_one, held, came, came_to
            )
        else:
            gained += settle(item, n_waiting, whole_types, baskets, published, store, bound, *room_for_one)
    return types.size, gained, 0
