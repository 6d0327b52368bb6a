"""Randomization: publish a small set of values instead of each value, drawn so that beliefs move as little as asked.

Sei, Okumura, Takenouchi and Ohsuga (2017): a set holds the true value with a known probability and is random otherwise,
so an analyst can compute back what the table looks like, but not what a cell was. It is the subset selection of local
differential privacy, with each column's own parameters.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Phase, RowByRow, RowWork, Workplace, side_by_side
from sfumato.anonymizers.randomization.domains import (
    DEPENDENCE,
    HiddenColumn,
    asked_closeness,
    dependence_facts,
    edges_of,
    refuse_dropped_rows,
)
from sfumato.anonymizers.randomization.parameters import Closeness, LocalPrivacy, Parameters, choose
from sfumato.data.bit_sets import BitSets, PackedBits, empty_bit_sets
from sfumato.data.dataset import Codes, Dataset
from sfumato.data.keystream import Block, Keys, Keystream, Stretch
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Schema
from sfumato.errors import Problem
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
class Randomization(RowByRow):
    """Draw a set of values for each cell, column by column, with the least noise that the requirements allow."""

    name: ClassVar[str] = "randomization"
    phase: ClassVar[Phase] = Phase.CELLS
    shows_cells: ClassVar[str | None] = "published as small sets of values, drawn by chance"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (
        SensitiveQidDiversity,
        SensitiveQidCloseness,
        LocalDifferentialPrivacy,
    )

    dependence: str = field(default="refuse", metadata=DEPENDENCE)

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it comes where it comes."""
        return "each cell is randomized by itself, whatever else is published"

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield that rows may be dropped before: cells are drawn, and judged, by how common values are in all rows."""
        yield from refuse_dropped_rows(before)

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a column has no domain to draw from, or one that is too small for what is asked."""
        for name in policy.judged_columns:
            _Column.of(dataset, name).parameters(policy)

    def decide(
        self, counts: Dataset, policy: Policy, some: Dataset, published: Recoding, workplace: Workplace
    ) -> Drawing:
        """Return what to draw for each cell of the named columns, or raise when it would not hide them."""
        columns = [_Column.of(counts, name) for name in policy.judged_columns]
        chosen = {column.name: column.parameters(policy) for column in columns}
        refused_by = self.name if self.dependence == "refuse" else None
        facts = {
            "columns": [column.facts(chosen[column.name], policy) for column in columns],
            **dependence_facts(some, published, policy.judged_columns, workplace.rng, refused_by),
        }
        public = {column.name: column.public(chosen[column.name], policy) for column in columns}
        return Drawing(tuple((column, chosen[column.name]) for column in columns), facts, public)


@dataclass(frozen=True, eq=False)
class Drawing(RowWork):
    """What is drawn for each cell of some columns. It was decided from counts, so any rows can be drawn for by it."""

    columns: tuple[tuple[_Column, Parameters], ...]
    facts: Mapping[str, Any]
    public: Mapping[str, Mapping[str, Any]]

    def draw(
        self, dataset: Dataset, keys: Keys, workplace: Workplace, stretch: Stretch | None = None
    ) -> dict[str, BitSets]:
        """Return sets for the rows of a dataset, column by column; what may be published as it is gets none."""
        drawn = {}
        stage = workplace.stage(Randomization.name, total=len(self.columns))
        for column, parameters in self.columns:
            if not parameters.in_clear:
                codes = dataset.column(column.name).codes
                packed = draw(codes, column.place_of, parameters, keys, workplace, stretch)
                drawn[column.name] = column.sets(packed)
            stage.advance()
        stage.done()
        return drawn


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


@dataclass(frozen=True, eq=False)
class _Column(HiddenColumn):
    """A column to randomize."""

    def parameters(self, policy: Policy) -> Parameters:
        """Return the parameters that meet all requirements on this column."""
        asked: list[Closeness | LocalPrivacy] = []
        for closeness in policy.of(SensitiveQidCloseness):
            if self.name in closeness.t:
                asked.append(self._closeness(closeness))
        for private in policy.of(LocalDifferentialPrivacy):
            if self.name in private.epsilon:
                asked.append(LocalPrivacy(private.epsilon[self.name]))
        return choose(self.d, self.least(policy), asked)

    def _closeness(self, model: SensitiveQidCloseness) -> Closeness:
        t = Fraction(model.t[self.name])
        if model.prior == "any":
            return Closeness(t, None)
        return Closeness(t, self.counts(), edges_of(self, model.distance))

    def public(self, parameters: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of the column: what reconstruction needs, and nothing else of the original."""
        about: dict[str, Any] = {
            "domain": list(self.domain),
            "eta": parameters.eta,
            "p": float(parameters.p),
            **self._asked(policy),
        }
        if parameters.epsilon is not None:
            about["epsilon"] = parameters.epsilon
        return about

    def _asked(self, policy: Policy) -> dict[str, Any]:
        """Return l, t, distance and prior of the column, the strictest where it is named several times."""
        about = self.asked_diversity(policy) | asked_closeness(self.name, policy)
        epsilons = [m.epsilon[self.name] for m in policy.of(LocalDifferentialPrivacy) if self.name in m.epsilon]
        if epsilons:
            about["asked_epsilon"] = plain_number(min(epsilons))
        return about

    def facts(self, parameters: Parameters, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of the column."""
        return {
            "column": self.name,
            "values": self.d,
            "eta": parameters.eta,
            "p": float(parameters.p),
            "epsilon": parameters.epsilon,
            "expected_l2": parameters.expected_l2(int(self.occurrences.sum())),
            "domain": "declared" if self.declared else "data",
            "published": (
                "as it is" if parameters.in_clear else "whole domain" if parameters.eta == self.d else "sets"
            ),
            **self._asked(policy),
        }
