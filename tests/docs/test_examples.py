"""Every example in the documentation runs: `>>>` blocks as doctests, `$` lines as commands; one folder a page."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commands import sfumato
from sfumato.anonymizers import ANONYMIZERS
from sfumato.attacks import ATTACKS
from sfumato.estimators import ESTIMATORS
from sfumato.metrics import METRICS
from sfumato.models import PRIVACY_MODELS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_LINES = re.compile(r"\s*^\.\.\.$\s*", re.MULTILINE)  # a line of dots stands for any lines, also for none
SHELL = set("|<>;&*?$`(){}~#")  # what only a shell reads
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@every_page
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A fence closes an example; doctest would take it for expected output.
    text = page.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=LOOSE)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@every_page
def test_plan_snippets_are_valid_toml(page):
    blocks = page.read_text(encoding="utf-8").split("```toml")[1:]
    for block in blocks:
        assert tomllib.loads(block.split("```", 1)[0])


@pytest.mark.posix
@every_page
def test_commands_print_what_the_page_shows(page, tmp_path):
    environment = {
        **os.environ,
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for command, expected in commands_of(page.read_text(encoding="utf-8")):
        if command.startswith("sfumato ") and not set(command) & SHELL:
            done = sfumato(*shlex.split(command)[1:], cwd=tmp_path, COLUMNS="120")
        else:
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
            )
        shown = done.stdout + (f"exit code {done.returncode}\n" if done.returncode else "")
        assert doctest.OutputChecker().check_output(expected, shown, LOOSE), (
            f"{page.name}: $ {command}\nexpected:\n{expected}\nprinted:\n{shown}\n{done.stderr}"
        )


def commands_of(text):
    """Yield each command of the console blocks with what it is said to print, `exit code N` included."""
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command = command[:-1] + more
            yield command, ANY_LINES.sub("...", expected)


def test_pages_show_plans_and_commands_and_none_is_passed_over():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]

    assert sum(text.count("```toml") for text in texts) > 20
    assert sum(len([*commands_of(text)]) for text in texts) > 20
    for text in texts:
        assert len(CONSOLE.findall(text)) == text.count("```console")
        assert all(re.match(r"\$ ", block) for block in CONSOLE.findall(text))


def test_every_page_is_in_the_contents():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in contents


def part_of_the_docs(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "reference" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_names_every_member_of_every_family():
    page = part_of_the_docs("generated").python()

    for family in (PRIVACY_MODELS, ANONYMIZERS, METRICS, ATTACKS, ESTIMATORS):
        for member in family.values():
            assert f"::: {member.__module__}.{member.__qualname__}" in page


def test_tables_of_the_plan_are_those_that_the_parser_goes_by():
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")

    assert part_of_the_docs("generated").with_tables(page) == page, "run python docs/reference/generated.py"
    assert page.count("<!-- table: ") == page.count("<!-- end -->") == 14


def test_examples_of_docstrings_get_a_fence():
    pytest.importorskip("griffe", reason="mkdocstrings is not installed: `make docs` installs it")
    fenced = part_of_the_docs("fenced").fenced

    assert fenced("One.\n\n>>> 1 + 1\n2\n\nTwo.") == "One.\n\n```python\n>>> 1 + 1\n2\n```\n\nTwo."
    assert fenced(">>> 1\n1") == "```python\n>>> 1\n1\n```"
    assert fenced("no example") == "no example"


def test_the_reference_names_every_command_and_option():
    page = part_of_the_docs("generated").commands()

    for command in (
        "demo",
        "init",
        "schema",
        "explain",
        "anonymize",
        "audit",
        "measure",
        "attack",
        "reconstruct",
        "report",
    ):
        assert f"## sfumato {command}" in page
    assert "`--out` (required)" in page


def test_the_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: `make docs` installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "reference" / "commands" / "index.html").is_file()
