"""Everything at once: a made-up hospital with every kind of column, and a real survey; time and memory by step.

    python benchmarks/together.py [DATA] [--rows 1000000] [--quick] [--out FOLDER]
    python benchmarks/together.py --parts --rows 10000 100000 [--families masks items]

With `--parts`, one family of models after the other, then all of them: the time of every part (reading, each step, each
audit, each metric, each attack, writing, the page) beside that of the anonymizer, and of all that makes the release.

DATA is a folder with `medical/informs_demographics_2005.csv.gz` and `medical/informs_conditions_2005.csv.gz` (the
INFORMS extract of the Medical Expenditure Panel Survey); without it only the hospital is run. Memory is the largest
resident set of the process so far, so it rises from step to step.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import sfumato as sf
from figures import Figures, Table
from sfumato.anonymizers import ANONYMIZERS
from sfumato.attacks import ATTACKS
from sfumato.metrics import METRICS
from sfumato.models import PRIVACY_MODELS
from sfumato.pipeline import Clock
from sfumato.report import page

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from make_data import write_hospital

HOSPITAL_PLAN = Path(__file__).parents[1] / "examples" / "hospital" / "plan.toml"

# Conditions that people do not want others to learn: ICD-9 chapters and codes.
SENSITIVE_CODES = (
    *(str(code) for code in range(290, 320)),  # mental disorders
    *(f"{code:03d}" for code in (42, 70, *range(90, 100))),  # HIV, viral hepatitis, venereal diseases
    *(str(code) for code in (303, 304, 305, 571)),  # alcohol and drugs
)
SURVEY_PLAN = """\
[source]
path = "survey.csv"
missing = ["", "-9", "-8", "-7", "-1"]

[columns.born]
role = "quasi-identifier"
kind = "number"
hierarchy = { widths = [5, 10, 20, 40] }
[columns.sex]
role = "quasi-identifier"
kind = "category"
hierarchy = { flat = true }
[columns.race]
role = "quasi-identifier"
kind = "category"
hierarchy = { flat = true }
[columns.education]
role = "quasi-identifier"
kind = "number"
hierarchy = { widths = [2, 4, 8, 16] }
[columns.marital]
role = "sensitive"
kind = "category"
hierarchy = { flat = true }
[columns.poverty]
role = "sensitive"
kind = "category"
hierarchy = { flat = true }
[columns.conditions]
role = "items"
kind = "set"
separator = "|"
sensitive_items = "sensitive.txt"

[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "multi-diversity"
sensitive = ["marital", "poverty"]
alpha_qi = 0.5
alpha_sa = 0.5
[[require]]
model = "rho-uncertainty"
column = "conditions"
rho = "0.5"
"""

# Columns of the hospital, as each family of models sees them.
PEOPLE = """\
[source]
path = "stays.csv"
[columns."*"]
role = "identifier"
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
[columns.admission]
role = "quasi-identifier"
hierarchy = { dates = ["month", "quarter", "year"] }
"""
SECRETS = """\
[columns.therapy]
role = "sensitive"
hierarchy = "therapies.csv"
[columns.payer]
role = "sensitive"
hierarchy = "payers.csv"
"""
LISTS = """\
[source]
path = "stays.csv"
[columns."*"]
role = "identifier"
"""
K = """\
[[require]]
model = "k-anonymity"
k = 5
"""
CLASSES = f"""\
{PEOPLE}{SECRETS}
[columns.ward]
role = "other"
{K}
[[require]]
model = "l-diversity"
sensitive = "therapy"
l = 3
[[require]]
model = "t-closeness"
sensitive = "payer"
t = 0.3
"""
FAMILIES = {
    "classes": CLASSES,
    "ranges": CLASSES.replace("[[require]]\n", '[[require]]\nanonymizer = "mondrian"\n'),
    "terms": f"""\
{PEOPLE}[columns.symptoms]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "diagnoses.csv"
label = "diagnosis"
terms = "symptoms"
separator = "|"
{K}
[[require]]
model = "qs-closeness"
column = "symptoms"
t = 0.5
""",
    "masks": f"""\
{PEOPLE}{SECRETS}
[columns.income]
role = "sensitive"
hierarchy = {{ widths = [1000, 10000, 50000] }}
[[require]]
model = "multi-diversity"
sensitive = ["therapy", "payer", "income"]
alpha_qi = 0.5
alpha_sa = 0.6
""",
    "items": f"""\
{LISTS}[columns.drugs]
role = "items"
kind = "set"
sensitive_items = "sensitive_drugs.txt"
[[require]]
model = "rho-uncertainty"
column = "drugs"
rho = "0.5"
""",
    "cells": f"""\
{LISTS}[columns.job]
role = "sensitive-quasi-identifier"
domain = "jobs.txt"
[columns.household]
role = "sensitive-quasi-identifier"
domain = ["1", "2", "3", "4", "5 or more"]
[columns.sex]
role = "sensitive-quasi-identifier"
domain = ["female", "male"]
[[require]]
model = "sensitive-qid-closeness"
t = {{ job = 0.3, household = 0.3, sex = 0.3 }}
""",
    "everything": HOSPITAL_PLAN.read_text(encoding="utf-8") + '[columns.income]\nrole = "identifier"\n',
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000], help="stays of the hospital")
    parser.add_argument("--parts", action="store_true", help="time by part, one family of models after the other")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="those of --parts")
    parser.add_argument("--quick", action="store_true", help="20,000 stays")
    parser.add_argument("--out", type=Path, help="folder for tables")
    options = parser.parse_args()
    figures = Figures(options.out)
    if options.parts:
        for rows in [20_000] if options.quick else options.rows:
            time_by_part(figures, rows, options.families)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.data is not None:
            write_survey(options.data / "medical", folder / "survey")
            plan = folder / "survey" / "plan.toml"
            run(figures, "Survey", plan, folder / "survey-run")
            # Of rho-uncertainty, which comes last.
            plan.write_text(plan.read_text(encoding="utf-8") + 'within = "classes"\n', encoding="utf-8")
            run(figures, "Survey, conditions within classes", plan, folder / "survey-in-classes")
        for rows in [20_000] if options.quick else options.rows:
            here = folder / f"hospital-{rows}"
            write_hospital(here, rows)
            (here / "plan.toml").write_text(HOSPITAL_PLAN.read_text(encoding="utf-8"), encoding="utf-8")
            run(figures, f"Hospital of {rows:,} stays", here / "plan.toml", here / "run")


def time_by_part(figures: Figures, rows: int, families: list[str]) -> None:
    """Run each family on a hospital, and print the CPU time of each part and its share of the anonymizer's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_hospital(folder, rows)
        stays = pyarrow.csv.read_csv(folder / "stays.csv")
        income = np.random.default_rng(3).lognormal(10.5, 0.5, rows).astype(np.int64)
        pyarrow.csv.write_csv(stays.append_column("income", pa.array(income)), folder / "stays.csv")
        for family in families:
            plan = folder / f"{family}.toml"
            plan.write_text(FAMILIES[family], encoding="utf-8")
            spent: dict[tuple[str, str], float] = {}
            with timed_parts(spent):
                done = sf.run(sf.Plan.load(plan), folder / family)
            for step in done.facts["timings"]:
                if step["step"] not in (*ANONYMIZERS, "audit", "measure", "attack"):
                    spent["", step["step"]] = step["cpu_seconds"]
                elif step["step"] in ANONYMIZERS:
                    spent["step", step["step"]] = step["cpu_seconds"]
            own = sum(seconds for (kind, _), seconds in spent.items() if kind == "step")
            making = own + sum(seconds for (kind, _), seconds in spent.items() if kind == "")
            table = figures.table(
                f"{family}, {rows:,} rows: time by part", "part", "CPU s", "of the steps", "of making"
            )
            for (kind, part), seconds in sorted(spent.items(), key=lambda entry: (entry[0][0], -entry[1])):
                shares = (f"{seconds / max(whole, 1e-9):.0%}" for whole in (own, making))
                table.row(f"{kind} {part}".strip(), seconds, *shares)


@contextmanager
def timed_parts(spent: dict[tuple[str, str], float]) -> Iterator[None]:
    """Add up the CPU time of every audit, metric and attack, and of the page."""
    watched = [("page", page, "render", "")]
    watched += [("audit", model, "audit", model.name) for model in PRIVACY_MODELS.values()]
    watched += [("metric", metric, "of", metric.name) for metric in METRICS.values()]
    watched += [("attack", attack, way, attack.name) for attack in ATTACKS.values() for way in ("on", "guess")]
    with ExitStack() as undo:
        for kind, owner, attribute, name in watched:
            usual = getattr(owner, attribute)
            undo.callback(setattr, owner, attribute, usual)
            setattr(owner, attribute, _timed(usual, spent, (kind, name)))
        yield


def _timed(work: Callable[..., Any], spent: dict[tuple[str, str], float], part: tuple[str, str]) -> Callable[..., Any]:
    @wraps(work)
    def watched(*arguments: Any, **options: Any) -> Any:
        begun = time.process_time()
        try:
            return work(*arguments, **options)
        finally:
            spent[part] = spent.get(part, 0.0) + time.process_time() - begun

    return watched


def run(figures: Figures, title: str, plan: Path, out: Path) -> None:
    """Run a plan and print time and memory of each step, the verdicts, what was lost, and the attacks."""
    steps = figures.table(f"{title}: steps", "step", "seconds", "CPU s", "memory GB")
    with memory_by_step(steps):
        done = sf.run(sf.Plan.load(plan), out)
    verdicts = figures.table(f"{title}: promises", "promise", "holds", "reached", "required", "groups")
    for verdict in done.verdicts:
        verdicts.row(verdict.model.name, verdict.satisfied, verdict.reached, float(verdict.required), verdict.groups)
    losses = figures.table(f"{title}: losses", "measure", "original", "release")
    for measurement in done.measurements:
        losses.row(measurement.title[:32], measurement.before, measurement.value)
    attacks = figures.table(f"{title}: attacks", "attack", "people", "original", "release", "guess", "worst after")
    for exposure in done.exposures:
        before, control = exposure.before, exposure.control
        attacks.row(
            exposure.attack,
            exposure.after.people,
            before.exposed if before else None,
            exposure.after.exposed,
            control.exposed if control else None,
            exposure.after.worst,
        )


@contextmanager
def memory_by_step(table: Table) -> Iterator[None]:
    """Print each step of a run as it ends."""
    usual = Clock.time

    @contextmanager
    def watched(clock: Any, step: str) -> Iterator[None]:
        with usual(clock, step):
            yield
        spent = clock.steps[-1]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        table.row(step, spent["seconds"], spent["cpu_seconds"], memory)

    Clock.time = watched  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Clock.time = usual  # type: ignore[method-assign]


def write_survey(medical: Path, folder: Path) -> None:
    """Write the people of the survey who have conditions, one row each, with a plan."""
    conditions = defaultdict(set)
    with gzip.open(medical / "informs_conditions_2005.csv.gz", "rt", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["ICD9CODX"].startswith("-"):  # below zero: missing
                conditions[row["DUPERSID"]].add(row["ICD9CODX"])
    folder.mkdir(parents=True)
    with (
        gzip.open(medical / "informs_demographics_2005.csv.gz", "rt", newline="", encoding="utf-8") as source,
        (folder / "survey.csv").open("w", newline="", encoding="utf-8") as target,
    ):
        writer = csv.writer(target)
        writer.writerow(["born", "sex", "race", "education", "marital", "poverty", "conditions"])
        for row in csv.DictReader(source):
            codes = conditions.get(row["DUPERSID"])
            if codes:
                known = (row[name] for name in ("DOBYY", "SEX", "RACEX", "EDUCYEAR", "marry", "poverty"))
                writer.writerow([*known, "|".join(sorted(codes))])
    occurring = set().union(*conditions.values())
    (folder / "sensitive.txt").write_text(
        "".join(f"{code}\n" for code in SENSITIVE_CODES if code in occurring), encoding="utf-8"
    )
    (folder / "plan.toml").write_text(SURVEY_PLAN, encoding="utf-8")


if __name__ == "__main__":
    main()
