"""Runs the combinations of a grid, side by side, and keeps each result the moment it is there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.data.dataset import Dataset
from sfumato.engines import available_threads
from sfumato.errors import DataError, InputError, PolicyError, SfumatoError, Unsatisfiable
from sfumato.metrics.base import Measurement
from sfumato.models.base import Verdict, plain_number
from sfumato.pipeline import Case
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress, announce
from sfumato.sweeping.facts import Row, facts_of
from sfumato.sweeping.grid import Combination, Grid, grid_of
from sfumato.sweeping.store import Page, Store, about_sweep, check_folder, digest_of, key_of


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
    if table is not None:
        plan = plan.over(table.column_names)
    grid = grid_of(plan, vary)
    if jobs < 1:
        raise PolicyError(f"{jobs} jobs were asked for.\nUse at least one.")
    if out is not None:
        check_folder(out)
    in_memory = {"path": None, "sha256": digest_of(table)} if table is not None else {}
    announce(progress, ("read", "encode", "sweep"))
    original = Case(plan, table, progress=progress).original
    del table
    dataset = original.dataset  # what is wrong with the data is wrong for every combination
    source = in_memory | original.facts()
    store = Store(out, about_sweep(plan, source), overwrite=overwrite) if out is not None else None
    rows = _run_all(grid, dataset, store, jobs=jobs, seed=seed, progress=progress)
    _raise_if_all_are_errors(rows)
    facts = facts_of(plan, grid, rows, source, loss)
    if store is not None:
        store.finish(facts, page)
    return facts


def _raise_if_all_are_errors(rows: Sequence[Row]) -> None:
    """A combination that cannot be met is a finding; if none can even be tried, the plan or the data is wrong."""
    if any(row["exit_code"] <= Unsatisfiable.exit_code for row in rows):
        return
    kind = DataError if all(row["exit_code"] == InputError.exit_code for row in rows) else SfumatoError
    raise kind(f"None of {len(rows)} combinations could be tried. The first one says:\n{rows[0]['reason']}")


# One combination.


def run_combination(dataset: Dataset, combination: Combination, *, seed: int | None, threads: int) -> Row:
    """Make, audit and measure one combination; nothing of the release is kept."""
    began = time.perf_counter()
    row: Row = {"values": {name: plain_number(value) for name, value in combination.values.items()}, "holds": False}
    try:
        outcome = Case.of_coded(combination.plan, dataset).make(seed=seed, threads=threads)
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
            "measurements": [_figure(found) for found in outcome.measurements],
            "attacks": [_attack(entry, outcome.verdicts) for entry in outcome.facts.get("attacks", ())],
        }
    row["seconds"] = time.perf_counter() - began
    return row


def _figure(measurement: Measurement) -> Row:
    """Keep the figure; distributions of columns and explanations belong to the report of a run."""
    return {key: value for key, value in measurement.headline().items() if key != "explanation"}


def _attack(exposure: Mapping[str, Any], verdicts: Sequence[Verdict]) -> Row:
    """Keep who can still be learned about, what a guess would get, and whether a requirement speaks of the intruder."""
    when = exposure.get("answered_when", {})
    promised = any(
        verdict.model.name in exposure["answered_by"]
        and all(getattr(verdict.model, parameter, None) == value for parameter, value in when.items())
        for verdict in verdicts
    )
    control = exposure["control"] or {}
    return {
        **{key: exposure[key] for key in ("attack", "title", "threshold")},
        **{key: exposure["after"][key] for key in ("exposed", "people", "worst", "mean")},
        "promised": promised,
        "guess": {key: control.get(key) for key in ("exposed", "worst", "mean")},
    }


# All of them.

_DATASET: Dataset | None = None  # in a worker: the data, handed over once


def _prepare(dataset: Dataset) -> None:
    global _DATASET
    for name in ("SIGINT", "SIGHUP"):  # the main process decides what to do about Ctrl-C and a closed terminal
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _DATASET = dataset
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when the main process is gone, however it went: nobody would come for the results."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _work(combination: Combination, seed: int | None, threads: int) -> Row:
    assert _DATASET is not None
    return run_combination(_DATASET, combination, seed=seed, threads=threads)


def _run_all(
    grid: Grid, dataset: Dataset, store: Store | None, *, jobs: int, seed: int | None, progress: Progress
) -> list[Row]:
    """Return a row for each combination, in their order."""
    rows: dict[int, Row] = {}
    keys = [key_of(combination, seed) for combination in grid.combinations]
    if store is not None:
        rows = {place: found for place, key in enumerate(keys) if (found := store.read(key)) is not None}
    waiting = [place for place in range(len(keys)) if place not in rows]
    stage = progress.stage("sweep", total=len(keys))
    stage.advance(len(rows))

    def keep(place: int, row: Row) -> None:
        # Values as asked for this time: the same combination may have come by another spelling.
        rows[place] = row | {"values": {n: plain_number(v) for n, v in grid.combinations[place].values.items()}}
        if store is not None and row["exit_code"] != SfumatoError.exit_code:  # a bug may be mended next time
            store.write(keys[place], row)
        stage.advance()

    jobs = min(jobs, len(waiting))
    threads = max(1, available_threads() // max(jobs, 1))
    if jobs <= 1:
        for place in waiting:
            keep(place, run_combination(dataset, grid.combinations[place], seed=seed, threads=threads))
    else:
        _run_side_by_side(grid, dataset, waiting, keep, jobs=jobs, seed=seed, threads=threads)
    stage.done()
    return [rows[place] for place in range(len(keys))]


def _run_side_by_side(
    grid: Grid,
    dataset: Dataset,
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
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(dataset,)) as pool:
        place_of = {pool.submit(_work, grid.combinations[place], seed, threads): place for place in waiting}
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
