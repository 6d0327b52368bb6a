"""How long the questions take that somebody asks while a plan is edited: `python benchmarks/workbench.py`.

Bars: the live check within 0.5 s at 30,000 rows and within 5 s at 1,000,000; uniqueness by five columns within 1 s.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from pyarrow.csv import write_csv

from sfumato.editing import PlanDocument
from sfumato.generators import hospital
from sfumato.generators.requirements import REQUIREMENTS, plan_for
from sfumato.plan.writing import toml_of
from sfumato.workbench.bench import Workbench

# Those that need a larger table, and those that ask of items what one anonymizer cannot meet together with rho.
OTHERS = ("k-map", "delta-presence", "km-anonymity", "hkp-coherence")
FIVE = ("age", "sex", "zip", "admission", "job")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[30_000, 1_000_000])
    rows = parser.parse_args().rows
    print(f"{'rows':>9}  {'question':<34}{'first':>8}{'again':>8}  seconds")
    for count in rows:
        with tempfile.TemporaryDirectory() as folder:
            measure(count, Path(folder))


def measure(rows: int, folder: Path) -> None:
    write_csv(hospital(rows), folder / "patients.csv")
    asked = {name: None for name in REQUIREMENTS if name not in OTHERS}
    document = plan_for(asked, folder)
    (folder / "plan.toml").write_text(toml_of({"source": {"path": "patients.csv"}, **document}), encoding="utf-8")
    bench = Workbench(folder / "plan.toml")

    def show(question: str, ask) -> None:
        seconds = []
        for _ in range(2):
            began = time.perf_counter()
            ask()
            seconds.append(time.perf_counter() - began)
        print(f"{rows:>9,}  {question:<34}{seconds[0]:>8.2f}{seconds[1]:>8.2f}")

    def tightened() -> None:
        edited = PlanDocument.open(folder / "plan.toml")
        before = edited.digest
        edited.set(("require", 0, "k"), edited.get(("require", 0, "k")) + 1)
        edited.save(folder / "plan.toml", expected=before)
        bench.reach()

    show("uniqueness by 5, and without each", lambda: bench.uniqueness(FIVE))
    show("columns", bench.columns)
    show("coverage", lambda: bench.coverage("zip"))
    show(f"reach of {len(asked)} requirements", bench.reach)
    show("reach after an edit", tightened)


if __name__ == "__main__":
    main()
