"""Compiling ahead: made-up patients are walked through whatever a plan needs, so that no data of anybody are read."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.anonymizers.base import Anonymizer
from sfumato.compiling import Loop, while_compiling
from sfumato.errors import SfumatoError
from sfumato.generators import hospital
from sfumato.generators.requirements import BARE, REQUIREMENTS, ROWS, plan_for
from sfumato.pipeline.ahead import for_the_first_time
from sfumato.pipeline.case import Case
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress


@dataclass(frozen=True)
class Warmed:
    """What was compiled ahead."""

    loops: tuple[str, ...]  # those that were not on disk before
    seconds: float
    kept: bool  # whether they are on disk now

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"compiled": list(self.loops), "seconds": round(self.seconds, 1), "kept": self.kept}


def warm(plan: Plan | None = None, progress: Progress = SILENT) -> Warmed:
    """Compile the loops that a plan's steps, audits, metrics and attacks need; those of every model without one."""
    began = time.perf_counter()
    begun: list[Loop] = []
    table = hospital(ROWS)
    with tempfile.TemporaryDirectory() as folder, while_compiling(begun.append):
        for title, made_up, options in _jobs(plan, Path(folder)):
            stage = progress.stage(f"compile: {title}")
            try:
                Case(replace(made_up, options=options), table).make(seed=0)
            except SfumatoError:  # options about columns that the patients do not have: then the usual ones
                Case(made_up, table).make(seed=0)
            for_the_first_time(plan or made_up)
            stage.done()
    own = [loop for loop in begun if loop.name.startswith("sfumato.")]
    return Warmed(tuple(loop.name for loop in own), time.perf_counter() - began, all(loop.kept for loop in own))


def _jobs(plan: Plan | None, folder: Path) -> Iterator[tuple[str, Plan, Mapping[str, Anonymizer]]]:
    """Yield plans for made-up patients that together go through the loops."""
    if plan is not None:
        plan.searchable()
        models = {model.name: step.anonymizer.name for step in plan.steps() for model in step.policy}
        yield ", ".join(models), Plan.from_dict(plan_for(models, folder), folder), plan.options
        return
    for model in REQUIREMENTS:
        yield model, Plan.from_dict(plan_for({model: None}, folder), folder), {}
    bare = plan_for(dict.fromkeys(BARE), folder, hierarchies=False)
    yield "without hierarchies", Plan.from_dict(bare, folder), {}
