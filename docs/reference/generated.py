"""Pages that are made from the code when the documentation is built: commands, Python, architecture.

The tables of docs/plan.md are made from the code, too, and kept there; running this file makes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_EXIT_CODES = (
    "Every command takes `--json`: one JSON object on standard output and nothing else there.",
    "Progress and warnings go to standard error.",
    "",
    "| exit code | meaning |",
    "| --- | --- |",
    "| 0 | done, and every requirement holds |",
    "| 1 | a requirement does not hold or cannot be met |",
    "| 2 | the plan or the data is wrong |",
    "| 3 | a bug in sfumato |",
)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages (mkdocs calls this)."""
    from mkdocs.structure.files import File

    pages = {
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/architecture.md": (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"),
    }
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def commands() -> str:
    """Return the reference of the command line, from what `--help` is made of."""
    import typer.main

    from sfumato.cli import app

    group: Any = typer.main.get_command(app)
    pages = (line for name in group.commands for line in _page(group, name))
    return "\n".join(["# Commands", "", *_EXIT_CODES, *pages])


def python() -> str:
    """Return the reference of the library: what `import sfumato` offers, then every member of every family."""
    from sfumato.anonymizers import ANONYMIZERS
    from sfumato.attacks import ATTACKS
    from sfumato.estimators import ESTIMATORS
    from sfumato.metrics import METRICS
    from sfumato.models import PRIVACY_MODELS

    families: dict[str, dict[str, Any]] = {
        "Models": PRIVACY_MODELS,
        "Anonymizers": ANONYMIZERS,
        "Metrics": METRICS,
        "Attacks": ATTACKS,
        "Estimators": ESTIMATORS,
    }
    lines = ["# Python", "", "What `import sfumato as sf` offers. Every example runs in the tests.", ""]
    lines += ["::: sfumato.api", "", "::: sfumato.plan.Plan", ""]
    for title, members in families.items():
        lines += [f"## {title}", ""]
        for member in members.values():
            lines += [f"::: {member.__module__}.{member.__qualname__}", "    options:", "      members: []", ""]
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """Return a page of the documentation with its tables of the plan made anew, from what the parser goes by."""

    def table(found: re.Match[str]) -> str:
        return "\n".join([f"<!-- table: {found[1]} -->", *_TABLES[found[1]](), "<!-- end -->"])

    return re.sub(r"<!-- table: ([a-z]+) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


def _words_of(which: str) -> Iterator[str]:
    from sfumato.data.schema import Kind, Role

    yield from (f"| {which} | means |", "| --- | --- |")
    yield from (f"| `{word.value}` | {_cell(word.means)} |" for word in (Role if which == "role" else Kind))


def _keys_of(which: str) -> Iterator[str]:
    from sfumato.plan.keys import COLUMN, EVENTS, TABLES

    table = {**TABLES, "columns": COLUMN, "events": EVENTS}[which]
    yield from ("| key | takes | default | meaning |", "| --- | --- | --- | --- |")
    yield from (f"| `{key.name}` {_about(key)}" for key in table.keys)


def _members_of(which: str) -> Iterator[str]:
    from sfumato.anonymizers import ANONYMIZERS
    from sfumato.models import PRIVACY_MODELS
    from sfumato.parameters import parameters_of

    members: dict[str, Any] = PRIVACY_MODELS if which == "models" else ANONYMIZERS
    yield from (f"| {which[:-1]} | key | takes | default | meaning |", "| --- | --- | --- | --- | --- |")
    for name, member in members.items():
        for place, key in enumerate(parameters_of(member)):
            yield f"| {'' if place else f'`{name}`'} | `{key.name}` {_about(key)}"


def _about(key: Any) -> str:
    from sfumato.parameters import as_toml

    default = "needed" if key.required else f"`{_cell(as_toml(key.default))}`" if key.default is not None else ""
    return f"| {_cell(key.written)} | {default} | {_cell(key.help)} |"


_TABLES_OF_THE_PLAN = (
    "draft", "source", "gather", "events", "columns", "population", "knowledge", "release", "measure", "engine",
)  # fmt: skip
_TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "roles": partial(_words_of, "role"),
    "kinds": partial(_words_of, "kind"),
    **{which: partial(_keys_of, which) for which in _TABLES_OF_THE_PLAN},
    **{which: partial(_members_of, which) for which in ("models", "anonymizers")},
}


def _page(group: Any, name: str, above: str = "") -> Iterator[str]:
    command, name = group.commands[name], f"{above}{name}"
    if hasattr(command, "commands"):
        for part in command.commands:
            yield from _page(command, part, f"{name} ")
        return
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    words = " ".join(argument.metavar or argument.name for argument in arguments)
    yield from ("", f"## sfumato {name}", "", (command.help or "").strip(), "")
    yield from ("```text", f"sfumato {name} {words} [OPTIONS]".replace("  ", " "), "```", "")
    if arguments or options:
        yield from ("| | meaning | default |", "| --- | --- | --- |")
    for argument in arguments:
        yield f"| `{argument.metavar or argument.name}` | {_cell(argument.help)} | |"
    for option in options:
        given = option.default
        default = "" if given in (None, False, ()) or option.required or callable(given) else f"`{given}`"
        needed = " (required)" if option.required else ""
        yield f"| `{', '.join(option.opts)}`{needed} | {_cell(option.help)} | {default} |"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


if __name__ == "__main__":
    plan = ROOT / "docs" / "plan.md"
    plan.write_text(with_tables(plan.read_text(encoding="utf-8")), encoding="utf-8")
