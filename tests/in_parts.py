"""An engine that works on a table in parts as a cluster would, and a small table for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

import sfumato as sf
from sfumato.engines.dividing import DividedEngine


class Here:
    """Runs tasks here, the last first; each goes through bytes, and is done so many times."""

    times = 1

    def each(self, work: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
        sent = [pickle.dumps((work, job)) for job in jobs]
        done = []
        for _ in range(self.times):
            done = [call(job) for call, job in map(pickle.loads, reversed(sent))]
        return [pickle.loads(pickle.dumps(found)) for found in reversed(done)]


class Repeating(Here):
    """Runs every task twice."""

    times = 2


def in_parts(rows: int, **options: Any) -> DividedEngine:
    """Return an engine with parts, and files, of so many rows."""
    return DividedEngine(Repeating(), rows_a_part=-(-rows // 7), rows_a_file=-(-rows // 3), **options)


ROWS = 230
TREE = {"north": ["n1", "n2"], "south": ["s1", "s2", "s3"]}
ILLS = {"mild": ["cold", "flu"], "grave": ["stroke", "cancer"]}


def people() -> pa.Table:
    rng = np.random.default_rng(4)
    region = rng.choice([value for values in TREE.values() for value in values], ROWS)
    return pa.table(
        {
            "name": [f"person {number}" for number in range(ROWS)],
            "age": rng.integers(20, 40, ROWS).astype(str),
            "region": region,
            "illness": rng.choice(
                [value for values in ILLS.values() for value in values], ROWS, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "note": [f"note {number % 50}" for number in range(ROWS)],
        }
    )


def written_in_files(folder: Path) -> Path:
    """Write the table in three files, each with several row groups, and return where."""
    table = people()
    for number in range(3):
        part = table.slice(number * 80, 80)
        pa_parquet.write_table(part, folder / f"part-{number}.parquet", row_group_size=30)
    return folder


def plan_of(folder, *requirements, **more) -> sf.Plan:
    return sf.Plan.from_dict(
        {
            "source": {"path": str(folder)},
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
                "region": {"role": "quasi-identifier", "hierarchy": TREE},
                "illness": {"role": "sensitive", "hierarchy": ILLS},
                "note": {"role": "other"},
            },
            "require": list(requirements),
            **more,
        }
    )


K, T = {"model": "k-anonymity", "k": 4}, {"model": "t-closeness", "sensitive": "illness", "t": 0.4}
MULTI = {"model": "alpha-diversity", "sensitive": ["illness"], "alpha": 0.6}
