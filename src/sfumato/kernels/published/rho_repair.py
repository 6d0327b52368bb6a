"""The published way to rho-uncertainty: look for unsafe rules, and delete until each is safe again.

PartialSuppressor with SanitizeBuffer of Jia, Pan, Xu, Zhu and Lo (2014), with these decisions: counts of deletions are
rounded up; supports are those of the whole part at the time; antecedents go by size, and only records that hold a
sensitive item are searched, so that long records lose theirs to small antecedents; ties go to the sensitive item, then
to the smaller number; shares in the distribution are of all occurrences. A record with more than 100,000 antecedents of
one size gives up its sensitive items: the paper would list them all (2^76 for the longest record of its Retail table).

Sizes as in `kernels.items.supports`.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiling import kernel
from sfumato.kernels.items.supports import FREE

LEFTOVER, DISTRIBUTION = 0, 1  # what decides which item goes: Mine and Dist of the paper
MANY = 100_000  # antecedents of one size in one record, beyond which the record gives up its sensitive items


@kernel
def _random_below(bound, seed):
    """Return a number from 0 to bound - 1, and step the generator (splitmix64)."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    word = seed[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return np.int64(word >> np.uint64(1)) % bound


@kernel
def _delete(item, record, baskets, published, now):
    """Withhold one occurrence."""
    for at in range(baskets.start[record], baskets.start[record + 1]):
        if baskets.items[at] == item:
            published.kept[at] = False
    published.size[record] -= 1
    now[item] -= 1
    now[now.size - 1] -= 1  # all of them


@kernel
def holders_of(antecedent, baskets, kept, holders, hits, touched):
    """List the records that keep an antecedent and count the sensitive items beside it.

    Returns the number of holders and of touched items, whose hits must be zeroed again.
    """
    start, items, tid_start = baskets.start, baskets.items, baskets.tid_start
    rarest = antecedent[0]
    for item in antecedent:
        if tid_start[item + 1] - tid_start[item] < tid_start[rarest + 1] - tid_start[rarest]:
            rarest = item
    n_holders, n_touched = 0, 0
    for at in range(tid_start[rarest], tid_start[rarest + 1]):
        if not kept[baskets.occurrence[at]]:
            continue
        record = baskets.tids[at]
        found = 0
        for place in range(start[record], start[record + 1]):
            if kept[place] and items[place] == antecedent[found]:
                found += 1
                if found == antecedent.size:
                    break
        if found < antecedent.size:
            continue
        holders[n_holders] = record
        n_holders += 1
        found = 0
        for place in range(start[record], start[record + 1]):
            item = items[place]
            if found < antecedent.size and item == antecedent[found]:
                found += 1
            elif kept[place] and baskets.sensitive[item]:
                if hits[item] == 0:
                    touched[n_touched] = item
                    n_touched += 1
                hits[item] += 1
    return n_holders, n_touched


@kernel
def _worth(item, deletions, heuristic, baskets, now):
    """Return how good it is to delete an item so many times: higher is better."""
    before = baskets.tid_start[item + 1] - baskets.tid_start[item]
    if heuristic == LEFTOVER:
        return -(now[item] / before) * deletions
    share, share_before = now[item] / now[now.size - 1], before / baskets.items.size
    surplus = share * np.log(share / share_before)
    return surplus / deletions if surplus >= 0 else surplus * deletions


@kernel
def _repair_antecedent(antecedent, heuristic, baskets, published, bound, now, stale, holders, hits, touched, seed):
    """Delete until no rule from this antecedent is unsafe; return how many occurrences went."""
    gone = 0
    while True:
        n_holders, n_touched = holders_of(antecedent, baskets, published.kept, holders, hits, touched)
        chosen, target, times, best = -1, -1, 0, -np.inf
        for index in range(n_touched):
            e = touched[index]
            if hits[e] <= bound.most[n_holders]:
                continue
            for place in range(-1, antecedent.size):
                deletions = hits[e] - bound.most[n_holders]
                if place >= 0:  # each deletion takes a holder away, too
                    while hits[e] - deletions > bound.most[n_holders - deletions]:
                        deletions += 1
                item = e if place < 0 else antecedent[place]
                worth = _worth(item, deletions, heuristic, baskets, now)
                better = worth > best
                if worth == best:
                    is_target = chosen == target
                    better = (place < 0 and (not is_target or item < chosen)) or (
                        place >= 0 and not is_target and item < chosen
                    )
                if better:
                    chosen, target, times, best = item, e, deletions, worth
        for index in range(n_touched):
            hits[touched[index]] = 0
        if chosen < 0:
            return gone
        n_both = 0
        for index in range(n_holders):
            record = holders[index]
            for at in range(baskets.start[record], baskets.start[record + 1]):
                if baskets.items[at] == target and published.kept[at]:
                    holders[n_both] = record
                    n_both += 1
        for index in range(times):
            other = index + _random_below(n_both - index, seed)
            holders[index], holders[other] = holders[other], holders[index]
            _delete(np.int64(chosen), holders[index], baskets, published, now)
        stale[chosen] = True
        gone += times


@kernel
def _sanitize(buffer, size, n_buffered, heuristic, baskets, published, bound, now, stale, fresh, found, seed):
    """Repair all antecedents in the buffer until none is unsafe; return how many occurrences went."""
    holders, hits, touched = found
    gone, first = 0, True
    while True:
        before = gone
        for index in range(n_buffered):
            antecedent = buffer[index * size : (index + 1) * size]
            again = first
            for item in antecedent:
                again |= fresh[item]
            if again:
                gone += _repair_antecedent(
                    antecedent, heuristic, baskets, published, bound, now, stale, holders, hits, touched, seed
                )
        first = False
        if gone == before:
            return gone
        for item in range(stale.size):  # whoever holds what was deleted may have become unsafe
            fresh[item] = stale[item]


@kernel
def _combinations(size, chosen):
    """Return how many antecedents of a size there are among so many members."""
    found = 1.0
    for i in range(chosen):
        found = found * (size - i) / (i + 1)
    return found


@kernel
def seen_slot(key, seen):
    """Return where a key is, or where it would go."""
    last = np.uint64(seen.size - 1)
    slot = (key ^ (key >> np.uint64(29))) & last
    while seen[slot] != FREE and seen[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return np.int64(slot)


@kernel
def next_places(place, size, n):
    """Step to the next choice of `size` places out of n, in rising order; return whether there was one."""
    i = size - 1
    while i >= 0 and place[i] == n - size + i:
        i -= 1
    if i < 0:
        return False
    place[i] += 1
    for j in range(i + 1, size):
        place[j] = place[j - 1] + 1
    return True


@kernel
def _count_kept(baskets, published):
    """Return the kept occurrences of each item, and of all items as the last entry."""
    now = np.zeros(baskets.sensitive.size + 1, dtype=np.int64)
    for at in range(baskets.items.size):
        now[baskets.items[at]] += published.kept[at]
        now[now.size - 1] += published.kept[at]
    return now


@kernel
def _repair_empty(baskets, published, bound, now, seed):
    """Delete sensitive items at random until knowing nothing tells nothing; return how many occurrences went."""
    gone = 0
    for item in range(baskets.sensitive.size):
        while baskets.sensitive[item] and now[item] > bound.most[published.size.size]:
            first, last = baskets.tid_start[item], baskets.tid_start[item + 1]
            at = first + _random_below(last - first, seed)
            if published.kept[baskets.occurrence[at]]:
                _delete(item, np.int64(baskets.tids[at]), baskets, published, now)
                gone += 1
    return gone


@kernel
def _give_up_long_records(size, buffer_size, baskets, published, now, stale):
    """Delete sensitive items of records that have too many antecedents of a size to go through.

    Returns how many occurrences went, and for how many antecedents of this size there should be room (0: no record is
    long enough to have one).
    """
    start, items, kept = baskets.start, baskets.items, published.kept
    gone, room, most, left = 0, 0.0, 0.0, False
    for record in range(start.size - 1):
        n_secret = 0
        for at in range(start[record], start[record + 1]):
            n_secret += kept[at] and baskets.sensitive[items[at]]
        if n_secret == 0 or published.size[record] <= size:
            continue
        left = True
        antecedents = _combinations(published.size[record], size)
        if antecedents > MANY:
            for at in range(start[record], start[record + 1]):
                if kept[at] and baskets.sensitive[items[at]]:
                    stale[items[at]] = True
                    _delete(np.int64(items[at]), record, baskets, published, now)
                    gone += 1
        else:
            most = max(most, antecedents)
            room += antecedents
    capacity = np.int64(max(most, min(room, float(buffer_size)))) + 1
    return gone, capacity if left else np.int64(0)


@kernel
def _collect(members, size, n_members, n_secret, code, sensitive, changed, stale, seen, buffer, n_buffered):
    """Append the antecedents of one record that are new and may have become unsafe; return how many there are now."""
    place = np.arange(size)
    running = True
    while running:
        key, again, inside = FREE, False, 0
        for i in range(size):
            item = members[place[i]]
            key ^= code[item]
            again |= changed[item] or stale[item]
            inside += sensitive[item]
        if again and inside < n_secret:
            slot = seen_slot(key, seen)
            if seen[slot] != key:
                seen[slot] = key
                for i in range(size):
                    buffer[n_buffered * size + i] = members[place[i]]
                n_buffered += 1
        running = next_places(place, size, n_members)
    return n_buffered


@kernel
def _repair_size(size, capacity, heuristic, baskets, published, bound, now, changed, stale, fresh, holders, seed):
    """Go through the antecedents of one size, `capacity` of them at a time; return how many occurrences went."""
    start, items, kept = baskets.start, baskets.items, published.kept
    n_records = start.size - 1
    longest = 0
    for record in range(n_records):
        longest = max(longest, start[record + 1] - start[record])
    members = np.empty(longest, dtype=np.int32)
    buffer = np.empty(capacity * size, dtype=np.int32)
    slots = np.int64(4)
    while slots < 2 * capacity:
        slots *= 2
    seen = np.zeros(slots, dtype=np.uint64)
    gone, n_buffered, record = 0, np.int64(0), 0
    while record <= n_records:
        n_members, n_secret = np.int64(0), np.int64(0)
        for at in range(start[record], start[record + 1]) if record < n_records else range(0):
            if kept[at]:
                members[n_members] = items[at]
                n_members += 1
                n_secret += baskets.sensitive[items[at]]
        searched = n_secret > 0 and n_members > size
        if record == n_records or (searched and n_buffered + _combinations(n_members, size) > capacity):
            gone += _sanitize(
                buffer, size, n_buffered, heuristic, baskets, published, bound, now, stale, fresh, holders, seed
            )
            if record == n_records:
                break
            n_buffered = 0
            for slot in range(slots):
                seen[slot] = FREE
            continue  # with the record as it is now
        if searched:
            n_buffered = _collect(
                members,
                size,
                n_members,
                n_secret,
                baskets.code,
                baskets.sensitive,
                changed,
                stale,
                seen,
                buffer,
                n_buffered,
            )
        record += 1
    return gone


@kernel
def repair(heuristic, buffer_size, baskets, published, bound, seed):
    """Delete occurrences until no rule is unsafe; return how many went, and in how many passes.

    buffer_size: antecedents that are collected before they are repaired.
    """
    n_items = baskets.sensitive.size
    now = _count_kept(baskets, published)
    stale, fresh = np.zeros(n_items, dtype=np.bool_), np.zeros(n_items, dtype=np.bool_)
    changed = np.ones(n_items, dtype=np.bool_)  # in the pass before
    holders = (
        np.empty(baskets.start.size - 1, dtype=np.int64),
        np.zeros(n_items, dtype=np.int64),
        np.empty(n_items, dtype=np.int64),
    )
    gone, passes = 0, 0
    if bound.empty:
        gone += _repair_empty(baskets, published, bound, now, seed)
    while True:
        passes += 1
        before = gone
        for item in range(n_items):
            stale[item] = False
        size = np.int64(1)  # a plain 1 would have all that it is given to compiled once more
        while True:
            given_up, capacity = _give_up_long_records(size, buffer_size, baskets, published, now, stale)
            gone += given_up
            if capacity == 0:
                break
            gone += _repair_size(
                size, capacity, heuristic, baskets, published, bound, now, changed, stale, fresh, holders, seed
            )
            size += 1
        if gone == before:
            return gone, passes
        for item in range(n_items):
            changed[item] = stale[item]
