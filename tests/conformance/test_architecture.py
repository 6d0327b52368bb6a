"""ARCHITECTURE.md is true as far as can be checked: rooms, order, paths, names, lists and laws."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import fields

import pytest

from house import FILES, PROJECT, ROOT, SOURCE, layers, parsed, rooms
from sfumato.data.knowledge import PublicInputs

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def part(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)[1]


def cells(title):
    """The cells of the table below a heading, without its head."""
    lines = [line for line in part(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def test_every_room_is_named_and_every_room_that_is_named_exists():
    named = [name for row in cells("The rooms") for name in quoted(row[0])]

    assert sorted(named) == sorted(f"{path.name}/" if path.is_dir() else path.name for path in rooms())


def test_rooms_stand_in_the_order_of_their_layers():
    shown = [{name.strip("/").removesuffix(".py") for name in quoted(row[0])} for row in cells("The rooms")]

    assert shown == layers()[::-1]


def test_every_path_that_is_named_exists():
    paths = {name for name in quoted(TEXT) if re.fullmatch(r"[\w./-]+(/|\.(py|md|cff|toml|json))", name)}
    elsewhere = {"private/run.json", "release.json", "run.json"}  # what a run leaves

    assert len(paths) > 40
    for name in paths - elsewhere:
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


DEFINED = r"^ *(?:(?:class|def) |(?=\w+(?::| = )))(\w+)"  # classes, functions, fields and names that get a value


def test_every_name_of_the_code_exists():
    named = {name for name in quoted(TEXT) if re.fullmatch(r"[A-Z]\w+(\.[a-z_]+)?|[a-z]+_[a-z_]+", name)}
    named -= {name for name in named if (ROOT / name).exists()}
    defined = {name for path in FILES for name in re.findall(DEFINED, path.read_text(encoding="utf-8"), re.MULTILINE)}

    assert {"Case", "Recoding.tree", "SECRET_ROLES", "also_meets"} <= named
    assert {each for name in named for each in name.split(".")} - {"Fraction"} <= defined


def test_the_rooms_that_know_no_single_member_are_those_of_the_rule():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (rule,) = (each for each in contracts if each["name"] == "The house knows lists, never members")
    told = re.search(r"^The house knows lists(.*?)\simport no single", TEXT, re.MULTILINE | re.DOTALL)

    named = {name.strip("/").removesuffix(".py") for name in quoted(told[1])}
    assert named == {module.removeprefix("sfumato.") for module in rule["source_modules"]}


def test_one_file_of_the_plan_reads_rows():
    readers = {
        path.name
        for path in (SOURCE / "plan").glob("*.py")
        if re.search(
            r"^from sfumato\.data\.files import .*\b(read_table|read_digested|sample)\b",
            path.read_text(encoding="utf-8"),
            re.M,
        )
    }

    assert readers == {"preview.py"}
    assert "(`plan/preview.py`)" in part("The rooms")


def test_audits_that_decide_up_to_a_tolerance_are_named():
    inexact = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if path.is_relative_to(SOURCE / "models") and "TOLERANCE" in path.read_text(encoding="utf-8")
    }
    (told,) = re.findall(r"- \*\*Exactness\.\*\*(.*?)\n- ", TEXT, re.DOTALL)

    assert inexact
    assert inexact == {name for name in quoted(told) if name.endswith(".py")}


def test_public_inputs_are_told():
    (told,) = re.findall(r"`PublicInputs`: ([^)]*)\)", TEXT)

    assert told.replace(" ", "_").split(",_") == [field.name for field in fields(PublicInputs)]


@pytest.mark.parametrize("row", cells("Adding a member of a family"), ids=lambda row: row[0])
def test_a_family_has_its_contract_its_list_and_its_laws(row):
    _, contract, members, laws = row
    for path, name in (quoted(contract), quoted(members)):
        module = importlib.import_module(
            "sfumato." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        assert hasattr(module, name), (path, name)
    name_of_list = quoted(members)[1]
    for law in quoted(laws):
        assert (ROOT / law).is_file(), law
    texts = "".join((ROOT / law).read_text(encoding="utf-8") for law in quoted(laws))
    assert name_of_list in texts, f"no law runs over {name_of_list}"


def test_every_list_of_members_is_in_the_table_of_families():
    listed = {quoted(row[2])[1] for row in cells("Adding a member of a family")}
    texts = [package.read_text(encoding="utf-8") for package in SOURCE.glob("*/__init__.py")]
    found = {name for text in texts for name in re.findall(r"^([A-Z_]+)(?:: .*)? = \{", text, re.MULTILINE)}

    assert found <= listed
    assert len(found) >= 6


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in (SOURCE / "kernels").glob("*/__init__.py")), ids=lambda path: path.name
)
def test_the_map_of_a_folder_of_loops_names_every_file_and_whoever_calls_it(folder):
    named = set(quoted(ast.get_docstring(parsed(folder / "__init__.py"))))
    wanted = re.compile(rf"^ *from sfumato\.kernels\.{folder.name}\b", re.MULTILINE)
    callers = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if path.parent != folder and wanted.search(path.read_text(encoding="utf-8"))
    }
    places = {name for name in named if "/" in name}

    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} <= named
    assert {path for path in callers if not path.startswith(tuple(places))} == set()
    assert {place for place in places if not any(path.startswith(place) for path in callers)} == set()
