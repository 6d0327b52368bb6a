"""Every path and every name of code that ARCHITECTURE.md mentions exists."""

from __future__ import annotations

import re

from house import FILES, ROOT, SOURCE

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"`([^`]+)`", TEXT)
FILES_OF_A_RUN = {"private/run.json", "release.json", "run.json"}
DEFINITION = r"^ *(?:(?:class|def) |(?=\w+(?::| = )))(\w+)"  # classes, functions, fields and assigned names


def test_every_path_exists():
    paths = {name for name in QUOTED if re.fullmatch(r"[\w./-]+(/|\.(py|md|cff|toml|json))", name)}

    assert paths
    for name in paths - FILES_OF_A_RUN:
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_every_name_of_code_exists():
    named = {name for name in QUOTED if re.fullmatch(r"[A-Z]\w+(\.[a-z_]+)?|[a-z]+_[a-z_]+", name)}
    named -= {name for name in named if (ROOT / name).exists()}
    defined = {
        name for path in FILES for name in re.findall(DEFINITION, path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert named
    assert {part for name in named for part in name.split(".")} - {"Fraction"} <= defined
