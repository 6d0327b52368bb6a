"""From requirements on terms to what kernels test: coded records, a prior and thresholds; groups tested as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.hierarchical import judge_tower, make_tower
from sfumato.anonymizers.term_suppression.records import INVERSE, Records, code_records, estimate_prior
from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.knowledge import Knowledge
from sfumato.data.terms import TermColumns, without
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.kernels.terms.hierarchy import Tower
from sfumato.kernels.terms.measures import Requirement
from sfumato.models.base import Policy, plain_number
from sfumato.models.qs_closeness import EUCLIDEAN, HIERARCHICAL, QSCloseness
from sfumato.models.qs_diversity import QSDiversity, reachable

TERM_MODELS = (QSDiversity, QSCloseness)
TermModel: TypeAlias = QSDiversity | QSCloseness


@dataclass(frozen=True, eq=False)
class OverHierarchy:
    """Closeness by the earth mover's distance over a hierarchy of labels."""

    tower: Tower
    t: float
    unlinked: str

    @property
    def limit(self) -> float:
        """Distances up to t + 1e-9 pass an audit; answers keep to half of that tolerance."""
        return self.t + 4e-10


@dataclass(frozen=True, eq=False)
class TermsAsked:
    """Records of terms, and what groups of them must satisfy."""

    records: Records
    belief: NDArray[np.float64]  # (labels,): the prior
    requirement: Requirement
    beyond: Requirement  # the same, but stricter: for groups that are made safer than asked
    over: OverHierarchy | None = None  # closeness over a hierarchy of labels: then nothing else is asked

    @property
    def stricter(self) -> TermsAsked:
        """The same records, of which more is asked."""
        over = None if self.over is None else replace(self.over, t=0.75 * self.over.t)
        return replace(self, requirement=self.beyond, over=over)

    def hold(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which groups of rows are safe with all their terms; group g has the rows start[g] to start[g + 1]."""
        if self.over is not None:
            return judge_tower(self.records, rows, start, self.over.unlinked, self.over.limit, self.over.tower)
        links = self.records.links._replace(prior=self.belief)
        found = searching.nothing_found(0, start.size - 1, self.records.words)
        return searching.judge_as_is(self.records, links, rows, start, self.requirement, found)

    def crowding(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each group that is not safe as it is the sum of its squared beliefs, 0 where nothing need go.

        It is 1 when all records point at one label, and less the more labels they are scattered over.
        """
        nothing = np.zeros_like(self.belief)
        found = searching.nothing_found(0, start.size - 1, self.records.words)
        requirement = searching.make_requirement(nothing, "linked", t=1.0)
        searching.judge_as_is(self.records, self.records.links._replace(prior=nothing), rows, start, requirement, found)
        # Rounded, so that the order in which beliefs are added up does not tell.
        return np.where(self.hold(rows, start), 0.0, np.round(found.distance, 9))


def knowledge_of(workplace: Workplace, who: str) -> Knowledge:
    """Return the knowledge table, or raise."""
    knowledge = workplace.public.knowledge
    if knowledge is None:
        raise DataError(
            f"{who} was asked for without a knowledge table, which says which labels terms lead to.\n"
            "Name one under [knowledge] in the plan."
        )
    return knowledge


def terms_of(dataset: Dataset, names: Sequence[str]) -> TermColumns:
    """Return the columns that hold terms, or raise when they hold none."""
    absent = [name for name in names if name not in dataset.columns]
    terms = TermColumns.of_dataset(dataset, [name for name in names if name in dataset.columns])
    for name in (*absent, *terms.not_sets):
        raise DataError(
            f"Terms were to be read from column {name!r}, but it is no column of sets.\n"
            'Say kind = "set" in the plan, and how its members are separated; or present = "yes" if it is binary.'
        )
    return terms


def ask_terms(
    sets: CodedSets,
    knowledge: Knowledge,
    prior: NDArray[np.float64] | None,
    requirements: Sequence[TermModel],
    *,
    cost: str = INVERSE,
    worth: Mapping[str, Fraction] | None = None,
) -> TermsAsked:
    """Return what is asked of groups of records; prior: (labels,), None to take it from the terms of all rows.

    cost, and worth by term where a plan says it: what removing a term costs.
    """
    c, l, t = _parameters(requirements, knowledge)
    worths = None if worth is None else [worth.get(term, Fraction(1)) for term in knowledge.terms]
    records = _records(sets, knowledge, cost, worths)
    belief = estimate_prior(records, knowledge.unlinked) if prior is None else np.asarray(prior, dtype=np.float64)
    over = _over_hierarchy(requirements, knowledge, belief)
    more = l + max(1, l // 4)
    if c is not None and not reachable(c, more, knowledge.n_labels).holds:
        more = l
    return TermsAsked(
        records,
        belief,
        searching.make_requirement(belief, knowledge.unlinked, t=t, c=c, l=l),
        searching.make_requirement(
            belief, knowledge.unlinked, t=None if t is None else 0.75 * t, c=c, l=more if l else 0
        ),
        over,
    )


def _over_hierarchy(
    requirements: Sequence[TermModel], knowledge: Knowledge, belief: NDArray[np.float64]
) -> OverHierarchy | None:
    """Return the strictest closeness over a hierarchy that is required; None where none is."""
    over = [model for model in requirements if isinstance(model, QSCloseness) and model.distance == HIERARCHICAL]
    if not over:
        return None
    if len(over) < len(requirements):
        raise PolicyError(
            "qs-closeness over a hierarchy of labels was asked for together with something else of the same terms.\n"
            "Ask for one of them."
        )
    levels = over[0].levels_of(knowledge)
    return OverHierarchy(make_tower(levels, belief), min(float(model.exact_t) for model in over), knowledge.unlinked)


def _records(
    sets: CodedSets, knowledge: Knowledge, cost: str = INVERSE, worth: Sequence[Fraction] | None = None
) -> Records:
    term_of = np.array([knowledge.term_of.get(label, -1) for label in sets.labels], dtype=np.int32)
    return code_records(
        sets.start,
        term_of[sets.items] if sets.items.size else np.empty(0, dtype=np.int32),
        knowledge.start,
        knowledge.items,
        knowledge.label_of_row,
        len(knowledge.terms),
        knowledge.n_labels,
        knowledge.likelihood,
        knowledge.misses,
        cost,
        worth,
    )


def terms_condition(
    dataset: Dataset, policy: Policy, workplace: Workplace, rows: NDArray[np.int64] | None, who: str
) -> TermsAsked | None:
    """Return what a policy asks of the terms in every group when none may be removed, None when it asks nothing.

    Raises Unsatisfiable when not even all rows as one group have it: belief about a group is the mean of the beliefs
    about its parts, and both requirements are convex in it, so no way to cut the table can do better.
    """
    asked: list[TermModel] = [*policy.of(QSDiversity), *policy.of(QSCloseness)]
    if not asked:
        return None
    names = asked[0].judged_columns
    if any(set(model.judged_columns) != set(names) for model in asked):
        raise PolicyError(
            "Quasi-sensitive columns are to be judged apart, but whoever has the knowledge table reads them together.\n"
            "Name all of them in each requirement."
        )
    knowledge = knowledge_of(workplace, who)
    condition = ask_terms(terms_of(dataset, names).sets, knowledge, workplace.public.belief, asked)
    everybody = np.arange(dataset.n_rows) if rows is None else rows
    if everybody.size and not condition.hold(everybody, np.array([0, everybody.size])).all():
        unexplained = int((~condition.records.linked[everybody]).sum())
        if knowledge.forbids and unexplained:
            raise Unsatisfiable(
                f"{', '.join(in_words(model) for model in asked)} was asked for, but no sensitive label explains "
                f"{unexplained:,} of {everybody.size:,} records, and no group may have such a record as long as no "
                f'term is removed: [knowledge] unlinked = "{knowledge.unlinked}".\n'
                'Decide what these records count: unlinked = "linked" or "zero". Or let terms be removed: '
                'anonymizer = "term-suppression".'
            )
        raise Unsatisfiable(
            f"{', '.join(in_words(model) for model in asked)} does not even hold for all {everybody.size:,} rows as "
            f"one group, so no way to form groups satisfies it as long as no term is removed.\n"
            f"{_nearest(condition, asked, knowledge.unlinked)}"
            'Ask for less, or let terms be removed: anonymizer = "term-suppression".'
        )
    return condition


def refuse_unreachable(
    sets: CodedSets, knowledge: Knowledge, requirements: Sequence[TermModel], weights: NDArray[np.int64] | None = None
) -> None:
    """Raise Unsatisfiable when a prior that was given is out of reach of any release, whatever is removed or merged.

    If all groups are within t of the prior, so is the whole release, whose belief is a mean of theirs. And the whole
    release believes in a label no more than if every record kept just the terms that the label has. An estimated prior
    is what the whole table tells, so it is never out of reach. Rows with weights, (n,), stand for as many records.
    """
    closeness = [model for model in requirements if isinstance(model, QSCloseness) and model.distance == EUCLIDEAN]
    if knowledge.weight is None or not closeness or sets.start.size < 2 or not knowledge.plain:
        return  # where labels are weighed, or may lack a term, nothing this simple bounds a belief
    strictest = min(closeness, key=lambda model: model.exact_t)
    for label in np.flatnonzero(knowledge.weight > float(strictest.exact_t)):
        given, most = float(knowledge.weight[label]), _most_belief(int(label), sets, knowledge, weights)
        if given - most > float(strictest.exact_t) + 1e-9:
            raise Unsatisfiable(
                f"{in_words(strictest)} was asked of {sets.name!r}, but the prior gives a label {given:.4g}, and "
                f"whichever terms are removed, the release as a whole leads to a belief of {most:.4g} in it at most.\n"
                f"No release comes closer to this prior than {given - most:.4g}. Raise t, or give a prior that is "
                "nearer to the data."
            )


def _most_belief(label: int, sets: CodedSets, knowledge: Knowledge, weights: NDArray[np.int64] | None = None) -> float:
    """Return a belief in a label that no removal of terms exceeds: each record keeps just the terms that it has."""
    row_of = np.repeat(np.arange(sets.start.size - 1), np.diff(sets.start))
    best = np.zeros(sets.start.size - 1)
    for row in np.flatnonzero(knowledge.label_of_row == label):
        own = {knowledge.terms[term] for term in knowledge.items[knowledge.start[row] : knowledge.start[row + 1]]}
        shared = np.array([text in own for text in sets.labels], dtype=np.bool_)[sets.items]
        best = np.maximum(best, 1 / _linked_to(without(sets, shared), knowledge))
    known = np.array([text in knowledge.term_of for text in sets.labels], dtype=np.bool_)[sets.items]
    linked = _linked_to(sets, knowledge) > 0
    linked[row_of[~known]] = False
    if not linked.any():  # nothing need be believed at all
        return 1.0
    # Records that no label explains as they are count only once terms are removed from them: take those that help.
    records = np.ones(best.size, dtype=np.int64) if weights is None else weights
    total, count = float(best[linked] @ records[linked]), int(records[linked].sum())
    others = np.flatnonzero(~linked)
    for row in others[np.argsort(-best[others], kind="stable")]:
        if best[row] <= total / count:
            break
        total, count = total + float(best[row] * records[row]), count + int(records[row])
    return total / count


def _linked_to(sets: CodedSets, knowledge: Knowledge) -> NDArray[np.float64]:
    """Return how many labels each record is linked to, shape (n,)."""
    records = _records(sets, knowledge)
    return records.sets.size[records.set_of].astype(np.float64)


def in_words(model: TermModel) -> str:
    """Return a requirement as people write it."""
    if isinstance(model, QSDiversity):
        return f"{model.name} (c={plain_number(model.exact_c)}, l={model.l})"
    return f"{model.name} (t={plain_number(model.exact_t)})"


def _nearest(condition: TermsAsked, asked: Sequence[TermModel], unlinked: str) -> str:
    """Return what the whole table reaches."""
    whole = estimate_prior(condition.records, unlinked)
    belief = np.sort(whole)[::-1]
    rest = np.cumsum(belief[::-1])[::-1]
    found = []
    for model in asked:
        if isinstance(model, QSDiversity):
            reached = int((belief[0] <= float(model.exact_c) * rest).sum())
            found.append(f"All rows together reach l = {reached:,} with this c. ")
        elif model.distance == EUCLIDEAN:
            distance = float(np.linalg.norm(whole - condition.belief))
            found.append(f"All rows together are {distance:.4g} away from the prior. ")
    return "".join(found)


def _parameters(requirements: Sequence[TermModel], knowledge: Knowledge) -> tuple[Fraction | None, int, float | None]:
    """Return c and l of the one diversity that is required and t of the strictest closeness."""
    diversity = list(dict.fromkeys(model for model in requirements if isinstance(model, QSDiversity)))
    if len(diversity) > 1:
        raise PolicyError(
            f"qs-diversity was asked of the same terms {len(diversity)} times with different c and l.\n"
            "Ask for one of them."
        )
    for model in diversity:
        model.check_reachable(knowledge)
    closeness = [
        float(model.exact_t) for model in requirements if isinstance(model, QSCloseness) and model.distance == EUCLIDEAN
    ]
    c, l = (diversity[0].exact_c, diversity[0].l) if diversity else (None, 0)
    return c, l, min(closeness, default=None)
