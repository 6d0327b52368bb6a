"""Dropping all sensitive items: what every other anonymizer of items must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.anonymizers.base import Divides, Workplace
from sfumato.anonymizers.items import ItemSuppression, Kept, Task, withheld_facts


@dataclass(frozen=True, kw_only=True)
class DropSensitive(ItemSuppression):
    """Delete every sensitive item: safe for a trivial reason, and the yardstick of all others."""

    name: ClassVar[str] = "drop-sensitive"
    divides: ClassVar[Divides] = Divides.ANYHOW
    by_class: ClassVar[bool] = True

    def suppress(self, task: Task, workplace: Workplace) -> tuple[Kept, dict[str, Any]]:
        """Return that all stays but sensitive items."""
        workplace.checkpoint()
        kept = ~task.baskets.sensitive[task.baskets.items]
        return kept, withheld_facts(task, kept)
