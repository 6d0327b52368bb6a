"""The verdict on beliefs about groups, put together from batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.knowledge import FORBIDDING, Knowledge
from sfumato.models.base import PrivacyModel, Verdict, quoted
from sfumato.models.judging.beliefs import Beliefs, Floats
from sfumato.models.judging.classes import Classes

_NO_LINK = "no label of the knowledge table explains any record"


@dataclass
class Judgement:
    """What is found in batches, put together for a verdict."""

    classes: Classes
    knowledge: Knowledge

    def __post_init__(self) -> None:
        n_groups = self.classes.size.size
        self.passes = np.ones(n_groups, dtype=np.bool_)
        self.reached = np.zeros(n_groups)
        self.vacuous = np.zeros(n_groups, dtype=np.bool_)
        self.forbidden = np.zeros(n_groups, dtype=np.bool_)
        self.unlinkable = 0
        self.whole = 0

    def add(self, found: Beliefs, passes: NDArray[np.bool_], reached: Floats) -> None:
        """Take the findings of a batch, both of shape (b,)."""
        unlinkable = found.rows - found.linked
        self.passes[found.group] = passes | found.vacuous
        self.reached[found.group] = reached
        self.vacuous[found.group] = found.vacuous
        self.unlinkable += int(unlinkable.sum())
        self.whole += int(found.whole.sum())
        if self.knowledge.forbids:
            self.forbidden[found.group] = unlinkable > 0

    def verdict(self, model: PrivacyModel, required: float, measure: str, **facts: Any) -> Verdict:
        """Return the verdict on all groups."""
        size = self.classes.size
        failing = np.flatnonzero(~self.passes | self.forbidden)
        beyond = np.flatnonzero(~self.passes)
        judged = np.flatnonzero(~self.vacuous)
        reached: float | None = None
        if judged.size:
            candidates = beyond if beyond.size else judged
            worst = int(candidates[np.argmax(self.reached[candidates])])
            # Rounding must not turn what is shown against what was decided.
            keep = max if beyond.size else min
            reached = keep(float(self.reached[worst]), required)
            facts = {"worst_group_rows": int(size[worst]), **facts}
        counts = bool(self.forbidden.any() and not beyond.size)
        if counts:
            facts = {"worst": reached, "limit": required, **facts}
            reached, required, measure = float(self.unlinkable), 0.0, "records that no label explains"
        facts = {
            "rows": self.classes.n_rows,
            "unlinked": self.knowledge.unlinked,
            **({} if self.knowledge.likelihood is None else {"weighed": True}),
            **({"misses": self.knowledge.misses} if self.knowledge.misses else {}),
            "unlinkable_rows": self.unlinkable,
            "rows_without_terms": self.whole,
            "vacuous_groups": int(self.vacuous.sum()),
            **facts,
        }
        return Verdict(
            model=model,
            satisfied=not failing.size,
            reached=reached,
            required=required,
            groups=int(size.size),
            failing=int(failing.size),
            failing_rows=int(size[failing].sum()),
            facts=facts,
            measure=measure,
            bound="at most",
            notes=tuple(model.notes_on(facts)),
            counts_all=counts,
            nothing_to_judge="" if judged.size or failing.size or not size.size else _NO_LINK,
        )


def unexplained(model: PrivacyModel, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many records of a release no label explains, given the facts of a verdict."""
    if facts["unlinkable_rows"]:
        fate = (
            "so it cannot be judged what they tell (unlinked under [knowledge] says what becomes of them)"
            if facts["unlinked"] in FORBIDDING
            else f'and unlinked = "{facts["unlinked"]}" takes nothing to follow from them'
        )
        yield (
            f"No label of the knowledge table explains {facts['unlinkable_rows']:,} of {facts['rows']:,} records of "
            f"{quoted(model.judged_columns)}, {fate}."
        )
