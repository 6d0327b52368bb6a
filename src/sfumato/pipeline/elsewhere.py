"""Where a plan runs: on this machine, or by the session of a cluster whose frame was given."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.engines import Engine, engine_named
from sfumato.pipeline.case import Case, Outcome
from sfumato.plan import Plan
from sfumato.progress import Progress

WORK_FOLDER = "SFUMATO_WORK_FOLDER"  # in the environment: where the release of such a frame lies; executors reach it


def engine_of(plan: Plan, name: str | Engine | None, **given: Any) -> Engine:
    """Return where a plan runs: as is asked for here, else as the plan says."""
    if name is not None and not isinstance(name, str):
        return name
    told, options = plan.engine, dict(given)
    if name is None or name == told.name:
        options = {key: value if value is not None else getattr(told, key) for key, value in given.items()}
    return engine_named(name or told.name, options)


def make_elsewhere(frame: Any, plan: Plan, *, progress: Progress, **given: Any) -> tuple[Outcome, Callable[[], Any]]:
    """Anonymize a frame of Spark by its session; return what came of it, and what makes a frame of the release.

    The release lies in a folder that stays until this process ends.
    """
    folder = Path(tempfile.mkdtemp(prefix="sfumato-", dir=os.environ.get(WORK_FOLDER)))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = frame.sparkSession
    engine = engine_named("spark", {"cells_on_driver": plan.engine.cells_on_driver, "session": session})
    case = Case(plan.over(frame.columns), frame, engine, progress)
    outcome = case.make_folder(folder / "run", lambda facts: "", measure=False, attack=False, **given)
    parts = (folder / "run" / "release" / "data.parquet").as_uri()
    return outcome, lambda: session.read.parquet(parts)
