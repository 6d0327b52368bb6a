"""Growth of a whole table or of its parts, in steps short enough to be ended between any two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.items.growth import count_kept, insert_by_item, insert_by_record
from sfumato.kernels.items.supports import Baskets, Bound, Published, Store, make_published, make_store, with_room

LONGEST = 20  # items of a record with a sensitive one that can still be counted, set by set
ROUNDS = 12  # through the table; later ones find next to nothing
_TYPES = 16  # items tried between two looks at the clock
_RECORDS = 2048  # records tried between two looks at the clock
_EVERYTHING = np.int64(2**62)


class Wish(NamedTuple):
    """What shall come back, and in which order."""

    by_record: bool = False  # all items in balance, record by record; else sensitive ones, type by type
    frequent_first: bool = False  # of types
    whole_types: bool = False  # a type comes back everywhere or nowhere
    slack: float = 0.0  # by record: how far an item may be ahead of the whole table; below 0 wants everything


def safe_start(baskets: Baskets, *, empty: bool = False) -> NDArray[np.bool_]:
    """Return which occurrences are kept at first: those that are not sensitive, or none."""
    if empty:
        return np.zeros(baskets.items.size, dtype=np.bool_)
    return ~baskets.sensitive[baskets.items]


def can_be_counted(baskets: Baskets, kept: NDArray[np.bool_]) -> bool:
    """Whether every record with a sensitive item is short enough to grow from."""
    published = make_published(baskets, kept)
    return bool(published.size[_with_secret(baskets, kept)].max(initial=0) <= LONGEST)


def grow(
    baskets: Baskets,
    kept: NDArray[np.bool_],
    bound: Bound,
    wish: Wish,
    *,
    longest: int,
    stop: Callable[[], bool] = lambda: False,
    advance: Callable[[float], None] = lambda steps: None,
    most_steps: int | None = None,
) -> int:
    """Put back what rules allow, starting from a safe table; return how many occurrences came back.

    `kept` is changed in place and safe after every step. `stop` is asked between steps; `advance` hears which share of
    a round is done, and `most_steps` ends growth by record after so many insertions.
    """
    published = make_published(baskets, kept)
    store = _count(baskets, published)
    if wish.by_record:
        return _by_record(baskets, published, bound, wish, store, longest, stop, advance, most_steps)
    support = np.diff(baskets.tid_start)
    types = np.flatnonzero(baskets.sensitive & (support > 0))
    types = types[np.argsort(-support[types] if wish.frequent_first else support[types], kind="stable")]
    gained = 0
    for number in range(ROUNDS):
        came, done = 0, 0
        while done < types.size:
            if stop():
                return gained + came
            steps, new, room = insert_by_item(
                types[done : done + _TYPES], longest, wish.whole_types, baskets, published, store, bound
            )
            done += steps
            came += int(new)
            if room:
                store = with_room(store, 2 * int(room))
            if number == 0:
                advance(steps / types.size)
        gained += came
        if came == 0:
            break
    return gained


def _by_record(
    baskets: Baskets,
    published: Published,
    bound: Bound,
    wish: Wish,
    store: Store,
    longest: int,
    stop: Callable[[], bool],
    advance: Callable[[float], None],
    most_steps: int | None,
) -> int:
    now = np.bincount(baskets.items[published.kept], minlength=baskets.sensitive.size).astype(np.int64)
    gained = 0
    for number in range(ROUNDS):
        order = np.argsort(published.size, kind="stable")
        came, done = 0, 0
        while done < order.size:
            left = _EVERYTHING if most_steps is None else most_steps - gained - came
            if stop() or left <= 0:
                return gained + came
            steps, new, full = insert_by_record(
                order[done : done + _RECORDS],
                longest,
                wish.slack,
                wish.slack < 0,
                baskets,
                published,
                store,
                bound,
                now,
                left,
            )
            done += steps
            came += int(new)
            if full:
                store = with_room(store, max(store.keys.size // 2, 8 << longest))
            if number == 0:
                advance(steps / order.size)
        gained += came
        if came == 0:
            break
    return gained


def _with_secret(baskets: Baskets, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the records that keep a sensitive item."""
    secret = kept & baskets.sensitive[baskets.items]
    record = np.repeat(np.arange(baskets.start.size - 1), np.diff(baskets.start))
    return np.flatnonzero(np.bincount(record[secret], minlength=baskets.start.size - 1))


def _count(baskets: Baskets, published: Published) -> Store:
    """Return a store in which all kept sets with a sensitive item are counted."""
    records = _with_secret(baskets, published.kept)
    store = make_store()
    most_items = int(published.size[records].max(initial=0))
    while records.size:
        done = count_kept(records, most_items, baskets, published, store)
        records = records[done:]
        if records.size:
            store = with_room(store, max(store.keys.size // 2, 2 << most_items))
    return store
