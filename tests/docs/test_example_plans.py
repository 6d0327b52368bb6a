"""Every plan in examples/ runs as it is, and its release passes a second audit from disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf

PLANS = sorted((Path(__file__).parents[2] / "examples").glob("*/plan.toml"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.parent.name)
def test_an_example_runs(path, tmp_path):
    plan = sf.Plan.load(path)

    run = sf.run(plan, tmp_path / "run")

    assert all(verdict.satisfied for verdict in run.verdicts)
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    assert (tmp_path / "run" / "private" / "report.html").is_file()


def test_there_are_examples():
    assert "hospital" in {path.parent.name for path in PLANS}
