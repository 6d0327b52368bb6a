"""Growth from a safe table: occurrences are put back, each only if no rule becomes unsafe.

Putting item t into a record can only hurt rules within what the record then holds: those that lead to t, and those
whose antecedent holds t. They are judged exactly, so the table is safe after every step, and no step that was refused
would have been safe.

Two ways to grow. By item: all records that wait for a sensitive item get it at once, and those that break a rule lose
it again, most broken rules first, until all is well. Records that hold alike sets support one another, which single
insertions cannot see. By record: items return one at a time, those first that have lost the largest share, none beyond
the share that the whole table has reached by more than the slack.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import add, load, put_last, slot_of, support, unsafe_rules

MANY = 64  # items of a record beyond which only single items are counted, not pairs


INSERT, COUNT, REMOVE, RETURN, DONE = 0, 1, 2, 3, 4  # what is done to all waiting records, in this order


@kernel
def sort_by(value, order, size):
    """Sort the first places in `order` by rising value, equal ones by place, in place.

    NumPy's sorts take seconds to compile.
    """
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap:
        for at in range(gap, size):
            place = order[at]
            hole = at
            while hole >= gap:
                other = order[hole - gap]
                if value[other] < value[place] or (value[other] == value[place] and other < place):
                    break
                order[hole] = other
                hole -= gap
            order[hole] = place
        gap //= 3


@kernel
def hopeless(record, baskets, kept, store, bound, members, scratch, key):
    """Whether what a record keeps is too rare for any further sensitive item in it; loads the record."""
    size, secret = load(record, baskets, kept, members, key)
    if size == 0:
        return False
    whole = (1 << size) - 1
    return bound.most[support(whole, bound.least[1], secret, members, key, baskets, kept, store, bound, scratch)] < 1


@kernel
def waiting_for(item, longest, baskets, published, store, bound, members, scratch, key, waiting):
    """Find the records that lack a sensitive item of theirs and could hold it if nobody else did.

    Puts their places in the item's list into `waiting`; returns how many there are, and the room that they need.
    """
    kept = published.kept
    n_waiting, room = 0, 0
    for at in range(baskets.tid_start[item], baskets.tid_start[item + 1]):
        record = np.int64(baskets.tids[at])
        if kept[baskets.occurrence[at]] or published.size[record] >= longest:
            continue
        if hopeless(record, baskets, kept, store, bound, members, scratch, key):
            continue
        waiting[n_waiting] = at
        n_waiting += 1
        room += 2 << published.size[record]
    return n_waiting, room


@kernel
def settle(
    item, n_waiting, whole_types, baskets, published, store, bound, members, scratch, key, waiting, holds, broken, order
):
    """Give an item to all that wait for it, and take it back where rules break; return how many keep it."""
    kept = published.kept
    for place in range(n_waiting):
        holds[place] = True
        order[place] = place
    all_go = whole_types and n_waiting < baskets.tid_start[item + 1] - baskets.tid_start[item]
    phase = INSERT
    while phase < DONE:
        lost = 0
        for step in range(n_waiting):
            # Those with most broken rules lose the item first, and get another chance last.
            place = order[step] if phase == RETURN else order[n_waiting - 1 - step]
            if holds[place] == (phase == RETURN):
                continue
            size, secret = load(np.int64(baskets.tids[waiting[place]]), baskets, kept, members, key)
            put_last(item, size, baskets, members, key)
            secret |= 1 << size
            change = 1
            if phase != INSERT:
                more = 1 if phase == RETURN else 0
                enough = 1 << 30 if phase == COUNT else 1
                found = unsafe_rules(size + 1, secret, more, members, key, baskets, kept, store, bound, scratch, enough)
                if phase == COUNT:
                    broken[place] = found
                    all_go |= whole_types and found > 0
                if phase == REMOVE and all_go:
                    found = 1
                if phase == COUNT or (found == 0) != (phase == RETURN):
                    continue
                holds[place] = phase == RETURN
                change = 1 if phase == RETURN else -1
                lost += 1
            for subset in range(1 << size, 2 << size):
                add(key[subset], change, store)
        if phase == COUNT:
            sort_by(broken, order, n_waiting)
        if phase == REMOVE and whole_types:
            phase = DONE
        elif phase != REMOVE or lost == 0:  # who loses the item may have supported another: look at all again
            phase += 1
    gained = 0
    for place in range(n_waiting):
        if holds[place]:
            kept[baskets.occurrence[waiting[place]]] = True
            published.size[baskets.tids[waiting[place]]] += 1
            gained += 1
    return gained


@kernel
def _insert(item, size, secret, members, key, store, longest, code):
    """Count the loaded record's last member in, where sets are stored; long records count for small sets only."""
    if secret:
        for subset in range(1 << (size - 1), 1 << size):
            if subset & secret:
                add(key[subset], 1, store)
            else:
                slot = slot_of(key[subset], store)
                if store.keys[slot] == key[subset]:
                    store.counts[slot] += 1 if store.counts[slot] >= 0 else -1
        return
    if size <= longest:
        for subset in range(1 << (size - 1), 1 << size):
            slot = slot_of(key[subset], store)
            if store.keys[slot] == key[subset]:
                store.counts[slot] += 1 if store.counts[slot] >= 0 else -1
        return
    # Too small a support may refuse what would have been safe, never the other way round.
    slot = slot_of(code[item], store)
    if store.keys[slot] == code[item]:
        store.counts[slot] += 1 if store.counts[slot] >= 0 else -1
    for place in range(size - 1 if size <= MANY else 0):
        pair = code[item] ^ code[members[place]]
        slot = slot_of(pair, store)
        if store.keys[slot] == pair:
            store.counts[slot] += 1 if store.counts[slot] >= 0 else -1


@kernel
def insert_by_record(records, longest, slack, all_left, baskets, published, store, bound, now, most_steps):
    """Put items back record by record, those with the lowest leftover first.

    An item is wanted while its leftover (kept share of its occurrences) is at most that of the whole table plus
    `slack`; all_left wants everything. now: (v,) kept occurrences of each item, changed in place. Returns how many
    records were done, how many occurrences came back, and whether the store must grow first.
    """
    kept = published.kept
    start, items, sensitive = baskets.start, baskets.items, baskets.sensitive
    n_most = 0
    for record in records:
        n_most = max(n_most, start[record + 1] - start[record])
    members = np.empty(MANY + 1, dtype=np.int32)
    scratch = np.empty(longest + 1, dtype=np.int32)
    key = np.empty(2 << longest, dtype=np.uint64)
    waiting = np.empty(n_most, dtype=np.int64)
    leftover = np.empty(n_most)
    order = np.empty(n_most, dtype=np.int64)
    total, gained = np.int64(0), 0
    for item in range(now.size):
        total += now[item]
    for index in range(records.size):
        if store.used[0] + (4 << longest) > store.keys.size // 2:
            return index, gained, True
        if gained >= most_steps:
            return index, gained, False
        record = records[index]
        n_waiting, n_secret = 0, 0
        for at in range(start[record], start[record + 1]):
            if kept[at]:
                n_secret += sensitive[items[at]]
            else:
                waiting[n_waiting] = at
                of_item = baskets.tid_start[items[at] + 1] - baskets.tid_start[items[at]]
                leftover[n_waiting] = now[items[at]] / of_item
                n_waiting += 1
        for place in range(n_waiting):
            order[place] = place
        sort_by(leftover, order, n_waiting)
        for step in range(n_waiting):
            place = order[step]
            at = waiting[place]
            item = np.int64(items[at])
            if not all_left and leftover[place] > total / items.size + slack:
                break
            if gained >= most_steps:
                break
            held = published.size[record]
            harmless = n_secret == 0 and not sensitive[item]
            if not harmless and held >= longest:
                continue
            if held < longest:
                size, secret = load(record, baskets, kept, members, key)
                put_last(item, size, baskets, members, key)
                secret |= sensitive[item] << size
                size += 1
                if not harmless and unsafe_rules(
                    size, secret, 1, members, key, baskets, kept, store, bound, scratch, 1
                ):
                    continue
            else:
                size, secret = held + 1, 0
                if size <= MANY:
                    place = 0
                    for other in range(start[record], start[record + 1]):
                        if kept[other]:
                            members[place] = items[other]
                            place += 1
            _insert(item, size, secret, members, key, store, longest, baskets.code)
            kept[at] = True
            published.size[record] += 1
            n_secret += sensitive[item]
            now[item] += 1
            total += 1
            gained += 1
    return records.size, gained, False


@kernel
def count_kept(records, most_items, baskets, published, store):
    """Count all kept sets with a sensitive item, in records of at most `most_items` kept items each.

    Returns how many records were done; the store must grow before the next.
    """
    members = np.empty(most_items + 1, dtype=np.int32)
    key = np.empty(1 << most_items, dtype=np.uint64)
    for index in range(records.size):
        if store.used[0] + (np.int64(1) << published.size[records[index]]) > store.keys.size // 2:
            return index
        size, secret = load(records[index], baskets, published.kept, members, key)
        for subset in range(1, 1 << size):
            if subset & secret:
                add(key[subset], 1, store)
    return records.size
