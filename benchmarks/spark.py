"""One machine against Spark: time, CPU, memory, and whether the same is published.

    python benchmarks/spark.py 100000 1000000 [--master spark://HOST:7077]

A table of eight quasi-identifiers and a sensitive column is made up, written as Parquet, and made 10-anonymous with
t-closeness of .3 by each engine, without measuring and attacking. CPU and memory of children are those that this
process waited for: the virtual machine of Spark and its workers outlive that, and are not in them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

import sfumato as sf

VALUES = (74, 2, 5, 7, 16, 9, 6, 14)  # of each quasi-identifier, about as in a census
DISEASES = 12


def table_of(rows: int, seed: int = 1) -> pa.Table:
    """Return made-up people: columns that hang together, so that distinct rows are far fewer than rows."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 40, rows)  # a few kinds of people
    columns = {}
    for number, size in enumerate(VALUES):
        near = (kind * (number + 3)) % size + rng.geometric(0.5, rows) - 1
        columns[f"q{number}"] = pa.array(np.minimum(near, size - 1).astype(np.int32))
    columns["disease"] = pa.array((kind + rng.integers(0, DISEASES, rows)) % DISEASES).cast(pa.string())
    return pa.table(columns)


def plan_of(path: Path) -> sf.Plan:
    """Return the plan."""
    columns = {f"q{number}": {"role": "quasi-identifier", "kind": "number"} for number in range(len(VALUES))}
    return sf.Plan.from_dict(
        {
            "source": {"path": str(path)},
            "columns": {**columns, "disease": {"role": "sensitive", "kind": "category"}},
            "require": [
                {"model": "k-anonymity", "k": 10},
                {"model": "t-closeness", "sensitive": "disease", "t": 0.3},
            ],
            "release": {"format": "parquet"},
        }
    )


def run_once(path: Path, out: Path, engine: str, master: str | None) -> None:
    """Run one engine, and print what it took."""
    begun = time.perf_counter()
    run = sf.run(plan_of(path), out, seed=1, engine=engine, master=master, measure=False, attack=False)
    seconds = time.perf_counter() - begun
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
                "memory": own.ru_maxrss * 1024,
                "largest_child": others.ru_maxrss * 1024,
                "classes": run.facts["steps"][0]["facts"]["classes"],
                "timings": [(step["step"], round(step["seconds"], 2)) for step in run.facts["timings"]],
            }
        )
    )


def published(out: Path) -> pa.Table:
    """Return what was published, row by row."""
    return pa_parquet.read_table(out / "release" / "data.parquet")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", type=int, default=[100_000])
    parser.add_argument("--master")
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        run_once(Path(given.once[0]), Path(given.once[1]), given.once[2], given.master)
        return
    print("| rows | distinct | engine | s | CPU s | driver GB | largest child GB | the same |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for rows in given.rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "table").mkdir()
            table = table_of(rows)
            distinct = table.group_by(table.column_names).aggregate([]).num_rows
            for number in range(4):
                part = table.slice(number * -(-rows // 4), -(-rows // 4))
                pa_parquet.write_table(part, folder / "table" / f"{number}.parquet", row_group_size=1 << 20)
            del table
            for engine in ("local", "spark"):
                words = [sys.executable, __file__, "--once", str(folder / "table"), str(folder / engine), engine]
                words += ["--master", given.master] if given.master and engine == "spark" else []
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
                told = json.loads(done.stdout.splitlines()[-1])
                same = "" if engine == "local" else published(folder / "local").equals(published(folder / "spark"))
                print(
                    f"| {rows:,} | {distinct:,} | {engine} | {told['seconds']:.1f} | {told['cpu']:.1f} | "
                    f"{told['memory'] / 1e9:.2f} | {told['largest_child'] / 1e9:.2f} | {same} |",
                    flush=True,
                )
                print(f"    {told['timings']}", file=sys.stderr)


if __name__ == "__main__":
    main()
