"""Full-domain generalization: one level of its hierarchy for every value of a column, the best choice of levels.

Samarati (2001); the search proves that no other choice of levels loses less (search.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import of_all_rows
from sfumato.anonymizers.conditions import CLASS_MODELS, OR_MONDRIAN, conditions_for, refuse_bare, refuse_hopeless
from sfumato.anonymizers.disjoint import POPULATION_MODELS, besides_people
from sfumato.anonymizers.dropping import DROP_ROWS, rows_to_drop
from sfumato.anonymizers.full_domain.judging import Judge
from sfumato.anonymizers.full_domain.lattice import Ladder, ladder_of, lattice_of
from sfumato.anonymizers.full_domain.population import crowd_of
from sfumato.anonymizers.full_domain.search import ClassSize, Discernibility, Found, Loss, Ncp, Search
from sfumato.data.dataset import CodedColumn, Dataset, weights_of
from sfumato.data.recoding import Labelled, Recoding
from sfumato.errors import DataError, Unsatisfiable
from sfumato.models.base import Policy, PrivacyModel
from sfumato.parameters import Takes, parameter, parametrized

LARGEST_LATTICE = 4_000_000  # nodes of which something is kept


@parametrized
class FullDomain(Anonymizer):
    """Publish all values of a column at one level of its hierarchy, the same in all rows.

    Of all choices of levels, the one that loses least is taken. Classes that fail are dropped, as long as no more than
    `drop_rows` are; what is compared with the whole is compared with what is published.
    """

    name: ClassVar[str] = "full-domain"
    phase: ClassVar[Phase] = Phase.CLASSES
    divides: ClassVar[Divides] = Divides.NOT
    covers_rows: ClassVar[bool] = True
    shows_labels: ClassVar[str | None] = "generalized to labels of one level of its hierarchy, the same in all rows"
    reason: ClassVar[str | None] = "levels of hierarchies tell which people of a population a class could be about"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (*CLASS_MODELS, *POPULATION_MODELS)

    loss: str = parameter(
        Takes.CHOICE,
        "What is minimized",
        "Detail lost, pairs that cannot be told apart, or rows in a class; dropped rows count.",
        default="ncp",
        choices=("ncp", "discernibility", "class-size"),
    )
    drop_rows: float = field(default=0.0, metadata=DROP_ROWS)
    checks: int = parameter(
        Takes.WHOLE,
        "Choices that are judged",
        "How many choices of levels are judged before the best so far is taken, with how far it may be off.",
        default=100_000,
        least=1,
    )

    def counts_with(self, policy: Policy) -> bool:
        """Whether equal rows may be held once."""
        return True

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a quasi-identifier has no hierarchy, levels are too many, or what is asked cannot be judged."""
        of_people = policy.of(*POPULATION_MODELS)
        _ladders(dataset.quasi_identifiers, every_level=bool(of_people))
        conditions_for(dataset, besides_people(policy))

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels for the quasi-identifiers, or raise Unsatisfiable."""
        columns = dataset.quasi_identifiers
        of_people = policy.of(*POPULATION_MODELS)
        ladders = _ladders(columns, every_level=bool(of_people))
        rows = np.arange(dataset.n_rows) if before.keep_row is None else np.flatnonzero(before.keep_row)
        asked = conditions_for(dataset, besides_people(policy), rows)
        crowd = crowd_of(of_people, columns, ladders, rows, workplace.public, asked.weights) if of_people else None
        codes = [column.codes if before.keep_row is None else column.codes[rows] for column in columns]
        lattice = lattice_of(ladders, codes, asked.bar_of, asked.weights)
        limit = 0 if crowd and crowd.asked.low else rows_to_drop(self.drop_rows, asked.conditions.rows)
        if not limit or asked.conditions.rows < asked.conditions.k:
            refuse_hopeless(dataset, asked)
        loss = self._loss(asked.conditions.rows, len(columns))
        judge = Judge(lattice, asked.conditions, asked.among, limit=limit, bounded=loss.base_is_known, crowd=crowd)
        stage = workplace.stage(self.name, total=math.prod(lattice.shape))
        try:
            found = Search(judge, loss, self.checks, stage.advance).run()
        finally:
            stage.done()
        if found is None:
            raise Unsatisfiable(
                f"{' and '.join(dict.fromkeys(model.name for model in policy))} cannot be met by levels of hierarchies "
                f"and {limit:,} dropped rows at most: each choice of levels that was judged leaves more in classes "
                "that fail.\nAsk for less, or raise drop_rows."
            )
        return self._decision(dataset, judge, found, rows, before)

    def _loss(self, rows: int, columns: int) -> Loss:
        if self.loss == "ncp":
            return Ncp(rows, columns)
        return Discernibility(rows) if self.loss == "discernibility" else ClassSize(rows)

    def _decision(
        self, dataset: Dataset, judge: Judge, found: Found, rows: NDArray[np.int64], before: Recoding
    ) -> Recoding:
        """Return what is published at the best node."""
        columns, lattice, best = dataset.quasi_identifiers, judge.lattice, judge.decide(found.node)
        levels = lattice.levels(found.node)
        labelled: dict[str, Labelled] = {}
        for column, ladder, level in zip(columns, lattice.ladders, levels, strict=True):
            labelled[column.name] = Labelled(codes=ladder.node[level][column.codes], labels=ladder.labels(level))
        number = np.where(best.kept, np.cumsum(best.kept) - 1, -1).astype(np.int32)
        class_of = of_all_rows(number[best.class_of][lattice.distinct_of], rows, dataset.n_rows)
        facts: dict[str, Any] = {
            "classes": int(np.count_nonzero(best.kept)),
            "rows_dropped": best.dropped,
            "levels": {column.name: level for column, level in zip(columns, levels, strict=True)},
            "choices_of_levels": math.prod(lattice.shape),
            "choices_judged": found.checked,
            "proven_to_be_best": found.lowest >= found.loss,
        }
        if found.lowest < found.loss:
            facts["may_be_off_by"] = f"{(found.loss - found.lowest) / found.loss:.1%} of its {self.loss}"
        keep_row = class_of >= 0 if best.dropped else before.keep_row
        return before.with_columns(labelled, class_of=class_of, keep_row=keep_row, facts=facts)


def _ladders(columns: tuple[CodedColumn, ...], *, every_level: bool) -> list[Ladder]:
    """Return the levels of all columns, or raise when there are none, or too many together."""
    refuse_bare("full-domain", columns, "levels", OR_MONDRIAN)
    ladders = [
        ladder_of(column, weight, every_level=every_level)
        for column, weight in zip(columns, weights_of(columns), strict=True)
    ]
    size = math.prod(len(ladder.node) for ladder in ladders)
    if size > LARGEST_LATTICE:
        levels = ", ".join(f"{column.name} {len(at.node)}" for column, at in zip(columns, ladders, strict=True))
        raise DataError(
            f"full-domain was asked for the best choice of levels, of which there are {size:,} ({levels}); "
            f"it can look at {LARGEST_LATTICE:,}.\n"
            'Give the hierarchies fewer levels, or choose anonymizer = "local-recoding".'
        )
    return ladders
