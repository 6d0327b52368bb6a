"""What a newcomer finds beside the code says what is so: targets, hooks, workflows, citations."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

import sfumato
from house import PROJECT, ROOT
from sfumato.anonymizers import ANONYMIZERS
from sfumato.cli import app
from sfumato.models import PRIVACY_MODELS

DEV = {re.split(r"[<>=]", each)[0] for each in PROJECT["project"]["optional-dependencies"]["dev"]}
YAML = sorted(
    [*ROOT.glob("*.y*ml"), *ROOT.glob(".*.yaml"), *ROOT.glob("*.cff"), *(ROOT / ".github").rglob("*.yml")],
    key=str,
)
TOOLS = {"ruff": "ruff", "lint-imports": "import-linter", "mypy": "mypy", "pytest": "pytest"}  # command -> package


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


class OneOfEach(yaml.SafeLoader):
    """Refuses a key that is given twice, of which YAML would keep the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(map(repr, keys))), f"a key is given twice: {keys}"
        return super().construct_mapping(node, deep)


@pytest.mark.parametrize("path", YAML, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_of_settings_is_valid_yaml_with_each_key_once(path):
    assert yaml.load(path.read_text(encoding="utf-8"), Loader=OneOfEach)


def test_all_files_of_settings_are_looked_at():
    assert {path.name for path in YAML} >= {
        ".pre-commit-config.yaml",
        "CITATION.cff",
        "mkdocs.yml",
        "tests.yml",
        "wrong.yml",
        "missing.yml",
    }


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_lists_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())

    done = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)

    shown = {line.split()[1] for line in done.stdout.splitlines()}
    assert shown == targets - {"check"}  # the same as `make test`, by the name that other projects use
    assert all(len(line.split(maxsplit=2)) == 3 for line in done.stdout.splitlines())


def test_tests_and_what_they_start_elsewhere_run_this_tree(tmp_path):
    code = "import sfumato; print(sfumato.__file__)"

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)

    assert Path(sfumato.__file__).parent == ROOT / "src" / "sfumato"
    assert Path(done.stdout.strip()).parent == ROOT / "src" / "sfumato"


def test_hooks_run_what_make_check_runs_and_fetch_nothing():
    repositories = loaded(".pre-commit-config.yaml")["repos"]
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {hook["entry"].removeprefix("make ") for hook in hooks}
    recipes = [re.search(rf"^{target}: install .*\n\t\$\(BIN\)/(\S+)", makefile, re.MULTILINE) for target in targets]
    commands = {recipe[1] for recipe in recipes if recipe is not None}

    assert [repository["repo"] for repository in repositories] == ["local"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert targets <= set(re.search(r"^check: install\n.*-j2 (.*)$", makefile, re.MULTILINE)[1].split())
    assert commands == {"ruff", "lint-imports", "mypy"}
    assert {TOOLS[command] for command in commands} <= DEV


def test_workflows_cover_every_system_and_version():
    jobs = loaded(".github/workflows/tests.yml")["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")

    assert {system.split("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["python"][0] == oldest
    assert {"check", "wheel", "docs"} <= set(jobs)
    wheel = " ".join(step.get("run", "") for step in jobs["wheel"]["steps"])
    assert "python -m build" in wheel
    assert "sfumato demo" in wheel
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    paths = re.findall(r"(?:^|\s)(\.ci/\S+)", "\n".join(scripts))
    assert paths
    assert all((ROOT / path).is_file() for path in paths)
    assert all("timeout-minutes" in job for job in jobs.values())


@pytest.mark.parametrize("name", ["wrong", "missing"])
def test_issue_forms_ask_each_question_once(name):
    form = loaded(f".github/ISSUE_TEMPLATE/{name}.yml")
    questions = [part for part in form["body"] if part["type"] != "markdown"]

    assert {"name", "description", "body"} <= set(form)
    assert all(part["type"] in ("textarea", "input", "markdown") for part in form["body"])
    assert len({part["id"] for part in questions}) == len(questions)
    assert all(part["attributes"]["label"] for part in questions)


def test_the_form_about_faults_says_what_not_to_paste_and_where_leaks_go():
    form = loaded(".github/ISSUE_TEMPLATE/wrong.yml")

    assert "no personal data" in form["body"][0]["attributes"]["value"]
    assert "SECURITY.md" in form["body"][0]["attributes"]["value"]
    assert (ROOT / "SECURITY.md").is_file()


def test_what_promises_cover_speaks_of_models_and_files_that_there_are():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", text))

    assert "What the promises cover" in text
    assert "How to report" in text
    assert "local-differential-privacy" in named, "what has this name is not to be taken for more than it is"
    assert named <= set(PRIVACY_MODELS)
    assert (ROOT / "docs" / "concepts").is_dir()


def test_citations_are_of_this_version_and_name_a_source_of_every_model():
    citation = loaded("CITATION.cff")
    sources = [model for paper in citation["references"] for model in paper["notes"].split(", ")]

    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["version"] == sfumato.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["abstract"] == PROJECT["project"]["description"]
    about_anonymizers = {source for source in sources if source.startswith("the anonymizer ")}
    assert set(sources) - about_anonymizers == set(PRIVACY_MODELS)
    assert {source.removeprefix("the anonymizer ") for source in about_anonymizers} <= set(ANONYMIZERS)
    for paper in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(paper)
        assert all(author["family-names"] for author in paper["authors"])


def commands(group, before=()):
    """Each command with its name, also those of groups of commands."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


def test_a_word_of_the_command_line_means_the_same_in_every_command():
    """Options and arguments of one name take the same; what is written may be a file or a folder."""
    taken = {}
    for name, command in commands(get_command(app)):
        for each in command.params:
            takes = "FILE or DIR" if each.metavar in ("FILE", "DIR") else each.metavar
            taken.setdefault(each.name, {}).setdefault(takes, []).append(name[-1])

    assert len(taken) > 50
    assert {word: what for word, what in taken.items() if len({str(each).strip("[]") for each in what}) > 1} == {}


def test_every_question_about_any_table_calls_it_the_same():
    known = get_command(app).commands

    asked = {name: [each.name for each in known[name].params][:3] for name in ("audit", "measure", "attack")}
    assert set(map(tuple, asked.values())) == {("data", "plan", "table")}


def test_every_tool_that_the_makefile_calls_is_installed_by_it():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    called = set(re.findall(r"\$\(BIN\)/([\w-]+)", text)) - {"python", "sfumato", "mkdocs"}

    assert called == set(TOOLS)
    assert {TOOLS[command] for command in called} <= DEV


def test_what_newcomers_are_told_to_type_is_there():
    pages = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
    said = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in pages)
    text = "\n".join(re.findall(r"```\n.*?```|`[^`\n]+`", said, re.DOTALL))
    known = get_command(app).commands
    typed = re.findall(r"(?:^|`)sfumato ([a-z]+)([^`#\n]*)", text, re.MULTILINE)
    targets = set(
        re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    )
    made = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    scripts = set(re.findall(r"python (benchmarks/\w+\.py)", text))

    assert {"anonymize", "audit", "sweep"} <= {name for name, _ in typed} <= set(known)
    for name, rest in typed:
        taken = {option for each in known[name].params for option in each.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= taken, name
    assert {"demo", "test"} <= made <= targets
    assert len(scripts) > 3
    assert all((ROOT / script).is_file() for script in scripts)
