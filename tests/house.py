"""The source as tests of the house look at it: files, rooms, layers."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sfumato"
FILES = sorted(SOURCE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the code of a file, read once for all who look at it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def rooms() -> list[Path]:
    """Return the modules and packages of sfumato that others may import."""
    packages = [path for path in SOURCE.iterdir() if (path / "__init__.py").is_file()]
    return sorted([*packages, *(path for path in SOURCE.glob("*.py") if not path.stem.startswith("__"))])


def layers() -> list[set[str]]:
    """Return the rooms of each layer of imports, the highest first."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["type"] == "layers")
    return [{name.strip().removeprefix("sfumato.") for name in re.split("[|:]", layer)} for layer in contract["layers"]]
