"""Partial suppression: withhold single occurrences of items until nothing sensitive can be inferred from the rest."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.anonymizers.base import Stage, Workplace
from sfumato.anonymizers.items import Kept, Task, in_parts, tasks_of, with_items, withheld_facts
from sfumato.data.dataset import Dataset
from sfumato.data.recoding import Recoding
from sfumato.errors import PolicyError
from sfumato.kernels.rho_search import Wish, grow, safe_start
from sfumato.models.base import Policy, PrivacyModel, one_of, whole_number
from sfumato.models.rho_uncertainty import RhoUncertainty

SEARCHES = ("best",)
GOALS = ("loss", "rules", "distribution")
PART = 4_000_000  # occurrences that one part has at most, unless the plan says how many parts


@dataclass(frozen=True, kw_only=True)
class PartialSuppression:
    """Keep as many occurrences as rules allow, growing from a table that is safe for a trivial reason.

    With the goals `loss` and `rules` only sensitive items are ever withheld, so rules among all others stay as they
    were. `distribution` withholds any item so that all keep about the same share of their occurrences; `slack` trades
    that balance against loss.
    """

    name: ClassVar[str] = "partial-suppression"
    stage: ClassVar[Stage] = Stage.ITEMS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)
    also_meets: ClassVar[tuple[type[PrivacyModel], ...]] = ()

    search: str = "best"
    goal: str = "loss"
    slack: float = 0.05  # goal distribution: share by which an item may be ahead of the whole table
    longest: int = 12  # items that a record with a sensitive one may hold at most
    parts: int | None = None  # records are split into so many parts, grown side by side and then once together
    time_limit: float | None = None  # seconds, after which the safe table reached by then is published
    finish_on_interrupt: bool = False  # Ctrl-C then ends the search, not the run

    def __post_init__(self) -> None:
        one_of(self.search, "partial-suppression: search", SEARCHES)
        one_of(self.goal, "partial-suppression: goal", GOALS)
        whole_number(self.longest, "partial-suppression: longest", 2, 12)
        if self.longest > 16:
            raise PolicyError(
                f"partial-suppression: longest was given as {self.longest}.\n"
                "Each further item doubles the work; give at most 16."
            )
        if self.parts is not None:
            whole_number(self.parts, "partial-suppression: parts", 1, 4)
        _check_number(self.slack, "slack", "a share from 0 to 1", lambda value: 0 <= value <= 1)
        if self.time_limit is not None:
            _check_number(
                self.time_limit, "time_limit", "seconds, more than 0, or leave it out", lambda value: value > 0
            )
        if not isinstance(self.finish_on_interrupt, bool):
            raise PolicyError(
                f"partial-suppression: finish_on_interrupt was given as {self.finish_on_interrupt!r}.\n"
                "Give true or false."
            )

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding in which every column of items is safe."""
        recoding = replace(before, facts={})
        for task in tasks_of(policy, dataset, before):
            kept, facts = self.suppress(task, workplace)
            recoding = with_items(recoding, task, kept, facts)
        return recoding

    def suppress(self, task: Task, workplace: Workplace) -> tuple[Kept, dict[str, Any]]:
        """Return which occurrences of a column stay, and what there is to say about it."""
        clock = Clock(self.time_limit, self.finish_on_interrupt)
        n_parts = self.parts or 1 + task.baskets.items.size // PART
        stage = workplace.progress.stage("withholding items", total=n_parts + (n_parts > 1))
        kept = self._best(task, n_parts, workplace.threads, clock, stage.advance)
        stage.done()
        facts = {
            "search": self.search,
            "goal": self.goal,
            "parts": n_parts,
            "ended_early": clock.over,
            **withheld_facts(task, kept),
        }
        return kept, facts

    def _best(self, task: Task, n_parts: int, threads: int, clock: Clock, advance: Callable[[float], None]) -> Kept:
        """Grow each part, then the whole table once more from what the parts reached."""
        balanced = self.goal == "distribution"
        wish = Wish(by_record=balanced, frequent_first=self.goal == "rules", slack=self.slack)
        kept = safe_start(task.baskets, empty=balanced)

        def grow_part(part: Task, kept_of_part: Kept) -> None:
            grow(part.baskets, kept_of_part, part.bound, wish, longest=self.longest, stop=clock, advance=advance)

        with clock.listening():
            if n_parts > 1:
                in_parts(task, kept, n_parts, threads, grow_part)
            grow_part(task, kept)
        return kept


class Clock:
    """Says when a search shall end: after its time, or on Ctrl-C where that was asked for."""

    def __init__(self, seconds: float | None, finish_on_interrupt: bool) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds
        self.finish_on_interrupt = finish_on_interrupt
        self.over = False

    def __call__(self) -> bool:
        """Whether the search shall end now."""
        if self.end is not None and time.monotonic() >= self.end:
            self.over = True
        return self.over

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let a first Ctrl-C end the search; a second one does what it always does."""
        if not self.finish_on_interrupt or threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = signal.getsignal(signal.SIGINT)

        def end(number: int, frame: Any) -> None:
            self.over = True
            signal.signal(signal.SIGINT, usual)

        signal.signal(signal.SIGINT, end)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)


def _check_number(value: object, option: str, wanted: str, fits: Callable[[float], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        raise PolicyError(f"partial-suppression: {option} was given as {value!r}.\nGive {wanted}.")
