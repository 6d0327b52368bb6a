"""Local recoding: each class gets the lowest labels of the hierarchies that cover it; no row is dropped.

Regions of labels are tried from cheap to dear, and each one that satisfies the requirements on what is still open is
closed as a class; what stays open joins the class where it costs least; then records move to where they cost less.
The loops are in kernels/classes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import LABELS, Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.conditions import CLASS_MODELS, conditions_for, refuse_hopeless
from sfumato.anonymizers.local_recoding.solving import EFFORTS, recode
from sfumato.anonymizers.local_recoding.units import make_trees
from sfumato.data.dataset import CodedColumn, Codes, Dataset, weights_of
from sfumato.data.hierarchy import Tree
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.models.base import Policy, PrivacyModel
from sfumato.parameters import Takes, about


@dataclass(frozen=True, kw_only=True)
class LocalRecoding(Anonymizer):
    """Publish labels of hierarchies, as low as the requirements allow, record by record.

    Records with equal quasi-identifiers may get different labels because of their sensitive values, which the models
    permit and which loses less; `keep_equal_together` forbids it.
    """

    name: ClassVar[str] = "local-recoding"
    phase: ClassVar[Phase] = Phase.CLASSES
    divides: ClassVar[Divides] = Divides.REGIONS
    shows_figures: ClassVar[bool] = True
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = CLASS_MODELS

    mode: str = field(
        default="capped",
        metadata=about(
            Takes.CHOICE, "Effort", "How much work goes into a low loss, the least first.", choices=tuple(EFFORTS)
        ),
    )
    keep_equal_together: bool = field(
        default=False,
        metadata=about(
            Takes.FLAG, "Equal rows stay together", "Records with equal quasi-identifiers get the same labels."
        ),
    )

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return a reason if there are labels to publish, and nobody has to merge groups again."""
        if Phase.TERMS in phases or schema.without_hierarchy or schema.rest is Role.QUASI_IDENTIFIER:
            return None
        return "every quasi-identifier has a hierarchy, so its labels are published"

    def counts_with(self, policy: Policy) -> bool:
        """Whether equal rows may be held once."""
        return True

    def shows(self, kind: Kind | None, *, hierarchy: bool) -> str | None:
        """Return what is published of a quasi-identifier."""
        return LABELS

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels for the quasi-identifiers, or raise Unsatisfiable."""
        columns = dataset.quasi_identifiers
        bare = [column.name for column in columns if column.tree is None]
        if bare:
            raise DataError(
                f"local-recoding publishes labels of hierarchies, but {len(bare)} quasi-identifier(s) have none: "
                f"{', '.join(repr(name) for name in bare)}.\n"
                'Give each a hierarchy ({ flat = true } is the simplest), or choose anonymizer = "mondrian".'
            )
        rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
        asked = conditions_for(dataset, policy, rows)
        refuse_hopeless(asked)
        trees = [tree for column in columns if (tree := column.tree) is not None]
        effort = EFFORTS[self.mode]
        stage = workplace.stage(self.name, total=2 + effort.passes)
        recoded = recode(
            [column.codes if rows is None else column.codes[rows] for column in columns],
            make_trees(
                [tree.parent for tree in trees],
                [tree.level for tree in trees],
                [tree.first for tree in trees],
                [tree.last for tree in trees],
                [weight * column.node_loss() for weight, column in zip(weights_of(columns), columns, strict=True)],
            ),
            asked.conditions,
            asked.cell_of,
            effort,
            weights=asked.weights,
            together=self.keep_equal_together,
            checkpoint=stage.advance,
        )
        stage.done()
        class_of = recoded.class_of
        if recoded.pieces is not None:
            assert dataset.weights is not None
            pieces, place = recoded.pieces.beside(rows, dataset.weights)
            before = before.divided(pieces)
            class_of = np.full(pieces.count.size, -1, dtype=np.int32)
            class_of[place] = recoded.class_of
        elif rows is not None:
            class_of = np.full(dataset.n_rows, -1, dtype=np.int32)
            class_of[rows] = recoded.class_of
        labelled = {
            column.name: _labels(column, tree, recoded.label[:, position], class_of)
            for position, (column, tree) in enumerate(zip(columns, trees, strict=True))
        }
        return before.with_columns(labelled, class_of=class_of, facts={"classes": len(recoded.label)})


def _labels(column: CodedColumn, tree: Tree, node_of_class: Codes, class_of: Codes) -> Labelled:
    """Return a column of labels; of nodes with the same values below them, the lowest gives its label."""
    lowest: dict[tuple[int, int], int] = {}
    names = np.array(
        [
            lowest.setdefault((int(a), int(b)), node)
            for node, (a, b) in enumerate(zip(tree.first, tree.last, strict=True))
        ],
        dtype=np.int32,
    )
    codes = names[node_of_class][class_of]
    return Labelled(codes=codes, labels=tree.labels)
