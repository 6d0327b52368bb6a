"""Chance that cannot be replayed: AES in counter mode under keys from the operating system.

A generator made for simulation can be recovered from some known records and then strips all other cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = Callable[[], bytes]
KEY = 32
ROWS = 1 << 18  # of a table that are drawn for under one key
_BLOCK = 16
_STEP = 1 << 18  # numbers worked on at once
_MANY = 1 << 20  # numbers from which on they are sorted in drawers,
_DRAWERS = 10  # of so many leading bits


def system_keys() -> bytes:
    """Return a new key from the operating system's entropy."""
    return os.urandom(KEY)


def seeded_keys(rng: np.random.Generator) -> Keys:
    """Return keys that a seed repeats, for tests only."""
    return lambda: rng.bytes(KEY)


@dataclass(frozen=True)
class Block:
    """Rows of a table under one key, of which those from `skipped` on are looked at."""

    key: bytes
    size: int  # rows of the block
    skipped: int
    first: int  # where those that are looked at begin, and end, among all that are
    last: int


@dataclass(frozen=True)
class Stretch:
    """Rows that lie one after the other in a table: what is drawn for them is drawn wherever they are looked at.

    >>> keys = iter([b"one", b"two"]).__next__
    >>> Stretch(first=ROWS - 2, rows=3, of=ROWS + 9).blocks(keys)[1]
    Block(key=b'two', size=9, skipped=0, first=2, last=3)
    """

    first: int  # its number in the table
    rows: int
    of: int  # rows of the table

    def blocks(self, keys: Keys) -> list[Block]:
        """Return the blocks of the table that these rows are in; a key is taken for every block of the table."""
        found = []
        for begin in range(0, self.of, ROWS):
            key, end = keys(), min(begin + ROWS, self.of)
            first, last = max(self.first, begin), min(self.first + self.rows, end)
            if first < last:
                found.append(Block(key, end - begin, first - begin, first - self.first, last - self.first))
        return found


class Keystream:
    """An endless row of random 32-bit words under one key, made so many at a time in the same place.

    It begins with some block of four words, so that parts of it can be made apart from one another.
    """

    def __init__(self, key: bytes, most: int, block: int = 0) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # The key is used once, so a fixed nonce does no harm.
        start = block.to_bytes(_BLOCK, "big")
        self._cipher: Any = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()
        self._nothing = memoryview(bytes(4 * most))
        self._room = bytearray(4 * most + _BLOCK - 1)

    def words(self, count: int) -> NDArray[np.uint32]:
        """Return the next words; those returned before are gone."""
        self._cipher.update_into(self._nothing[: 4 * count], self._room)
        return np.frombuffer(self._room, dtype=np.uint32, count=count)


def random_places(key: bytes, first: int, count: int) -> NDArray[np.uint64]:
    """Return the random numbers, by which rows are put in order, of so many rows from the first on, (count,)."""
    found, at = np.empty(count, dtype=np.uint64), 0
    for numbers in _random_places(key, first, count):
        found[at : at + numbers.size] = numbers
        at += numbers.size
    return found


def _random_places(key: bytes, first: int, count: int) -> Iterator[NDArray[np.uint64]]:
    """Yield the same some at a time; those yielded before are gone."""
    stream = Keystream(key, 2 * _STEP, first // 2)
    for start in range(-(first % 2), count, _STEP):  # two numbers a block: the one before the first is let go
        yield stream.words(2 * min(_STEP, count - start)).view(np.uint64)[max(-start, 0) :]


def in_random_order(rows: NDArray[np.int32], key: bytes) -> NDArray[np.int32]:
    """Return the rows in an order that only the key tells."""
    # Two equal places in 10 million rows: one chance in 400,000.
    return rows.take(_ascending(rows.size, partial(_random_places, key, 0, rows.size)))


def ascending(places: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order that sorts numbers, equal ones as they stand, (n,).

    >>> ascending(np.array([9, 3, 3, 2**63 + 1, 2**63], dtype=np.uint64)).tolist()
    [1, 2, 0, 4, 3]
    """
    return _ascending(places.size, lambda: (places[start : start + _STEP] for start in range(0, places.size, _STEP)))


def _ascending(size: int, numbers: Callable[[], Iterable[NDArray[np.uint64]]]) -> NDArray[np.int64]:
    """Do the same for so many numbers that come some at a time, whenever they are asked for.

    Numbers are sorted with their own place in their last bits, which is twice as fast as to sort places by numbers;
    those that differ in these bits alone are put in order afterwards.
    """
    bits = np.uint64(max(size - 1, 1).bit_length())
    last = (np.uint64(1) << bits) - np.uint64(1)
    packed, at = np.empty(size, dtype=np.uint64), 0
    for some in numbers():
        part = packed[at : at + some.size]
        np.bitwise_and(some, ~last, out=part)
        part |= np.arange(at, at + some.size, dtype=np.uint64)
        at += some.size
    packed = _sorted(packed)
    one, next_one = packed[:-1], packed[1:]
    near = [
        start + np.flatnonzero(one[start : start + _STEP] ^ next_one[start : start + _STEP] <= last)
        for start in range(0, one.size, _STEP)
    ]
    alike = np.concatenate([np.empty(0, dtype=np.int64), *near])
    packed &= last
    order = packed.view(np.int64)
    if alike.size:
        inside = np.union1d(alike, alike + 1)
        run_of = np.cumsum(~np.isin(inside - 1, alike))
        order[inside] = order[inside][np.lexsort((_at(order[inside], numbers()), run_of))]
    return order


def _at(rows: NDArray[np.int64], numbers: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the numbers of some rows."""
    found, at = np.empty(rows.size, dtype=np.uint64), 0
    for some in numbers:
        here = np.flatnonzero((rows >= at) & (rows < at + some.size))
        found[here] = some[rows[here] - at]
        at += some.size
    return found


def _sorted(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in ascending order; they are used up.

    Many are first put into drawers by their leading bits, a piece of them at a time, so that what is sorted fits into
    the cache: numbers that look like chance fill drawers evenly, others only take longer.
    """
    if numbers.size < _MANY:
        numbers.sort()
        return numbers
    least = numbers.min()
    shift = np.uint64(max(int(numbers.max() - least).bit_length() - _DRAWERS, 0))
    ends = []
    for start in range(0, numbers.size, _STEP):
        piece = numbers[start : start + _STEP]
        drawer = ((piece - least) >> shift).astype(np.uint16)
        piece[:] = piece.take(np.argsort(drawer, kind="stable"))
        counts = np.bincount(drawer, minlength=1 << _DRAWERS)
        ends.append([start, *(start + np.cumsum(counts)).tolist()])
    found, at = np.empty_like(numbers), 0
    for drawer in range(1 << _DRAWERS):
        pieces = [numbers[end[drawer] : end[drawer + 1]] for end in ends]
        whole = found[at : at + sum(piece.size for piece in pieces)]
        np.concatenate(pieces, out=whole)
        whole.sort()
        at += whole.size
    return found
