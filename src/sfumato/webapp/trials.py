"""Trials: what a plan as it is now would cost, worked out in a process of its own that the next change ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, SfumatoError
from sfumato.webapp.plans import OpenPlan
from sfumato.webapp.showing import TRYING


class Trials:
    """The trials of a project: one a plan."""

    def __init__(self, bench: Callable[[Path], Any]) -> None:
        self.bench = bench
        self._trials: dict[str, tuple[str, Any, asyncio.Future[Any]]] = {}  # of which digest, who works, what they find

    def ask(self, plan: OpenPlan) -> tuple[Any, str]:
        """Return what the plan would cost, or None and why that is not known; a trial of another version is ended."""
        if plan.problems or not plan.requirements:
            return None, "Once the plan promises something and has no problems, it can be tried."
        digest, _, found = self._trials.get(plan.name, ("", None, None))
        if digest != plan.digest or found is None:
            self.end(plan.name)
            asking = self.bench(plan.path)
            found = asyncio.get_running_loop().run_in_executor(None, partial(copy_context().run, asking.ask, "trial"))
            self._trials[plan.name] = (plan.digest, asking, found)
        if not found.done():
            return None, TRYING
        try:
            return found.result(), ""
        except InputError as error:
            return None, str(error)
        except SfumatoError:
            del self._trials[plan.name]
            return None, "The process that tried it ended, perhaps for lack of memory. A run may still succeed."

    def end(self, name: str) -> None:
        """End the trial of a plan, wherever it is: nobody waits for it any more."""
        if name in self._trials:
            _, asking, found = self._trials.pop(name)
            found.add_done_callback(lambda done: done.exception())  # which nobody asks after
            asking.abandon()

    def close(self) -> None:
        """End them all."""
        for name in list(self._trials):
            self.end(name)
