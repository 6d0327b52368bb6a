"""Removing terms class by class: what whoever has all rows of some classes needs to know, and what is said of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import ClassesDone, ClassTree, Workplace
from sfumato.anonymizers.term_suppression.conditions import TermModel, ask_terms, knowledge_of, terms_of
from sfumato.anonymizers.term_suppression.grouping import Grouping
from sfumato.anonymizers.term_suppression.search import UNREACHABLE
from sfumato.anonymizers.term_suppression.suppressing import Said, facts_of, require_safe, suppress_terms
from sfumato.data.dataset import Dataset
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.worth import worth_of


@dataclass(frozen=True, eq=False, kw_only=True)
class TermsByClass:
    """What is asked of the terms of each class, and how they are removed."""

    name: str  # of the anonymizer
    columns: tuple[str, ...]  # of terms, read together
    requirements: tuple[TermModel, ...]
    public: PublicInputs  # with a prior of the whole table
    cost: str
    node_budget: int
    margin: float
    key: bytes  # by which classes are drawn for the margin, each by its node

    def solve(self, dataset: Dataset, tree: ClassTree, workplace: Workplace) -> ClassesDone:
        """Return what becomes of classes, given all of their rows."""
        terms = terms_of(dataset, self.columns)
        knowledge = knowledge_of(replace(workplace, public=self.public), self.name)
        worth = worth_of(terms.specs.values())
        asked = ask_terms(terms.sets, knowledge, self.public.belief, self.requirements, cost=self.cost, worth=worth)
        result = suppress_terms(
            terms.sets,
            tree.node_of,
            asked,
            parent=tree.parent,
            node_budget=self.node_budget,
            margin=self.margin,
            workplace=workplace,
            key=self.key,
        )
        assert result.node_of is not None
        missing = dataset.schema.missing
        return ClassesDone(
            columns=terms.split(result.sets, missing[0] if missing else ""),
            node_of=result.node_of,
            failed=result.said.node[result.found.status == UNREACHABLE].astype(np.int64),
            said=result.said,
        )

    def on(
        self, cells: Dataset, before: Recoding, tree: ClassTree, node_of: NDArray[np.int64], said: Sequence[Said]
    ) -> Recoding:
        """Return what steps before decided, with labels of joined classes; raise where some could not be made safe."""
        nodes, group_of = np.unique(node_of[node_of >= 0], return_inverse=True)
        said = [each.of(np.isin(each.node, nodes)) for each in said]
        column = " + ".join(self.columns)
        require_safe(said, column, self.requirements)
        class_of = np.full(node_of.size, -1, dtype=np.int32)
        class_of[node_of >= 0] = group_of
        columns, class_of, split = Grouping.of(cells, before, joins=True).joined(cells, node_of, class_of)
        merged = int((~np.isin(np.unique(tree.node_of[tree.node_of >= 0]), nodes)).sum())
        facts = {column: facts_of(said, merged, "exact", margin=bool(self.margin))}
        public = {**before.public, **({name: {"margin": self.margin} for name in self.columns} if self.margin else {})}
        return before.with_columns(columns, facts=facts, public=public, class_of=class_of, tree=split)
