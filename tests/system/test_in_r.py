"""What the documentation writes for R is run in R, and reads the same ends of ranges as `sf.load` does."""

from __future__ import annotations

import csv
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv as pa_csv

import sfumato as sf
from sfumato.generators.patients import patients

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "use-a-release.md"
PLAN = {
    "columns": {
        "age": {"role": "quasi-identifier"},
        "sex": {"role": "quasi-identifier"},
        "disease": {"role": "sensitive"},
        "*": {"role": "identifier"},
    },
    "require": [{"model": "k-anonymity", "k": 5}],
}


def has_package(name: str) -> bool:
    asked = ["Rscript", "-e", f'cat(requireNamespace("{name}", quietly = TRUE))']
    return subprocess.run(asked, capture_output=True, encoding="utf-8", check=True).stdout == "TRUE"


@pytest.mark.more
def test_r_reads_the_ends_of_ranges_as_we_do(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    source = tmp_path / "people.csv"
    pa_csv.write_csv(patients(300, seed=2).select(["age", "sex", "disease"]), source)
    plan = sf.Plan.from_dict({**PLAN, "source": {"path": "people.csv"}}, tmp_path)
    sf.run(plan, tmp_path / "run", seed=1, measure=False, attack=False)
    (written,) = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = written.splitlines()
    if not has_package("jsonlite"):
        lines = [line for line in lines if "jsonlite::" not in line]
        assert len(lines) == len(written.splitlines()) - 1
    script = tmp_path / "run" / "read.R"
    script.write_text("\n".join([*lines, 'write.csv(ages, "ages.csv", row.names = FALSE)']), encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "read.R"], cwd=tmp_path / "run", capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr

    with (tmp_path / "run" / "ages.csv").open(encoding="utf-8") as file:
        found = [[math.nan if cell == "NA" else float(cell) for cell in row.values()] for row in csv.DictReader(file)]
    ages = sf.load(tmp_path / "run" / "release")["age"]
    wanted = np.stack([ages.lower, ages.upper, ages.midpoint], axis=1)
    np.testing.assert_allclose(np.array(found), wanted)
