"""One machine against Spark, and what cutting into regions costs: CPU, memory, bytes on the way, loss of detail.

    python benchmarks/spark.py 1000000 [--master local-cluster[2,1,2048]]
    python benchmarks/spark.py 1000000 --regions 4 12 27
    python benchmarks/spark.py 1000000 --terms

The people of `out_of_core.py` are made up, written as Parquet in four files, and made 10-anonymous with t-closeness of
.3 by each engine, without measuring and attacking. CPU seconds and the most memory of each process are looked at five
times a second: the driver, the virtual machines of Spark (Java) and their workers (Python). Executors on machines that
were there before are not children of ours, and not in them. Bytes on the way are those of rows and distinct rows that
tasks write for other tasks (in the work folder; Spark itself shuffles nothing).

With `--regions`, distinct rows are cut so that about so many regions are needed, and each is decided about by itself,
in one process; printed is how much more detail is lost than by one search over all of them, and what was foretold.

With `--terms`, the people are patients of a made-up hospital, 5-anonymous and with terms that are .4-close, also by
tasks that one process does one after the other: what they hold at once is what a worker would.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import sfumato as sf
from out_of_core import write_people, write_plan
from sfumato.engines import LocalEngine, SparkEngine
from sfumato.engines.dividing import DividedEngine
from sfumato.generators import hospital
from sfumato.generators.hospital import knowledge_rows

TEXT = pa.string()
OFTEN = 0.2  # seconds between looks at processes
TICKS = os.sysconf("SC_CLK_TCK")


class InOneProcess:
    """Runs tasks one after the other."""

    def each(self, work: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
        return [pickle.loads(pickle.dumps(work))(job) for job in jobs]


@contextmanager
def watched(pid: int) -> Iterator[dict[int, tuple[str, float, int]]]:
    """Give what each process below one has used so far: what it is, CPU seconds, the most bytes it held."""
    found: dict[int, tuple[str, float, int]] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(OFTEN):
            for child, kind in _below(pid):
                try:
                    numbers = Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
                    memory = Path(f"/proc/{child}/status").read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]
                except (OSError, IndexError):
                    continue
                found[child] = (kind, (int(numbers[11]) + int(numbers[12])) / TICKS, int(memory) * 1024)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield found
    finally:
        over.set()
        watching.join()


def _below(pid: int) -> list[tuple[int, str]]:
    parents, kinds = {}, {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                name, rest = (each / "stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError):
                continue
            parents[int(each.name)], kinds[int(each.name)] = int(rest.split()[1]), name
    found, waiting = [], [pid]
    while waiting:
        at = waiting.pop()
        if at in kinds:
            found.append((at, "driver" if at == pid else "Java" if kinds[at] == "java" else "workers"))
        waiting += [child for child, parent in parents.items() if parent == at]
    return found


def run_once(plan: Path, out: Path, engine: str, master: str | None, distinct: int | None) -> None:
    """Run one engine, and print what it took."""
    chosen: Any = LocalEngine()
    if engine == "spark":
        chosen = SparkEngine(master=master)
    elif engine == "parts":
        chosen = DividedEngine(InOneProcess(), distinct_here=distinct or 20_000_000)
    moved: dict[str, int] = {}
    if isinstance(chosen, DividedEngine):
        _counting(chosen, moved)
    begun = time.perf_counter()
    run = sf.run(sf.Plan.load(plan), out, seed=1, engine=chosen, measure=False, attack=False)
    facts = run.facts["steps"][0]["facts"]
    told = {"seconds": time.perf_counter() - begun, "classes": facts["classes"], "moved": sum(moved.values())}
    print(json.dumps({**told, "regions": facts.get("regions", {})}))


def _counting(engine: DividedEngine, moved: dict[str, int]) -> None:
    """Let an engine count the bytes that tasks leave for other tasks."""
    usual = engine.cluster.each

    def each(work: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
        done = usual(work, jobs, what)
        for folder in engine.room.iterdir():
            if folder.is_dir() and folder.name not in ("raw", "seen"):
                moved[folder.name] = sum(path.stat().st_size for path in folder.iterdir())
        return done

    engine.cluster.each = each  # type: ignore[method-assign]


def measured(words: Sequence[str], work: Path) -> dict[str, Any]:
    """Return what a run tells of itself, and what its processes used."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--once", *words],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"SPARK_LOCAL_DIRS": str(work)},
    )
    with watched(process.pid) as used:
        told = process.communicate()[0]
    if process.returncode:
        raise SystemExit(process.returncode)
    kinds: dict[str, tuple[float, int]] = {}
    for kind, cpu, memory in used.values():
        before = kinds.get(kind, (0.0, 0))
        kinds[kind] = (before[0] + cpu, max(before[1], memory))
    return {**json.loads(told.splitlines()[-1]), "used": kinds}


def published(out: Path) -> pa.Table:
    """Return what was published, row by row."""
    table = pa_parquet.read_table(out / "release" / "data.parquet")
    lists = {name: pa.types.is_nested(table.schema.field(name).type) for name in table.column_names}
    return table.cast(pa.schema([(name, pa.list_(TEXT) if lists[name] else TEXT) for name in table.column_names]))


def loss_of(out: Path, plan: Path) -> float:
    """Return the detail that a release loses."""
    return next(each.value for each in sf.measure(out, sf.Plan.load(plan)) if each.name == "ncp")


def people_in(folder: Path, rows: int) -> tuple[Path, int]:
    """Write people in four files with a plan, and return the plan and how many of their rows differ."""
    write_people(folder / "all.parquet", rows, "parquet")
    table = pa_parquet.read_table(folder / "all.parquet")
    (folder / "all.parquet").unlink()
    return write_plan(folder, folder / "table", "parquet"), in_files(table, folder)


PATIENTS = """[source]
path = "table"
[release]
format = "parquet"
[columns]
age = { role = "quasi-identifier", kind = "number", hierarchy = { widths = [5, 10, 20, 40] } }
sex = { role = "quasi-identifier", hierarchy = { flat = true } }
zip = { role = "quasi-identifier", hierarchy = { prefix = 5 } }
symptoms = { role = "quasi-sensitive", kind = "set", separator = "|" }
[knowledge]
path = "known.csv"
label = "label"
terms = "terms"
separator = "|"
[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "qs-closeness"
column = "symptoms"
t = 0.4
"""


def patients_in(folder: Path, rows: int) -> tuple[Path, int]:
    """Write patients with terms in four files with a plan, and return the plan and how many of their rows differ."""
    names, terms = zip(*knowledge_rows(), strict=True)
    pa_csv.write_csv(pa.table({"label": names, "terms": terms}), folder / "known.csv")
    (folder / "plan.toml").write_text(PATIENTS, encoding="utf-8")
    return folder / "plan.toml", in_files(hospital(rows).select(["age", "sex", "zip", "symptoms"]), folder)


def in_files(table: pa.Table, folder: Path) -> int:
    """Write a table in four files, and return how many of its rows differ."""
    rows = table.num_rows
    (folder / "table").mkdir()
    for number in range(4):
        part = table.slice(number * -(-rows // 4), -(-rows // 4))
        pa_parquet.write_table(part, folder / "table" / f"{number}.parquet", row_group_size=1 << 20)
    return int(table.group_by(table.column_names).aggregate([]).num_rows)


def compare_engines(rows: int, master: str | None, folder: Path, *, terms: bool) -> None:
    """Print what one machine and Spark take."""
    plan, distinct = (patients_in if terms else people_in)(folder, rows)
    for engine in ("local", "parts", "spark") if terms else ("local", "spark"):
        words = [str(plan), str(folder / engine), engine, *(["--master", master] if master else [])]
        told = measured(words, folder)
        used = "; ".join(f"{kind} {cpu:.1f}, {held / 1e9:.2f}" for kind, (cpu, held) in told["used"].items())
        cpu = sum(cpu for cpu, _ in told["used"].values())
        same = "" if engine == "local" else published(folder / "local").equals(published(folder / engine))
        print(
            f"| {rows:,} | {distinct:,} | {engine} | {told['seconds']:.1f} | {cpu:.1f} | {used} | "
            f"{told['moved'] / 1e6:.0f} | {loss_of(folder / engine, plan):.4f} | {same} |",
            flush=True,
        )


def cut_up(rows: int, regions: Sequence[int], folder: Path) -> None:
    """Print what cutting costs."""
    plan, distinct = people_in(folder, rows)
    whole = None
    for wanted in (1, *regions):
        most = distinct if wanted == 1 else max(1, int(distinct / wanted * 1.3))
        told = measured([str(plan), str(folder / f"{wanted}"), "parts", "--distinct", str(most)], folder)
        lost = loss_of(folder / f"{wanted}", plan)
        whole = lost if whole is None else whole
        foretold = told["regions"].get("more_loss_in_sample", 0.0)
        print(
            f"| {rows:,} | {distinct:,} | {told['regions'].get('regions', 1)} | {told['classes']:,} | {lost:.4f} | "
            f"{lost / whole - 1:+.1%} | {foretold:+.1%} | {sum(cpu for cpu, _ in told['used'].values()):.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, default=[100_000])
    parser.add_argument("--master", help="where Spark runs; without it, this machine")
    parser.add_argument("--regions", nargs="+", type=int, help="about how many, instead of comparing engines")
    parser.add_argument("--terms", action="store_true", help="patients whose terms are removed, class by class")
    parser.add_argument("--folder", type=Path, help="where there is room; what is written there is removed")
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--distinct", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        run_once(Path(given.once[0]), Path(given.once[1]), given.once[2], given.master, given.distinct)
        return
    if given.regions:
        print("| rows | distinct | regions | classes | loss | more | foretold | CPU s |")
    else:
        print("| rows | distinct | engine | s | CPU s | by process: CPU s, GB | MB on the way | loss | the same |")
    print("| --- " * (8 if given.regions else 9) + "|")
    for rows in given.rows:
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            if given.regions:
                cut_up(rows, given.regions, Path(name))
            else:
                compare_engines(rows, given.master, Path(name), terms=given.terms)


if __name__ == "__main__":
    main()
