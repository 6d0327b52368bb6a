"""Growth and repair on small tables against slow, obvious code."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from sfumato.anonymizers.items import limits
from sfumato.anonymizers.items.growth import Wish, grow, safe_start
from sfumato.kernels.items.growth import count_kept
from sfumato.kernels.items.supports import (
    item_codes,
    load,
    make_baskets,
    make_bound,
    make_published,
    make_store,
    put_last,
    slot_of,
    support,
    unsafe_rules,
    with_room,
)
from sfumato.kernels.published.rho_repair import DISTRIBUTION, LEFTOVER, repair


def table_of(records, sensitive, n_items=8):
    start = np.cumsum([0, *map(len, records)]).astype(np.int64)
    items = np.array([item for record in records for item in sorted(record)], dtype=np.int32)
    secret = np.zeros(n_items, dtype=np.bool_)
    secret[list(sensitive)] = True
    return make_baskets(start, items, secret, item_codes(n_items))


def random_table(rng, n=12):
    records = [{item for item in range(8) if rng.random() < 0.4} for _ in range(n)]
    return records, {item for item in range(8) if rng.random() < 0.4}


def sets_in(baskets, kept):
    ends = itertools.pairwise(baskets.start)
    return [set(baskets.items[first:last][kept[first:last]].tolist()) for first, last in ends]


def is_safe(records, sensitive, rho, empty=False):
    antecedents = {
        frozenset(chosen)
        for record in records
        for size in range(0 if empty else 1, len(record) + 1)
        for chosen in itertools.combinations(sorted(record), size)
    }
    for known in antecedents:
        holders = [record for record in records if known <= record]
        for item in sensitive - known:
            if sum(item in record for record in holders) > rho * len(holders):
                return False
    return True


@pytest.mark.slow
def test_one_insertion_is_judged_as_brute_force_would():
    rng = random.Random(8)
    allowed = refused = 0
    for _ in range(600):
        records, sensitive = random_table(rng)
        rho, empty = rng.choice([Fraction(1, 2), Fraction(7, 10), Fraction(1, 3)]), rng.random() < 0.3
        baskets = table_of(records, sensitive)
        kept = safe_start(baskets, empty=rng.random() < 0.5)
        bound = make_bound(limits(rho, len(records)), empty=empty)
        grow(baskets, kept, bound, Wish(by_record=True, slack=-1.0), longest=8, most_steps=rng.randrange(12))
        waiting = np.flatnonzero(~kept)
        if not waiting.size:
            continue
        at = int(rng.choice(waiting))
        record = int(np.searchsorted(baskets.start, at, side="right") - 1)
        published, store = make_published(baskets, kept), make_store(4096)
        with_secret = np.flatnonzero([bool(kept_items & sensitive) for kept_items in sets_in(baskets, kept)])
        count_kept(with_secret, 8, baskets, published, store)
        members, scratch = np.empty(10, dtype=np.int32), np.empty(10, dtype=np.int32)
        key = np.empty(1 << 9, dtype=np.uint64)
        size, secret = load(record, baskets, kept, members, key)
        item = int(baskets.items[at])
        put_last(item, size, baskets, members, key)
        secret |= int(item in sensitive) << size
        unsafe = unsafe_rules(size + 1, secret, 1, members, key, baskets, kept, store, bound, scratch, 1)
        assert is_safe(sets_in(baskets, kept), sensitive, rho, empty)
        kept[at] = True

        assert (unsafe == 0) == is_safe(sets_in(baskets, kept), sensitive, rho, empty)
        allowed, refused = allowed + (unsafe == 0), refused + (unsafe > 0)
    assert allowed > 50
    assert refused > 50


@pytest.mark.slow
def test_a_union_of_safe_parts_is_safe():
    rng = random.Random(9)
    joined = 0
    for _ in range(400):
        parts = [random_table(rng, 5)[0] for _ in range(2)]
        sensitive, rho = {1, 4}, Fraction(rng.choice([1, 2]), 3)
        kept = []
        for part in parts:
            baskets = table_of(part, sensitive)
            of_part = safe_start(baskets)
            grow(baskets, of_part, make_bound(limits(rho, 5), empty=False), Wish(), longest=8)
            kept += sets_in(baskets, of_part)
        joined += any(record & sensitive for record in kept)
        assert is_safe(kept, sensitive, rho)
    assert joined > 100


@pytest.mark.parametrize("heuristic", [LEFTOVER, DISTRIBUTION])
@pytest.mark.parametrize("empty", [False, True])
def test_repair_ends_with_a_safe_table(heuristic, empty):
    rng = random.Random(10)
    for number in range(150):
        records, sensitive = random_table(rng)
        rho = rng.choice([Fraction(1, 2), Fraction(7, 10), Fraction(1, 3)])
        baskets = table_of(records, sensitive)
        published = make_published(baskets, np.ones(baskets.items.size, dtype=np.bool_))
        bound = make_bound(limits(rho, len(records)), empty=empty)
        gone, _ = repair(heuristic, 10, baskets, published, bound, np.array([number], dtype=np.uint64))

        assert is_safe(sets_in(baskets, published.kept), sensitive, rho, empty)
        assert gone == int((~published.kept).sum())
        if heuristic == LEFTOVER:
            lost = baskets.items[~published.kept]
            assert baskets.sensitive[lost].all()


def test_long_records_give_up_their_sensitive_items_rather_than_time():
    rng = random.Random(3)
    long = [set(rng.sample(range(1, 400), 120)) | {0} for _ in range(4)]
    records = [*long, *long, {0, 1}, {1}, {1}, {2}]
    baskets = table_of(records, {0}, n_items=400)
    published = make_published(baskets, np.ones(baskets.items.size, dtype=np.bool_))
    repair(
        LEFTOVER,
        1000,
        baskets,
        published,
        make_bound(limits(Fraction(7, 10), 12), empty=False),
        np.array([1], np.uint64),
    )
    kept = sets_in(baskets, published.kept)

    assert all(0 not in record for record in kept[:8])
    assert all(len(record) == 120 for record in kept[:8])


def test_a_store_keeps_its_counts_when_it_grows():
    baskets = table_of([{0, 1, 2}, {0, 1}, {1, 2}], {2})
    store, bound = make_store(1), make_bound(limits(Fraction(1, 2), 3), empty=False)
    kept = np.ones(baskets.items.size, dtype=np.bool_)
    members, scratch, key = np.empty(4, np.int32), np.empty(4, np.int32), np.empty(8, np.uint64)
    load(0, baskets, kept, members, key)
    asked = [int(support(subset, 3, 0, members, key, baskets, kept, store, bound, scratch)) for subset in range(8)]
    larger = with_room(store, 5000)

    assert asked == [3, 2, 3, 2, 2, 1, 2, 1]
    assert larger.keys.size > store.keys.size
    assert [int(larger.counts[slot_of(key[subset], larger)]) for subset in range(1, 8)] == asked[1:]
    assert with_room(larger, 10) is larger
