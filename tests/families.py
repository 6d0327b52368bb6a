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
FAMILIES = (*ALONE, LIKENESS, *FEW_ITEMS, TOGETHER)
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
ROWS = 150  # of the hospital


def plan_in(folder: Path, family: str) -> Path:
    """Put the plan of a family, with all that it names, into a folder of its own, and return where the plan is."""
    here = folder / family
    if family == TOGETHER:
        shutil.copytree(ROOT / "examples" / "hospital", here)
        stays = (here / "stays.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (here / "stays.csv").write_text("".join(stays[: ROWS + 1]), encoding="utf-8")
    else:
        kept = KEPT / ("classes" if family == LIKENESS else "items" if family in FEW_ITEMS else family)
        shutil.copytree(kept, here, ignore=shutil.ignore_patterns("run", "answers.json"))
    plan = here / "plan.toml"
    if family == "cells":  # also of a model that came later
        plan.write_text(plan.read_text(encoding="utf-8") + ODDS, encoding="utf-8")
    if family in FEW_ITEMS:
        told = plan.read_text(encoding="utf-8").split("[[require]]")[0]
        plan.write_text(f"{told}[[require]]\n{FEW_ITEMS[family]}", encoding="utf-8")
    if family == LIKENESS:
        told = plan.read_text(encoding="utf-8").split("[[require]]")[0]
        told = told.replace('kind = "category"', 'kind = "category"\nhierarchy = { prefix = 5 }')
        shutil.copy(here / "source.csv", here / "people.csv")
        plan.write_text(told + LATER, encoding="utf-8")
    return plan
