"""Randomization: publish a small set of values instead of each value, drawn so that beliefs move as little as asked.

Sei, Okumura, Takenouchi and Ohsuga (2017): a set holds the true value with a known probability and is random otherwise,
so an analyst can compute back what the table looks like, but not what a cell was. It is the subset selection of local
differential privacy, with each column's own parameters.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace, side_by_side
from sfumato.anonymizers.randomization.domains import CellByCell, HiddenColumn, asked_closeness, edges_of
from sfumato.anonymizers.randomization.parameters import Closeness, LocalPrivacy, Parameters, choose
from sfumato.data.bit_sets import BitSets, PackedBits, empty_bit_sets
from sfumato.data.dataset import Codes
from sfumato.data.keystream import Block, Keys, Keystream, Stretch
from sfumato.kernels.cells.randomization import draw_from_tables, draw_one_by_one
from sfumato.models.base import Policy, PrivacyModel, plain_number
from sfumato.models.local_differential_privacy import LocalDifferentialPrivacy
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.parameters import parametrized

SUBSETS = 400_000  # up to so many subsets a column is drawn from tables
BATCH = 1 << 14  # rows drawn at once, so that keystream and sets stay in the cache
WORDS = 1 << 18  # of the keystream made at once


@parametrized
class Randomization(CellByCell[Parameters]):
    """Draw a set of values for each cell, column by column, with the least noise that the requirements allow."""

    name: ClassVar[str] = "randomization"
    reason: ClassVar[str | None] = "each cell is randomized by itself, whatever else is published"
    shows_cells: ClassVar[str | None] = "published as small sets of values, drawn by chance"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (
        SensitiveQidDiversity,
        SensitiveQidCloseness,
        LocalDifferentialPrivacy,
    )

    def choose(self, column: HiddenColumn, policy: Policy) -> Parameters:
        """Return the parameters that meet all requirements on a column."""
        asked: list[Closeness | LocalPrivacy] = []
        for closeness in policy.of(SensitiveQidCloseness):
            if column.name in closeness.t:
                asked.append(_closeness(column, closeness))
        for private in policy.of(LocalDifferentialPrivacy):
            if column.name in private.epsilon:
                asked.append(LocalPrivacy(private.epsilon[column.name]))
        return choose(column.d, column.least(policy), asked)

    def public_of(self, column: HiddenColumn, how: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of a column."""
        about = {"eta": how.eta, "p": float(how.p), **_asked(column, policy)}
        epsilon = _epsilon(column, how, policy)
        return about if epsilon is None else {**about, "epsilon": epsilon}

    def facts_of(self, column: HiddenColumn, how: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of a column."""
        return {
            "eta": how.eta,
            "p": float(how.p),
            "epsilon": _epsilon(column, how, policy),
            "expected_l2": how.expected_l2(int(column.occurrences.sum())),
            "domain": "declared" if column.declared else "data",
            "published": "as it is" if how.in_clear else "whole domain" if how.eta == column.d else "sets",
            **_asked(column, policy),
        }

    def cells(
        self, column: HiddenColumn, how: Parameters, codes: Codes, keys: Keys, place: Workplace, stretch: Stretch | None
    ) -> BitSets | None:
        """Return a set of values for each row."""
        if how.in_clear:
            return None
        return column.sets(draw(codes, column.place_of, how, keys, place, stretch))


def _closeness(column: HiddenColumn, model: SensitiveQidCloseness) -> Closeness:
    t = Fraction(model.t[column.name])
    if model.prior == "any":
        return Closeness(t, None)
    return Closeness(t, column.prior(), edges_of(column, model.distance))


def _epsilon(column: HiddenColumn, how: Parameters, policy: Policy) -> float | None:
    """Return the local differential privacy of a cell; None where p depends on the data, which it then tells of."""
    return None if column.rates is None and column.knows_table(policy) else how.epsilon


def _asked(column: HiddenColumn, policy: Policy) -> dict[str, Any]:
    """Return l, t, distance and prior of a column, the strictest where it is named several times."""
    about = column.asked_diversity(policy) | asked_closeness(column.name, policy)
    epsilons = [m.epsilon[column.name] for m in policy.of(LocalDifferentialPrivacy) if column.name in m.epsilon]
    return about | ({"asked_epsilon": plain_number(min(epsilons))} if epsilons else {})


def draw(
    codes: Codes,
    place_of: NDArray[np.int32],
    parameters: Parameters,
    keys: Keys,
    workplace: Workplace,
    stretch: Stretch | None = None,
) -> PackedBits:
    """Return a set for each row, in blocks of rows under a key of their own, on all threads of the workplace.

    `place_of` says where each code stands in the domain. The set of a row depends on nothing but its value, its place
    in the table, of which these rows are a stretch, and the key of its block.
    """
    d, eta = parameters.d, parameters.eta
    packed = empty_bit_sets(codes.size, d)
    if eta == d:
        for word in range(packed.shape[1]):
            packed[:, word] = (1 << min(d - 64 * word, 64)) - 1
        return packed
    coin, threshold = parameters.p < 1, np.uint64(math.floor(parameters.g * 2**32))
    with_true, without = math.comb(d - 1, eta - 1), math.comb(d - 1, eta)
    tables = d <= 64 and with_true + without <= SUBSETS
    table = np.concatenate([_subsets(d - 1, eta - 1), _subsets(d - 1, eta)]) if tables else np.empty(0, np.uint64)
    a_row = 1 + coin if tables else coin + max(min(eta - 1, d - eta), min(eta, d - 1 - eta))
    step = max(1, min(BATCH, WORDS // max(a_row, 1)))
    most = step * a_row + step // 64 + 64  # a few words are skipped, so a few rows may be left for the next batch

    def part(block: Block, place: Workplace) -> None:
        # How many words a row takes does not depend on its value, so any value will do for rows that are skipped.
        rows, done = np.concatenate([np.zeros(block.skipped, codes.dtype), codes[block.first : block.last]]), 0
        sets = packed[block.first : block.last]
        stream, room = Keystream(block.key, most), np.empty((step, packed.shape[1]), dtype=np.uint64)
        while done < rows.size:
            place.checkpoint()
            batch, words = rows[done : done + step], stream.words(most)
            if tables:
                drawn = draw_from_tables(
                    batch, place_of, words, coin, threshold, table, np.uint64(with_true), np.uint64(without), room[:, 0]
                )
            else:
                drawn = draw_one_by_one(batch, place_of, words, coin, threshold, d, eta, room)
            ahead = min(max(block.skipped - done, 0), drawn)  # of these rows, those before the first that is here
            begin = done + ahead - block.skipped
            sets[begin : begin + drawn - ahead] = room[ahead:drawn]
            done += drawn

    side_by_side(part, (stretch or Stretch(0, codes.size, codes.size)).blocks(keys), workplace)
    return packed


@cache
def _subsets(n: int, size: int) -> NDArray[np.uint64]:
    """Return all subsets of a size of n places as bit sets, in rising order."""
    if size > n:
        return np.empty(0, dtype=np.uint64)
    if size in (0, n):
        return np.array([(1 << n) - 1 if size else 0], dtype=np.uint64)
    return np.concatenate([_subsets(n - 1, size), _subsets(n - 1, size - 1) | np.uint64(1 << (n - 1))])
