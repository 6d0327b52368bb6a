"""Dropping all sensitive items: what every other anonymizer of items must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.anonymizers.base import Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.items import facts_together, tasks_of, with_items, withheld_facts
from sfumato.data.dataset import Dataset
from sfumato.data.recoding import Recoding
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.rho_uncertainty import RhoUncertainty


@dataclass(frozen=True, kw_only=True)
class DropSensitive(Anonymizer):
    """Delete every sensitive item: safe for a trivial reason, and the yardstick of all others."""

    name: ClassVar[str] = "drop-sensitive"
    phase: ClassVar[Phase] = Phase.ITEMS
    divides: ClassVar[Divides] = Divides.ANYHOW
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)

    def facts_of_parts(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return what there is to say of all parts together."""
        return facts_together(parts)

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where nothing says which items are sensitive, or none of them is."""
        for _ in tasks_of(policy, dataset, Recoding(), by_class=True):
            pass

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding without sensitive items."""
        recoding = replace(before, facts={})
        for task in tasks_of(policy, dataset, before, by_class=True):
            workplace.checkpoint()
            kept = ~task.baskets.sensitive[task.baskets.items]
            recoding = with_items(recoding, task, kept, withheld_facts(task, kept))
        return recoding
