"""QS (c,l)-diversity: terms must not give away the label behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem, Unsatisfiable
from sfumato.models.base import Need, Policy, PrivacyModel, Verdict, plain_number, quoted
from sfumato.models.judging.belief_measures import diversity_bounds, exact_diversity, largest_and_rest, weights_of
from sfumato.models.judging.belief_verdict import Judgement, unexplained
from sfumato.models.judging.beliefs import Beliefs, Floats, beliefs
from sfumato.models.judging.classes import NEAR, classes_of
from sfumato.models.judging.links import Index
from sfumato.models.judging.terms import public_knowledge, term_column
from sfumato.parameters import AsWritten, Exact, Takes, about, parameter, parametrized

MassesOf: TypeAlias = Callable[[int], list[int]]  # the exact masses of a group of a batch

TERMS = about(Takes.COLUMNS, "Columns of terms", "Whose terms are judged; several are read together.")
LARGEST_C = 10**12  # beyond, c only asks for l labels, and prints badly


class OfTerms(PrivacyModel):
    """What models of terms that a knowledge table explains have in common."""

    judged_role: ClassVar[Role] = Role.QUASI_SENSITIVE
    judges_apart: ClassVar[bool] = True

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield columns that requirements judge apart, and columns of several whose terms nothing tells."""
        asked = [set(other.judged_columns) for other in together if Need.KNOWLEDGE in other.needs]
        if any(columns != asked[0] for columns in asked):
            yield Problem(
                ".column",
                "its requirements judge quasi-sensitive columns apart, but whoever has the knowledge table reads them "
                f"together. Name all of them in each: column = [{', '.join(map(repr, sorted(set().union(*asked))))}].",
            )
        for name in self.judged_columns if len(self.judged_columns) > 1 else ():
            spec = schema.spec(name)
            if spec is not None and spec.kind is None and spec.present is None:
                yield Problem(
                    f"columns.{name}.kind",
                    f"[columns.{name}] is read together with other columns, but nothing says what its terms are. "
                    'Write kind = "set", kind = "category" (one term a cell) or present = "yes" (binary).',
                )

    def notes_on(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield how many records no label explains."""
        yield from unexplained(self, facts)


@parametrized
class QSDiversity(OfTerms):
    """In every group, the labels that public knowledge links to the released terms are well spread.

    A record is linked to each label with a row in the knowledge table that contains all its terms, with equal belief in
    each; a group's belief in a label is the mean over its records. With p1 >= p2 >= ... >= pm the beliefs other than 0,
    a group passes when p1 <= c * (pl + ... + pm); fewer than `l` labels fail. A group in which nothing is linked to any
    label passes: there is nothing to believe. Decisions are exact, on ties too.

    Source: Shi, Xiong and Fung (2010), in the version of the report TR-2010-004.
    Limit: it bounds how sure an intruder can be of a label, not how much surer than before.

    >>> from dataclasses import replace
    >>> knowledge = Knowledge.from_rows([("flu", ["cough", "fever"]), ("angina", ["fever", "sore throat"])])
    >>> model = QSDiversity(column="symptoms", c=1, l=2)
    >>> def judged(*symptoms):
    ...     release = Release.of({"symptoms": symptoms}, symptoms="quasi-sensitive")
    ...     return model.audit(replace(release, public=PublicInputs(knowledge)))
    >>> print(judged(["cough", "fever"], ["fever", "sore throat"]))
    qs-diversity of 'symptoms' holds: most likely label over the rest 1, required at most 1 (1 group)
    >>> print(judged(["cough", "fever"], ["fever"]))
    qs-diversity of 'symptoms' FAILS: most likely label over the rest 3, required at most 1 (1 of 1 group, 2 rows)
    """

    name: ClassVar[str] = "qs-diversity"
    least_decides: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({Need.KNOWLEDGE})
    limit: ClassVar[str] = (
        "A rare label may become far likelier than it was before. And an intruder who matches terms in part, "
        "knows which terms a person does not have, or holds other knowledge than this table is not covered."
    )

    column: str | tuple[str, ...] = field(metadata=TERMS)
    c: Exact = parameter(
        Takes.FRACTION,
        "Ratio",
        "The most likely label is at most c times as likely as the rare ones together.",
        above=0,
        most=LARGEST_C,
        example=1,
    )
    l: int = parameter(Takes.WHOLE, "Rare from", "Labels from the l-th most likely on are rare.", least=1, example=10)

    exact_c = AsWritten("c")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        rest = "all labels" if self.l == 1 else f"all labels but the {self.l - 1:,} most likely"
        sure = ""
        if self.l > 1:
            share = float(self.exact_c / (self.exact_c + 1))
            sure = f", so nobody is surer of a label than {100 * share:.3g} %"
        return (
            f"In every group, the label that {quoted(self.judged_columns)} makes most likely is at most "
            f"{plain_number(self.exact_c)} times as likely as {rest} together{sure}."
        )

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what its terms are linked to in each group."""
        column = term_column(release, self)
        knowledge = public_knowledge(release, self)
        classes = classes_of(release)
        judgement = Judgement(classes, knowledge)
        fewest: int | None = None
        for found in beliefs(classes.class_of, classes.size.size, column, Index(knowledge), weights=classes.weights):
            masses_of = cache(lambda group, found=found: found.exact(group)[0])
            largest, rest = largest_and_rest(found, self.l)
            passes = self._holds(found, largest, rest, masses_of)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(found.vacuous, 0.0, largest / rest)
            judgement.add(found, passes, ratio)
            fewest = self._fewest(found, fewest, masses_of)
        facts = {} if fewest is None else {"smallest_l": fewest}
        return judgement.verdict(
            self, float(self.exact_c), "most likely label over the rest", labels=knowledge.n_labels, **facts
        )

    def holds(self, found: Beliefs, public: PublicInputs) -> NDArray[np.bool_]:
        """Return which groups of a batch are diverse, those in which nothing is linked included, shape (b,)."""
        passes = self._holds(found, *largest_and_rest(found, self.l), lambda group: found.exact(group)[0])
        return passes | found.vacuous

    def _holds(self, found: Beliefs, largest: Floats, rest: Floats, masses_of: MassesOf) -> NDArray[np.bool_]:
        c = self.exact_c
        ours, theirs = weights_of(c)
        slack = ours * rest - theirs * largest
        passes = np.asarray(slack >= 0, dtype=np.bool_)
        near = np.abs(slack) <= NEAR * found.linked
        for group in np.flatnonzero(near & ~found.vacuous).tolist():
            masses = masses_of(group)
            passes[group] = masses[0] * c.denominator <= c.numerator * sum(masses[self.l - 1 :])
        return passes

    def _fewest(self, found: Beliefs, fewest: int | None, masses_of: MassesOf) -> int | None:
        """Return the smallest l' of the groups so far; only what may be the smallest is computed exactly."""
        low, high = diversity_bounds(found, self.exact_c, NEAR)
        sure = low[(low == high) & ~found.vacuous]
        if sure.size:
            fewest = int(sure.min()) if fewest is None else min(fewest, int(sure.min()))
        unsure = np.flatnonzero((low < high) & ~found.vacuous)
        for group in unsure[np.argsort(low[unsure], kind="stable")].tolist():
            if fewest is not None and low[group] >= fewest:
                break
            reached = exact_diversity(masses_of(group), self.exact_c)
            fewest = reached if fewest is None else min(fewest, reached)
        return fewest

    def check_reachable(self, knowledge: Knowledge) -> None:
        """Raise when no release can meet the requirement, with the nearest one that can be met."""
        reach = reachable(self.exact_c, self.l, knowledge.n_labels)
        if reach.holds:
            return
        nearest = []
        if reach.nearest_l is not None:
            nearest.append(f"l = {reach.nearest_l} with this c")
        if reach.nearest_c is not None:
            nearest.append(f"c = {plain_number(reach.nearest_c)} with this l")
        raise Unsatisfiable(
            f"qs-diversity of {quoted(self.judged_columns)} is asked for with c = {plain_number(self.exact_c)} and "
            f"l = {self.l:,}, but the knowledge table has {knowledge.n_labels:,} labels: with all terms removed, each "
            f"is equally likely, and even that does not reach it.\n"
            f"The nearest that can be reached: {', or '.join(nearest)}."
        )


@dataclass(frozen=True)
class Reach:
    """Whether some (c, l) can be met at all; if not, the largest l for this c and the smallest c for this l."""

    holds: bool
    nearest_l: int | None
    nearest_c: Fraction | None


def reachable(c: Fraction, l: int, n_labels: int) -> Reach:
    """Return whether a release can meet (c,l)-diversity: with all terms removed, each of the labels is equally likely.

    Nothing is better spread than that, so it decides: p1 = 1/e against c * (e - l + 1)/e.

    >>> reachable(Fraction(1), 30, 3000).holds, reachable(Fraction(1), 3001, 3000)
    (True, Reach(holds=False, nearest_l=3000, nearest_c=None))
    >>> reachable(Fraction(1, 4), 8, 10)
    Reach(holds=False, nearest_l=7, nearest_c=Fraction(1, 3))
    """
    left = n_labels - l + 1
    most_l = (n_labels + 1) - -(-c.denominator // c.numerator)  # n + 1 - ceil(1 / c)
    return Reach(
        holds=c * left >= 1,
        nearest_l=most_l if most_l >= 1 else None,
        nearest_c=Fraction(1, left) if left >= 1 else None,
    )
