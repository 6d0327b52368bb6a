"""Folders of earlier versions still read, with the answers of then; folders of later ones are refused with words.

release.json and run.json carry the number of their format. Plans carry none: a key once known stays known.
"""

from __future__ import annotations

import json
import shutil

import pytest

from commands import told
from families import ALONE, KEPT
from sfumato.errors import DataError

pytestmark = pytest.mark.filterwarnings("error")
VERBS = ("audit", "measure", "attack")
alone = pytest.mark.parametrize("family", ALONE)


def answered(family):
    return json.loads((KEPT / family / "answers.json").read_text(encoding="utf-8"))


@pytest.fixture
def kept(family, tmp_path):
    """A copy of a run of 0.1 with its plan and source."""
    return shutil.copytree(KEPT / family, tmp_path / family)


def near(value):
    return pytest.approx(value, rel=1e-8, abs=1e-12) if value is not None else None


@pytest.mark.slow
@alone
@pytest.mark.parametrize("part", ["run", "run/release"])
def test_an_audit_of_a_run_of_0_1_gives_the_verdicts_of_then(family, kept, part):
    verdicts = told("audit", kept / part, "--plan", kept / "plan.toml")["verdicts"]

    for verdict, then in zip(verdicts, answered(family)["audit"], strict=True):
        assert {key: verdict[key] for key in then} == {
            key: near(value) if isinstance(value, float) else value for key, value in then.items()
        }


BY_DOMAIN = ("ncp", "query-error", "kl-divergence", "distortion")  # measured over the whole domain since


@pytest.mark.slow
@alone
def test_measurements_of_a_run_of_0_1_are_those_of_then(family, kept):
    found = told("measure", kept / "run", "--plan", kept / "plan.toml")["measurements"]
    values = {measurement["name"]: measurement["value"] for measurement in found}

    then = {name: value for name, value in answered(family)["measure"].items() if name not in BY_DOMAIN}
    assert {name: values[name] for name in then} == {name: near(value) for name, value in then.items()}


@pytest.mark.slow
@alone
def test_attacks_on_a_run_of_0_1_get_what_they_got_then(family, kept):
    found = told("attack", kept / "run", "--plan", kept / "plan.toml")["attacks"]
    exposures = {exposure["attack"]: exposure for exposure in found}

    for name, then in answered(family)["attack"].items():
        for when, facts in then.items():
            assert {key: exposures[name][when][key] for key in facts} == {k: near(v) for k, v in facts.items()}


@alone
def test_the_report_of_a_run_of_0_1_shows_its_verdicts(family, kept):
    where = told("report", kept / "run")["report"]

    page = (kept / "run" / "private" / "report.html").read_text(encoding="utf-8")
    assert where == str(kept / "run" / "private" / "report.html")
    facts = json.loads((kept / "run" / "private" / "run.json").read_text(encoding="utf-8"))
    for verdict in facts["verdicts"]:
        assert verdict["model"] in page
        assert verdict["promise"].split("<")[0].split("'")[0].split('"')[0] in page


@pytest.mark.parametrize("family", ["cells"])
def test_tables_from_a_release_of_0_1_are_those_of_then(family, kept):
    then = answered(family)["reconstruct"]
    columns = ",".join(then["columns"])

    table = told("reconstruct", kept / "run" / "release", "--columns", columns)["table"]

    assert len(table) == len(then["table"])
    for row, (*values, count, std_error) in zip(table, then["table"], strict=True):
        assert [row[name] for name in then["columns"]] == values
        assert row["count"] == pytest.approx(count, rel=1e-6, abs=1e-6)
        assert row["std_error"] == pytest.approx(std_error, rel=1e-6, abs=1e-6)


def renumbered(path, number):
    text = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(text | {"format": number}), encoding="utf-8")


@pytest.mark.parametrize("family", ["classes"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_release_in_a_later_format_is_refused_with_words(family, kept, verb):
    renumbered(kept / "run" / "release" / "release.json", 2)

    with pytest.raises(DataError) as refused:
        told(verb, kept / "run" / "release", "--plan", kept / "plan.toml")

    assert "release.json has format 2" in str(refused.value)
    assert "This version of sfumato reads format 1." in str(refused.value)
    assert "newer version" in str(refused.value)


@pytest.mark.parametrize("family", ["classes"])
def test_a_run_in_a_later_format_is_refused_with_words(family, kept):
    renumbered(kept / "run" / "private" / "run.json", 3)

    with pytest.raises(DataError) as refused:
        told("report", kept / "run")

    assert "run.json has format 3" in str(refused.value)
    assert "newer version" in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["classes"])
@pytest.mark.parametrize("number", [None, "1", 0, True, [1]])
def test_a_number_that_no_version_wrote_is_refused(family, kept, number):
    renumbered(kept / "run" / "release" / "release.json", number)
    renumbered(kept / "run" / "private" / "run.json", number)

    with pytest.raises(DataError, match="no description of a release"):
        told("audit", kept / "run", "--plan", kept / "plan.toml")
    with pytest.raises(DataError, match="no run of sfumato"):
        told("report", kept / "run")
