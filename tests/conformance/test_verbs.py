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

    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}, check=True)

    answer = json.loads(done.stdout)[LISTED[verb]]
    assert shown(verb, answer) == in_python(verb, case, "run folder")
