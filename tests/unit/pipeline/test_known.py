"""What everybody knows comes from one place, in one order, and verdicts say from where."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import tomllib
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.files import Source, read_table
from sfumato.errors import DataError, OutputError

PLAN = """
[source]
path = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [10, 20, 40] }
[columns.illness]
role = "sensitive"
hierarchy = { lungs = ["asthma", "flu"], heart = ["stroke", "angina"] }
[columns.job]
role = "sensitive-quasi-identifier"
domain = "jobs.txt"
[columns.signs]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "knowledge.csv"
label = "disease"
terms = "signs"
separator = "|"
unlinked = "forbid"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "alpha-diversity"
sensitive = "illness"
alpha = 0.6
[[require]]
model = "sensitive-qid-closeness"
t = { job = 0.3 }
[[require]]
model = "qs-closeness"
column = "signs"
t = 0.6
"""
# The same columns, with nothing public asked for but the base rates of one.
MASKS_ONLY = """
[source]
path = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [10, 20, 40] }
[columns.illness]
role = "sensitive"
hierarchy = { lungs = ["asthma", "flu"], heart = ["stroke", "angina"] }
[columns."*"]
role = "other"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "alpha-diversity"
sensitive = "illness"
alpha = 0.6
"""
MASKS, CELLS, TERMS = 1, 2, 3  # places of the requirements that need something public
RATES = "base rates of 'illness'"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a plan, its inputs and a run."""
    folder = tmp_path_factory.mktemp("made")
    chance = random.Random(5)
    rows = ["name,age,illness,job,signs"]
    for i in range(300):
        illness = chance.choice(["asthma", "flu", "flu", "stroke", "angina"])
        signs = "|".join(sorted(chance.sample(["cough", "fever", "pain"], chance.randint(1, 2))))
        rows.append(f"p{i},{chance.randint(20, 60)},{illness},{chance.choice(['cook', 'nurse', 'clerk'])},{signs}")
    (folder / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "jobs.txt").write_text("clerk\ncook\nnurse\n", encoding="utf-8")
    (folder / "knowledge.csv").write_text(
        "disease,signs\nflu,cough|fever\ncold,cough\nsprain,pain\nboth,fever|pain\n", encoding="utf-8"
    )
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    sf.run(sf.Plan.load(folder / "plan.toml"), folder / "run", seed=3)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    for path in made.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(made)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return tmp_path


def judged(data, folder, **options):
    return sf.audit(data, sf.Plan.load(folder / "plan.toml"), **options)


def origins(verdicts):
    return {name: origin for verdict in verdicts for name, origin in verdict.known_from.items()}


def notes(verdicts):
    return {note for verdict in verdicts for note in verdict.notes}


def test_a_run_keeps_the_text_of_its_plan_digests_of_all_inputs_and_what_was_public(folder):
    facts = json.loads((folder / "run/private/run.json").read_text(encoding="utf-8"))

    assert facts["plan"]["text"] == PLAN
    assert set(facts["inputs"]) == {"source.path", "columns.job.domain", "knowledge.path"}
    assert set(facts["release"]["files"]) == {"README.md", "data.csv", "release.json"}
    assert set(facts["public"]["base_rates"]) == {"illness", "job"}
    assert facts["public"]["knowledge"]["rows"][0] == ["both", ["fever", "pain"]]
    assert len(facts["public"]["prior"]) == 4
    assert facts["public"]["from"] == {
        "knowledge": "given in the plan",
        "prior": "counted in the original",
        "base rates of 'illness'": "counted in the original",
        "base rates of 'job'": "counted in the original",
    }


def test_a_run_is_judged_by_its_own_record(folder):
    for path in (folder / "run", folder / "run/release", folder / "run/release/data.csv"):
        verdicts = judged(path, folder)

        assert all(verdict.satisfied for verdict in verdicts)
        assert verdicts[TERMS].known_from == {"knowledge": "given in the plan", "prior": "kept in the run"}
        assert verdicts[MASKS].known_from == {RATES: "kept in the run"}
        assert verdicts[0].known_from == {}
        assert not any("changed" in note or "claimed" in note for note in notes(verdicts))


def test_auditing_ones_own_run_needs_no_source_and_no_other_input(folder):
    expected = [str(verdict) for verdict in judged(folder / "run", folder)]
    (folder / "people.csv").unlink()
    assert [str(verdict) for verdict in judged(folder / "run", folder)] == expected

    (folder / "knowledge.csv").write_text("disease,signs\nflu,cough\n", encoding="utf-8")
    verdicts = judged(folder / "run", folder)
    assert [str(verdict) for verdict in verdicts] == expected
    assert origins(verdicts)["knowledge"] == "kept in the run"
    assert any("knowledge table has changed" in note for note in notes(verdicts))


AMONG_ALL = """
[source]
path = "people.csv"
missing = ["?"]
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [10, 20, 40] }
[columns.city]
role = "quasi-identifier"
hierarchy = { flat = true }
[[require]]
model = "k-map"
k = 3
population = "everybody.csv"
[[require]]
model = "delta-presence"
high = 0.9
population = "everybody.csv"
"""


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", ["local-recoding", "full-domain"])
def test_a_run_keeps_its_population_and_is_judged_by_it(tmp_path, anonymizer):
    people = [f"{20 + i % 30},{('Rome', 'Oslo', '?')[i % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,city", *people]) + "\n", encoding="utf-8")
    (tmp_path / "everybody.csv").write_text(
        "\n".join(["nr,age,city", *(f"1,{row}" for row in people * 2)]) + "\n", encoding="utf-8"
    )
    (tmp_path / "plan.toml").write_text(
        AMONG_ALL.replace("k = 3", f'k = 3\nanonymizer = "{anonymizer}"'), encoding="utf-8"
    )
    sf.run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path / "run", seed=3)
    expected = [str(verdict) for verdict in judged(tmp_path / "run", tmp_path)]
    assert read_table(Source(tmp_path / "run/private/population-1.parquet")).num_rows == 120

    for change in (lambda path: path.write_text("nr,age,city\n1,20,Rome\n", encoding="utf-8"), Path.unlink):
        change(tmp_path / "everybody.csv")
        verdicts = judged(tmp_path / "run", tmp_path)
        assert [str(verdict) for verdict in verdicts] == expected
        assert set(origins(verdicts).values()) == {"kept in the run"}
        assert any("population 'everybody.csv' has changed" in note for note in notes(verdicts))

    (tmp_path / "run/private/population-1.parquet").unlink()
    with pytest.raises(DataError, match=r"everybody\.csv"):
        judged(tmp_path / "run", tmp_path)


def test_a_run_with_a_population_is_replaced_unless_something_else_is_beside_it(tmp_path):
    people = [f"{20 + i % 30},{('Rome', 'Oslo')[i % 2]}" for i in range(60)]
    for name, rows in (("people.csv", people), ("everybody.csv", people * 2)):
        (tmp_path / name).write_text("\n".join(["age,city", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(AMONG_ALL, encoding="utf-8")
    plan = sf.Plan.load(tmp_path / "plan.toml")
    for _ in range(2):
        sf.run(plan, tmp_path / "run", seed=3, overwrite=True)

    (tmp_path / "run/private/population-2.parquet").write_text("of somebody else", encoding="utf-8")
    with pytest.raises(OutputError, match="population-2"):
        sf.run(plan, tmp_path / "run", seed=3, overwrite=True)


def test_a_source_that_was_edited_since_changes_no_verdict_and_is_said(folder):
    expected = [str(verdict) for verdict in judged(folder / "run", folder)]
    lines = (folder / "people.csv").read_text(encoding="utf-8").replace("asthma", "angina")
    (folder / "people.csv").write_text(lines, encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert [str(verdict) for verdict in verdicts] == expected
    assert any("source has changed since the run" in note for note in notes(verdicts))


def test_what_a_run_did_not_keep_is_not_said_to_come_from_its_record(folder):
    (folder / "plan.toml").write_text(MASKS_ONLY.partition('[[require]]\nmodel = "alpha')[0], encoding="utf-8")
    sf.run(sf.Plan.load(folder / "plan.toml"), folder / "other", seed=3)
    (folder / "plan.toml").write_text(MASKS_ONLY, encoding="utf-8")
    (folder / "people.csv").write_text(
        (folder / "people.csv").read_text(encoding="utf-8").replace("p0,", "p00,"), encoding="utf-8"
    )

    verdicts = judged(folder / "other", folder)

    assert origins(verdicts) == {RATES: "counted in the original"}
    (said,) = (note for note in notes(verdicts) if note.startswith("The source has changed"))
    assert said.endswith("not in the run's own record was counted in the source of today.")


def test_any_other_file_of_the_plan_that_was_edited_since_is_said(folder):
    expected = judged(folder / "run", folder)
    assert not any("changed since" in note for note in notes(expected))
    (folder / "jobs.txt").write_text("clerk\ncook\nnurse\n\n", encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert [str(verdict) for verdict in verdicts] == [str(verdict) for verdict in expected]
    assert [note for note in notes(verdicts) if "changed since" in note] == [
        "columns.job.domain has changed since the run was made, or is gone."
    ]


def test_the_record_of_a_run_is_not_used_for_another_release_that_lies_in_its_folder(folder):
    shutil.copytree(folder / "run/release", folder / "run/other")
    data = (folder / "run/other/data.csv").read_text(encoding="utf-8").splitlines()
    (folder / "run/other/data.csv").write_text("\n".join([data[0], *reversed(data[1:])]) + "\n", encoding="utf-8")

    verdicts = judged(folder / "run/other", folder)

    assert origins(verdicts)[RATES] == "counted in the original"
    assert any("of another release" in note for note in notes(verdicts))


def test_a_record_of_another_release_is_not_used(folder):
    data = (folder / "run/release/data.csv").read_text(encoding="utf-8").splitlines()
    (folder / "run/release/data.csv").write_text("\n".join([data[0], *reversed(data[1:])]) + "\n", encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert origins(verdicts)[RATES] == "counted in the original"
    assert any("of another release" in note for note in notes(verdicts))


def test_a_release_elsewhere_is_judged_by_what_the_original_says(folder):
    (folder / "run/release").rename(folder / "elsewhere")

    verdicts = judged(folder / "elsewhere", folder)

    assert all(verdict.satisfied for verdict in verdicts)
    assert set(origins(verdicts).values()) == {"given in the plan", "counted in the original"}


def forged(folder, **rates):
    """Let the description claim other base rates than those that were counted."""
    path = folder / "elsewhere/release.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    description["columns"]["illness"]["base_rates"] = {"values": rates, "missing": 0, "counted": True}
    path.write_text(json.dumps(description), encoding="utf-8")


def test_what_a_folder_claims_of_itself_is_believed_only_where_nothing_else_is_at_hand(folder):
    (folder / "run/release").rename(folder / "elsewhere")
    expected = str(judged(folder / "elsewhere", folder)[MASKS])
    forged(folder, asthma=1000, flu=1, stroke=1, angina=1)

    assert str(judged(folder / "elsewhere", folder)[MASKS]) == expected

    (folder / "people.csv").unlink()
    (folder / "plan.toml").write_text(MASKS_ONLY, encoding="utf-8")
    verdict = judged(folder / "elsewhere", folder)[MASKS]
    assert verdict.known_from == {RATES: "claimed by the release itself"}
    assert "claimed by the release itself" in str(verdict)
    assert any("not there" in note for note in verdict.notes)


@pytest.mark.parametrize("claim", [{}, {"values": {"flu": "many"}, "missing": 0}, {"values": {"flu": 3}}])
def test_claims_of_another_shape_are_refused_in_words_by_every_verb(folder, claim):
    (folder / "run/release").rename(folder / "elsewhere")
    (folder / "people.csv").unlink()
    (folder / "plan.toml").write_text(MASKS_ONLY, encoding="utf-8")
    path = folder / "elsewhere/release.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    description["columns"]["illness"]["base_rates"] = claim
    path.write_text(json.dumps(description), encoding="utf-8")

    for verb in (sf.audit, sf.measure, sf.attack):
        with pytest.raises(DataError, match="no description of a release"):
            verb(folder / "elsewhere", sf.Plan.load(folder / "plan.toml"))


def test_base_rates_that_the_plan_gives_go_before_all_else(folder):
    (folder / "rates.csv").write_text(
        "illness,share\nasthma,0.25\nflu,0.25\nstroke,0.25\nangina,0.25\n", encoding="utf-8"
    )
    plan = (folder / "plan.toml").read_text(encoding="utf-8")
    more = plan.replace("[columns.illness]\n", '[columns.illness]\nbase_rates = "rates.csv"\n')
    (folder / "plan.toml").write_text(more, encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert origins(verdicts)[RATES] == "given in the plan"
    assert any("plan has changed" in note for note in notes(verdicts))


def test_a_frame_and_the_release_of_a_run_are_judged_like_the_folder(folder):
    plan = sf.Plan.load(folder / "plan.toml")
    run = sf.anonymize(read_table(plan.source), plan, seed=3)
    expected = [str(verdict) for verdict in run.verdicts]

    assert [str(verdict) for verdict in sf.audit(run.release, plan)] == expected
    assert [str(verdict) for verdict in sf.audit(run, plan)] == expected
    assert origins(sf.audit(run, plan))["prior"] == "kept in the run"


def test_measuring_without_an_original_is_refused_with_words(folder):
    text = (folder / "plan.toml").read_text(encoding="utf-8").replace('[source]\npath = "people.csv"\n', "")
    plan = sf.Plan.from_dict(tomllib.loads(text), base=folder)

    with pytest.raises(DataError, match="no original to compare"):
        sf.measure(folder / "run/release", plan)


def test_a_record_that_cannot_be_read_is_said(folder):
    path = Path(folder / "run/private/run.json")
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["public"]["base_rates"] = {"illness": 3}
    path.write_text(json.dumps(facts), encoding="utf-8")

    with pytest.raises(DataError, match="record of public inputs"):
        judged(folder / "run", folder)


@pytest.mark.parametrize(
    "facts", [{"format": 1}, {"format": 2, "release": []}, {"format": 2, "release": {"files": [1]}}]
)
def test_a_file_that_is_no_record_is_said(folder, facts):
    (folder / "run/private/run.json").write_text(json.dumps(facts), encoding="utf-8")

    with pytest.raises(DataError, match="is no run of sfumato"):
        judged(folder / "run", folder)


def test_auditing_ones_own_run_needs_no_source_that_can_be_read(folder):
    expected = [str(verdict) for verdict in judged(folder / "run", folder)]
    (folder / "people.csv").unlink()
    (folder / "people.csv").mkdir()

    verdicts = judged(folder / "run", folder)

    assert [str(verdict) for verdict in verdicts] == expected
    assert any(note.startswith("The source cannot be read now") for note in notes(verdicts))
    with pytest.raises(DataError, match=r"people\.csv is a folder"):
        sf.measure(folder / "run", sf.Plan.load(folder / "plan.toml"))


def test_auditing_ones_own_run_needs_no_database_that_answers(tmp_path):
    with sqlite3.connect(tmp_path / "clinic.sqlite") as clinic:
        clinic.execute("create table stays (age integer, town text)")
        clinic.executemany("insert into stays values (?, ?)", [(20 + i % 9, "Rome") for i in range(40)])
    clinic.close()
    (tmp_path / "plan.toml").write_text(
        '[source]\ndatabase = "clinic.sqlite"\ntable = "stays"\n[columns.age]\nrole = "quasi-identifier"\n'
        '[columns.town]\nrole = "other"\n[[require]]\nmodel = "k-anonymity"\nk = 3\n',
        encoding="utf-8",
    )
    sf.run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path / "run", seed=3)
    expected = [str(verdict) for verdict in judged(tmp_path / "run", tmp_path)]

    for damage in (b"", b"no database at all"):
        (tmp_path / "clinic.sqlite").write_bytes(damage)
        verdicts = judged(tmp_path / "run", tmp_path)
        assert [str(verdict) for verdict in verdicts] == expected
        assert any(note.startswith("The source cannot be read now") for note in notes(verdicts))


def test_a_file_that_became_a_folder_is_one_that_has_changed(folder):
    expected = [str(verdict) for verdict in judged(folder / "run", folder)]
    (folder / "knowledge.csv").unlink()
    (folder / "knowledge.csv").mkdir()

    verdicts = judged(folder / "run", folder)

    assert [str(verdict) for verdict in verdicts] == expected
    assert origins(verdicts)["knowledge"] == "kept in the run"
    assert any("knowledge table has changed since the run was made, or is gone" in note for note in notes(verdicts))


def test_whoever_attacks_without_the_original_is_told(folder):
    plan = sf.Plan.load(folder / "plan.toml")
    said = "The original is not at hand: what an intruder gets out of it is not shown."
    assert not any(said in exposure.notes for exposure in sf.attack(folder / "run", plan))
    (folder / "people.csv").unlink()

    for way in ("run", "run/release/data.csv"):
        assert all(said in exposure.notes for exposure in sf.attack(folder / way, plan))
    assert said not in notes(judged(folder / "run", folder))


def test_a_population_is_that_of_then_wherever_its_requirement_stands(tmp_path):
    people = [f"{20 + i % 30},{('Rome', 'Oslo')[i % 2]}" for i in range(60)]
    for name, rows in (("people.csv", people), ("everybody.csv", people * 2)):
        (tmp_path / name).write_text("\n".join(["age,city", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(AMONG_ALL, encoding="utf-8")
    sf.run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path / "run", seed=3)
    more = '[[require]]\nmodel = "k-anonymity"\nk = 2\n' * 2
    (tmp_path / "plan.toml").write_text(AMONG_ALL.replace("[[require]]", more + "[[require]]", 1), encoding="utf-8")

    verdicts = judged(tmp_path / "run", tmp_path)

    assert set(origins(verdicts).values()) == {"given in the plan"}
    assert [note for note in notes(verdicts) if "changed" in note] == ["The plan has changed since the run was made."]


@pytest.mark.parametrize("lost", [("base_rates", "illness"), ("base_rates", "job")])
def test_what_a_damaged_record_lacks_is_taken_from_elsewhere(folder, lost):
    path = folder / "run/private/run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    del facts["public"][lost[0]][lost[1]]
    path.write_text(json.dumps(facts), encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert all(verdict.satisfied for verdict in verdicts)
    assert origins(verdicts)[f"base rates of {lost[1]!r}"] == "counted in the original"


@pytest.mark.parametrize("files", [None, {}])
def test_a_record_that_does_not_say_which_release_it_is_about_is_not_used(folder, files):
    path = folder / "run/private/run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["release"]["files"] = files
    if files is None:
        del facts["release"]["files"]
    path.write_text(json.dumps(facts), encoding="utf-8")

    verdicts = judged(folder / "run", folder)

    assert origins(verdicts)[RATES] == "counted in the original"
    assert any("of another release" in note for note in notes(verdicts))


def test_a_run_whose_release_is_named_by_a_link_is_judged_by_its_own_record(folder):
    (folder / "link").symlink_to(folder / "run" / "release", target_is_directory=True)
    (folder / "people.csv").unlink()

    verdicts = judged(folder / "link", folder)

    assert all(verdict.satisfied for verdict in verdicts)
    assert origins(verdicts)[RATES] == "kept in the run"


GATHERED = """
[source]
path = "people.csv"
person = "person"
[gather]
columns = { age = "first" }
[[gather.events]]
path = "visits.csv"
columns = { ward = "first" }
[columns.ward]
role = "sensitive-quasi-identifier"
domain = ["a", "b", "c"]
[columns."*"]
role = "other"
[[require]]
model = "sensitive-qid-closeness"
t = { ward = 0.4 }
"""


def test_cells_are_not_tested_by_events_that_were_edited_since(tmp_path):
    chance = random.Random(3)
    wards = [chance.choice("abc") for _ in range(900)]
    (tmp_path / "people.csv").write_text(
        "\n".join(["person,age", *(f"{i},{i}" for i in range(900))]) + "\n", encoding="utf-8"
    )
    (tmp_path / "visits.csv").write_text(
        "\n".join(["person,ward", *(f"{i},{w}" for i, w in enumerate(wards))]) + "\n", encoding="utf-8"
    )
    (tmp_path / "plan.toml").write_text(GATHERED, encoding="utf-8")
    sf.run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path / "run", seed=3)
    expected = [str(verdict) for verdict in judged(tmp_path / "run", tmp_path)]
    chance.shuffle(wards)
    (tmp_path / "visits.csv").write_text(
        "\n".join(["person,ward", *(f"{i},{w}" for i, w in enumerate(wards))]) + "\n", encoding="utf-8"
    )

    verdicts = judged(tmp_path / "run", tmp_path)

    assert [str(verdict) for verdict in verdicts] == expected
    assert any("gather.events[1].path has changed" in note for note in notes(verdicts))
