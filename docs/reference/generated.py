"""Pages that are made from the code when the documentation is built: commands, Python, architecture."""

from __future__ import annotations

from collections.abc import Iterator
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


def _page(group: Any, name: str) -> Iterator[str]:
    command = group.commands[name]
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
