"""Sensitive quasi-identifiers from the command line: holder, auditor, analyst; what fails leaves nothing behind."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from commands import sfumato

PLAN = """
[source]
path = "people.csv"
[columns.name]
role = "identifier"
[columns.job]
role = "sensitive-quasi-identifier"
domain = ["clerk", "cook", "nurse", "smith", "pilot"]
[columns.age]
role = "sensitive-quasi-identifier"
bins = [20, 30, 40, 50, 60]
[columns.town]
role = "other"
[[require]]
model = "sensitive-qid-diversity"
l = { job = 2, age = 2 }
[[require]]
model = "sensitive-qid-closeness"
t = { job = 0.4 }
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    base = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(1)
    with (base / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "job", "age", "town"])
        for row in range(3000):
            job = rng.choice(["clerk", "cook", "nurse", "smith"], p=[0.5, 0.3, 0.15, 0.05])
            writer.writerow([f"Person {row}", job, rng.integers(20, 60), rng.choice(["A", "B"])])
    (base / "plan.toml").write_text(PLAN, encoding="utf-8")
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=base)
    assert done.returncode == 0, done.stderr
    return base


def test_cells_are_sets_in_the_order_of_the_domain(place):
    domain = ["clerk", "cook", "nurse", "smith", "pilot"]
    about = json.loads((place / "out/release/release.json").read_text(encoding="utf-8"))
    assert about["columns"]["job"]["domain"] == domain
    assert about["columns"]["age"]["domain"] == ["[20, 30)", "[30, 40)", "[40, 50)", "[50, 60]"]
    assert "test_only" not in about
    with (place / "out/release/data.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["job", "age", "town"]
    for row in rows:
        places = [domain.index(value) for value in row["job"].split("|")]
        assert places == sorted(places)
        assert len(places) == about["columns"]["job"]["eta"]
    assert "Person" not in (place / "out/release/data.csv").read_text(encoding="utf-8")


def test_the_audit_agrees_and_needs_no_private_folder(place, tmp_path):
    done = sfumato("audit", "out", "--plan", "plan.toml", "--json", cwd=place)
    assert done.returncode == 0
    verdicts = json.loads(done.stdout)["verdicts"]
    assert [verdict["satisfied"] for verdict in verdicts] == [True, True]
    assert verdicts[1]["facts"]["columns"]["job"]["prior"] == "base rates that the release states"
    assert not verdicts[1]["facts"].get("faults")
    (tmp_path / "release").mkdir()
    for file in (place / "out/release").iterdir():
        (tmp_path / "release" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "plan.toml").write_text(PLAN.replace('path = "people.csv"', ""), encoding="utf-8")
    done = sfumato("audit", "release", "--plan", "plan.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)["verdicts"][1]
    assert verdict["facts"]["columns"]["job"]["prior"] == "base rates that the release states"
    assert verdict["known_from"] == {"base rates of 'job'": "claimed by the release itself"}


def test_the_audit_fails_when_the_plan_asks_for_more(place):
    (place / "strict.toml").write_text(PLAN.replace("job = 0.4", "job = 0.05"), encoding="utf-8")
    done = sfumato("audit", "out", "--plan", "strict.toml", cwd=place)
    assert done.returncode == 1
    assert "FAILS" in done.stdout


def test_the_analyst_gets_a_table_with_errors(place):
    done = sfumato("reconstruct", "out/release", "--columns", "job,town", "--out", "answer.csv", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "10 cells by auto" in done.stdout
    with (place / "answer.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    assert sum(float(row["count"]) for row in rows) == pytest.approx(3000, abs=0.01)
    assert all(float(row["std_error"]) > 0 for row in rows)
    done = sfumato("reconstruct", "out", "-c", "job", "--where", "town=A", "--method", "paper", "--json", cwd=place)
    answer = json.loads(done.stdout)
    assert answer["method"] == "paper"
    assert len(answer["table"]) == 5
    done = sfumato("reconstruct", "out", "-c", "job", "-c", "age", "--dry-run", "--json", cwd=place)
    assert json.loads(done.stdout)["cells"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-c", "name"], "does not have it"),
        (["-c", "job", "--where", "town"], "--where"),
        (["-c", "job", "--method", "magic"], "not known"),
        (["-c", "job", "--out", "answer.doc"], ".csv"),
    ],
)
def test_bad_questions_exit_with_two(place, arguments, message):
    done = sfumato("reconstruct", "out/release", *arguments, cwd=place)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("job = 2, age", "job = 7, age", 1, "small_domain"),
        ("job = 0.4", "job = 0", 2, "more than 0"),
        ('"smith", ', "", 2, "outside its declared domain"),
        ("[20, 30, 40, 50, 60]", "[20, 30, 30]", 2, "overlap"),
        ("bins = [20, 30, 40, 50, 60]", "", 2, "holds numbers"),
        ("bins = [20, 30, 40, 50, 60]", "bins = [20, 99]", 2, "domain of 1 value"),
        ("l = { job = 2, age = 2 }", "l = 2", 2, "name columns"),
    ],
)
def test_bad_plans_write_nothing_and_show_no_values(place, old, new, code, message):
    assert old in PLAN
    (place / "bad.toml").write_text(PLAN.replace(old, new), encoding="utf-8")
    done = sfumato("anonymize", "bad.toml", "--out", "bad", cwd=place)
    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert "smith" not in done.stderr
    assert not (place / "bad").exists()


def test_a_cell_written_with_the_true_value_first_is_caught(place, tmp_path):
    (tmp_path / "release").mkdir()
    for file in (place / "out/release").iterdir():
        (tmp_path / "release" / file.name).write_bytes(file.read_bytes())
    data = tmp_path / "release/data.csv"
    header, first, *rest = data.read_text(encoding="utf-8").splitlines()
    cells = next(csv.reader([first]))
    cells[0] = "|".join(reversed(cells[0].split("|")))
    line = ",".join(f'"{cell}"' for cell in cells)
    data.write_text("\n".join([header, line, *rest]) + "\n", encoding="utf-8")
    done = sfumato("audit", tmp_path / "release", "--plan", "plan.toml", "--json", cwd=place)
    assert done.returncode == 1
    faults = json.loads(done.stdout)["verdicts"][0]["facts"]["faults"]
    assert faults == {"job": ["cells that are not in the order of the domain"]}


def test_attacks_and_measures_are_there_on_demand(place):
    done = sfumato("attack", "out", "--plan", "plan.toml", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    names = [found["attack"] for found in json.loads(done.stdout)["attacks"]]
    sets = ["set-inference", "set-inference", "intersection", "second-release", "second-release"]
    assert [name for name in names if name in sets] == sets
    done = sfumato("measure", "out", "--plan", "plan.toml", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "cross-tables" in [found["name"] for found in json.loads(done.stdout)["measurements"]]


PRAM = """
[source]
path = "staff.csv"
[columns.job]
role = "sensitive-quasi-identifier"
domain = ["clerk", "cook", "nurse"]
[columns.sex]
role = "other"
[[require]]
model = "sensitive-qid-closeness"
t = { job = 0.3 }
anonymizer = "pram"
"""


def test_single_values_from_plan_to_table(tmp_path):
    jobs = ["clerk"] * 300 + ["cook"] * 200 + ["nurse"] * 100
    lines = [f"{job},{'f' if number % 3 else 'm'}" for number, job in enumerate(jobs)]
    (tmp_path / "staff.csv").write_text("\n".join(["job,sex", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PRAM, encoding="utf-8")
    plan, out = str(tmp_path / "plan.toml"), str(tmp_path / "run")

    assert "drawn by chance in place of the true" in " ".join(sfumato("explain", plan).stdout.split())
    assert sfumato("anonymize", plan, "--out", out, "--seed", "5").returncode == 0
    about = json.loads((tmp_path / "run" / "release" / "release.json").read_text(encoding="utf-8"))
    asked = ("t", "distance", "prior", "base_rates")
    assert set(about["columns"]["job"]) == {"role", "kind", "domain", "p", "shares", *asked}
    assert sfumato("audit", out, "--plan", plan).returncode == 0
    found = sfumato("reconstruct", f"{out}/release", "--columns", "job,sex", "--out", str(tmp_path / "table.csv"))
    assert found.returncode == 0
    rows = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].replace('"', "") == "job,sex,count,std_error"
    assert len(rows) == 7
    (tmp_path / "plan.toml").write_text(PRAM.replace("[[require]]", "[[require]]\nprior = 'any'"), encoding="utf-8")
    refused = sfumato("explain", plan)
    assert refused.returncode == 2
    assert "pram" in refused.stderr
