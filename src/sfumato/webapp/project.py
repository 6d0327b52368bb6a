"""A project is a folder: plans, runs and sweeps that are the holder's; `.sfumato` may be deleted any time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.disk import lies_within, stem_of
from sfumato.errors import OutputError
from sfumato.processes import born

HIDDEN = ".sfumato"
ID = re.compile(r"[a-z0-9-]{1,40}")
PLAN_NAME = re.compile(r"[\w][\w .-]{0,80}\.toml")
_COLUMNS = re.compile(r"^\s*\[columns\b", re.MULTILINE)
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".sav", ".dta")
RUN_FILE = Path("private") / "run.json"
SWEEP_FILE = "sweep.json"


@dataclass(frozen=True)
class Project:
    """The folder, and the folders that files may be opened from."""

    folder: Path
    roots: tuple[Path, ...]

    @classmethod
    def at(cls, folder: Path, roots: Sequence[Path] = ()) -> Project:
        """Return the project in a folder, once what the app keeps there is for its owner alone."""
        try:
            folder = folder.expanduser().resolve(strict=True)
            kept = folder / HIDDEN
            for path in (kept, kept / "jobs", kept / "uploads", kept / "history"):
                path.mkdir(mode=0o700, exist_ok=True)
            kept.chmod(0o700)
        except OSError as error:
            raise OutputError(
                f"The project folder {folder} was to be opened, but cannot be used: {error.strerror}.\n"
                "Name a folder that exists and that you may write to."
            ) from None
        given = [folder, *(root.expanduser().resolve() for root in roots)]
        return cls(folder, tuple(dict.fromkeys([*given, kept / "uploads"])))

    @property
    def hidden(self) -> Path:
        """Where the app keeps what is its own."""
        return self.folder / HIDDEN

    # What lies there.

    def plans(self) -> list[str]:
        """Return the names of the plans."""
        found = [path for path in self.folder.glob("*.toml") if PLAN_NAME.fullmatch(path.name) and self._may_open(path)]
        return sorted(path.name for path in found if _looks_like_a_plan(path))

    def plan(self, name: str) -> Path | None:
        """Return where a plan is, by a name from the list."""
        return self.folder / name if name in self.plans() else None

    def tables(self) -> list[str]:
        """Return what looks like a table in the folders that may be opened, as people see it."""
        found = [path for root in self.roots for path in sorted(root.glob("*")) if path.suffix in _TABLES]
        return [self.shown(path) for path in found if self._may_open(path)]

    def new_plan(self, about: str) -> str:
        """Return a name for a plan that is not taken yet."""
        stem = stem_of(about, "data")
        names = (f"{stem}.toml" if n == 1 else f"{stem}-{n}.toml" for n in range(1, 1000))
        return next(name for name in names if not (self.folder / name).exists())

    def runs(self) -> dict[str, Path]:
        """Return the folders of runs by their names, the youngest first."""
        return self._youngest_first("runs", RUN_FILE)

    def sweeps(self) -> dict[str, Path]:
        """Return the folders of sweeps by their names, the youngest first."""
        return self._youngest_first("sweeps", SWEEP_FILE)

    def _youngest_first(self, kind: str, file: str | Path) -> dict[str, Path]:
        places = (*self.folder.glob("*"), *self.folder.glob(f"{kind}/*"))
        named = [path for path in places if ID.fullmatch(path.name) and not path.is_symlink()]
        found = {path: (path / file).stat().st_mtime for path in named if self._may_open(path / file)}
        return {path.name: path for path in sorted(found, key=found.__getitem__, reverse=True)}

    def _may_open(self, file: Path) -> bool:
        return file.is_file() and lies_within(file, self.roots)

    # What may be opened.

    def opened(self, given: str) -> Path | None:
        """Return an ordinary file, or a folder of parts, inside a root, by its path; None for any other.

        Links are followed first, so that none leads out of a root.
        """
        if not given or "\0" in given:
            return None
        with suppress(OSError, RuntimeError, ValueError):
            path = (self.folder / Path(given).expanduser()).resolve(strict=True)
            if lies_within(path, self.roots) and (path.is_file() or path.is_dir()):
                return path
        return None

    def shown(self, path: Path) -> str:
        """Return a path as people see it: relative to the project where it is in it."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def _looks_like_a_plan(path: Path) -> bool:
    """Whether a file says something of columns; a plan with a mistake in it is one, too."""
    with suppress(OSError):
        return _COLUMNS.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    return False


# One server a folder.


@dataclass(frozen=True)
class Lock:
    """Says that a server works in a folder, and where."""

    path: Path

    def holder(self) -> Mapping[str, Any] | None:
        """Return what the server that works there said of itself; None where none does, or the one that did is gone."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            pid, since = int(found["pid"]), found["since"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if born(pid) == since and pid != os.getpid() else None

    def take(self, port: int) -> None:
        """Say that this process works here."""
        text = json.dumps({"pid": os.getpid(), "since": born(os.getpid()), "port": port})
        write_private(self.path, text)

    def leave(self) -> None:
        """Say that nobody works here any more."""
        self.path.unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner reads; whoever reads meanwhile sees the old one or the new one."""
    new = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
