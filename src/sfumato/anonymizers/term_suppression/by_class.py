"""Removing terms class by class: what whoever has all rows of some classes needs to know, and what is said of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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

    def classes(self, distinct: Dataset, before: Recoding) -> ClassTree:
        """Return the groups that steps before made, and what each is joined to where it cannot be made safe."""
        groups = Grouping.of(distinct, before, joins=True)
        node_of = groups.class_of.astype(np.int64)
        if before.keep_row is not None:
            node_of[~before.keep_row] = -1
        parent = np.full(int(node_of.max(initial=-1)) + 1, -1) if groups.parent is None else groups.parent
        return ClassTree(node_of, np.asarray(parent, dtype=np.int64))

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
            failed=result.said.node[result.said.found.status == UNREACHABLE].astype(np.int64),
            said=result.said,
        )

    def joined(self, distinct: Dataset, before: Recoding, node_of: NDArray[np.int64]) -> Recoding:
        """Return what steps before decided, with labels of joined classes."""
        class_of = np.full(node_of.size, -1, dtype=np.int32)
        class_of[node_of >= 0] = np.unique(node_of[node_of >= 0], return_inverse=True)[1]
        columns, class_of, split = Grouping.of(distinct, before, joins=True).joined(distinct, node_of, class_of)
        told = {name: {"margin": self.margin} for name in self.columns} if self.margin else {}
        public = {**before.public, **told}
        return before.with_columns(columns, facts={}, public=public, class_of=class_of, tree=split)

    def facts(self, said: Sequence[Said], ended: NDArray[np.int64], joined: int) -> Mapping[str, Any]:
        """Return what the holder's report says; raise where a class could not be made safe."""
        said = [each.of(np.isin(each.node, ended)) for each in said]
        column = " + ".join(self.columns)
        require_safe(said, column, self.requirements)
        return {column: facts_of(said, joined, "exact", margin=bool(self.margin))}
