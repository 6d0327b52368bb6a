"""A poor terminal: 60 columns, no colour, no UTF-8. Everything stays readable, and JSON stays JSON."""

from __future__ import annotations

import json
import random

import pytest

import commands

POOR = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "60", "NO_COLOR": "1", "TERM": "dumb"}
COMMANDS = ("demo", "init", "explain", "anonymize", "audit", "measure", "attack", "reconstruct", "sweep", "report")


def sfumato(folder, *words):
    return commands.sfumato(*words, cwd=folder, **POOR)


def readable(done, *, wide=False):
    """Return standard output, after making sure that a poor terminal can show all of it."""
    for text in (done.stdout, done.stderr):
        assert text.isascii()
        assert "\x1b" not in text
        assert "Traceback" not in text
        assert wide or max(map(len, text.splitlines()), default=0) <= 60, text
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("poor")
    chance = random.Random(2)
    lines = ["Größe,Straße,diagnosis (ärztlich)"]
    for _ in range(80):
        street, illness = (
            chance.choice(["Müllerweg", "Øster", "日本"]),
            chance.choice(["Übelkeit", "Fußpilz", "łupież"]),
        )
        lines.append(f"{chance.randint(150, 199)},{street},{illness}")
    (folder / "Überblick.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "quasi-identifier" in readable(sfumato(folder, "init", "Überblick.csv"))
    done = sfumato(folder, "anonymize", "plan.toml", "--out", "out")
    assert done.returncode == 0
    assert "rows may leave the house" in " ".join(readable(done).split())
    return folder


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_readable(command, tmp_path):
    done = sfumato(tmp_path, *([command] if command else []), "--help")

    assert done.returncode == 0
    assert "Usage" in readable(done)


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (0, ["explain", "plan.toml"]),
        (0, ["audit", "out", "--plan", "plan.toml"]),
        (1, ["audit", "Überblick.csv", "--plan", "plan.toml"]),
        (0, ["measure", "out", "--plan", "plan.toml"]),
        (0, ["attack", "out", "--plan", "plan.toml"]),
        (0, ["sweep", "plan.toml", "--vary", "k=2,5,81", "--out", "sweep"]),
        (0, ["report", "out"]),
        (0, ["demo", "--rows", "200", "--out", "demo"]),
        (0, ["init", "Überblick.csv", "--out", "Entwürfe.toml"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_output_is_readable(folder, exit_code, words):
    done = sfumato(folder, *words)

    assert done.returncode == exit_code, done.stderr
    assert readable(done).strip()


def test_what_a_plan_promises_stays_under_its_requirement(folder):
    text = readable(sfumato(folder, "explain", "plan.toml"))

    promised = text.partition("requirement by")[2].partition("\n")[2].partition("\nThe release is written")[0]
    lines = [line for line in promised.partition("- ")[2].splitlines() if line.strip()]
    assert len(lines) > 6
    assert all(line.startswith(("- ", "  ")) for line in lines[1:]), promised


def test_errors_are_readable(folder):
    done = sfumato(folder, "anonymize", "Entwürfe-nicht.toml", "--out", "new")

    assert done.returncode == 2
    readable(done, wide=True)  # lines of errors are left to the terminal to break: they are copied into mails


@pytest.mark.parametrize("words", [["explain", "plan.toml"], ["audit", "out", "--plan", "plan.toml"]])
def test_json_reads_back_as_it_was(folder, words):
    text = readable(sfumato(folder, *words, "--json"), wide=True)

    assert json.loads(text)
    if words[0] == "explain":
        assert json.loads(text)["columns"][0]["name"] == "Größe"
