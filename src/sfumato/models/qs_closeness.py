"""QS t-closeness: terms must not move an intruder's belief about the label behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.errors import DataError, PolicyError, Problem
from sfumato.models.base import Need, Policy, Verdict, plain_number, quoted
from sfumato.models.judging.belief_measures import distances, distances_over_levels
from sfumato.models.judging.belief_verdict import Judgement
from sfumato.models.judging.beliefs import Beliefs, beliefs
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.links import Index
from sfumato.models.judging.terms import public_knowledge, term_column
from sfumato.models.qs_diversity import TERMS, OfTerms
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized

EUCLIDEAN, HIERARCHICAL = "euclidean", "hierarchical"
TOLERANCE = 1e-9  # distances are sums of floats; a group passes up to t plus this


@parametrized
class QSCloseness(OfTerms):
    """In every group, what an intruder believes about labels stays within a distance `t` of what was believed before.

    Beliefs follow from the released terms and the knowledge table as in `QSDiversity`. The prior is public: given with
    the knowledge table, or estimated once from the original. The distance is Euclidean, over all labels of the table,
    so no single belief moves by more than `t`. A group in which nothing is linked to any label passes.

    Source: Shi, Xiong and Fung (2010).
    Limit: what the prior gives away, it gives away; and removing as little as possible tells where removal was needed.

    >>> from dataclasses import replace
    >>> rows = [("flu", ["cough", "fever"]), ("angina", ["fever", "sore throat"])]
    >>> knowledge = Knowledge.from_rows(rows, weight={"flu": 0.75, "angina": 0.25})
    >>> model = QSCloseness(column="symptoms", t=0.4)
    >>> def judged(*symptoms):
    ...     release = Release.of({"symptoms": symptoms}, symptoms="quasi-sensitive")
    ...     return model.audit(replace(release, public=PublicInputs(knowledge)))
    >>> print(judged(["fever"], ["fever"]))
    qs-closeness of 'symptoms' holds: largest distance 0.3536, required at most 0.4 (1 group)
    >>> print(judged(["fever", "sore throat"]))
    qs-closeness of 'symptoms' FAILS: largest distance 1.061, required at most 0.4 (1 of 1 group, 1 row)
    """

    name: ClassVar[str] = "qs-closeness"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.KNOWLEDGE, Need.PRIOR})
    limit: ClassVar[str] = (
        "The prior is taken as known to all: what it gives away, it gives away. And an intruder who matches terms "
        "in part, knows which terms a person does not have, or knows more than this table is not covered."
    )

    column: str | tuple[str, ...] = field(metadata=TERMS)
    t: Exact = parameter(
        Takes.FRACTION,
        "Largest distance",
        "How far a belief may move, up to the square root of 2.",
        least=0,
        most=math.sqrt(2),
        example=0.4,
        why="no two distributions are farther apart than the square root of 2",
    )

    distance: str = parameter(
        Takes.CHOICE,
        "Distance",
        "euclidean, over all labels alike, or hierarchical: the earth mover's over the hierarchy of [knowledge], "
        "from 0 to 1, by which a belief that moves to a related label moves less.",
        default=EUCLIDEAN,
        choices=(EUCLIDEAN, HIERARCHICAL),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exact_t**2 > 2:  # the range is a rounded one
            raise PolicyError(
                "t of qs-closeness must not exceed the square root of 2, but was given a bit more: no two "
                "distributions are farther apart.\nWrite a number such as 0.4.",
                at="t",
            )

    exact_t = AsWritten("t")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        if self.distance == HIERARCHICAL:
            return (
                f"Whoever looks up {quoted(self.judged_columns)} in the knowledge table moves at most "
                f"{plain_number(self.exact_t)} of their belief about any person, counted by how far apart labels are "
                "in the hierarchy, as a share of its height."
            )
        return (
            f"Whoever looks up {quoted(self.judged_columns)} in the knowledge table changes their belief about "
            f"any person and any label by at most {plain_number(self.exact_t)}."
        )

    def unsearchable(self, together: Policy) -> Iterator[Problem]:
        """Yield another requirement on terms beside the hierarchical distance."""
        others = [model for model in together if Need.KNOWLEDGE in model.needs and model != self]
        if self.distance == HIERARCHICAL and others:
            yield Problem(
                ".distance",
                "qs-closeness with the hierarchical distance is asked for together with another requirement on terms. "
                "Ask for one of them.",
            )

    def holds(self, found: Beliefs, public: PublicInputs) -> NDArray[np.bool_]:
        """Return which groups of a batch are close enough to the prior, shape (b,)."""
        prior, unlinked = public.belief, public.knowledge.unlinked if public.knowledge is not None else "linked"
        if prior is None:
            return np.zeros(found.group.size, dtype=np.bool_)
        return np.asarray(self._distances(found, prior, public.knowledge, unlinked) <= float(self.exact_t) + TOLERANCE)

    def levels_of(self, knowledge: Knowledge) -> NDArray[np.int32]:
        """Return the hierarchy of labels, level by level; raise without, or where beliefs need not sum to one."""
        if knowledge.levels is None or knowledge.unlinked == "zero":
            raise DataError(
                f"qs-closeness of {quoted(self.judged_columns)} is asked for over a hierarchy of labels, but "
                '[knowledge] names none, or says unlinked = "zero", by which beliefs sum to less than one.\n'
                "Give [knowledge] a hierarchy, and another way with records that no label explains."
            )
        return knowledge.levels

    def _distances(
        self, found: Beliefs, prior: NDArray[np.float64], knowledge: Knowledge | None, unlinked: str
    ) -> NDArray[np.float64]:
        if self.distance == HIERARCHICAL and knowledge is not None:
            return distances_over_levels(found, prior, self.levels_of(knowledge))
        return distances(found, prior, unlinked, exact_near=float(self.exact_t))

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what its terms are linked to in each group."""
        column = term_column(release, self)
        knowledge = public_knowledge(release, self)
        prior = release.public.belief
        if prior is None:
            raise DataError(
                f"qs-closeness is asked of column {quoted(self.judged_columns)}, but nothing says what was believed "
                "before.\n"
                "Give the knowledge table a column of weights, or estimate the prior from the original."
            )
        t = float(self.exact_t)
        classes = classes_of(release)
        judgement = Judgement(classes, knowledge)
        for found in beliefs(classes.class_of, classes.size.size, column, Index(knowledge), weights=classes.weights):
            distance = self._distances(found, prior, knowledge, knowledge.unlinked)
            judgement.add(found, distance <= t + TOLERANCE, distance)
        return judgement.verdict(
            self,
            t,
            "largest distance",
            labels=knowledge.n_labels,
            prior="given" if knowledge.weight is not None else "estimated",
            tolerance=TOLERANCE,
        )
