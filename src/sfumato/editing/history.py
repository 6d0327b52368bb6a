"""What a plan was before: each accepted edit is a version, with words for it, to go back to and forth again.

A step may also have written files beside the plan, such as a hierarchy: what these were before goes back with it.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.disk import atomic_file
from sfumato.errors import OutputError

KEPT = 200  # versions
FIRST, ELSEWHERE = "as it was found", "changed elsewhere"
_LIST = "steps.json"


@dataclass(frozen=True)
class Step:
    """One version of a plan."""

    number: int  # of its file
    when: str
    words: str  # what had changed to make it so
    files: tuple[str, ...] = ()  # that it wrote, relative to the plan


class History:
    """The versions of one plan in a folder that may be deleted at any time; a broken one counts as empty.

    The plan, and the files that its edits write, lie in `beside`.
    """

    def __init__(self, folder: Path, beside: Path) -> None:
        self.folder, self.beside = folder, beside
        self.steps: tuple[Step, ...] = ()
        self.position = -1  # of the version that the plan is now
        try:
            found = json.loads((folder / _LIST).read_text(encoding="utf-8"))
            steps = tuple(
                Step(int(each["number"]), str(each["when"]), str(each["words"]), tuple(each.get("files", ())))
                for each in found["steps"]
            )
            position = int(found["position"])
        except (OSError, ValueError, TypeError, KeyError):
            return
        if 0 <= position < len(steps) and all(self._file(step).is_file() for step in steps):
            self.steps, self.position = steps, position

    def record(self, before: str, after: str, words: str, files: Mapping[str, str] | None = None) -> None:
        """Keep the version after an edit, and write its files. What was changed elsewhere is a version of its own."""
        self._notice(before)
        changed = self.differing(files or {})
        if after != before or changed:
            self._add(after, words, changed)

    def differing(self, files: Mapping[str, str]) -> dict[str, bytes]:
        """Return the files that are not there so yet, as they would be written."""
        written = {name: text.encode("utf-8") for name, text in files.items()}
        return {name: content for name, content in written.items() if content != _content(self.beside / name)}

    def undo(self, now: str) -> str | None:
        """Return the text before the last edit, and step back; None if there is none. `now` is what the file says."""
        self._notice(now)
        return self._go(self.position - 1, self.position, "old")

    def redo(self, now: str) -> str | None:
        """Return the text after the edit that was undone last, and step forth; None if there is none."""
        self._notice(now)
        return self._go(self.position + 1, self.position + 1, "new")

    def _go(self, position: int, over: int, to: str) -> str | None:
        """Step to a version; the files of the step that lies between become what they were, `old` or `new`."""
        if not 0 <= position < len(self.steps):
            return None
        step = self.steps[over]
        for place, name in enumerate(step.files):
            ours = {_content(self._state(step, place, each)) for each in ("old", "new")}
            if _content(self.beside / name) not in {*ours, None}:
                raise OutputError(
                    f"The file {name} was changed elsewhere since that step.\n"
                    "It would be overwritten, so nothing was done: keep a copy of it, and load a hierarchy from it."
                )
        for place, name in enumerate(step.files):
            if (content := _content(self._state(step, place, to))) is not None:  # else it was not there: nobody uses it
                _write(self.beside / name, content)
        text = self._text(self.steps[position])
        self._keep(self.steps, position)
        return text

    def _notice(self, now: str) -> None:
        if not self.steps or self._text(self.steps[self.position]) != now:
            self._add(now, ELSEWHERE if self.steps else FIRST)

    def _add(self, text: str, words: str, files: Mapping[str, bytes] | None = None) -> None:
        """Keep a version behind the present one; what was undone before is forgotten."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = 1 + max((step.number for step in self.steps), default=0)
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        step = Step(number, when, words, tuple(files or ()))
        _write(self._file(step), text.encode("utf-8"))
        for place, (name, new) in enumerate((files or {}).items()):
            if (old := _content(self.beside / name)) is not None:
                _write(self._state(step, place, "old"), old)
            _write(self._state(step, place, "new"), new)
            _write(self.beside / name, new)
        steps = (*self.steps[: self.position + 1], step)[-KEPT:]
        gone = set(self.steps) - set(steps)
        self._keep(steps, len(steps) - 1)
        for each in gone:
            for path in self.folder.glob(f"{each.number}.*"):
                path.unlink(missing_ok=True)

    def _keep(self, steps: tuple[Step, ...], position: int) -> None:
        with atomic_file(self.folder / _LIST) as temporary:
            content = {"steps": [asdict(step) for step in steps], "position": position}
            temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        self.steps, self.position = steps, position

    def _file(self, step: Step) -> Path:
        return self.folder / f"{step.number}.toml"

    def _text(self, step: Step) -> str:
        return self._file(step).read_bytes().decode("utf-8")

    def _state(self, step: Step, place: int, which: str) -> Path:
        return self.folder / f"{step.number}.{place}.{which}"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
