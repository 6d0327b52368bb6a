"""What a plan was before: each accepted edit is a version, with words for it, to go back to and forth again."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.disk import atomic_file

KEPT = 200  # versions
FIRST, ELSEWHERE = "as it was found", "changed elsewhere"
_LIST = "steps.json"


@dataclass(frozen=True)
class Step:
    """One version of a plan."""

    number: int  # of its file
    when: str
    words: str  # what had changed to make it so


class History:
    """The versions of one plan in a folder that may be deleted at any time; a broken one counts as empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: tuple[Step, ...] = ()
        self.position = -1  # of the version that the plan is now
        try:
            found = json.loads((folder / _LIST).read_text(encoding="utf-8"))
            steps = tuple(Step(int(each["number"]), str(each["when"]), str(each["words"])) for each in found["steps"])
            position = int(found["position"])
        except (OSError, ValueError, TypeError, KeyError):
            return
        if 0 <= position < len(steps) and all(self._file(step).is_file() for step in steps):
            self.steps, self.position = steps, position

    def record(self, before: str, after: str, words: str) -> None:
        """Keep the version after an edit. What was changed elsewhere before it is a version of its own."""
        self._notice(before)
        if after != before:
            self._add(after, words)

    def undo(self, now: str) -> str | None:
        """Return the text before the last edit, and step back; None if there is none. `now` is what the file says."""
        self._notice(now)
        return self._go(self.position - 1)

    def redo(self, now: str) -> str | None:
        """Return the text after the edit that was undone last, and step forth; None if there is none."""
        self._notice(now)
        return self._go(self.position + 1)

    def _go(self, position: int) -> str | None:
        if not 0 <= position < len(self.steps):
            return None
        text = self._text(self.steps[position])
        self._keep(self.steps, position)
        return text

    def _notice(self, now: str) -> None:
        if not self.steps or self._text(self.steps[self.position]) != now:
            self._add(now, ELSEWHERE if self.steps else FIRST)

    def _add(self, text: str, words: str) -> None:
        """Keep a version behind the present one; what was undone before is forgotten."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = 1 + max((step.number for step in self.steps), default=0)
        step = Step(number, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), words)
        with atomic_file(self._file(step)) as temporary:
            temporary.write_bytes(text.encode("utf-8"))
        steps = (*self.steps[: self.position + 1], step)[-KEPT:]
        gone = set(self.steps) - set(steps)
        self._keep(steps, len(steps) - 1)
        for each in gone:
            self._file(each).unlink(missing_ok=True)

    def _keep(self, steps: tuple[Step, ...], position: int) -> None:
        with atomic_file(self.folder / _LIST) as temporary:
            content = {"steps": [asdict(step) for step in steps], "position": position}
            temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        self.steps, self.position = steps, position

    def _file(self, step: Step) -> Path:
        return self.folder / f"{step.number}.toml"

    def _text(self, step: Step) -> str:
        return self._file(step).read_bytes().decode("utf-8")
