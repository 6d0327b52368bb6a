"""Where a plan runs: on this machine, or by the session of a cluster whose frame was given."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from sfumato.data.files.release import PARTS, read_release, release_folder
from sfumato.data.files.source import parts_of
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.disk import scratch_folder
from sfumato.engines import Engine, LocalEngine, engine_named
from sfumato.engines.dividing import DividedEngine
from sfumato.errors import DataError
from sfumato.pipeline.case import Case, Outcome
from sfumato.pipeline.judging import ROWS_HERE, Seen, refuse_those_who_need_rows
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


@contextmanager
def asking(
    plan: Plan,
    path: Path | None,
    original: pa.Table | None,
    seen: Callable[[], Seen],
    progress: Progress,
    *,
    every_row: bool,
    engine: str | Engine | None = None,
    **given: Any,
) -> Iterator[tuple[Case, Seen]]:
    """Give a case and a table as an outsider sees it, both looked at by an engine: as distinct rows with weights.

    Who looks at every row of both gets them here where distinct ones do not say everything and one machine has the
    room, else single rows of a random part.
    """
    chosen = engine_of(plan, engine or LocalEngine.name, **given)
    if chosen.holds_rows:
        yield Case(plan, original, progress=progress), seen()
        return
    assert isinstance(chosen, DividedEngine)
    if path is None or original is not None:
        raise DataError(
            f"--engine {chosen.name} was asked to look at a table in memory.\n"
            "Give the folder of a run or a release, and the original as the plan's source; or leave the engine out."
        )
    folder = _in_parts(path)
    if every_row and folder is not None:
        refuse_those_who_need_rows(plan, _rows_in(folder))
    with scratch_folder(path) as work, chosen.workroom(work):
        if every_row and folder is not None and not _row_by_row(chosen, folder, plan):
            case = Case(plan, engine=chosen, progress=progress)
            yield case, case.beside(path, folder)
            return
        if every_row:
            table = None
            if plan.source is not None and plan.source.in_catalog:
                table = chosen.every_row(chosen.read(plan.source, plan.schema.named(Role.IDENTIFIER), progress)[0])
            yield Case(plan, table, progress=progress), seen()
            return
        look = None if folder is None else partial(chosen.read_back, folder, plan.schema, plan.policy)
        yield Case(plan, engine=chosen, progress=progress), Seen.at(path, plan, progress, look=look)


def _row_by_row(engine: DividedEngine, folder: Path, plan: Plan) -> bool:
    """Whether every row is looked at here: there is room for them, and distinct ones do not say everything."""
    comparing = engine.compare(folder, plan.schema)
    engine.comparing = None
    in_people = plan.weight or plan.sampling.weight or plan.sampling.household
    return comparing.rows <= ROWS_HERE and (in_people is not None or not comparing.counts_all)


def columns_at(path: Path, columns: Sequence[str], *, engine: str | Engine | None = None, **given: Any) -> Release:
    """Return some columns of a release in a folder, looked at by an engine: as distinct rows with weights."""
    chosen = engine if engine is not None and not isinstance(engine, str) else engine_named(engine or "local", given)
    folder = _in_parts(path)
    if folder is None or not isinstance(chosen, DividedEngine):
        return read_release(path)
    with scratch_folder(path) as work, chosen.workroom(work):
        return chosen.read_some(folder, columns)


def _in_parts(path: Path) -> Path | None:
    """Return the folder of a table in parts: of a release, or of Parquet files of any tool; None: it is one file."""
    if (folder := release_folder(path)) is not None:
        return folder if (folder / PARTS).is_dir() else None
    return path if path.is_dir() else None


def _rows_in(folder: Path) -> int:
    parts = parts_of(folder / PARTS if (folder / PARTS).is_dir() else folder)
    return sum(pa_parquet.read_metadata(part).num_rows for part in parts)


def make_elsewhere(frame: Any, plan: Plan, *, progress: Progress, **given: Any) -> tuple[Outcome, Callable[[], Any]]:
    """Anonymize a frame of Spark by its session; return what came of it, and what makes a frame of the release.

    The release lies in a folder that stays until this process ends.
    """
    folder = Path(tempfile.mkdtemp(prefix="sfumato-", dir=os.environ.get(WORK_FOLDER)))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = frame.sparkSession
    engine = engine_named("spark", {"distinct_on_driver": plan.engine.distinct_on_driver, "session": session})
    case = Case(plan.over(frame.columns), frame, engine, progress)
    outcome = case.make_folder(folder / "run", lambda facts: "", measure=False, attack=False, **given)
    parts = (folder / "run" / "release" / "data.parquet").as_uri()
    return outcome, lambda: session.read.parquet(parts)
