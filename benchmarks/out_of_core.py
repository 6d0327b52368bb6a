"""How far one machine reaches: `python benchmarks/out_of_core.py [ROWS ...] [--csv] [--folder DIR]`.

People with seven quasi-identifiers and a sensitive column are made up, a million at a time, and written as Parquet (or
CSV). `sfumato anonymize` makes them 10-anonymous with t-closeness of .3, audits, measures and attacks what it wrote.
Beside it stands the floor: pyarrow reads the same file and writes it again, batch by batch, and does nothing else.
Printed are seconds, CPU seconds and the most memory that each of the two processes ever held; on the error stream,
where the CPU seconds went.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

VALUES = (74, 2, 5, 7, 16, 9, 6)  # of each quasi-identifier, about as in a census
DISEASES = [f"disease {number}" for number in range(12)]
KINDS = 40  # of people: columns hang together, so that distinct rows are far fewer than rows
ROWS = 1 << 20  # made, and written, at once

FLOOR = {
    "parquet": """
import pyarrow.parquet as parquet
file = parquet.ParquetFile(SOURCE)
with parquet.ParquetWriter(TARGET, file.schema_arrow, compression="zstd") as writer:
    for batch in file.iter_batches(batch_size=1 << 20):
        writer.write_batch(batch)
""",
    "csv": """
import pyarrow.csv as csv
with csv.open_csv(SOURCE) as file, csv.CSVWriter(TARGET, file.schema) as writer:
    for batch in file:
        writer.write_batch(batch)
""",
}
SFUMATO = """
import sfumato as sf
run = sf.run(sf.Plan.load(PLAN), TARGET, seed=1)
told = {
    "classes": run.facts["steps"][0]["facts"]["classes"],
    "steps": {step["step"]: round(step["cpu_seconds"], 2) for step in run.facts["timings"]},
}
"""
TELL = """
import json, resource
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": own.ru_utime + own.ru_stime, "bytes": own.ru_maxrss * 1024, **globals().get("told", {})}))
"""


def people(rows: int, chance: np.random.Generator) -> pa.Table:
    """Return made-up people."""
    kind = chance.integers(0, KINDS, rows)
    columns = {}
    for number, size in enumerate(VALUES):
        near = (kind * (number + 3)) % size + chance.geometric(0.75, rows) - 1
        columns[f"q{number}"] = pa.array(np.minimum(near, size - 1).astype(np.int32))
    disease = ((kind + chance.integers(0, len(DISEASES), rows)) % len(DISEASES)).astype(np.int32)
    columns["disease"] = pa.DictionaryArray.from_arrays(pa.array(disease), DISEASES).cast(pa.string())
    return pa.table(columns)


def write_people(path: Path, rows: int, form: str) -> None:
    """Write a table of so many people, never holding more than a million of them."""
    chance = np.random.default_rng(1)
    schema = people(1, np.random.default_rng(0)).schema
    make = pa_csv.CSVWriter if form == "csv" else pa_parquet.ParquetWriter
    with make(path, schema) as writer:
        for first in range(0, rows, ROWS):
            writer.write_table(people(min(ROWS, rows - first), chance))


def write_plan(folder: Path, source: Path, form: str) -> Path:
    """Write the plan, and return where it is."""
    text = f'[source]\npath = "{source.name}"\n[release]\nformat = "{form}"\n'
    for number in range(len(VALUES)):
        text += f'[columns.q{number}]\nrole = "quasi-identifier"\nkind = "number"\n'
    text += '[columns.disease]\nrole = "sensitive"\nkind = "category"\n'
    text += '[[require]]\nmodel = "k-anonymity"\nk = 10\n'
    text += '[[require]]\nmodel = "t-closeness"\nsensitive = "disease"\nt = 0.3\n'
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return folder / "plan.toml"


def run(code: str, **names: Path) -> dict[str, Any]:
    """Return what a process of its own tells of itself, and how long it took."""
    given = "".join(f"{name} = {str(path)!r}\n" for name, path in names.items())
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", given + code + TELL], stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return {"seconds": time.perf_counter() - begun, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--csv", action="store_true", help="from CSV to CSV rather than Parquet")
    parser.add_argument("--folder", type=Path, help="where there is room; what is written there is removed")
    options = parser.parse_args()
    form = "csv" if options.csv else "parquet"
    print("| rows | who | s | CPU s | GB | CPU of the floor | GB of the floor |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for rows in options.rows:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            source = folder / f"people.{form}"
            write_people(source, rows, form)
            plan = write_plan(folder, source, form)
            floor = run(FLOOR[form], SOURCE=source, TARGET=folder / f"copy.{form}")
            (folder / f"copy.{form}").unlink()
            own = run(SFUMATO, PLAN=plan, TARGET=folder / "run")
        for who, told in (("pyarrow", floor), ("sfumato", own)):
            print(
                f"| {rows:,} | {who} | {told['seconds']:.1f} | {told['cpu']:.1f} | {told['bytes'] / 1e9:.2f} | "
                f"x {told['cpu'] / floor['cpu']:.1f} | x {told['bytes'] / floor['bytes']:.1f} |",
                flush=True,
            )
        print(f"    {own['classes']:,} classes; CPU s: {own['steps']}", file=sys.stderr)


if __name__ == "__main__":
    main()
