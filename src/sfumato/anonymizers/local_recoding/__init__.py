"""Local recoding: each class gets the lowest labels of the hierarchies that cover it.

Regions of labels are tried from cheap to dear, and each one that satisfies the requirements on what is still open is
closed as a class; what stays open joins the class where it costs least; then records move to where they cost less.
The loops are in kernels/classes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from sfumato.anonymizers.base import LABELS, Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import of_all_rows
from sfumato.anonymizers.conditions import (
    CLASS_MODELS,
    OR_MONDRIAN,
    Asked,
    conditions_for,
    refuse_bare,
    refuse_hopeless,
)
from sfumato.anonymizers.disjoint import POPULATION_MODELS, besides_people, recode_apart, refuse_dropping
from sfumato.anonymizers.dropping import (
    DROP_ROWS,
    Formed,
    Integers,
    drop_where_it_pays,
    lost_in_groups,
    rows_to_drop,
    yardsticks_of,
)
from sfumato.anonymizers.local_recoding.solving import EFFORTS, Recoded, recode
from sfumato.anonymizers.local_recoding.units import make_trees
from sfumato.data.dataset import CodedColumn, Codes, Dataset, weights_of
from sfumato.data.hierarchy import Tree
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Role, Schema
from sfumato.kernels.classes.units import Trees
from sfumato.models.base import Policy, PrivacyModel
from sfumato.parameters import Takes, parameter, parametrized


@parametrized
class LocalRecoding(Anonymizer):
    """Publish labels of hierarchies, as low as the requirements allow, record by record.

    Records with equal quasi-identifiers may get different labels because of their sensitive values, which the models
    permit and which loses less; `keep_equal_together` forbids it. Where people of a population are counted, labels
    never overlap (disjoint.py), and equal records stay together.
    """

    name: ClassVar[str] = "local-recoding"
    phase: ClassVar[Phase] = Phase.CLASSES
    divides: ClassVar[Divides] = Divides.REGIONS
    covers_rows: ClassVar[bool] = True
    shows_figures: ClassVar[bool] = True
    shows_labels: ClassVar[str | None] = LABELS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (*CLASS_MODELS, *POPULATION_MODELS)

    mode: str = parameter(
        Takes.CHOICE,
        "Effort",
        "How much work goes into a low loss, the least first.",
        default="capped",
        choices=tuple(EFFORTS),
    )
    keep_equal_together: bool = parameter(
        Takes.FLAG,
        "Equal rows stay together",
        "Records with equal quasi-identifiers get the same labels.",
        default=False,
    )
    drop_rows: float = field(default=0.0, metadata=DROP_ROWS)

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return a reason if there are labels to publish, and nobody has to merge groups again."""
        if Phase.TERMS in phases or schema.without_hierarchy or schema.rest is Role.QUASI_IDENTIFIER:
            return None
        return "every quasi-identifier has a hierarchy, so its labels are published"

    def counts_with(self, policy: Policy) -> bool:
        """Whether equal rows may be held once: unless some of them may be dropped."""
        return not self.drop_rows

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a quasi-identifier has no hierarchy, or where what is asked cannot be judged."""
        refuse_bare(self.name, dataset.quasi_identifiers, otherwise=OR_MONDRIAN)
        refuse_dropping(self.name, policy, self.drop_rows)
        conditions_for(dataset, besides_people(policy))

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels for the quasi-identifiers, or raise Unsatisfiable."""
        columns = dataset.quasi_identifiers
        refuse_bare(self.name, columns, otherwise=OR_MONDRIAN)
        if policy.of(*POPULATION_MODELS):
            return recode_apart(self.name, dataset, policy, before, workplace, drop_rows=self.drop_rows, exact=False)
        rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
        asked = conditions_for(dataset, policy, rows)
        refuse_hopeless(dataset, asked, self.drop_rows)
        effort = EFFORTS[self.mode]
        stage = workplace.stage(self.name, total=2 + effort.passes)

        def recoded_of(some: Integers | None, asked: Asked) -> Recoded:
            return recode(
                [column.codes if some is None else column.codes[some] for column in columns],
                trees,
                asked.conditions,
                asked.bar_of,
                effort,
                weights=asked.weights,
                together=self.keep_equal_together,
                checkpoint=stage.advance,
            )

        trees = _trees(columns)
        facts: dict[str, Any] = {}
        most = rows_to_drop(self.drop_rows, asked.conditions.rows)
        if most and columns:
            yardsticks = yardsticks_of(columns)

            def form(some: Integers, asked: Asked) -> Formed[Recoded]:
                recoded = recoded_of(some, asked)
                return Formed(recoded.class_of, lost_in_groups(some, recoded.class_of, yardsticks), recoded)

            everybody = np.arange(dataset.n_rows) if rows is None else rows
            kept = drop_where_it_pays(dataset, policy, everybody, most, form, yardsticks)
            recoded, facts = kept.formed.made, kept.facts
            if facts["rows_dropped"]:
                rows = kept.rows
                before = before.with_columns({}, keep_row=kept.keep_row(dataset.n_rows))
        else:
            recoded = recoded_of(rows, asked)
        stage.done()
        return self._decision(dataset, recoded, rows, before, facts)

    def _decision(
        self, dataset: Dataset, recoded: Recoded, rows: Integers | None, before: Recoding, facts: Mapping[str, Any]
    ) -> Recoding:
        """Return what is published of the rows that take part."""
        n_rows = dataset.n_rows
        if recoded.pieces is not None:
            assert dataset.weights is not None
            pieces, rows = recoded.pieces.beside(rows, dataset.weights)
            before, n_rows = before.divided(pieces), pieces.count.size
        class_of = of_all_rows(recoded.class_of, rows, n_rows)
        labelled = {
            column.name: _labels(column.tree, recoded.label[:, position], class_of)
            for position, column in enumerate(dataset.quasi_identifiers)
            if column.tree is not None
        }
        return before.with_columns(labelled, class_of=class_of, facts={"classes": len(recoded.label), **facts})


def _trees(columns: Sequence[CodedColumn]) -> Trees:
    """Return the hierarchies of all columns in one numbering."""
    losses = [weight * column.node_loss() for weight, column in zip(weights_of(columns), columns, strict=True)]
    return make_trees([tree for column in columns if (tree := column.tree) is not None], losses)


def _labels(tree: Tree, node_of_class: Codes, class_of: Codes) -> Labelled:
    """Return a column of labels; of nodes with the same values below them, the lowest gives its label."""
    lowest: dict[tuple[int, int], int] = {}
    ends = zip(tree.first.tolist(), tree.last.tolist(), strict=True)
    names = np.array([lowest.setdefault(both, node) for node, both in enumerate(ends)], dtype=np.int32)
    return Labelled(codes=names[node_of_class][class_of], labels=tree.labels)
