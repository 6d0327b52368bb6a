"""Made-up baskets: records of items with a few popular ones, or with all alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError


def baskets(
    n_records: int,
    n_items: int,
    *,
    mean_length: float = 6.5,
    longest: int = 50,
    skew: float = 1.0,
    seed: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each record begins, (n + 1,), and all items, ascending within a record and without repeats.

    Lengths are geometric; the popularity of an item falls with its rank to the power of `skew` (0: all alike). Items of
    a record are independent of one another, so baskets repeat less than real ones do.

    >>> start, items = baskets(3, 5, mean_length=2, seed=1)
    >>> start.size, int(items.max()) < 5
    (4, True)
    """
    if n_records < 1 or n_items < 1 or mean_length < 1 or longest < 1:
        raise PolicyError(
            f"{n_records} baskets of {n_items} items with {mean_length} items on average were asked for.\n"
            "Give numbers of at least 1."
        )
    rng = np.random.default_rng(seed)
    length = np.minimum(rng.geometric(1 / mean_length, n_records), min(longest, n_items))
    popularity = 1 / np.arange(1, n_items + 1) ** skew
    drawn = np.searchsorted(np.cumsum(popularity) / popularity.sum(), rng.random(int(length.sum())))
    keys = np.repeat(np.arange(n_records), length) * n_items + np.minimum(drawn, n_items - 1)
    keys.sort()
    keys = keys[np.append(True, keys[1:] > keys[:-1])]
    record, items = np.divmod(keys, n_items)
    start = np.zeros(n_records + 1, dtype=np.int64)
    np.cumsum(np.bincount(record, minlength=n_records), out=start[1:])
    return start, items.astype(np.int32)
