"""Term suppression: remove the fewest, cheapest terms of a set column until no group tells too much about any label.

Shi, Xiong and Fung (2010) generalize quasi-identifiers first and then remove terms within each group. The cost of a
record that keeps s of w terms is 1/(s + 1) + ... + 1/w: the first term to go is cheap, the last one dear.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Crowding, Deadline, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import node_losses, publish
from sfumato.anonymizers.joining import LabelledClasses
from sfumato.anonymizers.published.term_walks import solve_published
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.conditions import (
    TERM_MODELS,
    TermModel,
    TermsAsked,
    ask_terms,
    in_words,
    knowledge_of,
    refuse_unreachable,
    terms_of,
)
from sfumato.anonymizers.term_suppression.hierarchical import solve_tower
from sfumato.anonymizers.term_suppression.margin import add_margin, drawn
from sfumato.anonymizers.term_suppression.merging import Grove, Solve
from sfumato.anonymizers.term_suppression.records import COUNT, INVERSE, Records
from sfumato.data.dataset import CodedSets, Codes, Dataset, distinct_rows
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Schema
from sfumato.data.terms import TermColumns, without
from sfumato.data.worth import worth_of
from sfumato.errors import PolicyError, Problem, Unsatisfiable
from sfumato.kernels.terms.subsets import SMALL
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity
from sfumato.parameters import Takes, about
from sfumato.progress import Stage

SEARCHES = ("exact", "adaptive", "dfs")
SECONDS = 10.0  # per group for the published searches, as in the paper


@dataclass(frozen=True, kw_only=True)
class TermSuppression(Anonymizer):
    """Remove terms at the least cost, group by group; a step before, or equal quasi-identifiers, make the groups."""

    name: ClassVar[str] = "term-suppression"
    phase: ClassVar[Phase] = Phase.TERMS
    divides: ClassVar[Divides] = Divides.REGIONS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = TERM_MODELS

    search: str = field(
        default="exact",
        metadata=about(
            Takes.CHOICE, "Search", "exact, or one of the published searches, for comparison.", choices=SEARCHES
        ),
    )
    cost: str = field(
        default=INVERSE,
        metadata=about(
            Takes.CHOICE,
            "Cost",
            "What removing a term costs: 1 / terms left in its record, so that the last one is dearest (inverse), or "
            "one (count). What the plan says terms are worth goes before.",
            choices=(INVERSE, COUNT),
        ),
    )
    node_budget: int = field(
        default=searching.NODES,
        metadata=about(
            Takes.WHOLE,
            "Steps in a group",
            "Steps of the exact search in one group, after which the best safe answer stands.",
            least=0,
        ),
    )
    time_limit: float | None = field(
        default=None,
        metadata=about(
            Takes.NUMBER,
            "Time",
            "Seconds: exact for the whole table, adaptive and dfs for each group (10 if not given).",
            above=0,
            example=60,
        ),
    )
    margin: float = field(
        default=0.0,
        metadata=about(
            Takes.NUMBER,
            "Margin",
            "Share of groups, drawn by chance, that are made safer than asked, t and l by a quarter: else a group that "
            "could show one term more tells that it has lost none.",
            least=0,
            most=0.5,
            example=0.2,
        ),
    )
    joint: bool = field(
        default=False,
        metadata=about(
            Takes.FLAG,
            "Cuts and removal together",
            "Cut groups, and undo cuts, with the coming removal in mind; needs mondrian before it.",
        ),
    )
    weight: float = field(
        default=1.0,
        metadata=about(
            Takes.NUMBER,
            "Weight of terms",
            "When joint: what the loss of all terms counts against that of all quasi-identifiers.",
            least=0,
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost != INVERSE and self.search != "exact":
            raise PolicyError(
                f"cost = {self.cost!r} of term-suppression was asked for with search = {self.search!r}.\n"
                'Only search = "exact" knows other costs than the papers\'.',
                at="cost",
            )
        if self.margin and self.search != "exact":
            raise PolicyError(
                f"margin of term-suppression was asked for with search = {self.search!r}.\n"
                'Only search = "exact" works with it.',
                at="margin",
            )
        if self.joint and self.search != "exact":
            raise PolicyError(
                f"joint of term-suppression was asked for with search = {self.search!r}.\n"
                'Only search = "exact" works with it.',
                at="joint",
            )

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it comes where it comes."""
        return "terms are removed within groups of equal quasi-identifiers"

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
        tree = before.tree if self.search == "exact" else None
        if self.joint and tree is None:
            raise PolicyError(
                "term-suppression: joint = true was asked for, but nothing was split that could be merged again.\n"
                "Ask for k-anonymity with mondrian as well, or leave joint out."
            )
        labelled = LabelledClasses.of(dataset, before) if tree is None and self.search == "exact" else None
        class_of = tree.node_of_row if tree is not None else before.class_of
        if class_of is None:
            class_of = distinct_rows(dataset.quasi_identifiers, dataset.n_rows).cell_of
        result = suppress_terms(
            terms.sets,
            class_of,
            asked,
            keep_row=before.keep_row,
            parent=tree.parent if tree is not None else labelled.parents() if labelled is not None else None,
            loss=node_losses(dataset, tree) if tree is not None and self.joint else None,
            weight=self.weight,
            search=self.search,
            node_budget=self.node_budget,
            time_limit=self.time_limit,
            margin=self.margin,
            workplace=workplace,
        )
        result.require_safe(requirements)
        missing = dataset.schema.missing
        columns = terms.split(result.sets, missing[0] if missing else "")
        classes = result.class_of
        if tree is not None and result.node_of is not None:
            tree = tree.merged(result.node_of)
            labels, classes = publish(dataset, tree)
            columns |= labels
        elif labelled is not None and result.node_of is not None and result.facts["groups_merged"]:
            labels, classes = labelled.joined(result.node_of)
            columns |= labels
        facts = {**before.facts, terms.sets.name: result.facts}
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Suppressed:
    """What became of a column. Sizes: n rows, g groups."""

    sets: CodedSets  # what is published
    class_of: Codes  # (n,) the group of each row, after merging; -1: the row is not published
    node_of: NDArray[np.int64] | None  # (n,) the node of the split tree that each row ended in, when there is one
    found: searching.Found
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unreachable(self) -> NDArray[np.int64]:
        """Numbers of groups that could not be made safe."""
        return np.flatnonzero(self.found.status == searching.UNREACHABLE)

    def require_safe(self, requirements: Sequence[TermModel]) -> None:
        """Raise when some group could not be made safe."""
        bad = self.unreachable
        if not bad.size:
            return
        asked = ", ".join(in_words(model) for model in requirements)
        near = np.sqrt(self.found.distance[bad].max())
        reach = f"The worst of them comes no closer to the prior than {near:.4g}. " if math.isfinite(near) else ""
        raise Unsatisfiable(
            f"{asked} was asked of column {self.sets.name!r}, but {bad.size:,} of {self.found.status.size:,} groups "
            f"do not reach it, whichever terms are removed.\n{reach}Ask for larger groups (a larger k), raise t, or "
            "give a prior that is nearer to the data."
        )


def suppress_terms(
    sets: CodedSets,
    class_of: NDArray[Any],
    asked: TermsAsked,
    *,
    keep_row: NDArray[np.bool_] | None = None,
    parent: NDArray[Any] | None = None,
    loss: NDArray[np.float64] | None = None,
    weight: float = 1.0,
    search: str = "exact",
    node_budget: int = searching.NODES,
    time_limit: float | None = None,
    margin: float = 0.0,
    workplace: Workplace | None = None,
) -> Suppressed:
    """Choose which terms stay so that every group satisfies the requirements at the least cost.

    class_of[row] is the group of a row. With `parent`, class_of holds leaves of a split tree, parent[node] the node
    that each came from (-1 for the root), and groups that cannot be made safe are merged with their siblings;
    `node_of` then tells where each row ended. With `loss`, what is lost on quasi-identifiers when a node is a group,
    siblings are also merged where loss + weight * share of the terms' worth is lower for the union. A share of groups,
    the `margin`, is made safer than asked.
    """
    workplace = workplace or Workplace()
    rows = np.arange(class_of.size) if keep_row is None else np.flatnonzero(keep_row)
    home: NDArray[Any]
    home, group_of = np.unique(class_of[rows], return_inverse=True)
    stage = workplace.stage("removing terms", home.size)
    solve = _solver(sets, asked, search, node_budget, time_limit, workplace, stage)
    node_of, merged = None, 0
    if parent is None:
        order, start = searching.groups_as_ranges(group_of, home.size)
        found = solve(rows[order], start)
    else:
        grove = Grove.plant(asked.records, rows, class_of[rows], parent, solve)
        grove.merge_unreachable()
        if loss is not None:
            grove.merge_cheaper(loss, weight)
        found, group_of = grove.found, grove.group_at
        merged = int((~np.isin(home, grove.home)).sum())
        node_of = np.full(class_of.size, -1, dtype=np.int64)
        node_of[rows] = grove.node_at
    more: dict[str, Any] = {}
    if margin:
        safer = _solver(sets, asked.stricter, search, node_budget, time_limit, workplace, stage)
        chosen = drawn(found.status.size, margin, workplace.keys())
        found, more["groups_in_margin"] = add_margin(found, rows, group_of, chosen, safer)
    stage.done()
    keep = searching.kept_items(asked.records, found)
    new_class = np.full(class_of.size, -1, dtype=np.int32)
    new_class[rows] = group_of
    return Suppressed(
        sets=without(sets, keep),
        class_of=new_class,
        node_of=node_of,
        found=found,
        facts=_facts(asked.records, found, keep, merged, search, rows) | more,
    )


def _solver(
    sets: CodedSets,
    asked: TermsAsked,
    search: str,
    node_budget: int,
    time_limit: float | None,
    workplace: Workplace,
    stage: Stage,
) -> Solve:
    """Return what solves groups of rows: the exact search, or a published one if records are short enough for it."""
    options: dict[str, Any]
    if search == "exact":
        options = {"nodes": node_budget, "deadline": Deadline(time_limit), "workplace": workplace}
        if (over := asked.over) is not None:
            return lambda order, start: solve_tower(
                asked.records, order, start, over.unlinked, over.limit, over.tower, advance=stage.advance, **options
            )
        return lambda order, start: searching.solve_all(
            asked.records, order, start, asked.belief, asked.requirement, advance=stage.advance, **options
        )
    links = asked.records.links
    if links.likelihood.size or links.misses or links.worth.size or asked.over is not None:
        raise PolicyError(
            f"search = {search!r} was asked for, but the plan gives weights, misses, worth or a hierarchy: the "
            "published searches take labels that have all terms of a record for equally likely and alike, and terms "
            "for equally useful.\n"
            'Use search = "exact", or leave these out.'
        )
    most = int(np.diff(sets.start).max(initial=0))
    if most > SMALL:
        raise PolicyError(
            f"search = {search!r} was asked for, but a record of column {sets.name!r} has {most} terms.\n"
            f'The published searches stop at {SMALL}. Use search = "exact".'
        )
    options = {"adaptive": search == "adaptive", "seconds": SECONDS if time_limit is None else time_limit}
    return lambda order, start: solve_published(
        asked.records,
        order,
        start,
        asked.belief,
        asked.requirement,
        advance=stage.advance,
        checkpoint=workplace.checkpoint,
        **options,
    )


def _facts(
    records: Records, found: searching.Found, keep: NDArray[np.bool_], merged: int, search: str, rows: Any
) -> dict[str, Any]:
    """Return what the holder's report says."""
    total = max(int(found.total.sum()), 1)
    changed = (found.status == searching.SOLVED) & (found.cost > 0)
    own = np.divide(found.cost, found.total, out=np.zeros(found.cost.size), where=found.total > 0)
    linked = records.linked[rows]
    return {
        "search": search,
        "cost": int(found.cost.sum()) / total,
        "cost_mean_over_groups": float(own.mean()) if own.size else 0.0,
        "lower_bound": int(found.bound.sum()) / total,
        "proven": float(found.proven.mean()) if found.proven.size else 1.0,
        "groups": int(found.status.size),
        "groups_changed": int(changed.sum()),
        "groups_merged": merged,
        "groups_unreachable": int((found.status == searching.UNREACHABLE).sum()),
        "terms": int(keep.size),
        "terms_removed": int((~keep).sum()),
        "unlinked_records": int((~linked).sum()),
        "nodes": int(found.nodes.sum()),
    }
