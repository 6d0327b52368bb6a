"""PRAM: some cells keep their value, the others show one that is drawn, so that counts stay nearly as they are.

Gouweleeuw, Kooiman, Willenborg and De Wolf (1998): each value is replaced by a draw from its row of a published matrix.
Here a cell keeps its value with probability p, and else shows a value drawn by the public prior: counts on a grid, or
base rates of the plan. By exact shares the matrix would be invariant: they are its eigenvector. What a reader believes
then is the prior, pulled towards the value that is shown by p, so p follows from the requirement in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace, side_by_side
from sfumato.anonymizers.randomization.domains import CellByCell, HiddenColumn, asked_closeness, edges_of
from sfumato.anonymizers.randomization.parameters import STEPS, Edges
from sfumato.data.dataset import Codes
from sfumato.data.keystream import Block, Keys, Keystream, Stretch
from sfumato.data.recoding import Labelled
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.sensitive_qid_closeness import SensitiveQidCloseness
from sfumato.parameters import parametrized


@parametrized
class Pram(CellByCell["Matrix"]):
    """Replace some values by others, drawn about as often as values occur: one value a cell, and similar counts.

    The least noise that the requirements allow is taken, column by column. The matrix tells about how common each value
    is, which `prior = "table"` takes as known; to any other prior it is no answer.
    """

    name: ClassVar[str] = "pram"
    shows_cells: ClassVar[str | None] = "published as single values, some of them drawn by chance in place of the true"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (SensitiveQidCloseness,)

    @classmethod
    def _knows(cls, model: PrivacyModel) -> bool:
        return super()._knows(model) and getattr(model, "prior", "table") == "table"

    def choose(self, column: HiddenColumn, policy: Policy) -> Matrix:
        """Return the matrix of a column with the largest p that the requirements on it allow."""
        prior = column.prior()
        units = rounded_shares(prior)
        p = Fraction(1)
        for model in policy.of(SensitiveQidCloseness):
            if column.name in model.t:
                p = min(p, largest_p(prior, units, Fraction(model.t[column.name]), edges_of(column, model.distance)))
        return Matrix(Fraction(math.floor(p * STEPS), STEPS), units)

    def public_of(self, column: HiddenColumn, how: Matrix, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of a column."""
        return {
            "p": float(how.p),
            "shares": [float(share) for share in how.shares],
            **asked_closeness(column.name, policy),
        }

    def facts_of(self, column: HiddenColumn, how: Matrix, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of a column."""
        counts = column.counts()
        true = how.p + (1 - how.p) * sum(
            share * Fraction(int(count), max(int(counts.sum()), 1))
            for share, count in zip(how.shares, counts.tolist(), strict=True)
        )
        return {
            "p": float(how.p),
            "shown_truly": float(true),
            "expected_l2": how.expected_l2(counts),
            "domain": "declared" if column.declared else "data",
            "published": "as it is" if how.p == 1 else "by chance alone" if not how.p else "values",
            **asked_closeness(column.name, policy),
        }

    def cells(
        self, column: HiddenColumn, how: Matrix, codes: Codes, keys: Keys, place: Workplace, stretch: Stretch | None
    ) -> Labelled | None:
        """Return a value for each row."""
        if how.p == 1:
            return None
        return Labelled(draw(codes, column.place_of, how, keys, place, stretch), column.domain)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A cell keeps its value with probability p, and else shows value j with probability units[j] / whole."""

    p: Fraction
    units: NDArray[np.int64]  # (d,)

    @property
    def whole(self) -> int:
        """How many units there are."""
        return int(self.units.sum())

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """How likely each value is where one is drawn."""
        return tuple(Fraction(int(unit), self.whole) for unit in self.units)

    def expected_l2(self, counts: NDArray[np.int64]) -> float | None:
        """Return how far the unbiased estimate of all shares will be off, root mean square; None when it is no help."""
        n = int(counts.sum())
        if not self.p or not n:
            return None
        other = float(1 - self.p) * self.units / self.whole
        shown = float(self.p) * counts / n + other
        # A record shows one value: the spread of a value's count is what its records and the others add.
        spread = (counts / n * (float(self.p) + other) * (1 - float(self.p) - other)).sum()
        spread += ((shown - counts / n * (float(self.p) + other)) * (1 - other)).sum()
        return math.sqrt(max(float(spread), 0.0) / n) / float(self.p)


def rounded_shares(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return shares in units of a ten-thousandth, or finer in large domains; every value that occurs gets one.

    >>> rounded_shares(np.array([2, 1, 0])).tolist()
    [6667, 3333, 0]
    """
    whole = max(STEPS, 10 ** math.ceil(math.log10(10 * counts.size)))
    exact = [Fraction(int(count) * whole, int(counts.sum())) for count in counts]
    units = np.array([max(math.floor(share), int(share > 0)) for share in exact], dtype=np.int64)
    left = whole - int(units.sum())
    # What is left goes to those who lost most by rounding; where rare values took too much, the common give it back.
    by_loss = sorted(range(len(exact)), key=lambda value: (int(units[value]) - exact[value], value))
    units[by_loss[: max(left, 0)]] += 1
    while left < 0:
        giving = np.flatnonzero(units > units[counts > 0].max() // 2)[:-left]
        units[giving] -= 1
        left += giving.size
    return units


def largest_p(counts: NDArray[np.int64], units: NDArray[np.int64], t: Fraction, edges: Edges | None) -> Fraction:
    """Return the largest p for which no shown value moves the belief farther than t.

    A shown value j moves it by p A_j / (p A_j + (1 - p) w_j) times its distance from certainty of j.

    >>> largest_p(np.array([3, 1]), np.array([3, 1]), Fraction(3, 8), None)
    Fraction(1, 2)
    """
    n, whole, largest = int(counts.sum()), int(units.sum()), Fraction(1)
    for value in np.flatnonzero(counts).tolist():
        known, drawn = Fraction(int(counts[value]), n), Fraction(int(units[value]), whole)
        far = 1 - known if edges is None else _far(value, counts / n, edges)
        if far > t:
            largest = min(largest, t * drawn / (known * (far - t) + t * drawn))
    return largest


def _far(value: int, share: NDArray[np.float64], edges: Edges) -> Fraction:
    """Return how far certainty of a value is from what is known, and a little more for the rounding of floats."""
    before = np.concatenate([[0.0], np.cumsum(share[edges.leaves])])
    behind = before[edges.last] - before[edges.first]
    place = int(np.flatnonzero(edges.leaves == value)[0])
    inside = (edges.first <= place) & (place < edges.last)
    return Fraction(float(edges.length @ np.abs(inside - behind)) * (1 + 1e-12))


def draw(
    codes: Codes,
    place_of: NDArray[np.int32],
    matrix: Matrix,
    keys: Keys,
    workplace: Workplace,
    stretch: Stretch | None = None,
) -> NDArray[np.int32]:
    """Return the value that each row shows, in blocks of rows under a key of their own, on all threads.

    `place_of` says where each code stands in the domain. What a row shows depends on nothing but its value, its place
    in the table, of which these rows are a stretch, and the key of its block.
    """
    shown = np.empty(codes.size, dtype=np.int32)
    ends, kept = np.cumsum(matrix.units), int(matrix.p * STEPS)

    def part(block: Block, place: Workplace) -> None:
        here = slice(block.first, block.last)
        true = place_of[codes[here]]
        own = slice(block.skipped, block.skipped + true.size)
        stream = Keystream(block.key, 2 * block.size + 64)
        coin, ticket = _below(STEPS, block.size, stream)[own], _below(matrix.whole, block.size, stream)[own]
        by_chance = np.searchsorted(ends, ticket, side="right").astype(np.int32)
        shown[here] = np.where(coin < kept, true, by_chance)

    side_by_side(part, (stretch or Stretch(0, codes.size, codes.size)).blocks(keys), workplace)
    return shown


def _below(whole: int, n: int, stream: Keystream) -> NDArray[np.int64]:
    """Return n whole numbers from 0 to whole - 1, all exactly as likely: words beyond the last multiple are skipped."""
    fair = 2**32 // whole * whole
    found = np.empty(0, dtype=np.int64)
    while found.size < n:
        words = stream.words(n - found.size + 64).astype(np.int64)
        found = np.concatenate([found, words[words < fair] % whole])
    return found[:n]
