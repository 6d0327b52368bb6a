"""Several sensitive columns from the command line: what is written, what is said, and what never shows."""

from __future__ import annotations

import csv
import json
import random

import pytest

from commands import sfumato

ILLS = ["Asthma", "Pneumonia", "Albinism", "Eczema", "Haemophilia", "Leukaemia"]
TREE = '{ Lung = ["Asthma", "Pneumonia"], Skin = ["Albinism", "Eczema"], Blood = ["Haemophilia", "Leukaemia"] }'
PLAN = f"""
[source]
path = "people.csv"
missing = ["?"]
[columns.age]
role = "quasi-identifier"
hierarchy = {{ widths = [10, 20, 40] }}
[columns.sex]
role = "quasi-identifier"
hierarchy = {{ flat = true }}
[columns.illness]
role = "sensitive"
hierarchy = {TREE}
[columns.father]
role = "sensitive"
hierarchy = {TREE}
[[require]]
model = "multi-diversity"
sensitive = ["illness", "father"]
alpha_sa = 0.5
"""
DIVERSE = '[[require]]\nmodel = "l-diversity"\nsensitive = "father"\nl = 3\n'


@pytest.fixture
def folder(tmp_path):
    rng = random.Random(3)
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow(["age", "sex", "illness", "father"])
        for _ in range(200):
            ill = rng.choice(ILLS)
            write.writerow(
                [rng.randint(18, 80), rng.choice("mf"), ill, ill if rng.random() < 0.6 else rng.choice([*ILLS, "?"])]
            )
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def test_a_run_is_audited_measured_attacked_and_reported(folder):
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = json.loads((folder / "out/private/run.json").read_text(encoding="utf-8"))
    facts = run["steps"][0]["facts"]
    assert 0 <= facts["vacuous_share"] <= 1
    assert set(facts["worst_posterior"]) == {"pool", "true"}
    assert "What masks hide" in (folder / "out/private/report.html").read_text(encoding="utf-8")
    public = json.loads((folder / "out/release/release.json").read_text(encoding="utf-8"))
    assert "base_rates" not in json.dumps(public)
    assert public["models"][0]["k"] == 2

    judged = sfumato("audit", "out/release", "--plan", "plan.toml", "--json", cwd=folder)
    assert judged.returncode == 0
    assert sfumato("audit", "people.csv", "--plan", "plan.toml", cwd=folder).returncode == 1
    measured = json.loads(sfumato("measure", "out/release", "--plan", "plan.toml", "--json", cwd=folder).stdout)
    found = {entry["name"]: entry for entry in measured["measurements"]}["distortion"]
    kept = {entry["name"]: entry["facts"] for entry in run["measurements"]}["distortion"]
    assert found["value"] == pytest.approx(kept["quasi_identifiers"] + kept["sensitive"])
    attacked = json.loads(sfumato("attack", "out/release", "--plan", "plan.toml", "--json", cwd=folder).stdout)
    both = [entry for entry in attacked["attacks"] if entry["attack"] == "disclosure"]
    assert len(both) == 2
    for entry in both:
        assert entry["before"]["worst"] == 1.0
        assert entry["after"]["worst"] <= 0.5 + 1e-9
        assert entry["after"]["exposed"] == 0


def test_published_base_rates_let_anybody_audit(folder):
    (folder / "plan.toml").write_text(PLAN + "[release]\npublish_base_rates = true\n", encoding="utf-8")
    assert sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder).returncode == 0
    outsider = folder / "outsider"
    outsider.mkdir()
    (outsider / "plan.toml").write_text(PLAN.replace('path = "people.csv"\n', ""), encoding="utf-8")
    judged = sfumato("audit", folder / "out/release", "--plan", "plan.toml", cwd=outsider)
    assert judged.returncode == 0, judged.stderr


def test_given_base_rates_take_the_place_of_the_source(folder):
    lines = ["value,share", *(f"{ill},1" for ill in ILLS), "?,1"]
    (folder / "rates.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan = PLAN.replace("[columns.illness]", '[columns.illness]\nbase_rates = "rates.csv"')
    (folder / "plan.toml").write_text(
        plan.replace("[columns.father]", '[columns.father]\nbase_rates = "rates.csv"'), encoding="utf-8"
    )
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sfumato("audit", "out/release", "--plan", "plan.toml", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "code", "part"),
    [
        (f"hierarchy = {TREE}\n[columns.father]", "[columns.father]", 2, "flat"),
        ("alpha_sa = 0.5", "alpha_sa = 0", 2, "more than 0"),
        ("alpha_sa = 0.5", "alpha_sa = 0.5\nk = 0", 2, "at least 1"),
        ("alpha_sa = 0.5", 'alpha_sa = 0.01\nreading = "true"', 1, "smallest alpha"),
        ("alpha_sa = 0.5", "alpha_sa = 0.5\nk = 500", 1, "the table has 200"),
        ("alpha_sa = 0.5", f"alpha_sa = 0.5\n{DIVERSE}", 2, "masks"),
        ('Lung = ["Asthma", "Pneumonia"]', 'Lung = ["Asthma"]', 2, "misses 1 of"),
        ('Skin = ["Albinism", "Eczema"]', 'Skin = ["Albinism", "Eczema", "Asthma"]', 2, "more than"),
    ],
)  # fmt: skip
def test_bad_input_writes_nothing_and_shows_no_secret(folder, old, new, code, part):
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new, 1), encoding="utf-8")
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder)
    assert done.returncode == code
    assert part in " ".join(done.stderr.split())
    assert not (folder / "out").exists()
    assert not any(ill in done.stderr for ill in ILLS)


def test_one_sensitive_column_works_and_says_what_it_is(folder):
    plan = PLAN.replace('["illness", "father"]', '["illness"]')
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    said = sfumato("explain", "plan.toml", cwd=folder).stdout
    assert "that is alpha-diversity" in " ".join(said.split())
    assert sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder).returncode == 0


def test_l_diversity_of_another_column_makes_the_classes_first(folder):
    plan = PLAN.replace('["illness", "father"]', '["illness"]') + (
        f'k = 4\n{DIVERSE}[[require]]\nmodel = "k-anonymity"\nk = 4\n'
    )
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = json.loads((folder / "out/private/run.json").read_text(encoding="utf-8"))
    assert [step["anonymizer"] for step in run["steps"]] == ["local-recoding", "masking"]
    assert all(verdict["satisfied"] for verdict in run["verdicts"])
