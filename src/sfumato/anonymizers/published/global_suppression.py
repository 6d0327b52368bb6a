"""Global suppression: give up whole types of items until no rule is unsafe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.items import ItemSuppression, Kept, Task, withheld_facts
from sfumato.anonymizers.items.growth import Wish, can_be_counted, grow
from sfumato.kernels.published.rho_global import hit_rules, unsafe_of_size

BATCH = 200_000  # unsafe rules that are weighed against one another at once


@dataclass(frozen=True, kw_only=True)
class GlobalSuppression(ItemSuppression):
    """Delete every occurrence of some sensitive items: a baseline after Cao, Karras, Raissi and Tan (2010).

    Rules with one known item come first, then those with two, and so on; the type goes that hits most unsafe rules for
    each occurrence lost. What proves needless in the end comes back. Nearly every sensitive item is in some unique
    record, so next to nothing of them is left: use partial suppression.
    """

    name: ClassVar[str] = "global-suppression"

    def suppress(self, task: Task, workplace: Workplace) -> tuple[Kept, dict[str, Any]]:
        """Return what stays without the types that had to go."""
        kept = suppress_types(task, workplace.checkpoint)
        if can_be_counted(task.baskets, kept):
            stage = workplace.stage("putting types back", total=1)
            wish = Wish(frequent_first=True, whole_types=True)
            grow(task.baskets, kept, task.bound, wish, longest=12, advance=stage.advance)
            stage.done()
        left = np.bincount(task.baskets.items[kept], minlength=task.baskets.code.size) > 0
        return kept, {"types_deleted": int((~left).sum()), **withheld_facts(task, kept)}


def suppress_types(task: Task, checkpoint: Callable[[], None], changed: NDArray[np.bool_] | None = None) -> Kept:
    """Return which occurrences are left when sensitive types go until no rule is unsafe.

    changed: items that every new unsafe rule must involve, None when nothing is known. `checkpoint` is called between
    rounds.
    """
    baskets = task.baskets
    occurrences = np.diff(baskets.tid_start)
    gone = np.zeros(baskets.sensitive.size, dtype=np.bool_)
    if task.bound.empty:
        gone = baskets.sensitive & (occurrences > task.bound.most[-1])
    kept = ~gone[baskets.items]
    involved = np.ones(gone.size, dtype=np.bool_) if changed is None else changed
    size = 1
    while True:
        checkpoint()
        rules = np.empty((BATCH, size + 1), dtype=np.int32)
        found, deep = unsafe_of_size(size, baskets, kept, task.bound, rules, involved)
        if found:
            hit_rules(rules[:found], baskets.sensitive, occurrences, gone)
            kept &= ~gone[baskets.items]
        elif deep:
            size += 1
        else:
            return kept
