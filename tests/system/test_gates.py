"""Audits as gates of other pipelines: test results for CI systems, and what the examples for others make."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

from sfumato.cli import junit
from sfumato.errors import DataError

ROOT = Path(__file__).parents[2]
PLAN = """
[columns.age]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 2
[[require]]
model = "l-diversity"
sensitive = "illness"
l = 2
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    table = pa.table({"age": ["20", "20", "[30, 40]", "[30, 40]"], "illness": ["flu", "cold", "flu", "flu"]})
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    return tmp_path


def audited(folder, data="people.csv"):
    words = ("audit", folder / data, "--plan", folder / "plan.toml", "--junit", folder / "results.xml")
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, words)], capture_output=True, encoding="utf-8", check=False
    )
    return done.returncode, ElementTree.parse(folder / "results.xml").getroot()


def test_verdicts_are_test_results(folder):
    code, suite = audited(folder)

    assert code == 1
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
    }
    assert [case.get("name") for case in suite] == ["1. k-anonymity", "2. l-diversity of 'illness'"]
    assert suite[0].find("failure") is None
    assert "FAILS" in suite[1].find("failure").get("message")
    assert "flu" not in ElementTree.tostring(suite, encoding="unicode")


def test_nothing_to_judge_is_a_failure(folder):
    shop = '[columns.shop]\nrole = "other"\n'
    basket = shop + '[columns.basket]\nrole = "items"\nkind = "set"\nsensitive_items = ["lithium"]\n'
    require = '[[require]]\nmodel = "rho-uncertainty"\ncolumn = "basket"\nrho = 0.5\n'
    (folder / "plan.toml").write_text(basket + require, encoding="utf-8")
    (folder / "people.csv").write_text("basket,shop\nlithum|tea,A\nlithum|tea,A\n", encoding="utf-8")

    code, suite = audited(folder)

    assert (code, suite.get("failures")) == (1, "1")
    assert "NOTHING TO JUDGE" in suite[0].find("failure").get("message")


def test_what_cannot_be_judged_takes_the_place_of_older_results(folder):
    audited(folder)
    code, suite = audited(folder, "nobody.csv")

    assert code == 2
    assert suite.get("errors") == "1"
    assert "nobody.csv" in suite[0].find("error").get("message")


def test_results_hold_whatever_columns_are_called(tmp_path):
    path = tmp_path / "results.xml"
    with pytest.raises(DataError), junit.telling_junit(path):
        raise DataError("Column 'a<b\x01\udcff & \"c\"' is odd.\nRename it.")

    message = ElementTree.parse(path).getroot()[0].find("error").get("message")
    assert message == "Column 'a<b\\u0001\\udcff & \"c\"' is odd.\nRename it."


def test_nobody_asked_for_results_and_there_are_none(tmp_path):
    with pytest.raises(DataError), junit.telling_junit(None):
        raise DataError("No.")
    with junit.telling_junit(None):
        pass
    assert not list(tmp_path.iterdir())


def test_settings_and_code_in_the_how_to_can_be_read():
    page = (ROOT / "docs" / "howto" / "gates.md").read_text(encoding="utf-8")

    settings, code = (re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) for language in ("yaml", "python"))
    assert settings
    assert code
    for block in settings:
        assert yaml.safe_load(block)
    for block in code:
        compile(block, "gates.md", "exec")


# Bulk exports of FHIR.


def flattened(folder):
    script = ROOT / "examples" / "fhir" / "flatten.py"
    return subprocess.run([sys.executable, script, folder], capture_output=True, encoding="utf-8", check=False)


def test_the_tables_of_the_example_are_those_of_its_export(tmp_path):
    example = ROOT / "examples" / "fhir"
    for name in ("Patient.ndjson", "Condition.ndjson"):
        shutil.copy(example / name, tmp_path)

    assert flattened(tmp_path).returncode == 0
    for name in ("patients.csv", "conditions.csv"):
        assert (tmp_path / name).read_bytes() == (example / name).read_bytes()
    assert "Person" not in (tmp_path / "patients.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", ["Ann Smith, 12 Hill Road", json.dumps({"resourceType": "Observation"}), "[]"])
def test_a_line_that_is_no_patient_is_refused_without_showing_it(tmp_path, line):
    (tmp_path / "Patient.ndjson").write_text(line, encoding="utf-8")
    (tmp_path / "Condition.ndjson").write_text("", encoding="utf-8")
    done = flattened(tmp_path)

    assert done.returncode == 1
    assert "line 1" in done.stderr
    assert "Ann" not in done.stderr
