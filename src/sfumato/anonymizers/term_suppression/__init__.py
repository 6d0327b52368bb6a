"""Term suppression: remove the fewest, cheapest terms of a set column until no group tells too much about any label.

Shi, Xiong and Fung (2010) generalize quasi-identifiers first and then remove terms within each group. The cost of a
record that keeps s of w terms is 1/(s + 1) + ... + 1/w: the first term to go is cheap, the last one dear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from sfumato.anonymizers.base import Anonymizer, Crowding, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import node_losses
from sfumato.anonymizers.dependence import HidesCells
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.by_class import TermsByClass
from sfumato.anonymizers.term_suppression.conditions import (
    TERM_MODELS,
    TermModel,
    TermsAsked,
    ask_terms,
    knowledge_of,
    refuse_unreachable,
    terms_of,
)
from sfumato.anonymizers.term_suppression.grouping import Grouping
from sfumato.anonymizers.term_suppression.records import COUNT, INVERSE
from sfumato.anonymizers.term_suppression.suppressing import facts_of, require_safe, suppress_terms
from sfumato.data.dataset import Dataset
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.terms import TermColumns
from sfumato.data.worth import worth_of
from sfumato.errors import PolicyError, Problem
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity
from sfumato.parameters import Takes, parameter, parametrized

SEARCHES = ("exact", "adaptive", "dfs")


@parametrized
class TermSuppression(HidesCells):
    """Remove terms at the least cost, group by group; a step before, or equal quasi-identifiers, make the groups."""

    name: ClassVar[str] = "term-suppression"
    phase: ClassVar[Phase] = Phase.TERMS
    divides: ClassVar[Divides] = Divides.CLASSES
    reason: ClassVar[str | None] = "terms are removed within groups of equal quasi-identifiers"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = TERM_MODELS

    search: str = parameter(
        Takes.CHOICE,
        "Search",
        "exact, or one of the published searches, for comparison.",
        default="exact",
        choices=SEARCHES,
    )
    cost: str = parameter(
        Takes.CHOICE,
        "Cost",
        "What removing a term costs: 1 / terms left in its record, so that the last one is dearest (inverse), or "
        "one (count). What the plan says terms are worth goes before.",
        default=INVERSE,
        choices=(INVERSE, COUNT),
    )
    node_budget: int = parameter(
        Takes.WHOLE,
        "Steps in a group",
        "Steps of the exact search in one group, after which the best safe answer stands.",
        default=searching.NODES,
        least=0,
    )
    time_limit: float | None = parameter(
        Takes.NUMBER,
        "Time",
        "Seconds: exact for the whole table, adaptive and dfs for each group (10 if not given).",
        default=None,
        above=0,
        example=60,
    )
    margin: float = parameter(
        Takes.NUMBER,
        "Margin",
        "Share of groups, drawn by chance, that are made safer than asked, t and l by a quarter: else a group that "
        "could show one term more tells that it has lost none.",
        default=0.0,
        least=0,
        most=0.5,
        example=0.2,
    )
    joint: bool = parameter(
        Takes.FLAG,
        "Cuts and removal together",
        "Cut groups, and undo cuts, with the coming removal in mind; needs mondrian before it.",
        default=False,
    )
    weight: float = parameter(
        Takes.NUMBER,
        "Weight of terms",
        "When joint: what the loss of all terms counts against that of all quasi-identifiers.",
        default=1.0,
        least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost != INVERSE and self.search != "exact":
            raise PolicyError(
                f"cost = {self.cost!r} of term-suppression was asked for with search = {self.search!r}.\n"
                'Only search = "exact" knows other costs than the papers\'.',
                at="cost",
            )
        for option in ("margin", "joint"):
            if getattr(self, option) and self.search != "exact":
                raise PolicyError(
                    f"{option} of term-suppression was asked for with search = {self.search!r}.\n"
                    'Only search = "exact" works with it.',
                    at=option,
                )

    def bound(self, policy: Policy) -> Fraction:
        """Return the highest belief, or the farthest that one may move."""
        highest = [model.exact_c / (1 + model.exact_c) for model in policy.of(QSDiversity)]
        return min([*highest, *(model.exact_t for model in policy.of(QSCloseness))])

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield that there are no cuts to take back."""
        if self.joint and not any(anonymizer.leaves_tree for anonymizer in before):
            yield Problem(
                ".joint",
                "[anonymizers.term-suppression] joint = true needs groups that mondrian splits before it. Ask for "
                'k-anonymity, with anonymizer = "mondrian" or none named, or leave joint out.',
            )

    def crowding(self, dataset: Dataset, policy: Policy, workplace: Workplace) -> Crowding | None:
        """Return how crowded groups are with records that point at the same label, if cuts shall heed it."""
        if not self.joint:
            return None
        names, asked = next(iter(_by_columns(policy)))
        return self._asked(terms_of(dataset, names), asked, workplace).crowding

    def rows_only(self, policy: Policy) -> str | None:
        """Return why classes cannot be worked on apart from one another; None: they can."""
        if self.joint:
            return "with joint = true cuts heed the terms of all rows"
        if self.search != "exact":
            return f"search = {self.search!r} ends by the clock, and a task that is repeated has to come out the same"
        if self.time_limit is not None:
            return "a time_limit ends by the clock, and a task that is repeated has to come out the same"
        if len(list(_by_columns(policy))) > 1:
            return "several columns of terms are judged apart"
        return None

    def whole_only(self, policy: Policy) -> str | None:
        """Return why regions of the table cannot do apart; None: they can, as classes can."""
        return self.rows_only(policy)

    def by_class(self, distinct: Dataset, policy: Policy, workplace: Workplace) -> TermsByClass:
        """Return what is asked of the terms of each class, and how they are removed."""
        public = workplace.public
        knowledge = knowledge_of(workplace, self.name)
        for model in policy.of(QSDiversity):
            model.check_reachable(knowledge)
        [(names, requirements)] = _by_columns(policy)
        assert distinct.of_terms is not None
        assert public.belief is not None, "what all rows tell is known before some of them are looked at"
        refuse_unreachable(terms_of(distinct.of_terms, names).sets, knowledge, requirements, distinct.of_terms.weights)
        return TermsByClass(
            name=self.name,
            columns=names,
            requirements=tuple(requirements),
            public=PublicInputs(knowledge, public.prior),
            cost=self.cost,
            node_budget=self.node_budget,
            margin=self.margin,
            key=workplace.keys() if self.margin else b"",
        )

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding without the terms that had to go.

        Groups are those of the step before, or rows with equal quasi-identifiers; a group that cannot be made safe is
        merged with its sibling when the step before split them, with classes of like labels when it published labels.
        The prior is the public one, else what the terms tell.
        """
        knowledge = knowledge_of(workplace, self.name)
        for model in policy.of(QSDiversity):
            model.check_reachable(knowledge)
        recoding = replace(before, facts={})
        for names, asked in _by_columns(policy):
            recoding = self._suppress(names, asked, dataset, recoding, workplace)
        return recoding

    def _asked(self, terms: TermColumns, requirements: Sequence[TermModel], workplace: Workplace) -> TermsAsked:
        """Return the records of some columns, and what is asked of groups of them."""
        knowledge, worth = knowledge_of(workplace, self.name), worth_of(terms.specs.values())
        prior = workplace.public.belief
        return ask_terms(terms.sets, knowledge, prior, requirements, cost=self.cost, worth=worth)

    def _suppress(
        self,
        names: tuple[str, ...],
        requirements: list[TermModel],
        dataset: Dataset,
        before: Recoding,
        workplace: Workplace,
    ) -> Recoding:
        """Return a recoding with the terms of one column, or of several together, made safe."""
        terms = terms_of(dataset, names)
        refuse_unreachable(terms.sets, knowledge_of(workplace, self.name), requirements)
        asked = self._asked(terms, requirements, workplace)
        groups = Grouping.of(dataset, before, joins=self.search == "exact")
        if self.joint and groups.tree is None:
            raise PolicyError(
                "term-suppression: joint = true was asked for, but nothing was split that could be merged again.\n"
                "Ask for k-anonymity with mondrian as well, or leave joint out."
            )
        result = suppress_terms(
            terms.sets,
            groups.class_of,
            asked,
            keep_row=before.keep_row,
            parent=groups.parent,
            loss=node_losses(dataset, groups.tree) if groups.tree is not None and self.joint else None,
            weight=self.weight,
            search=self.search,
            node_budget=self.node_budget,
            time_limit=self.time_limit,
            margin=self.margin,
            workplace=workplace,
        )
        require_safe([result.said], terms.sets.name, requirements)
        missing = dataset.schema.missing
        columns = terms.split(result.sets, missing[0] if missing else "")
        labels, classes, tree = groups.joined(dataset, result.node_of, result.class_of)
        columns |= labels
        said = facts_of([result.said], result.merged, self.search, margin=bool(self.margin))
        facts = {**before.facts, terms.sets.name: said}
        told = {name: {"margin": self.margin} for name in names} if self.margin else {}
        public = {**before.public, **told}
        return before.with_columns(columns, facts=facts, public=public, class_of=classes, tree=tree)


def _by_columns(policy: Policy) -> Iterator[tuple[tuple[str, ...], list[TermModel]]]:
    """Yield the columns that are read together, in whichever order they are named, and what is asked of them."""
    asked: dict[frozenset[str], list[TermModel]] = {}
    models: list[TermModel] = [*policy.of(QSDiversity), *policy.of(QSCloseness)]
    for model in models:
        asked.setdefault(frozenset(model.judged_columns), []).append(model)
    for together in asked.values():
        yield together[0].judged_columns, together
