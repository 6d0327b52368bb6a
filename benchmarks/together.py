"""Everything at once: a made-up hospital with every kind of column, and a real survey; time and memory by step.

    python benchmarks/together.py [DATA] [--rows 1000000] [--quick] [--out FOLDER]

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
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sfumato as sf
from figures import Figures, Table
from sfumato.pipeline import Clock

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA")
    parser.add_argument("--rows", type=int, default=1_000_000, help="stays of the hospital")
    parser.add_argument("--quick", action="store_true", help="20,000 stays")
    parser.add_argument("--out", type=Path, help="folder for tables")
    options = parser.parse_args()
    figures = Figures(options.out)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.data is not None:
            write_survey(options.data / "medical", folder / "survey")
            run(figures, "Survey", folder / "survey" / "plan.toml", folder / "survey-run")
        rows = 20_000 if options.quick else options.rows
        write_hospital(folder / "hospital", rows)
        (folder / "hospital" / "plan.toml").write_text(HOSPITAL_PLAN.read_text())
        run(figures, f"Hospital of {rows:,} stays", folder / "hospital" / "plan.toml", folder / "hospital-run")


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
    with gzip.open(medical / "informs_conditions_2005.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if not row["ICD9CODX"].startswith("-"):  # below zero: missing
                conditions[row["DUPERSID"]].add(row["ICD9CODX"])
    folder.mkdir(parents=True)
    with (
        gzip.open(medical / "informs_demographics_2005.csv.gz", "rt", newline="") as source,
        (folder / "survey.csv").open("w", newline="") as target,
    ):
        writer = csv.writer(target)
        writer.writerow(["born", "sex", "race", "education", "marital", "poverty", "conditions"])
        for row in csv.DictReader(source):
            codes = conditions.get(row["DUPERSID"])
            if codes:
                known = (row[name] for name in ("DOBYY", "SEX", "RACEX", "EDUCYEAR", "marry", "poverty"))
                writer.writerow([*known, "|".join(sorted(codes))])
    occurring = set().union(*conditions.values())
    (folder / "sensitive.txt").write_text("".join(f"{code}\n" for code in SENSITIVE_CODES if code in occurring))
    (folder / "plan.toml").write_text(SURVEY_PLAN)


if __name__ == "__main__":
    main()
