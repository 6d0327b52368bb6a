"""The command line as a user types it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter

import pytest
from jsonschema import Draft202012Validator

from commands import sfumato, told
from sfumato.cli.app import ORDER

ENVIRONMENT = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demonstration, made once."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    done = sfumato("demo", "--out", folder, "--rows", 800)
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture
def example(tmp_path, demo):
    """A copy of the demonstration's input that a test may spoil."""
    for name in ("patients.csv", "plan.toml", "jobs.csv", "diseases.csv", "symptoms.csv"):
        shutil.copy(demo[0] / name, tmp_path / name)
    return tmp_path


def test_demo_prints_verdicts_and_where_the_report_is(demo):
    folder, done = demo

    assert "k-anonymity" in done.stdout
    assert "report.html" in done.stdout
    assert (folder / "run" / "private" / "report.html").stat().st_size > 10_000
    assert sorted(path.name for path in (folder / "run" / "release").iterdir()) == [
        "README.md",
        "data.csv",
        "release.json",
    ]


def test_the_release_holds_what_was_promised_counted_by_hand(demo):
    folder, _ = demo
    with (folder / "run" / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == 800
    assert "name" not in rows[0]
    classes = Counter(
        tuple(value for name, value in row.items() if name not in ("disease", "symptoms")) for row in rows
    )
    assert min(classes.values()) >= 5


def test_the_public_description_holds_no_secret(demo):
    folder, _ = demo
    described = json.loads((folder / "run" / "release" / "release.json").read_text(encoding="utf-8"))
    text = json.dumps(described)

    assert described["format"] == 1
    assert described["rows"] == 800
    assert described["columns"]["disease"]["role"] == "sensitive"
    assert {model["model"] for model in described["models"]} == {
        "k-anonymity",
        "l-diversity",
        "t-closeness",
        "qs-closeness",
    }
    assert "HIV" not in text
    assert "seed" not in text


def test_inputs_are_never_changed(example):
    before = {path.name: path.read_bytes() for path in example.iterdir()}

    assert sfumato("anonymize", example / "plan.toml", "--out", example / "out").returncode == 0

    assert {name: (example / name).read_bytes() for name in before} == before


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(example):
    releases = []
    for threads in (1, 2):
        out = example / f"out{threads}"
        done = sfumato("anonymize", example / "plan.toml", "--out", out, "--seed", 3, "--threads", threads)
        assert done.returncode == 0, done.stderr
        releases.append([(out / "release" / name).read_bytes() for name in ("README.md", "data.csv", "release.json")])

    assert releases[0] == releases[1]


def test_a_warning_is_printed_once_and_never_as_one_of_python(example):
    made = sfumato("anonymize", example / "plan.toml", "--out", example / "out", "--seed", 1, "--no-measure")
    completed = sfumato("report", example / "out")

    assert (made.returncode, completed.returncode) == (0, 0), made.stderr + completed.stderr
    assert " ".join(made.stderr.split()).count("The release was made with a seed") == 1
    assert "SfumatoWarning" not in made.stderr + completed.stderr
    assert "warnings.warn" not in made.stderr + completed.stderr


def test_without_a_seed_the_order_of_rows_differs(example):
    texts = []
    for name in ("a", "b"):
        assert sfumato("anonymize", example / "plan.toml", "--out", example / name).returncode == 0
        texts.append((example / name / "release" / "data.csv").read_text(encoding="utf-8"))

    assert texts[0] != texts[1]
    assert sorted(texts[0].splitlines()) == sorted(texts[1].splitlines())


def test_audit_accepts_the_release_and_rejects_the_original(demo):
    folder, _ = demo

    accepted = sfumato("audit", folder / "run", "--plan", folder / "plan.toml", "--json")
    assert accepted.returncode == 0, accepted.stderr
    assert json.loads(accepted.stdout)["satisfied"] is True

    rejected = sfumato("audit", folder / "patients.csv", "--plan", folder / "plan.toml", "--json")
    assert rejected.returncode == 1
    verdicts = json.loads(rejected.stdout)["verdicts"]
    assert not verdicts[0]["satisfied"]
    assert verdicts[0]["reached"] == 1


def test_measure_prints_what_was_lost(demo):
    folder, _ = demo

    done = sfumato("measure", folder / "run", "--plan", folder / "plan.toml", "--json")

    assert done.returncode == 0, done.stderr
    names = {measurement["name"] for measurement in json.loads(done.stdout)["measurements"]}
    assert {"ncp", "discernibility", "query-error", "risk", "classification"} <= names


def test_attack_shows_original_release_and_guessing(demo):
    done = sfumato("attack", demo[0] / "run", "--plan", demo[0] / "plan.toml", "--json")
    (linking,) = [found for found in json.loads(done.stdout)["attacks"] if found["attack"] == "linking"]

    assert done.returncode == 0
    assert linking["before"]["exposed"] > linking["after"]["exposed"] == 0
    assert linking["control"]["worst"] == 1 / 800

    strict = sfumato("attack", demo[0] / "run", "--plan", demo[0] / "plan.toml", "--threshold", "2")
    assert strict.returncode == 2
    assert "confidence" in strict.stderr

    options = ("attack", demo[0] / "run", "--plan", demo[0] / "plan.toml", "--json", "--population")
    found = sfumato(*options, demo[0] / "patients.csv")  # the town is no larger than the table
    (linking,) = [found for found in json.loads(found.stdout)["attacks"] if found["attack"] == "linking"]
    assert linking["after"]["facts"]["journalist"] <= linking["after"]["worst"]
    (demo[0] / "elsewhere.csv").write_text("height,shoe\n180,44\n", encoding="utf-8")
    absent = sfumato(*options, demo[0] / "elsewhere.csv")
    assert absent.returncode == 2
    assert "lacks" in absent.stderr


def test_report_makes_the_page_again(demo, tmp_path):
    folder, _ = demo

    done = sfumato("report", folder / "run", "--out", tmp_path / "page.html")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == (
        folder / "run" / "private" / "report.html"
    ).read_text(encoding="utf-8")


def test_explain_says_what_will_be_done_and_why(demo):
    folder, _ = demo

    done = sfumato("explain", folder / "plan.toml")

    assert done.returncode == 0, done.stderr
    assert "mondrian, because terms are removed afterwards" in done.stdout
    assert "does not stop" in done.stdout
    facts = json.loads(sfumato("explain", folder / "plan.toml", "--json").stdout)
    assert [step["anonymizer"] for step in facts["steps"]] == ["mondrian", "term-suppression"]


def test_check_says_what_can_be_met_and_makes_nothing(example):
    before = sorted(path.name for path in example.iterdir())
    found = told("check", example / "plan.toml")
    assert {each["state"] for each in found["reach"]} == {"possible"}
    assert found["rows"] == 800

    plan = example / "strict.toml"
    text = (example / "plan.toml").read_text(encoding="utf-8")
    plan.write_text(text.replace("k = 5", "k = 801"), encoding="utf-8")
    done = sfumato("check", plan)
    plan.unlink()

    assert done.returncode == 1
    assert "cannot be met" in done.stdout
    assert "800" in done.stdout
    assert sorted(path.name for path in example.iterdir()) == before


def test_init_drafts_a_plan_that_runs(example):
    draft = example / "draft.toml"

    done = sfumato("init", example / "patients.csv", "--out", draft)
    assert done.returncode == 0, done.stderr
    assert "guess" in draft.read_text(encoding="utf-8")

    assert sfumato("explain", draft).returncode == 0
    done = sfumato("anonymize", draft, "--out", example / "out")
    assert done.returncode == 0, done.stderr
    again = sfumato("init", example / "patients.csv", "--out", draft)
    assert again.returncode == 2
    assert "overwrite" in again.stderr


def test_a_draft_says_where_its_schema_is_and_the_schema_lets_it_pass(example):
    sfumato("init", example / "patients.csv", "--out", example / "draft.toml")
    first, _, _ = (draft := (example / "draft.toml").read_text(encoding="utf-8")).partition("\n")
    schema = (example / first.removeprefix("#:schema ")).read_text(encoding="utf-8")

    assert first.startswith("#:schema ./")
    assert sfumato("schema").stdout == schema
    assert Draft202012Validator(json.loads(schema)).is_valid(tomllib.loads(draft))


def test_json_is_the_only_thing_on_standard_output(example):
    followed = example / "progress.jsonl"
    done = sfumato("anonymize", example / "plan.toml", "--out", example / "out", "--json", "--progress", followed)

    facts = json.loads(done.stdout)
    assert facts["release"]["rows"] == 800
    assert all(verdict["satisfied"] for verdict in facts["verdicts"])
    events = [json.loads(line) for line in followed.read_text(encoding="utf-8").splitlines()]
    assert [events[0]["event"], events[-1]["event"], events[-1]["exit"]] == ["parts", "end", 0]
    assert events[-2]["part"] == events[0]["parts"][-1]["id"] == "attack"


def test_every_command_can_answer_in_json(example, demo, tmp_path):
    drafted = sfumato("init", example / "patients.csv", "--out", example / "draft.toml", "--json")
    assert {guess["name"] for guess in json.loads(drafted.stdout)["guesses"]} >= {"age", "disease"}
    page = sfumato("report", demo[0] / "run", "--out", tmp_path / "page.html", "--json")
    assert json.loads(page.stdout) == {"report": str(tmp_path / "page.html"), "pending": []}
    shown = sfumato("demo", "--out", tmp_path / "demo", "--rows", 300, "--json")
    assert json.loads(shown.stdout)["release"]["rows"] == 300


def test_another_engine_than_this_machine_is_refused(example):
    done = sfumato("anonymize", example / "plan.toml", "--out", example / "out", "--engine", "abacus")

    assert done.returncode == 2
    assert "local" in done.stderr


def test_an_existing_folder_is_refused_unless_told_otherwise(example):
    out = example / "out"
    assert sfumato("anonymize", example / "plan.toml", "--out", out).returncode == 0

    refused = sfumato("anonymize", example / "plan.toml", "--out", out)
    assert refused.returncode == 2
    assert "--overwrite" in refused.stderr

    assert sfumato("anonymize", example / "plan.toml", "--out", out, "--overwrite").returncode == 0


def spoil_plan(example, old, new):
    path = example / "plan.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "exit_code", "expected"),
    [
        ('model = "k-anonymity"', 'model = "k-anonimity"', 2, "Did you mean 'k-anonymity'?"),
        ("k = 5", "k = 0", 2, "k"),
        ("k = 5", "k = 100000", 1, "800"),
        ("t = 0.45", "t = 1.5", 2, "t"),
        ('path = "patients.csv"', 'path = "patient.csv"', 2, "patient.csv"),
        ("[columns.sex]", "[columns.gender]", 2, "gender"),
        ('hierarchy = "jobs.csv"', 'hierarchy = "nothing.csv"', 2, "nothing.csv"),
        ('role = "sensitive"', 'role = "secret"', 2, "sensitive"),
        ("widths = [5, 10, 20, 40]", "widths = [5, 12]", 2, "12"),
    ],
)
def test_a_wrong_plan_writes_nothing_and_says_what_to_do(example, old, new, exit_code, expected):
    spoil_plan(example, old, new)

    done = sfumato("anonymize", example / "plan.toml", "--out", example / "out")

    assert done.returncode == exit_code, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not (example / "out").exists()
    assert not [path for path in example.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda text: b"", "empty"),
        (lambda text: text.splitlines(keepends=True)[0], "no rows"),
        (lambda text: text + b"one,cell,too,few\n", "first is on line"),
        (lambda text: text.replace(b"Asthma", b"Asthm\xff", 1), "UTF-8"),
        (lambda text: text.replace(b"Asthma", b"Asthm\x00", 1), "zero bytes"),
        (lambda text: text.replace(b'"sex"', b'"age"', 1).replace(b",sex,", b",age,", 1), "age"),
        (lambda text: text.replace(b"Nurse", b"Nurze"), "misses 1 of"),
    ],
)
def test_wrong_data_writes_nothing_and_shows_no_secret(example, spoil, expected):
    path = example / "patients.csv"
    path.write_bytes(spoil(path.read_bytes()))

    done = sfumato("anonymize", example / "plan.toml", "--out", example / "out")

    assert done.returncode == 2, done.stderr
    assert expected.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert "Asthm" not in done.stderr
    assert "Person" not in done.stderr
    assert not (example / "out").exists()


def test_a_sensitive_hierarchy_that_misses_values_does_not_name_them(example):
    diseases = example / "diseases.csv"
    diseases.write_text(
        "\n".join(line for line in diseases.read_text(encoding="utf-8").splitlines() if "Asthma" not in line),
        encoding="utf-8",
    )

    done = sfumato("anonymize", example / "plan.toml", "--out", example / "out")

    assert done.returncode == 2, done.stderr
    assert "misses 1 of" in done.stderr
    assert "Asthma" not in done.stderr


def test_errors_as_json_are_one_object(example):
    followed = example / "progress.jsonl"
    done = sfumato("anonymize", example / "nothing.toml", "--out", example / "out", "--json", "--progress", followed)

    assert done.returncode == 2
    assert json.loads(done.stdout)["exit_code"] == 2
    assert json.loads(followed.read_text(encoding="utf-8"))["exit"] == 2


def test_an_output_folder_that_cannot_be_written_is_refused(example):
    (example / "file").write_text("", encoding="utf-8")

    for out in (example / "file", example / "file" / "below", example / "not" / "there"):
        done = sfumato("anonymize", example / "plan.toml", "--out", out)
        assert done.returncode == 2, (out, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.posix
def test_an_interrupted_run_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "sfumato", "demo", "--out", str(tmp_path / "big"), "--rows", "300000"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("big/.run*")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)

    assert process.returncode == 130
    assert not (tmp_path / "big" / "run").exists()
    assert not [path for path in (tmp_path / "big").iterdir() if path.name.startswith(".")]


def test_help_lists_the_commands_as_somebody_comes_to_need_them():
    done = sfumato("--help")

    assert done.returncode == 0
    assert tuple(re.findall(r"^\W*([a-z]+)  +[A-Z]", done.stdout.partition("Commands")[2], re.MULTILINE)) == ORDER


def test_a_wrong_option_is_a_user_error():
    done = sfumato("anonymize", "--colour", "blue")

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_module_runs_as_the_command_does():
    assert sfumato("--version").stdout.startswith("sfumato ")
