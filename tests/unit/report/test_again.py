"""How to reproduce a run."""

from __future__ import annotations

from sfumato.report import again
from sfumato.report.page import render


def test_the_command_can_be_pasted(facts):
    facts["plan"]["path"] = "my plan; rm -rf.toml"

    assert "sfumato anonymize &#39;my plan; rm -rf.toml&#39; --out DIR" in render(facts)


def test_a_run_in_python_shows_no_command(facts):
    html = render(facts | {"plan": {"path": None, "sha256": None}, "source": {"rows": 400}})

    assert "sfumato anonymize" not in html
    assert "A plan made in Python, data from memory" in html


def test_no_seed_is_shown(facts):
    facts["seed"] = 987654321

    assert "987654321" not in render(facts)


def test_what_is_not_known_is_left_out():
    assert again.content({}) is None
    assert again.content({"format": 1})["pairs"] == [("Format of run.json", "1", False)]
