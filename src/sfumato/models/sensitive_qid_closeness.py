"""Closeness of sensitive quasi-identifiers: no published set moves the belief about a column by more than its t."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem
from sfumato.models.base import Need, Policy, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.chance import JudgedCells
from sfumato.models.judging.randomized import (
    RandomizedColumn,
    base_rates,
    public_prior,
    randomized_column,
    refuse_shares,
)
from sfumato.models.judging.worst_sets import Edges, equal_distance, hierarchical_edges, ordered_edges, tree_distance
from sfumato.models.judging.worst_values import replaced_distance
from sfumato.models.t_closeness import DISTANCES, hierarchies_missing, hierarchy_of
from sfumato.parameters import Takes, parameter, parametrized

PRIORS = ("table", "any")
TOLERANCE = 1e-9  # ordered and hierarchical distances are sums of floats; they pass up to t plus this
ERRORS = 4  # standard errors by which an estimated prior may be off before closeness counts as refuted


@parametrized
class SensitiveQidCloseness(PrivacyModel):
    """Whatever set is published, the belief about each named column stays within a distance `t` of the prior.

    The prior is how common each value is in the table (`prior = "table"`): `base_rates` of the plan, else counts that
    are rounded to a public grid, so that p does not reveal the count of a value to one person. The release states it.
    With `prior = "any"` it is any distribution at all: then also an attacker who knows more about some people is
    covered, and p tells nothing about the data. The distance is the earth mover's, with ways between values as in
    t-closeness. It is asked of every set that could be published, not only of those that were.

    t bounds what a cell adds to the table's prior. It does not bound what an equivalence class tells: an attacker who
    computes the shares of a class back and takes them as prior can learn more (attack `class-and-cell`).

    An audit is exact. With the original it checks the stated prior as well. A release that states no prior is judged by
    an estimate, which can refute closeness to the table's prior but not prove it.

    Cells that show one value, drawn by a matrix that keeps shares as they are (post randomization), are judged by it as
    well: by the worst value that can be shown.

    Source: Sei, Okumura, Takenouchi and Ohsuga (2017).
    Limit: it judges one cell at a time. What several columns, or an equivalence class, say about a person adds up.

    >>> SensitiveQidCloseness(t={"age": 0.2}).promise
    "No cell moves the belief about a value farther than 0.2 for 'age'."
    """

    name: ClassVar[str] = "sensitive-qid-closeness"
    judged_role: ClassVar[Role] = Role.SENSITIVE_QUASI_IDENTIFIER
    needs: ClassVar[frozenset[Need]] = frozenset({Need.BASE_RATES})

    t: Mapping[str, Any] = parameter(  # become exact fractions
        Takes.FRACTION,
        "Largest distance",
        "For each column, how far a published set may move the belief about it.",
        above=0,
        most=1,
        per_column=True,
        example=0.2,
        why="to publish nothing of a column, leave it out",
    )
    distance: str = parameter(
        Takes.CHOICE, "Distance", "How far two values are apart.", default="equal", choices=DISTANCES
    )
    prior: str = parameter(
        Takes.CHOICE,
        "Prior",
        "What is believed before: as common as in the data, or anything.",
        default="table",
        choices=PRIORS,
    )

    def __hash__(self) -> int:
        return hash((tuple(self.t.items()), self.distance, self.prior))

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        each = ", ".join(f"{plain_number(t)} for {name!r}" for name, t in self.t.items())
        return f"No cell moves the belief about a value farther than {each}."

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        known = "how common each value is in the table" if self.prior == "table" else "any belief beforehand"
        return (
            f"Each cell is judged by itself, against {known}: an equivalence class can tell more about its people than "
            "a cell may. Columns that depend on one another add up, and so does a second release of the same people."
        )

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield missing hierarchies."""
        yield from hierarchies_missing(self, schema)

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the worst set that its parameters allow, and whether chance explains its cells."""
        judged, facts = JudgedCells(release), {}
        worst, reached, required = -math.inf, None, Fraction(1)
        for name, t in self.t.items():
            column = randomized_column(release, name, self)
            holds, distance, known = self._farthest(release, column, t)
            judged.add(column, np.full(release.n_rows, not holds))
            drawn = {"eta": column.eta} if column.shares is None else {"moved": _moved(release, column)}
            facts[name] = drawn | {"p": float(column.p), "distance": distance, "t": float(t), **known}
            if distance / float(t) > worst:
                worst, reached, required = distance / float(t), distance, t
        failing = sum(rows.any() for _, rows in judged.failing)
        return judged.verdict(
            self,
            {"columns": facts},
            satisfied=not failing,
            reached=reached,
            required=as_number(required),
            groups=len(self.t),
            failing=int(failing),
            measure="largest possible distance",
            bound="at most",
            group="column",
        )

    def _farthest(self, release: Release, column: RandomizedColumn, t: Fraction) -> tuple[bool, float, dict[str, Any]]:
        """Return whether a column holds, the distance of the worst set, and how that was found."""
        rho = column.rho
        if self.prior == "any":
            refuse_shares(column, self, " to any prior")
            # The worst prior puts all its mass on two values as far apart as can be, for every distance.
            root = math.sqrt(rho)
            return rho * (1 + t) ** 2 >= (1 - t) ** 2, (1 - root) / (1 + root), {"prior": "any"}
        prior = public_prior(release, column)
        if prior is not None:
            distance, exact = self._distance(column, prior, rho)
            holds = distance <= t if isinstance(distance, Fraction) else distance <= float(t) + TOLERANCE
            known = "base rates of the original" if column.prior is None else "base rates that the release states"
            return holds, float(distance), {"prior": known, "exact": exact}
        counts, error = _estimated(column, release.total)
        distance, exact = self._distance(column, counts, rho)
        slack = ERRORS * error
        return (
            float(distance) <= float(t) + slack,
            float(distance),
            {"prior": "estimated from the release", "exact": False, "slack": slack},
        )

    def _distance(
        self, column: RandomizedColumn, counts: NDArray[np.int64], rho: Fraction
    ) -> tuple[Fraction | float, bool]:
        if not counts.sum():
            return Fraction(0), True
        if column.shares is not None:
            edges = None if self.distance == "equal" else self._edges(column)
            return replaced_distance(counts, column.p, column.shares, edges), True
        if self.distance == "equal":
            return equal_distance(counts, column.eta, rho), True
        return tree_distance(counts, column.eta, float(rho), self._edges(column))

    def _edges(self, column: RandomizedColumn) -> Edges:
        if self.distance == "ordered":
            return ordered_edges(column.d)
        return hierarchical_edges(hierarchy_of(column.name, column.spec, column.domain), column.domain)


def _moved(release: Release, column: RandomizedColumn) -> float | None:
    """Return by how much the share of a value moves on average, at most; None where base rates are not known.

    It is 0 where the matrix is invariant: shares of a public prior differ from those of the table.
    """
    counts = base_rates(release, column)
    if counts is None or column.shares is None or not counts.sum():
        return None
    n = int(counts.sum())
    pairs = zip(counts.tolist(), column.shares, strict=True)
    return float((1 - column.p) * max(abs(share - Fraction(count, n)) for count, share in pairs))


def _estimated(column: RandomizedColumn, n_rows: int) -> tuple[NDArray[np.int64], float]:
    """Return how often each value seems to occur, and how far shares of sets may be off.

    A value is shown by h of the records that lack it and g of those that have it: that is solved for the latter.
    """
    g, h = column.chances
    gap = float((g - h)[0])
    if gap < 1e-12 or not n_rows:
        return np.ones(column.d, dtype=np.int64), 1.0
    share = np.maximum((column.shown / n_rows - h) / gap, 0)
    share /= max(share.sum(), 1e-300)
    spread = column.eta * (1 - column.eta / column.d) / gap**2
    size = min(column.eta, column.d - column.eta)
    return np.rint(share * max(n_rows, 10**6)).astype(np.int64), math.sqrt(spread * max(size, 1) / n_rows)
