"""Partial suppression: withhold single occurrences of items until nothing sensitive can be inferred from the rest."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Deadline, Divides, Workplace
from sfumato.anonymizers.items import ItemSuppression, Kept, Task, in_parts, withheld_facts
from sfumato.anonymizers.items.growth import Wish, can_be_counted, grow, nobody, safe_start
from sfumato.kernels.items.supports import make_published
from sfumato.kernels.published.rho_repair import DISTRIBUTION, LEFTOVER, repair
from sfumato.parameters import Takes, parameter, parametrized

Cuts: TypeAlias = NDArray[np.int64]  # where parts of the table begin, and its end
Advance: TypeAlias = Callable[[float], None]

PART = 4_000_000  # occurrences that one part has at most, unless the plan says how many parts
SMALL = 20_000  # occurrences of a table on which Dist and plain growth are tried, too: a second at most


@parametrized
class PartialSuppression(ItemSuppression):
    """Keep as many occurrences as rules allow, growing from a table that is safe for a trivial reason.

    `loss` withholds as little as it can: types that occur together are put back together, then one is exchanged for
    others. It tries `mine` with `restore`, too (on small tables `dist` as well), and publishes the best result. With
    `rules` only sensitive items are ever withheld, so rules among all others stay as they were; `loss` does the same,
    unless `dist` withheld less on a small table. `distribution` withholds any item so that all keep about the same
    share of their occurrences; `slack` trades that balance against loss.

    The searches `mine` and `dist` are the published ones (Jia, Pan, Xu, Zhu and Lo, 2014), for comparison: they start
    from the whole table and delete until no rule is unsafe, in parts as small as `tmax` asks for.
    """

    name: ClassVar[str] = "partial-suppression"
    divides: ClassVar[Divides] = Divides.ANYHOW
    by_class: ClassVar[bool] = True
    reason: ClassVar[str | None] = "items are withheld record by record, whatever else is published"

    search: str = parameter(
        Takes.CHOICE,
        "Search",
        "Growth from a safe table; mine, dist: the published searches, which keep rules and the distribution.",
        default="best",
        choices=("best", "mine", "dist"),
    )
    goal: str = parameter(
        Takes.CHOICE,
        "Goal",
        "Of search best: fewest occurrences withheld, rules kept, or all items in balance.",
        default="loss",
        choices=("loss", "rules", "distribution"),
    )
    slack: float = parameter(
        Takes.NUMBER,
        "Slack",
        "Goal distribution: share by which an item may be ahead of the whole table.",
        default=0.05,
        least=0,
        most=1,
    )
    longest: int = parameter(
        Takes.WHOLE,
        "Longest record",
        "Items that a record with a sensitive one may hold at most.",
        default=12,
        least=2,
        most=16,
        why="each further item doubles the work",
    )
    parts: int | None = parameter(
        Takes.WHOLE,
        "Parts",
        "Records are split into so many parts, grown side by side and then once together; none: by size.",
        default=None,
        least=1,
        example=4,
    )
    time_limit: float | None = parameter(
        Takes.NUMBER,
        "Time",
        "Seconds, after which the safe table reached by then is published.",
        default=None,
        above=0,
        example=60,
    )
    finish_on_interrupt: bool = parameter(
        Takes.FLAG, "Ctrl-C ends the search", "Ctrl-C then ends the search, not the run.", default=False
    )
    tmax: float = parameter(
        Takes.NUMBER,
        "Size of parts",
        "mine and dist: parts are halved until n * 2 ** (mean length) / items is at most this.",
        default=500,
        above=0,
    )
    buffer_size: int = parameter(
        Takes.WHOLE,
        "Buffer",
        "mine and dist: antecedents that are collected before they are repaired.",
        default=1_000_000,
        least=1,
    )
    restore: bool = parameter(
        Takes.FLAG,
        "Put back",
        "mine and dist: whether to put back afterwards what the whole table allows.",
        default=False,
    )

    def suppress(self, task: Task, workplace: Workplace) -> tuple[Kept, dict[str, Any]]:
        """Return which occurrences of a column stay, and what there is to say about it."""
        deadline, cuts, interrupted = Deadline(self.time_limit), self._cuts(task), False
        together = (self.search == "best" or self.restore) and task.classes is None
        total = (cuts.size - 1) * (not together or cuts.size > 2) + together + self._tries_mine(task)
        stage = workplace.stage("withholding items", total=total)
        kept = safe_start(task.baskets, empty=self.search == "best" and self.goal == "distribution")
        search = self._best if self.search == "best" else self._published
        try:
            search(task, kept, cuts, workplace, deadline, stage.advance)
        except KeyboardInterrupt:  # what is kept was safe between any two steps
            if not self.finish_on_interrupt:
                raise
            interrupted = True
        stage.done()
        facts = {
            "search": self.search,
            **({"goal": self.goal} if self.search == "best" else {"restored": self.restore}),
            "parts": int(cuts.size - 1),
            **({"within": "classes"} if task.classes is not None else {}),
            "ended_early": interrupted or deadline.noticed,
            **withheld_facts(task, kept),
        }
        return kept, facts

    def _cuts(self, task: Task) -> NDArray[np.int64]:
        """Return where parts of the table begin, and its end."""
        if task.classes is not None:
            return task.classes
        n_records = task.baskets.start.size - 1
        n_parts = self.parts
        if n_parts is None and self.search != "best":
            return np.array([*_halved(task, 0, n_records, self.tmax), n_records], dtype=np.int64)
        if n_parts is None:
            n_parts = 1 + task.baskets.items.size // PART
        return np.linspace(0, n_records, min(n_parts, max(n_records, 1)) + 1).astype(np.int64)

    def _best(
        self, task: Task, kept: Kept, cuts: Cuts, workplace: Workplace, deadline: Deadline, advance: Advance
    ) -> None:
        """Grow each part, then the whole table once more from what the parts reached; then try other ways."""
        by_record, frequent_first = self.goal == "distribution", self.goal == "rules"
        wish = Wish(by_record=by_record, frequent_first=frequent_first, slack=self.slack)
        if self.goal != "loss":
            self._grow_parts(task, kept, wish, cuts, workplace, deadline, advance)
        else:
            wish = Wish(together=task.baskets.items.size > SMALL)
            self._grow_parts(task, kept, wish, cuts, workplace, deadline, advance)
            for attempt in self._attempts(task, cuts, workplace, deadline, advance):
                rival = safe_start(task.baskets)
                if not deadline.over():
                    attempt(rival)
                if rival.sum() > kept.sum():
                    kept[:] = rival

    def _tries_mine(self, task: Task) -> bool:
        """Whether Mine is tried, too. It cannot be ended within a part, so on a large table a time limit forbids it."""
        large = task.baskets.items.size > SMALL
        return self.search == "best" and self.goal == "loss" and not (large and self.time_limit is not None)

    def _attempts(
        self, task: Task, cuts: Cuts, workplace: Workplace, deadline: Deadline, advance: Advance
    ) -> Iterator[Callable[[Kept], None]]:
        """Yield the other ways to withhold as little as possible, each of which begins with what is trivially safe."""
        small = task.baskets.items.size <= SMALL
        if small:
            yield lambda kept: self._grow_parts(task, kept, Wish(together=True), cuts, workplace, deadline, nobody)
        for search in ["mine"] * self._tries_mine(task) + ["dist"] * small:
            other = replace(self, search=search, restore=True)
            # With the draws that it would have had alone, and without taking them from the steps after this one.
            place = replace(workplace, rng=copy.deepcopy(workplace.rng))
            yield partial(other._repaired, task, place, deadline, advance if search == "mine" else nobody)

    def _repaired(self, task: Task, workplace: Workplace, deadline: Deadline, advance: Advance, kept: Kept) -> None:
        cuts = self._cuts(task)
        self._published(task, kept, cuts, workplace, deadline, lambda steps: advance(steps / cuts.size))

    def _grow_parts(
        self, task: Task, kept: Kept, wish: Wish, cuts: Cuts, workplace: Workplace, deadline: Deadline, advance: Advance
    ) -> None:
        def grow_part(part: Task, kept_of_part: Kept, number: int, place: Workplace) -> None:
            self._grow(part, kept_of_part, wish, place, deadline, advance)

        if cuts.size > 2 or task.classes is not None:
            in_parts(task, kept, cuts, workplace, grow_part)
        if task.classes is None:  # else what the whole table would allow may give a class away
            self._grow(task, kept, wish, workplace, deadline, advance)

    def _grow(self, task: Task, kept: Kept, wish: Wish, place: Workplace, deadline: Deadline, advance: Advance) -> None:
        def stop() -> bool:
            place.checkpoint()
            return deadline.over()

        if task.baskets.sensitive[task.baskets.items].any() and can_be_counted(task.baskets, kept):
            grow(task.baskets, kept, task.bound, wish, longest=self.longest, stop=stop, advance=advance)

    def _published(
        self, task: Task, kept: Kept, cuts: Cuts, workplace: Workplace, deadline: Deadline, advance: Advance
    ) -> None:
        """Repair each part, and put back afterwards what the whole table allows, where that is asked for."""
        heuristic = LEFTOVER if self.search == "mine" else DISTRIBUTION
        seeds = workplace.rng.integers(2**63, size=cuts.size - 1, dtype=np.uint64)  # one a part: threads do not matter

        def repair_part(part: Task, kept_of_part: Kept, number: int, place: Workplace) -> None:
            if not deadline.over():  # else what is trivially safe stays
                published = make_published(part.baskets, np.ones(kept_of_part.size, dtype=np.bool_))
                repair(heuristic, self.buffer_size, part.baskets, published, part.bound, seeds[number : number + 1])
                kept_of_part[:] = published.kept
            advance(1)

        in_parts(task, kept, cuts, workplace, repair_part)
        if self.restore:
            wish = Wish(by_record=self.search == "dist", frequent_first=True, slack=self.slack)
            at_once, heard = (cuts, nobody) if task.classes is not None else (cuts[[0, -1]], advance)
            self._grow_parts(task, kept, wish, at_once, workplace, deadline, heard)


def _halved(task: Task, first: int, last: int, tmax: float) -> Iterator[int]:
    """Yield where the parts begin that divide and conquer ends with; the number of items is the whole table's."""
    n_records = last - first
    occurrences = int(task.baskets.start[last] - task.baskets.start[first])
    # In logarithms: two to the power of a mean length of thousands is beyond any float.
    cost = math.log2(max(n_records, 1)) + occurrences / max(n_records, 1) - math.log2(max(task.baskets.code.size, 1))
    if n_records < 2 or cost <= math.log2(tmax):
        yield first
        return
    middle = (first + last) // 2
    yield from _halved(task, first, middle, tmax)
    yield from _halved(task, middle, last, tmax)
