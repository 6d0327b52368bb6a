"""What `import sfumato as sf` offers: every model, every error, the types that users need to name; typed, and lazy."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
import sfumato.errors
from sfumato.models import PRIVACY_MODELS

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "in_python.py"


WRONG = {  # what a type checker must find in it, or it would find nothing in the script either
    "sf.KAnonymity(k='five')": "arg-type",
    "sf.NoSuchModel": "attr-defined",
    "sf.LDiversity(sensitive='a', l=2).no_such_thing": "attr-defined",
    "sf.audit()": "call-arg",
    "sf.audit('out', sf.Plan.load('plan.toml'))[0].satisfied.upper()": "attr-defined",
    "sf.DataError.exit_code.upper()": "attr-defined",
}


@pytest.mark.slow
def test_the_types_of_a_script_fit_and_a_wrong_use_is_found(tmp_path):
    """With mypy as a user would run it: strictly, without our settings."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import sfumato as sf\n" + "\n".join(WRONG) + "\n", encoding="utf-8")
    options = ["--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'consumer'}"]
    options += ["--follow-imports=silent", "--disable-error-code=import-untyped"]  # only the two files are judged
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(SCRIPT), str(wrong)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        check=False,
    )

    found = [line for line in done.stdout.splitlines() if "error:" in line]
    assert all("wrong.py:" in line for line in found), done.stdout
    assert [re.search(r"\[([\w-]+)\]$", line)[1] for line in found] == list(WRONG.values()), done.stdout + done.stderr


@pytest.mark.slow
def test_the_script_runs():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--rows", "150"], capture_output=True, check=False, encoding="utf-8"
    )

    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert [f"{name} holds" in first for name in PRIVACY_MODELS] == [True] * len(PRIVACY_MODELS)
    assert any(line.startswith("cannot be met:") for line in others)
    assert any(line.startswith("no such model:") for line in others)
    assert any(re.match(r"\d problems: .*columns\.age", line) for line in others)


def test_the_script_names_every_model():
    named = {node.attr for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8"))) if is_ours(node)}

    assert {model.__name__ for model in PRIVACY_MODELS.values()} <= named
    assert named <= set(sfumato.__all__)


def is_ours(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sf"


def test_every_model_and_every_error_is_offered():
    errors = {
        name
        for name, member in vars(sfumato.errors).items()
        if isinstance(member, type) and issubclass(member, sfumato.errors.SfumatoError)
    }

    assert {model.__name__ for model in PRIVACY_MODELS.values()} | errors <= set(sfumato.__all__)


def test_every_name_is_there_for_people_and_for_type_checkers():
    tree = ast.parse((ROOT / "src" / "sfumato" / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        name.asname: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    seen = {name: module for name, module in seen.items() if name is not None}

    assert {*seen, "__version__"} == set(sfumato.__all__) == set(dir(sfumato))
    for name, module in seen.items():
        assert getattr(sfumato, name) is getattr(sys.modules[module], name)
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        sfumato.no_such_thing  # noqa: B018


def test_what_verbs_take_and_give_is_offered_too():
    """Types of a signature that a user would have to name are names of sfumato, or of Python."""
    from sfumato import api

    offered = (
        set(sfumato.__all__) | {"Any", "Callable", "Mapping", "Sequence", "Path"} | set(vars(__import__("builtins")))
    )
    functions = {name: vars(api)[name] for name in sfumato.__all__ if inspect.isfunction(vars(api).get(name))}
    functions["stage"] = sfumato.Progress.stage  # which a user may write
    assert {"draft", "anonymize", "audit", "load", "describe"} <= set(functions)
    for name, function in functions.items():
        for words in function.__annotations__.values():
            used = set(re.findall(r"[A-Za-z]\w*", words))
            assert used - offered <= {"Engine", "Estimator"}, name  # the names of these do for users


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "src" / "sfumato" / "py.typed").is_file()
