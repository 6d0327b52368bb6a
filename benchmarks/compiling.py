"""What a first run compiles: `python benchmarks/compiling.py [MODEL ...] [--functions 8] [--ahead ROWS]`.

For each privacy model `sfumato anonymize` runs on made-up patients in a process of its own, once with an empty cache
and once more with what the first run left there. Printed are CPU seconds of both, what the first needed more (the aim:
at most 15), how many functions were compiled, and those that cost most, without the functions that they call.

With --ahead a first run reads so many rows from a CSV file, once with nobody's help and once while a second process
compiles, for which it waits before its first step: elapsed seconds, and what both took of the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import tomlkit
from pyarrow.csv import write_csv

from sfumato.generators import hospital
from sfumato.generators.requirements import REQUIREMENTS, plan_for

BARE = "without hierarchies"  # k-anonymity and l-diversity by mondrian
WATCHED = """
import json, sys, tempfile, time
from pathlib import Path
import sfumato as sf
from sfumato.compiling import while_compiling
from sfumato.generators import hospital
from sfumato.generators.requirements import ROWS, plan_for

models, bare = sys.argv[1].split(","), sys.argv[2] == "bare"
under_way, spent = [], []

def begun(loop):
    under_way.append([loop.name, time.process_time(), 0.0])

def done():
    name, since, inside = under_way.pop()
    taken = time.process_time() - since
    spent.append([name.removeprefix("sfumato."), taken - inside])
    if under_way:
        under_way[-1][2] += taken

with tempfile.TemporaryDirectory() as folder, while_compiling(begun, done):
    document = plan_for(dict.fromkeys(models), Path(folder), hierarchies=not bare)
    sf.anonymize(hospital(ROWS), sf.Plan.from_dict(document, folder), seed=1)
print(json.dumps(spent))
"""

AHEAD = """
import sys, time
from pathlib import Path
from sfumato import api
from sfumato.pipeline import ahead
from sfumato.plan import Plan

ahead.LARGE = 0 if sys.argv[2] == "ahead" else float("inf")
began = time.perf_counter()
run = api.run(Plan.load(sys.argv[1]), Path(sys.argv[1]).parent / "run", seed=1)
reading = sum(step["seconds"] for step in run.facts["timings"] if step["step"] in ("read", "encode"))
print(time.perf_counter() - began, reading)
"""


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(name: str, cache: Path) -> tuple[float, list[tuple[str, float]]]:
    """Return the CPU seconds of a run, and of each function that it compiled."""
    models = "k-anonymity,l-diversity" if name == BARE else name
    before = cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, models, "bare" if name == BARE else ""],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        check=False,
    )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    return cpu_seconds() - before, [(function, seconds) for function, seconds in json.loads(done.stdout)]


def compile_ahead(model: str, rows: int) -> None:
    """Print how long a first run takes, as it is and while another process compiles ahead."""
    for how in ("alone", "ahead"):
        with tempfile.TemporaryDirectory() as name:
            write_csv(hospital(rows), Path(name) / "patients.csv")
            plan = Path(name) / "plan.toml"
            document = {**plan_for({model: None}, Path(name)), "source": {"path": "patients.csv"}}
            plan.write_text(tomlkit.dumps(document), encoding="utf-8")
            before = cpu_seconds()
            done = subprocess.run(
                [sys.executable, "-c", AHEAD, str(plan), how],
                capture_output=True,
                encoding="utf-8",
                env=os.environ | {"NUMBA_CACHE_DIR": str(Path(name) / "cache")},
                check=False,
            )
        if done.returncode:
            sys.exit(f"{model}: {done.stderr}")
        elapsed, reading = map(float, done.stdout.split())
        spent = cpu_seconds() - before
        print(
            f"{model}, {rows:,} rows, {how:<9}{elapsed:6.1f} s elapsed, {reading:.1f} read, {spent:.1f} CPU s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*REQUIREMENTS, BARE]
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(every))
    parser.add_argument("--functions", type=int, default=8, help="how many of the dearest functions are shown")
    parser.add_argument("--ahead", type=int, metavar="ROWS", help="a first run on so many rows, and one with help")
    given = parser.parse_args()
    if given.ahead:
        for name in given.models or ("k-anonymity",):
            compile_ahead(name, given.ahead)
        return
    print(f"{'model':<26}{'first run':>10}{'second':>8}{'compiling':>11}{'functions':>11}   CPU seconds", flush=True)
    for name in given.models or every:
        with tempfile.TemporaryDirectory() as cache:
            first, functions = run(name, Path(cache))
            second, _ = run(name, Path(cache))
        print(f"{name:<26}{first:>10.1f}{second:>8.1f}{first - second:>11.1f}{len(functions):>11}", flush=True)
        for function, seconds in sorted(functions, key=lambda each: -each[1])[: given.functions]:
            print(f"    {seconds:6.2f}  {function}")


if __name__ == "__main__":
    main()
