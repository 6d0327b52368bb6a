"""A small plan with its data for each family of models, and one with all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "data" / "runs-0.1"  # plans, their data, and runs that version 0.1.0 made of them
ALONE = sorted(folder.name for folder in KEPT.iterdir())  # each with models of one family
TOGETHER = "hospital"
LIKENESS = "likeness"  # the table of "classes", with models that came later
FEW_ITEMS = {  # the table of "items", with a model that came later
    "few items": 'model = "km-anonymity"\ncolumn = "items"\nk = 3\nm = 2\n',
    "few public items": 'model = "hkp-coherence"\ncolumn = "items"\nh = 0.5\nk = 3\np = 2\n',
}
VALUES = "values"  # the table of "cells", of which each cell shows one value, perhaps another one
PEOPLE = "people"  # the table of "classes", with two rows of each person and all of them published
FAMILIES = (*ALONE, LIKENESS, *FEW_ITEMS, VALUES, PEOPLE, TOGETHER)
BASED_ON = {LIKENESS: "classes", PEOPLE: "classes", VALUES: "cells"} | dict.fromkeys(FEW_ITEMS, "items")
LATER = """
[[require]]
model = "beta-likeness"
sensitive = "ward"
beta = 2
[[require]]
model = "delta-disclosure"
sensitive = "ward"
delta = 2
[[require]]
model = "k-map"
k = 3
population = "people.csv"
anonymizer = "full-domain"
[[require]]
model = "delta-presence"
high = 1
population = "people.csv"
"""
ODDS = """
[[require]]
model = "local-differential-privacy"
epsilon = { job = 3 }
"""
BELIEFS = """
[[require]]
model = "sensitive-qid-closeness"
t = { household = 0.3, job = 0.5 }
anonymizer = "pram"
[measure]
tables = [["job", "household"]]
"""
OF_PEOPLE = """
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "l-diversity"
sensitive = "ward"
l = 2
[release]
persons = "numbered"
"""
ROWS = 150  # of the hospital


def plan_in(folder: Path, family: str) -> Path:
    """Put the plan of a family, with all that it names, into a folder of its own, and return where the plan is."""
    here = folder / family
    if family == TOGETHER:
        shutil.copytree(ROOT / "examples" / "hospital", here)
        stays = (here / "stays.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (here / "stays.csv").write_text("".join(stays[: ROWS + 1]), encoding="utf-8")
    else:
        kept = KEPT / BASED_ON.get(family, family)
        shutil.copytree(kept, here, ignore=shutil.ignore_patterns("run", "answers.json"))
    plan = here / "plan.toml"
    told = plan.read_text(encoding="utf-8")
    columns = told.split("[[require]]")[0]
    if family == "cells":  # also of a model that came later
        plan.write_text(told + ODDS, encoding="utf-8")
    if family == VALUES:
        plan.write_text(columns + BELIEFS, encoding="utf-8")
    if family in FEW_ITEMS:
        plan.write_text(f"{columns}[[require]]\n{FEW_ITEMS[family]}", encoding="utf-8")
    if family == LIKENESS:
        columns = columns.replace('kind = "category"', 'kind = "category"\nhierarchy = { prefix = 5 }')
        shutil.copy(here / "source.csv", here / "people.csv")
        plan.write_text(columns + LATER, encoding="utf-8")
    if family == PEOPLE:
        head, *lines = (here / "source.csv").read_text(encoding="utf-8").splitlines()
        numbered = [f"person,{head}", *(f"{at // 2},{line}" for at, line in enumerate(lines))]
        (here / "source.csv").write_text("\n".join(numbered) + "\n", encoding="utf-8")
        plan.write_text(columns.replace("missing", 'person = "person"\nmissing', 1) + OF_PEOPLE, encoding="utf-8")
    return plan
