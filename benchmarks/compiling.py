"""What a first run compiles, family by family: `python benchmarks/compiling.py [FAMILY ...] [--functions 8]`.

Each family runs `sfumato anonymize` on 400 made-up patients in a process of its own, once with an empty cache and once
more with what the first run left there. Printed are CPU seconds of both, what the first needed more (the aim: at most
15), how many compiled functions were made, and the functions that cost most, without the functions that they call.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from pyarrow import csv

from sfumato.generators import hospital
from sfumato.generators.hospital import PAYERS, SENSITIVE_DRUGS, THERAPIES, knowledge_rows
from sfumato.generators.patients import JOBS

ROWS = 400
SHAPES = {
    name: "{ " + ", ".join(f'"{top}" = {list(below)}' for top, below in tree.items()) + " }"
    for name, tree in (("therapy", THERAPIES), ("payer", PAYERS))
}
CLASSES = """
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [5, 10, 20, 40] }
[columns.sex]
role = "quasi-identifier"
hierarchy = { flat = true }
[columns.zip]
role = "quasi-identifier"
kind = "category"
hierarchy = { prefix = 5 }
[[require]]
model = "k-anonymity"
k = 4
"""
WARD = """
[columns.ward]
role = "sensitive"
[[require]]
model = "l-diversity"
sensitive = "ward"
l = 2
kind = "entropy"
[[require]]
model = "t-closeness"
sensitive = "ward"
t = 0.7
"""
SYMPTOMS = """
[knowledge]
path = "diagnoses.csv"
label = "diagnosis"
terms = "symptoms"
separator = "|"
prior = "data"
[columns.diagnosis]
role = "sensitive"
[columns.symptoms]
role = "quasi-sensitive"
kind = "set"
[[require]]
column = "symptoms"
"""
ITEMS = f"""
[columns.drugs]
role = "items"
kind = "set"
sensitive_items = {list(SENSITIVE_DRUGS)}
[[require]]
model = "rho-uncertainty"
column = "drugs"
rho = "0.5"
"""
CELLS = f"""
[columns.job]
role = "sensitive-quasi-identifier"
domain = {[job for group in JOBS.values() for job in group]}
[columns.household]
role = "sensitive-quasi-identifier"
domain = ["1", "2", "3", "4", "5 or more"]
"""
MASKED = f"""
[columns.therapy]
role = "sensitive"
hierarchy = {SHAPES["therapy"]}
[columns.payer]
role = "sensitive"
hierarchy = {SHAPES["payer"]}
[[require]]
model = "multi-diversity"
sensitive = ["therapy", "payer"]
alpha_qi = 0.6
alpha_sa = 0.6
"""
FAMILIES = {
    "k": CLASSES,
    "l and t": CLASSES + WARD,
    "mondrian": CLASSES + 'anonymizer = "mondrian"\n',
    "terms t": CLASSES + SYMPTOMS + 'model = "qs-closeness"\nt = 0.5\n',
    "terms c, l": CLASSES + SYMPTOMS + 'model = "qs-diversity"\nc = 2\nl = 2\n',
    "masks": CLASSES + MASKED,
    "items": ITEMS,
    "cells": CELLS + '[[require]]\nmodel = "sensitive-qid-diversity"\nl = { job = 3, household = 2 }\n',
    "cells t": CELLS + '[[require]]\nmodel = "sensitive-qid-closeness"\nt = { job = 0.4 }\n',
}  # fmt: skip
REST = '[columns."*"]\nrole = "other"\n[columns.name]\nrole = "identifier"\n'
WATCHED = """
import sys, time
from numba.core import event
from sfumato.cli import main

class Watch(event.Listener):
    def __init__(self):
        self.open, self.spent = [], {}
    def on_start(self, begun):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, ended):
        begun, inside = self.open.pop()
        taken = time.process_time() - begun
        function = ended.data["dispatcher"].py_func
        name = function.__module__.removeprefix("sfumato.") + "." + function.__qualname__
        number, seconds = self.spent.get(name, (0, 0.0))
        self.spent[name] = number + 1, seconds + taken - inside
        if self.open:
            self.open[-1][1] += taken

watch = Watch()
event.register("numba:compile", watch)
import os
end = os._exit
def tell(code):
    for name, (number, seconds) in watch.spent.items():
        print("compiled", name, number, seconds, file=sys.stderr)
    sys.stderr.flush()
    end(code)
os._exit = tell
main()
"""


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder: Path, family: str, cache: Path) -> tuple[float, list[tuple[str, int, float]]]:
    before = spent()
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "anonymize", f"{family}.toml", "--out", "run", "--overwrite", "--seed", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        check=False,
    )
    if done.returncode:
        sys.exit(f"{family}: {done.stderr}")
    lines = [line.split() for line in done.stderr.splitlines() if line.startswith("compiled ")]
    return spent() - before, [(name, int(number), float(seconds)) for _, name, number, seconds in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--functions", type=int, default=8, help="how many of the dearest functions are shown")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv.write_csv(hospital(ROWS), folder / "stays.csv")
        known = "".join(f"{diagnosis},{symptoms}\n" for diagnosis, symptoms in knowledge_rows())
        (folder / "diagnoses.csv").write_text(f"diagnosis,symptoms\n{known}", encoding="utf-8")
        print(
            f"{'family':<12}{'first run':>10}{'second':>8}{'compiling':>11}{'functions':>11}   CPU seconds", flush=True
        )
        for family in given.families or FAMILIES:
            plan = f'[source]\npath = "stays.csv"\n{REST}{FAMILIES[family]}'
            (folder / f"{family}.toml").write_text(plan, encoding="utf-8")
            first, functions = timed(folder, family, folder / "cache" / family)
            second, _ = timed(folder, family, folder / "cache" / family)
            number = sum(times for _, times, _ in functions)
            print(f"{family:<12}{first:>10.1f}{second:>8.1f}{first - second:>11.1f}{number:>11}", flush=True)
            for function, times, seconds in sorted(functions, key=lambda each: -each[2])[: given.functions]:
                print(f"    {seconds:6.2f}  {function}" + (f" ({times} times)" if times > 1 else ""))


if __name__ == "__main__":
    main()
