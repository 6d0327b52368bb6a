"""Mondrian: cut the table into boxes, again and again, while every box satisfies what is asked of a class.

LeFevre, DeWitt, Ramakrishnan (2006), with a better choice of cuts: all cuts of all attributes are compared by what the
rows lose afterwards, and those of small parts are followed to the end before one is chosen (kernels/classes).
All parts of one depth are cut in one round, so that a requirement which no kernel knows can judge them all at once.

The classic models are closed under union. So two groups that end up with equal labels are one class that satisfies them
too, and a part that fails cannot be made of parts that pass: a cut that is refused needs no second look.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import LABELS, Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import Integers, grids_of, label_boxes, of_all_rows, quasi_identifiers
from sfumato.anonymizers.conditions import CLASS_MODELS, Asked, conditions_for, knows_secrets, refuse_hopeless
from sfumato.anonymizers.disjoint import POPULATION_MODELS, besides_people, recode_apart, refuse_dropping
from sfumato.anonymizers.dropping import (
    DROP_ROWS,
    Formed,
    Losses,
    drop_where_it_pays,
    lost_in_groups,
    rows_to_drop,
    yardsticks_of,
)
from sfumato.anonymizers.mondrian.growth import Check, Growth, Say, items_of, table_of
from sfumato.anonymizers.mondrian.secrets import secrets_conditions
from sfumato.anonymizers.term_suppression.conditions import TERM_MODELS, terms_condition
from sfumato.data.dataset import CodedColumn, Dataset
from sfumato.data.grid import Grid
from sfumato.data.recoding import Recoding, SplitTree
from sfumato.data.schema import Kind, Schema
from sfumato.errors import PolicyError
from sfumato.kernels.classes.cuts import BEST, WIDEST
from sfumato.models.base import Policy, PrivacyModel
from sfumato.parameters import Takes, parameter, parametrized
from sfumato.progress import Stage

FEW = 2  # people who must at least share a figure, if no class needs more: else it is somebody's own
FOLLOWED = 25  # groups that a part may come to consist of if its cuts are followed to the end


@parametrized
class Mondrian(Anonymizer):
    """Cut the table into boxes, as small as the requirements allow, and publish the extent of each box.

    A column with a hierarchy is published as its lowest label that covers the class. Without one, numbers and dates are
    published as ranges between round bounds that no single person has (data/grid.py), other ordered columns as ranges
    of their values, categories as the set of values in the class.
    """

    name: ClassVar[str] = "mondrian"
    phase: ClassVar[Phase] = Phase.CLASSES
    divides: ClassVar[Divides] = Divides.REGIONS
    covers_rows: ClassVar[bool] = True
    leaves_tree: ClassVar[bool] = True
    shows_figures: ClassVar[bool] = True
    splits_by_secrets: ClassVar[bool] = True
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (
        *CLASS_MODELS,
        *POPULATION_MODELS,
        *TERM_MODELS,  # none is removed
    )

    strict: bool = parameter(
        Takes.FLAG,
        "Equal rows stay together",
        "Rows with equal quasi-identifiers stay together; else ties at the median may be divided.",
        default=True,
    )
    categories: str = parameter(
        Takes.CHOICE,
        "Cuts of categories",
        "Cut between values, or off what lies below a node of the hierarchy; order: between values only.",
        default="hierarchy",
        choices=("hierarchy", "order"),
    )
    value_sets: bool = parameter(
        Takes.FLAG,
        "Sets of values",
        "Publish the set of values in the class where a hierarchy's label says less.",
        default=False,
    )
    bounds: str = parameter(
        Takes.CHOICE,
        "Bounds of ranges",
        "Numbers and dates: labels of the hierarchy, else round bounds; exact: smallest and largest value in the "
        "class, which are people's own.",
        default="grid",
        choices=("grid", "exact"),
    )
    cut: str = parameter(
        Takes.CHOICE,
        "Choice of cuts",
        "What is lost afterwards decides; width: halve the widest attribute, as in 2006.",
        default="loss",
        choices=("loss", "width"),
    )
    lookahead: int = parameter(
        Takes.WHOLE,
        "Cuts that are followed",
        "How many cuts of a small part are followed to the end before one is chosen; 1: none.",
        default=8,
        least=1,
    )

    drop_rows: float = field(default=0.0, metadata=DROP_ROWS)

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return what speaks for groups that can be merged again, or against labels of hierarchies."""
        if Phase.TERMS in phases:
            return "terms are removed afterwards, and its groups can be merged where that fails"
        bare = schema.without_hierarchy
        which = f"no hierarchy for {', '.join(bare)}" if bare else "some quasi-identifiers are not named"
        return f"{which}, so ranges and sets of values are published there"

    def counts_with(self, policy: Policy) -> bool:
        """Whether equal rows may be held once: unless single rows are cut or dropped, or their terms looked at."""
        singly = policy.of(*TERM_MODELS) or any(map(knows_secrets, policy))
        return self.strict and not self.drop_rows and not singly

    def shows(self, kind: Kind | None, *, hierarchy: bool) -> str | None:
        """Return what is published of a quasi-identifier."""
        exact = "from the smallest to the largest value of each class: people's own figures"
        if hierarchy and not (self.bounds == "exact" and kind is Kind.NUMBER):
            return LABELS if not self.value_sets or kind is Kind.NUMBER else f"{LABELS}, or to sets of values"
        if kind in (Kind.NUMBER, Kind.DATE):
            round_bounds = "between round numbers" if kind is Kind.NUMBER else "between first and last days of periods"
            return f"generalized to ranges {exact if self.bounds == 'exact' else round_bounds}"
        if kind is Kind.ORDERED:
            return "generalized to ranges of its values"
        return "generalized to sets of its values" if kind is not None else "generalized to ranges or sets of values"

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where what is asked of classes cannot be judged."""
        refuse_dropping(self.name, policy, self.drop_rows)
        conditions_for(dataset, _of_classes(besides_people(policy)))

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return ranges, labels and sets of values for the quasi-identifiers, or raise Unsatisfiable."""
        if policy.of(*POPULATION_MODELS):
            return self._apart(dataset, policy, before, workplace)
        rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
        of_classes = _of_classes(policy)
        asked = conditions_for(dataset, of_classes, rows)
        refuse_hopeless(dataset, asked, self.drop_rows)
        terms = terms_condition(dataset, policy, workplace, rows, self.name)
        checks = [*([terms.hold] if terms else []), *(each.hold for each in secrets_conditions(dataset, policy, rows))]
        dropped: dict[str, int] = {}
        most = 0 if checks else rows_to_drop(self.drop_rows, asked.conditions.rows)  # they are about all rows
        if most:
            everybody = np.arange(dataset.n_rows) if rows is None else rows

            def form(some: Integers, asked: Asked) -> Formed[SplitTree]:
                tree = split(dataset, asked, self, workplace, some)
                return Formed(tree.group_of[some], self._lost(dataset, tree, some), tree)

            bare = yardsticks_of(quasi_identifiers(dataset), value_sets=self.value_sets, exact=self.bounds == "exact")
            kept = drop_where_it_pays(dataset, of_classes, everybody, most, form, bare)
            tree, dropped = kept.formed.made, kept.facts
            if dropped["rows_dropped"]:
                before = before.with_columns({}, keep_row=kept.keep_row(dataset.n_rows))
        else:
            tree = split(dataset, asked, self, workplace, rows, _all_of(checks) if checks else None)
        columns, class_of = label_boxes(dataset, tree)
        facts = {
            "classes": int(class_of.max(initial=-1)) + 1,
            "groups": tree.n_groups,
            "rounds": tree.rounds,
            "cuts": tree.parent.size // 2,
            **dropped,
        }
        return before.with_columns(columns, class_of=class_of, tree=tree, facts=facts)

    def _apart(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels that never overlap, where people of a population are counted."""
        others = [model.name for model in policy if isinstance(model, TERM_MODELS) or knows_secrets(model)]
        if others:
            raise PolicyError(
                f"mondrian was asked for {', '.join(others)} together with k-map or delta-presence, which it does not "
                "meet in one search.\nAsk for one of them."
            )
        quasi_identifiers(dataset)
        exact = self.bounds == "exact"
        return recode_apart(self.name, dataset, policy, before, workplace, drop_rows=self.drop_rows, exact=exact)

    def _lost(self, dataset: Dataset, tree: SplitTree, rows: Integers) -> Losses:
        """Return what the rows of each group lose together."""
        columns = quasi_identifiers(dataset)
        yardsticks = yardsticks_of(columns, value_sets=tree.value_sets, exact=tree.exact, grids=tree.grids)
        return lost_in_groups(rows, tree.group_of[rows], yardsticks)


def _of_classes(policy: Policy) -> Policy:
    """Return what is asked of each class by itself."""
    of_terms = policy.of(*TERM_MODELS)
    return Policy(tuple(model for model in policy if model not in of_terms and not knows_secrets(model)))


def _all_of(checks: Sequence[Check]) -> Check:
    """Return a check that passes what all of them pass."""
    return lambda rows, start: np.logical_and.reduce([check(rows, start) for check in checks])


def split(
    dataset: Dataset,
    asked: Asked,
    options: Mondrian,
    workplace: Workplace,
    rows: Integers | None = None,
    check: Check | None = None,
) -> SplitTree:
    """Cut the table, or some of its rows, as long as both sides satisfy what is asked, and `check` as well.

    The whole table must satisfy both; `asked` is about the same rows. Of cuts that are nearly as good as the best, the
    one whose worse side has the lower score is taken, if a later step scores them (`Workplace.crowding`). Both hear the
    numbers of rows in the dataset.
    """
    columns = quasi_identifiers(dataset)
    if rows is not None:
        columns = tuple(replace(column, codes=column.codes[rows]) for column in columns)
    n_rows = dataset.n_rows if rows is None else rows.size
    exact = options.bounds == "exact"
    least = asked.conditions.k if asked.conditions.size_only and check is None else max(asked.conditions.k, FEW)
    grids = {} if exact else grids_of(columns, least, asked.weights, apart=dataset.whole is not None)
    stage = workplace.stage("mondrian", total=asked.conditions.rows)
    try:
        say = Say(check, workplace.crowding, rows)
        tree = _split(columns, grids, n_rows, asked, options, max(workplace.threads, 1), say, stage)
    finally:
        stage.done()
    tree = replace(tree, value_sets=options.value_sets, exact=exact, grids=grids)
    if rows is None:
        return tree
    group_of = of_all_rows(tree.group_of, rows, dataset.n_rows)
    return replace(tree, group_of=group_of, some_row=rows[tree.some_row])


def _split(
    columns: Sequence[CodedColumn],
    grids: Mapping[str, Grid],
    n_rows: int,
    asked: Asked,
    options: Mondrian,
    threads: int,
    say: Say,
    stage: Stage,
) -> SplitTree:
    none = np.empty(0, dtype=np.int64)
    if not n_rows:
        return SplitTree(none.astype(np.int32), none, np.zeros(1, dtype=np.int64), none, none, 0)
    items = items_of(columns, grids, asked, n_rows, together=options.strict)
    rule = BEST if options.cut == "loss" else WIDEST
    nothing_to_gain = asked.conditions.size_only and asked.conditions.k == 1  # each combination will be a group
    table = table_of(
        columns,
        grids,
        items,
        value_sets=options.value_sets,
        exact=options.bounds == "exact",
        by_hierarchy=options.categories == "hierarchy",
        divide_ties=not options.strict,
    )
    with ThreadPoolExecutor(threads) as pool:
        growth = Growth(table, items, asked.conditions, rule, pool, threads)
        if rule == BEST and options.lookahead > 1 and not nothing_to_gain:
            n_groups = growth.run(Say(), lambda rows: stage.advance(0)).n_groups
            growth.look_ahead(options.lookahead, min(FOLLOWED * items.weight.size // n_groups, items.weight.size))
        return growth.run(say, stage.advance)
