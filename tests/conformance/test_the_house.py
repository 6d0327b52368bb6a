"""What once went wrong between the rooms, for every family: own runs without their source, edited sources, waste."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest

import sfumato as sf
from commands import told
from families import FAMILIES, plan_in
from sfumato.data.release import Release
from sfumato.engines import LocalEngine
from sfumato.pipeline import original
from sfumato.pipeline.making import EXAMPLES

every_family = pytest.mark.parametrize("family", FAMILIES)
KEPT = ("model", "satisfied", "reached", "required", "groups", "failing", "failing_rows")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """For each family a folder with its plan, its source and a run; made when it is first asked for."""
    folder, done = tmp_path_factory.mktemp("house"), {}

    def make(family):
        if family not in done:
            path = plan_in(folder, family)
            sf.run(sf.Plan.load(path), path.parent / "run", seed=7)
            done[family] = path.parent
        return done[family]

    return make


@pytest.fixture
def own(made, family, tmp_path):
    """A copy of a run with plan and source, which a test may spoil."""
    return shutil.copytree(made(family), tmp_path / family)


def source_in(folder):
    return sf.Plan.load(folder / "plan.toml").source.path


def audited(folder):
    answer = told("audit", folder / "run", "--plan", folder / "plan.toml")
    return [{key: verdict[key] for key in KEPT} for verdict in answer["verdicts"]], json.dumps(answer)


@pytest.mark.slow
@every_family
def test_an_audit_of_ones_own_run_needs_no_source(own):
    before, _ = audited(own)
    source_in(own).unlink()

    after, _ = audited(own)

    assert after == before
    assert all(verdict["satisfied"] for verdict in after)


@pytest.mark.slow
@every_family
def test_a_source_that_was_edited_since_changes_no_verdict_and_is_said(own):
    before, said = audited(own)
    assert "has changed since" not in said
    lines = source_in(own).read_text(encoding="utf-8").splitlines(keepends=True)
    source_in(own).write_text("".join(lines[: len(lines) // 3]), encoding="utf-8")

    after, said = audited(own)

    assert after == before
    assert "The source has changed since the run was made" in said


@pytest.fixture
def counted(monkeypatch):
    """How often sources are read or only digested, tables encoded, and releases made into Arrow tables."""
    counts = Counter()

    def count(owner, name, what):
        usual = getattr(owner, name)

        def counting(*arguments, **options):
            few = isinstance(arguments[0], Release) and arguments[0].n_rows <= EXAMPLES  # rows that the report shows
            counts[what] += not few
            return usual(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    count(original, "digest", "sources digested by themselves")
    count(LocalEngine, "read", "sources read")
    count(LocalEngine, "encode", "tables encoded")
    count(Release, "table", "tables made of a release")
    return counts


@pytest.mark.slow
@every_family
def test_a_run_reads_and_encodes_its_source_once_and_makes_no_table_that_nobody_reads(made, family, tmp_path, counted):
    plan = sf.Plan.load(made(family) / "plan.toml")
    counted.clear()

    run = sf.run(plan, tmp_path / "run", seed=7)

    assert counted["sources read"] == 1
    assert counted["sources digested by themselves"] == 0
    assert counted["tables encoded"] == 1
    assert counted["tables made of a release"] == 0
    assert run.release.data.num_rows == run.facts["release"]["rows"]
    assert counted["tables made of a release"] == 1


@pytest.mark.slow
@every_family
@pytest.mark.parametrize("verb", ["audit", "measure", "attack"])
def test_a_verb_reads_and_encodes_the_source_at_most_once(made, family, counted, verb):
    folder = made(family)
    counted.clear()

    told(verb, folder / "run", "--plan", folder / "plan.toml")

    assert counted["sources read"] <= 1
    assert counted["tables encoded"] == counted["sources read"]
    # The run says all that was public when it was made; only claims of chance are tested by the source, where it is.
    assert verb != "audit" or counted["sources read"] == (family in ("cells", "values", "hospital"))
    # Who reads it digests it on the way; else an audit asks whether it is the same.
    assert counted["sources digested by themselves"] == (not counted["sources read"])


@pytest.mark.slow
def test_what_was_left_for_later_reads_and_encodes_the_source_once(made, tmp_path, counted):
    sf.run(sf.Plan.load(made("classes") / "plan.toml"), tmp_path / "run", seed=7, measure=False, attack=False)
    counted.clear()

    sf.complete(tmp_path / "run", made("classes") / "plan.toml")

    assert counted["sources read"] == counted["tables encoded"] == 1
    assert counted["sources digested by themselves"] == 0


@pytest.mark.slow
def test_what_is_counted_here_is_what_encodes(counted, made):
    """Were the engine no longer asked, the counts above would say nothing."""
    folder = made("classes")
    counted.clear()

    sf.measure(folder / "run", sf.Plan.load(folder / "plan.toml"))

    assert counted["sources read"] == counted["tables encoded"] == 1
