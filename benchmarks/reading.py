"""How long a table takes from a database and from a CSV file: `python benchmarks/reading.py --database NAME`.

NAME is a connection (`sfumato connections add NAME`) to a PostgreSQL server on which a table may be made; it is dropped
at the end. Each reading is a process of its own: wall and CPU seconds, and how much the most memory grew above that of
the libraries and beyond the table, with all columns and without the one that names people, which no plan with that role
reads; then the same of four times the rows. The aim: 1,000,000 rows of 6 columns from PostgreSQL within 1.5 times the
time of the same CSV file, and beyond the table no more for 4,000,000.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

TABLE = "sfumato_reading"
MORE = 4  # times the rows, for which reading shall take no more beyond the table
READS = """
import json, re, sys, time
from pathlib import Path
from sfumato.data.files import Source, read_digested, read_columns

def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))[1]) / 1024

name, table, drop = sys.argv[1:]
if table:
    source = Source(f"database:{name}", database=name, table=table)
    read_columns(source)  # loads the driver
else:
    source = Source(Path(name))
before, wall, cpu = most(), time.perf_counter(), time.process_time()
found, _ = read_digested(source, drop={drop} - {""})
seconds = time.perf_counter() - wall, time.process_time() - cpu
grew = most() - before
print(json.dumps(dict(wall=seconds[0], cpu=seconds[1], before=before, grew=grew, table=found.nbytes / 2**20)))
"""


def made_up(rows: int) -> pa.Table:
    chance = np.random.default_rng(1)
    return pa.table(
        {
            "person": [f"P{n:08}" for n in range(rows)],
            "age": chance.integers(0, 100, rows),
            "zip": [f"{code:05}" for code in chance.integers(0, 9_000, rows)],
            "illness": np.array(["flu", "cold", "asthma", "diabetes"])[chance.integers(0, 4, rows)],
            "cost": np.round(chance.gamma(2, 500, rows), 2),
            "day": (chance.integers(0, 3_000, rows) + 15_000).astype("datetime64[D]"),
        }
    )


def read(name: str, table: str = "", drop: str = "") -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", READS, name, table, drop], capture_output=True, encoding="utf-8", check=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    from adbc_driver_postgresql import dbapi

    from sfumato.data.files.databases.connections import address_of

    address = address_of(options.database).text
    with (
        tempfile.TemporaryDirectory() as folder,
        dbapi.connect(address, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        for rows in (options.rows, MORE * options.rows):
            table, path = made_up(rows), Path(folder) / "people.csv"
            pa_csv.write_csv(table, path)
            cursor.execute(f"drop table if exists {TABLE}")
            cursor.adbc_ingest(TABLE, table, mode="create")
            del table
            try:
                compare(rows, options.runs, options.database, path)
            finally:
                cursor.execute(f"drop table {TABLE}")


def compare(rows: int, runs: int, database: str, path: Path) -> None:
    sources = {
        "CSV": (str(path),),
        "PostgreSQL": (database, TABLE),
        "CSV, 5 columns": (str(path), "", "person"),
        "PostgreSQL, 5": (database, TABLE, "person"),
    }
    print(f"{rows:,} rows")
    print(f"{'source':<20}{'wall best':>10}{'CPU best':>10}{'grew by MB':>12}{'table MB':>10}{'beyond it':>11}")
    # In turns: whatever else the machine does meets all of them.
    rounds = [{shown: read(*words) for shown, words in sources.items()} for _ in range(runs)]
    best = {
        shown: {figure: min(each[shown][figure] for each in rounds) for figure in rounds[0][shown]} for shown in sources
    }
    for shown, found in best.items():
        grew = max(each[shown]["grew"] for each in rounds)
        figures = f"{found['wall']:>10.2f}{found['cpu']:>10.2f}{grew:>12.0f}{found['table']:>10.0f}"
        print(f"{shown:<20}{figures}{grew - found['table']:>11.0f}")
    for one, other in (("PostgreSQL", "CSV"), ("PostgreSQL, 5", "CSV, 5 columns")):
        wall, cpu = (best[one][figure] / best[other][figure] for figure in ("wall", "cpu"))
        print(f"{one} takes {wall:.2f} times as long as {other}, {cpu:.2f} times the CPU")


if __name__ == "__main__":
    main()
