"""What a sweep leaves, in a folder for its owner: measurements and verdicts only, no release.

DIR/cells/about.json    what the sweep is about: of another plan or other data, its results are not mixed in
DIR/cells/KEY.json      one finished combination; a stopped sweep goes on from these
DIR/sweep.csv           a row for each combination
DIR/sweep.json          the same and all there is to know
DIR/sweep.html          the page
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.anonymizers.base import options_of
from sfumato.disk import atomic_file
from sfumato.errors import OutputError
from sfumato.models.base import describe
from sfumato.pipeline import versions
from sfumato.plan import Plan
from sfumato.sweeping.facts import FORMAT, Row, table_of
from sfumato.sweeping.grid import Combination

CELLS, ABOUT = "cells", "about.json"
TABLE, FACTS, PAGE = "sweep.csv", "sweep.json", "sweep.html"
Page = Callable[[Mapping[str, Any]], str]


def check_folder(out: Path) -> None:
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


class Store:
    """The finished combinations of a sweep, each in a file of its own that appears whole or not at all."""

    def __init__(self, folder: Path, about: Mapping[str, Any], *, overwrite: bool) -> None:
        self.folder = folder
        self.cells = folder / CELLS
        try:
            if overwrite and (self.cells / ABOUT).is_file():
                shutil.rmtree(self.cells)
                for name in (TABLE, FACTS, PAGE):
                    (folder / name).unlink(missing_ok=True)
            for made in (folder, self.cells):
                made.mkdir(exist_ok=True)
                made.chmod(0o700)  # also one that was there already, whose maker did not know what would come in
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

    def finish(self, facts: Mapping[str, Any], page: Page | None) -> None:
        """Write what came out: table, facts and, where it can be rendered, the page."""
        with _own_file(self.folder / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table_of(facts))
        _write_json(self.folder / FACTS, facts)
        if page is not None:
            with _own_file(self.folder / PAGE) as temporary:
                temporary.write_text(page(facts), encoding="utf-8")


@contextmanager
def _own_file(path: Path) -> Iterator[Path]:
    """Yield a path beside the target; the file takes its name when all went well, and is for its owner alone."""
    with atomic_file(path) as temporary:
        temporary.chmod(0o600)
        yield temporary


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with _own_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def key_of(combination: Combination, seed: int | None) -> str:
    """Return a name for what is done in a combination: equal work has equal names, whatever was varied to get there."""
    steps = [
        {
            "anonymizer": step.anonymizer.name,
            "options": options_of(step.anonymizer),
            "on": [describe(m) for m in step.policy],
        }
        for step in combination.plan.steps()
    ]
    text = json.dumps(
        [[describe(model) for model in combination.plan.policy], steps, seed], default=str, sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def about_sweep(plan: Plan, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same for results to be comparable: data, roles, hierarchies, knowledge."""
    text = repr((plan.schema, plan.gather, plan.knowledge, plan.measure, plan.digests()))
    return {
        "format": FORMAT,
        "source": source["sha256"],
        "plan": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "sfumato": versions()["sfumato"],
    }


def digest_of(table: pa.Table) -> str:
    """Return the SHA-256 of a table that comes from no file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()
