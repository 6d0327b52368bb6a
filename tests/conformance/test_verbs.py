"""Every verb, every way, the same answer: what is judged, measured or attacked may be named in any way that it has.

The folder of a run, its `release` folder and `run.release` come with a description, and give the same answer. A file
or a frame comes without: all of them give that answer too, or one clear error that says what is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import polars
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato as sf
from commands import told
from families import FAMILIES, plan_in
from sfumato.data.schema import Role
from sfumato.errors import SfumatoError
from sfumato.models import PRIVACY_MODELS

DESCRIBED = ("run folder", "release folder", "run", "release of a run", "release in memory")
BARE = ("file", "arrow", "pandas", "polars")
TYPED = ("run folder", "release folder", "file")  # what a command can be given
LISTED = {"audit": "verdicts", "measure": "measurements", "attack": "attacks"}  # verb -> its list in the JSON object

every_family = pytest.mark.parametrize("family", FAMILIES)
every_verb = pytest.mark.parametrize("verb", LISTED)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """For each family its plan and one release of it, named in every way; made when it is first asked for."""
    folder, done = tmp_path_factory.mktemp("verbs"), {}

    def make(family):
        if family not in done:
            path = plan_in(folder, family)
            plan, out = sf.Plan.load(path), path.parent / "run"
            run = sf.run(plan, out, seed=7)
            (data,) = (file for file in (out / "release").iterdir() if file.stem == "data")
            alone = shutil.copy(data, path.parent / f"alone{data.suffix}")
            table = run.release.data
            ways = {
                "run folder": out,
                "release folder": out / "release",
                "run": run,
                "release of a run": run.release,
                "release in memory": sf.anonymize(source_of(plan), plan, seed=7).release,
                "file": alone,
                "arrow": table,
                "pandas": table.to_pandas(),
                "polars": polars.from_arrow(table),
            }
            done[family] = SimpleNamespace(plan=plan, path=path, ways=ways)
        return done[family]

    return make


def source_of(plan):
    """The plan's source as a frame, all cells text, as a user would read it; transactions as lists."""
    path = plan.source.path
    if path.suffix == ".txt":
        return pyarrow.table({"items": [line.split() for line in path.read_text(encoding="utf-8").splitlines()]})
    header = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(header, pyarrow.string()))
    return pyarrow.csv.read_csv(path, convert_options=options)


def shown(verb, answer):
    """What every way must agree on: verdicts; what was measured, or tried, and what came of it."""
    if verb == "audit":
        kept = ("model", "satisfied", "reached", "required", "groups", "failing", "failing_rows")
        return [{key: value for key, value in verdict.items() if key in kept} for verdict in answer]
    if verb == "measure":
        return [(entry["name"], f"{entry['value']:.9g}") for entry in answer]
    return [(entry["attack"], f"{entry['after']['worst']:.9g}", entry["after"]["exposed"]) for entry in answer]


def outcome(call):
    """An answer, or a refusal that says what is missing; anything else is a fault."""
    try:
        return call()
    except SfumatoError as error:
        return error


def in_python(verb, case, way):
    found = getattr(sf, verb)(case.ways[way], case.plan)
    return shown(verb, json.loads(json.dumps([entry.as_dict() for entry in found], default=str)))


def typed(verb, case, way):
    return shown(verb, told(verb, case.ways[way], "--plan", case.path)[LISTED[verb]])


@pytest.mark.slow
@every_family
@every_verb
def test_whatever_has_a_description_gets_one_answer(made, family, verb):
    case = made(family)
    wanted = in_python(verb, case, "run folder")

    assert wanted
    for way in DESCRIBED:
        assert in_python(verb, case, way) == wanted, way
    for way in set(DESCRIBED) & set(TYPED):
        assert typed(verb, case, way) == wanted, way


@pytest.mark.slow
@every_family
@every_verb
def test_files_and_frames_get_that_answer_or_say_what_is_missing(made, family, verb):
    case = made(family)
    wanted = in_python(verb, case, "run folder")

    found = {way: outcome(lambda way=way: in_python(verb, case, way)) for way in BARE}
    found["file, typed"] = outcome(lambda: typed(verb, case, "file"))

    refusals = [answer for answer in found.values() if isinstance(answer, SfumatoError)]
    # Only by what chances cells were drawn is nowhere but in the description.
    by_chance = any(spec.role is Role.SENSITIVE_QUASI_IDENTIFIER for spec in case.plan.schema.columns.values())
    assert bool(refusals) == by_chance, found
    if refusals:
        assert len({str(answer) for answer in found.values()}) == 1, found
        assert {error.exit_code for error in refusals} == {2}
        assert len(str(refusals[0]).splitlines()) >= 2, "what was found, and what to do"
    else:
        assert found == dict.fromkeys(found, wanted)


@pytest.mark.slow
@every_family
@every_verb
def test_an_original_given_as_a_frame_stands_for_the_source(made, family, verb):
    case = made(family)
    wanted = in_python(verb, case, "run folder")
    without = sf.Plan.from_dict(without_source(case.path), base=case.path.parent)

    found = getattr(sf, verb)(case.ways["release of a run"], without, original=source_of(case.plan))

    assert shown(verb, json.loads(json.dumps([entry.as_dict() for entry in found], default=str))) == wanted


@pytest.mark.slow
@every_verb
def test_whoever_compares_with_a_source_that_was_edited_is_told(made, tmp_path, verb):
    path = plan_in(tmp_path, "classes")
    plan = sf.Plan.load(path)
    sf.run(plan, path.parent / "run", seed=7)
    lines = plan.source.path.read_text(encoding="utf-8").splitlines(keepends=True)
    plan.source.path.write_text("".join([*lines, lines[1]]), encoding="utf-8")

    found = getattr(sf, verb)(path.parent / "run", sf.Plan.load(path))
    typed = told(verb, path.parent / "run", "--plan", path)

    assert found
    for notes in (*(each.notes for each in found), typed["notes"]):
        assert any("source has changed" in note for note in notes)
        assert any("source of today" in note for note in notes) == (verb != "audit")


@pytest.mark.slow
def test_an_attack_that_takes_the_original_is_not_left_out_in_silence(made):
    case = made("classes")
    without = sf.Plan.from_dict(without_source(case.path), base=case.path.parent)

    found = sf.attack(case.ways["release of a run"], without)

    names = {exposure.attack for exposure in found}
    assert "printed-figures" not in names
    assert {exposure.attack for exposure in sf.attack(case.ways["run folder"], case.plan)} == names | {
        "printed-figures",
        "minimality",
    }
    assert all(any(note.startswith("printed-figures was not tried") for note in each.notes) for each in found)


@pytest.mark.slow
@every_verb
@pytest.mark.parametrize("family", ["classes", "cells"])
@pytest.mark.parametrize("way", ["run folder", "release folder"])
def test_a_folder_whose_description_is_gone_is_told_so(made, tmp_path, family, verb, way):
    case = made(family)
    run = shutil.copytree(case.ways["run folder"], tmp_path / "run")
    (run / "release" / "release.json").unlink()

    with pytest.raises(SfumatoError, match=r"holds data\.\w+, but no release\.json") as error:
        getattr(sf, verb)(run if way == "run folder" else run / "release", case.plan)
    assert error.value.exit_code == 2


SETS = """
[source]
path = "source.csv"
[columns.job]
role = "sensitive-quasi-identifier"
[columns.household]
role = "sensitive-quasi-identifier"
domain = ["1", "2", "3", "4", "5 or more"]
[columns.ward]
role = "other"
[[require]]
model = "sensitive-qid-diversity"
l = { job = 3, household = 2 }
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_cells_that_list_values_are_sets_in_files_and_in_frames(tmp_path, form):
    path = plan_in(tmp_path, "cells")
    path.write_text(f'{SETS}[release]\nformat = "{form}"\n', encoding="utf-8")
    plan = sf.Plan.load(path)
    run = sf.run(plan, tmp_path / "run", seed=7)
    alone = shutil.copy(tmp_path / "run" / "release" / f"data.{form}", tmp_path / f"alone.{form}")

    (of_frame,) = sf.audit(run.release.data, plan)
    (of_file,) = sf.audit(alone, plan)

    assert of_frame.satisfied
    assert shown("audit", [of_file.as_dict()]) == shown("audit", [of_frame.as_dict()])
    nowhere = sf.Plan.from_dict(without_source(path), base=path.parent)
    if form == "csv":
        with pytest.raises(SfumatoError, match="Declare its domain in the plan"):
            sf.audit(alone, nowhere)
    else:
        assert sf.audit(alone, nowhere)[0].satisfied


def without_source(path):
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    said = {key: value for key, value in document.pop("source").items() if key in ("missing", "person")}
    return document | ({"source": said} if said else {})


@pytest.mark.slow
def test_every_model_is_reached(made):
    judged = {model.name for family in FAMILIES for model in made(family).plan.policy}

    assert judged == set(PRIVACY_MODELS)


@pytest.mark.slow
@every_verb
def test_a_process_of_its_own_says_the_same(made, verb):
    case = made("terms")
    words = [sys.executable, "-m", "sfumato", verb, case.ways["release folder"], "--plan", case.path, "--json"]

    done = subprocess.run(words, capture_output=True, encoding="utf-8", env=os.environ | {"NO_COLOR": "1"}, check=True)

    answer = json.loads(done.stdout)[LISTED[verb]]
    assert shown(verb, answer) == in_python(verb, case, "run folder")
