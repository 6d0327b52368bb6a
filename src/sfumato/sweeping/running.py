"""Runs the combinations of a grid, side by side, and keeps each result the moment it is there.

A sweep leaves measurements and verdicts only, no release, in a folder for its owner:

    DIR/cells/about.json    what the sweep is about: of another plan or other data, its results are not mixed in
    DIR/cells/KEY.json      one finished combination; a stopped sweep goes on from these
    DIR/sweep.csv           a row for each combination
    DIR/sweep.json          the same and all there is to know
    DIR/sweep.html          the page
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.anonymizers.base import options_of
from sfumato.data.builders import HierarchyFile
from sfumato.data.encoding import encode
from sfumato.data.files import digest
from sfumato.disk import atomic_file
from sfumato.engines.local import available_threads
from sfumato.errors import DataError, InputError, OutputError, PolicyError, SfumatoError, Unsatisfiable
from sfumato.models.base import describe, plain_number
from sfumato.pipeline import Clock, read_source, run_in_memory, versions
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress
from sfumato.sweeping.frontier import frontier, knee, loss_of, strictness, value_of
from sfumato.sweeping.grid import Cell, Grid, grid_of, shown

FORMAT = 2
CELLS, ABOUT = "cells", "about.json"
TABLE, FACTS, PAGE = "sweep.csv", "sweep.json", "sweep.html"
Row = dict[str, Any]
Page = Callable[[Mapping[str, Any]], str]


def sweep(
    plan: Plan,
    vary: Mapping[str, str | Sequence[Any]],
    *,
    table: pa.Table | None = None,
    out: Path | None = None,
    page: Page | None = None,
    loss: str | None = None,
    jobs: int = 1,
    seed: int | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Try every combination and return the facts of the sweep; with `out` also write them, with `page` as a page.

    `table` stands in for the plan's source, `loss` names the measurement to trade against, `jobs` is how many
    combinations run side by side, each in a process of its own. One that cannot be met is a row with its reason.
    """
    grid = grid_of(plan, vary)
    if jobs < 1:
        raise PolicyError(f"{jobs} jobs were asked for.\nUse at least one.")
    if out is not None:
        _check_folder(out, overwrite=overwrite)
    if table is None:
        table, source = read_source(plan, progress, Clock())
    else:
        source = {"path": None, "sha256": _digest_of(table), "rows": table.num_rows}
    encode(table, plan.schema)  # what is wrong with the data is wrong for every combination
    store = _Store(out, _about(plan, source), overwrite=overwrite) if out is not None else None
    rows = _run_all(grid, table, store, jobs=jobs, seed=seed, progress=progress)
    _raise_if_all_are_errors(rows)
    facts = _facts(plan, grid, rows, source, loss)
    if store is not None:
        _write(store.folder, facts, page)
    return facts


def _raise_if_all_are_errors(rows: Sequence[Row]) -> None:
    """A combination that cannot be met is a finding; if none can even be tried, the plan or the data is wrong."""
    if any(row["exit_code"] <= Unsatisfiable.exit_code for row in rows):
        return
    kind = DataError if all(row["exit_code"] == InputError.exit_code for row in rows) else SfumatoError
    raise kind(f"None of {len(rows)} combinations could be tried. The first one says:\n{rows[0]['reason']}")


# One combination.


def run_cell(table: pa.Table, cell: Cell, *, seed: int | None, threads: int) -> Row:
    """Make, audit and measure one combination; nothing of the release is kept."""
    began = time.perf_counter()
    row: Row = {"values": {name: plain_number(value) for name, value in cell.values.items()}, "holds": False}
    try:
        outcome = run_in_memory(table, cell.plan, seed=seed, threads=threads)
    except SfumatoError as error:
        row |= {"reason": str(error), "exit_code": error.exit_code}
    except Exception as error:  # the other combinations may still tell something
        row |= {"reason": f"This combination met a bug in sfumato ({type(error).__name__}).", "exit_code": 3}
    else:
        row |= {
            "holds": True,
            "reason": "",
            "exit_code": 0,
            "verdicts": [verdict.as_dict() for verdict in outcome.verdicts],
            "measurements": [_without_facts(found.as_dict()) for found in outcome.measurements],
            "attacks": [_attack(entry) for entry in outcome.facts.get("attacks", ())],
        }
    row["seconds"] = time.perf_counter() - began
    return row


def _without_facts(measurement: Mapping[str, Any]) -> Row:
    """Keep the figure and what it means; distributions of columns belong to the report of a run."""
    return {key: value for key, value in measurement.items() if key not in ("facts", "explanation")}


def _attack(exposure: Mapping[str, Any]) -> Row:
    after = exposure["after"]
    return {
        "attack": exposure["attack"],
        "exposed": after["exposed"],
        "people": after["people"],
        "worst": after["worst"],
    }


# All of them.

_TABLE: pa.Table | None = None  # in a worker: the data, handed over once


def _prepare(table: pa.Table) -> None:
    global _TABLE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides what to do about Ctrl-C
    _TABLE = table
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when the main process is gone, however it went: nobody would come for the results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(cell: Cell, seed: int | None, threads: int) -> Row:
    assert _TABLE is not None
    return run_cell(_TABLE, cell, seed=seed, threads=threads)


def _run_all(
    grid: Grid, table: pa.Table, store: _Store | None, *, jobs: int, seed: int | None, progress: Progress
) -> list[Row]:
    """Return a row for each combination, in their order."""
    rows: dict[int, Row] = {}
    keys = [_key(cell, seed) for cell in grid.cells]
    if store is not None:
        rows = {place: found for place, key in enumerate(keys) if (found := store.read(key)) is not None}
    waiting = [place for place in range(len(keys)) if place not in rows]
    stage = progress.stage(f"sweep {len(keys):,} combinations", total=len(keys))
    stage.advance(len(rows))

    def keep(place: int, row: Row) -> None:
        # Values as asked for this time: the same combination may have come by another spelling.
        rows[place] = row | {"values": {n: plain_number(v) for n, v in grid.cells[place].values.items()}}
        if store is not None and row["exit_code"] != SfumatoError.exit_code:  # a bug may be mended next time
            store.write(keys[place], row)
        stage.advance()

    jobs = min(jobs, len(waiting))
    threads = max(1, available_threads() // max(jobs, 1))
    if jobs <= 1:
        for place in waiting:
            keep(place, run_cell(table, grid.cells[place], seed=seed, threads=threads))
    else:
        _run_side_by_side(grid, table, waiting, keep, jobs=jobs, seed=seed, threads=threads)
    stage.done()
    return [rows[place] for place in range(len(keys))]


def _run_side_by_side(
    grid: Grid,
    table: pa.Table,
    waiting: Sequence[int],
    keep: Callable[[int, Row], None],
    *,
    jobs: int,
    seed: int | None,
    threads: int,
) -> None:
    # A new interpreter for each worker: a fork of one with threads may hang.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(table,)) as pool:
        place_of = {pool.submit(_work, grid.cells[place], seed, threads): place for place in waiting}
        try:
            for future in as_completed(place_of):
                keep(place_of[future], future.result())
        except BrokenProcessPool:
            raise SfumatoError(
                "A worker process ended before its work was done, perhaps for lack of memory.\n"
                "What is finished is kept: run the same sweep again, with --jobs 1."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


# What is kept.


def _key(cell: Cell, seed: int | None) -> str:
    """Return a name for what is done in a combination: equal work has equal names, whatever was varied to get there."""
    steps = [
        {
            "anonymizer": step.anonymizer.name,
            "options": options_of(step.anonymizer),
            "on": [describe(m) for m in step.policy],
        }
        for step in cell.plan.steps()
    ]
    text = json.dumps([[describe(model) for model in cell.plan.policy], steps, seed], default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _about(plan: Plan, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same for results to be comparable: data, roles, hierarchies, knowledge."""
    files = [
        digest(spec.hierarchy.path)
        for spec in plan.schema
        if isinstance(spec.hierarchy, HierarchyFile) and spec.hierarchy.path.is_file()
    ]
    if plan.knowledge is not None and plan.knowledge.path.is_file():
        files.append(digest(plan.knowledge.path))
    text = repr((plan.schema, plan.knowledge, plan.measure, files))
    return {
        "format": FORMAT,
        "source": source["sha256"],
        "plan": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "sfumato": versions()["sfumato"],
    }


def _digest_of(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _check_folder(out: Path, *, overwrite: bool) -> None:
    """Raise unless a sweep can go there: known before hours of work."""
    if out.exists():
        if not out.is_dir():
            raise OutputError(f"The output folder {out} is a file.\nName a folder.")
        is_sweep = (out / CELLS / ABOUT).is_file() or _is_bare(out)
        if not is_sweep and any(out.iterdir()):
            raise OutputError(
                f"The output folder {out} exists already and is no sweep, so it is never overwritten.\n"
                "Choose another folder."
            )


def _is_bare(out: Path) -> bool:
    """Whether a sweep was stopped here before it could write anything, on a full disk say."""
    inside = [path.name for path in out.iterdir()]
    return inside == [CELLS] and all(path.name.startswith(".") for path in (out / CELLS).glob("*"))


class _Store:
    """The finished combinations of a sweep, each in a file of its own that appears whole or not at all."""

    def __init__(self, folder: Path, about: Mapping[str, Any], *, overwrite: bool) -> None:
        self.folder = folder
        self.cells = folder / CELLS
        try:
            if overwrite and (self.cells / ABOUT).is_file():
                shutil.rmtree(self.cells)
                for name in (TABLE, FACTS, PAGE):
                    (folder / name).unlink(missing_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            self.cells.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"The output folder {folder} cannot be made: {error.strerror}.\nCheck the path and its permissions."
            ) from None
        found = _read_json(self.cells / ABOUT)
        if found is None:
            _write_json(self.cells / ABOUT, about)
        elif found != about:
            raise OutputError(
                f"The output folder {folder} holds a sweep of another plan, other data or another version of sfumato.\n"
                "Choose another folder, or add --overwrite to start anew."
            )

    def read(self, key: str) -> Row | None:
        """Return a finished combination; a damaged file counts as none."""
        found = _read_json(self.cells / f"{key}.json")
        return found if isinstance(found, dict) and "holds" in found else None

    def write(self, key: str, row: Row) -> None:
        """Keep a finished combination."""
        _write_json(self.cells / f"{key}.json", row)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# What comes out.


def _facts(
    plan: Plan, grid: Grid, rows: Sequence[Row], source: Mapping[str, Any], wanted: str | None
) -> dict[str, Any]:
    """Return everything that the table and the page show, as plain data."""
    chosen = loss_of(rows, wanted)
    holding = any(row["holds"] for row in rows)
    if wanted is not None and holding and chosen is None:
        known = sorted({entry["name"] for row in rows for entry in row.get("measurements", ()) if entry.get("better")})
        raise PolicyError(
            f"The loss {wanted!r} was asked for, but is not measured here.\nMeasured: {', '.join(known)}."
        )
    requirements = grid.requirements or tuple(range(len(plan.policy.requirements)))
    score = strictness(rows, requirements)
    sign = -1 if chosen is not None and chosen.get("better") == "higher" else 1
    values = [value_of(row, chosen["name"]) if chosen is not None else None for row in rows]
    turned = [sign * value if value is not None else None for value in values]
    on_frontier = frontier(score, turned)
    bend = knee(on_frontier, score, turned)
    return {
        "format": FORMAT,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "plan": {"path": plan.path.name if plan.path else None, "sha256": plan.sha256},
        "source": dict(source),
        "settings": [
            {
                "name": axis.name,
                "values": [plain_number(v) for v in axis.values],
                "plan": plain_number(axis.setting.value),
            }
            for axis in grid.axes
        ],
        "requirements": [
            {**describe(model), "varied": position in grid.requirements} for position, model in enumerate(plan.policy)
        ],
        "loss": chosen,
        "cells": [
            row | {"strictness": s, "loss": value, "frontier": place in on_frontier, "knee": place == bend}
            for place, (row, s, value) in enumerate(zip(rows, score, values, strict=True))
        ],
        "frontier": on_frontier,
        "knee": bend,
        "holding": sum(row["holds"] for row in rows),
        "versions": versions(),
    }


def _write(folder: Path, facts: Mapping[str, Any], page: Page | None) -> None:
    with atomic_file(folder / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows(table_of(facts))
    _write_json(folder / FACTS, facts)
    if page is not None:
        with atomic_file(folder / PAGE) as temporary:
            temporary.write_text(page(facts), encoding="utf-8")


def table_of(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the sweep as rows of cells, the header first."""
    settings = [setting["name"] for setting in facts["settings"]]
    cells = facts["cells"]
    holding = [cell for cell in cells if cell["holds"]]
    verdicts = [_title(verdict) for verdict in holding[0]["verdicts"]] if holding else []
    measured = list(dict.fromkeys(entry["name"] for cell in holding for entry in cell["measurements"]))
    attacks = list(dict.fromkeys(entry["attack"] for cell in holding for entry in cell["attacks"]))
    head = [
        *(*settings, "holds", "frontier", "knee", "strictness"),
        *(f"reached: {title}" for title in verdicts),
        *measured,
        *(f"{what}: {attack}" for attack in attacks for what in ("exposed", "worst")),
        *("seconds", "reason"),
    ]
    rows: list[list[Any]] = [head]
    for cell in cells:
        by_name = {entry["name"]: entry["value"] for entry in cell.get("measurements", ())}
        by_attack = {entry["attack"]: entry for entry in cell.get("attacks", ())}
        rows.append(
            [
                *(shown(cell["values"][name]) for name in settings),
                *(shown(cell[name]) for name in ("holds", "frontier", "knee")),
                cell["strictness"],
                *(verdict["reached"] for verdict in cell.get("verdicts", [{"reached": None}] * len(verdicts))),
                *(by_name.get(name) for name in measured),
                *(by_attack.get(attack, {}).get(what) for attack in attacks for what in ("exposed", "worst")),
                round(cell["seconds"], 3),
                " ".join(cell["reason"].split()),
            ]
        )
    return rows


def _title(verdict: Mapping[str, Any]) -> str:
    about = verdict.get("sensitive") or verdict.get("column")
    return f"{verdict['model']} of {about}" if about else str(verdict["model"])
