"""Local differential privacy: no cell makes any value more than e to the epsilon times as likely as any other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.base import Need, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.chance import JudgedCells
from sfumato.models.judging.logarithms import logarithm_exceeds
from sfumato.models.judging.randomized import RandomizedColumn, randomized_column, refuse_shares
from sfumato.parameters import Takes, parameter, parametrized


@parametrized
class LocalDifferentialPrivacy(PrivacyModel):
    """Whatever a cell shows, no value explains it more than e^`epsilon` times as well as any other value.

    So the odds between two values change by a factor of at most e^epsilon, for whoever believed whatever before, and
    whatever they know of other people. It is asked of every set that could be drawn, not only of those that were.
    Nothing but the release is needed to judge it: what it says of the chance of a set.

    The epsilons of several columns add up for a person; the verdict states the sum. With the `equal` distance and any
    prior, epsilon is closeness with t = tanh(epsilon / 4).

    Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011); cells are drawn by subset selection
    (Wang et al., 2016; Ye and Barg, 2018).
    Limit: it bounds what one release says of one person; a second release of the same people adds its epsilon.

    >>> LocalDifferentialPrivacy(epsilon={"job": 1}).promise
    "No cell changes the odds between two values by more than a factor, whatever was believed: 2.718 for 'job'."
    """

    name: ClassVar[str] = "local-differential-privacy"
    judged_role: ClassVar[Role] = Role.SENSITIVE_QUASI_IDENTIFIER
    needs: ClassVar[frozenset[Need]] = frozenset({Need.BASE_RATES})

    epsilon: Mapping[str, Any] = parameter(  # become exact fractions
        Takes.FRACTION,
        "Epsilon",
        "For each column, the logarithm of how many times as likely a cell may make one value against another.",
        above=0,
        most=50,
        per_column=True,
        example=1.0,
        why="at 0 nothing could be published, and beyond 50 nothing is protected",
    )

    def __hash__(self) -> int:
        return hash(tuple(self.epsilon.items()))

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        each = ", ".join(f"{math.exp(epsilon):.4g} for {name!r}" for name, epsilon in self.epsilon.items())
        return f"No cell changes the odds between two values by more than a factor, whatever was believed: {each}."

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        total = plain_number(sum(self.epsilon.values()))
        return (
            f"Epsilons add up: to {total} over the columns of one record, and again with every further release of the "
            "same people. Columns that are not named are not covered, even where they tell of those that are."
        )

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by how its parameters let a set depend on the true value, and whether chance explains it."""
        judged = JudgedCells(release)
        facts: dict[str, dict[str, Any]] = {}
        for name, epsilon in self.epsilon.items():
            column = randomized_column(release, name, self)
            refuse_shares(column, self, "")
            holds = column.rho > 0 and not logarithm_exceeds(1 / column.rho, epsilon)
            judged.add(column, np.full(release.n_rows, not holds))
            if column.prior is not None:
                judged.notes.append(
                    f"The release states base rates of column {name!r}, on which its p depends: epsilon bounds what a "
                    "cell tells, not what these tell of the table."
                )
            facts[name] = {"eta": column.eta, "p": float(column.p), "epsilon": _reached(column), "holds": holds}
        reached = {name: fact["epsilon"] for name, fact in facts.items()}
        worst = max(reached, key=lambda name: reached[name] / float(self.epsilon[name]))
        finite = {name: fact | {"epsilon": _finite(fact["epsilon"])} for name, fact in facts.items()}
        return judged.verdict(
            self,
            {"columns": finite, "epsilon_of_a_record": _finite(math.fsum(reached.values()))},
            satisfied=all(fact["holds"] for fact in facts.values()),
            reached=reached[worst],
            required=as_number(self.epsilon[worst]),
            groups=len(facts),
            failing=sum(not facts[name]["holds"] or name in judged.faults for name in facts),
            measure="largest epsilon",
            bound="at most",
            group="column",
        )


def _reached(column: RandomizedColumn) -> float:
    """Return the epsilon of a column: infinite where the true value is always shown and something is left out."""
    return math.log(1 / column.rho) if column.rho else math.inf


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
