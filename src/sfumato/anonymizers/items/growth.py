"""Growth of a whole table or of its parts, in steps short enough to be ended between any two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.items.growth import count_kept, insert_by_record
from sfumato.kernels.items.supports import Baskets, Bound, Published, Store, make_published, make_store, with_room
from sfumato.kernels.items.together import insert_by_item, insert_together

LONGEST = 20  # items of a record with a sensitive one that can still be counted, set by set
ROUNDS = 12  # through the table; later ones find next to nothing
EXCHANGES = 3  # of every type with others: the fourth finds a tenth of the first
LITTLE = 1e-4  # of the sensitive occurrences: what comes back in a round after which no other follows exchanges
SHORT = 8  # items of records that are filled together at most: of longer ones hardly a sensitive item stays
SETS = 4_000_000  # of items that are counted for them at most
_TYPES = 16  # items tried between two looks at the clock
_RECORDS = 2048  # records tried between two looks at the clock
_EVERYTHING = np.int64(2**62)


class Wish(NamedTuple):
    """What shall come back, and in which order."""

    by_record: bool = False  # all items in balance, record by record; else sensitive ones, type by type
    frequent_first: bool = False  # of types
    whole_types: bool = False  # a type comes back everywhere or nowhere
    together: bool = False  # types that occur together are put back together, and then exchanged with others
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


def nobody(steps: float) -> None:
    """Hear how much is done, and do nothing."""


def grow(
    baskets: Baskets,
    kept: NDArray[np.bool_],
    bound: Bound,
    wish: Wish,
    *,
    longest: int,
    stop: Callable[[], bool] = lambda: False,
    advance: Callable[[float], None] = nobody,
    most_steps: int | None = None,
) -> int:
    """Put back what rules allow, starting from a safe table; return how many occurrences came back.

    `kept` is changed in place and safe after every step. `stop` is asked between steps; `advance` hears which share of
    a round is done, and `most_steps` ends growth by record after so many insertions.
    """
    published = make_published(baskets, kept)
    store = _count(baskets, published)
    growing = _Growing(baskets, published, bound, store, longest, stop)
    if wish.by_record:
        return growing.by_record(wish.slack, advance, most_steps)
    support = np.diff(baskets.tid_start)
    types = np.flatnonzero(baskets.sensitive & (support > 0))
    types = types[np.argsort(-support[types] if wish.frequent_first else support[types], kind="stable")]
    gained = growing.fill_together() if wish.together and not stop() else 0
    for number in range(ROUNDS):
        came, ended = growing.through(types, wish.whole_types, advance if number == 0 else nobody)
        gained += came
        if ended:
            return gained
        if came <= (LITTLE * support[types].sum() if wish.together else 0):
            break
    for number in range(EXCHANGES if wish.together else 0):
        # Every other time a type may come back as often as before, in other records: new ways for the next time.
        came, ended = growing.through(types[::-1], None, nobody, ties=number % 2 == 1)
        gained += came
        if ended or came <= LITTLE * support[types].sum():
            break
    return gained + (growing.through(types, False, nobody)[0] if wish.together else 0)


class _Growing:
    """A table that grows; the store of supports is replaced when it is full."""

    def __init__(
        self, baskets: Baskets, published: Published, bound: Bound, store: Store, longest: int, stop: Callable[[], bool]
    ) -> None:
        self.baskets, self.published, self.bound, self.store = baskets, published, bound, store
        self.longest, self.stop = longest, stop

    def through(
        self, types: NDArray[np.int64], whole_types: bool | None, advance: Callable[[float], None], ties: bool = False
    ) -> tuple[int, bool]:
        """Put types back, or exchange them (whole_types is None); return how many came, and whether it was stopped."""
        came, done = 0, 0
        while done < types.size:
            if self.stop():
                return came, True
            some = np.ascontiguousarray(types[done : done + _TYPES])
            state = (self.baskets, self.published, self.store, self.bound)
            how = (bool(whole_types), whole_types is None, ties)
            steps, new, room = insert_by_item(some, self.longest, *how, *state)
            done += steps
            came += int(new)
            if room:
                self.store = with_room(self.store, 2 * int(room))
            advance(steps / types.size)
        return came, False

    def fill_together(self) -> int:
        """Put all types into short records at once; return how many occurrences stay. Nothing sensitive is kept yet."""
        baskets = self.baskets
        size = np.diff(baskets.start)
        record = np.repeat(np.arange(size.size), size)
        secrets = np.bincount(record[baskets.sensitive[baskets.items]], minlength=size.size)
        if self.published.kept[baskets.sensitive[baskets.items]].any():
            return 0
        most = min(SHORT, self.longest)
        while most and int((1 << size[(size <= most) & (secrets > 0)]).sum()) > SETS:
            most -= 1
        records = np.flatnonzero((size <= most) & (secrets > 0))
        if not records.size:
            return 0
        self.store = with_room(self.store, 2 * int((1 << size[records]).sum()))
        return int(insert_together(records, most, baskets, self.published, self.store, self.bound))

    def by_record(self, slack: float, advance: Callable[[float], None], most_steps: int | None) -> int:
        """Put items back record by record, short ones first; return how many came."""
        baskets, published = self.baskets, self.published
        now = np.bincount(baskets.items[published.kept], minlength=baskets.sensitive.size).astype(np.int64)
        gained = 0
        for number in range(ROUNDS):
            order = np.argsort(published.size, kind="stable")
            came, done = 0, 0
            while done < order.size:
                left = _EVERYTHING if most_steps is None else most_steps - gained - came
                if self.stop() or left <= 0:
                    return gained + came
                some, state = order[done : done + _RECORDS], (baskets, published, self.store, self.bound)
                steps, new, full = insert_by_record(some, self.longest, slack, slack < 0, *state, now, left)
                done += steps
                came += int(new)
                if full:
                    self.store = with_room(self.store, max(self.store.keys.size // 2, 8 << self.longest))
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
