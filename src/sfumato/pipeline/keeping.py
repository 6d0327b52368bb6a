"""What a run keeps in private/: its facts and their page; written when the release is published, completed later.

A release is published as soon as it is audited. What is only measured or attacked is `pending` until it is done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sfumato.data.dataset import Dataset
from sfumato.data.files import Source, read_digested
from sfumato.data.files.databases.publishing import drop_replaced
from sfumato.data.files.release import DESCRIPTION, RELEASE
from sfumato.data.population import write_population
from sfumato.disk import atomic_file, put_in_place_if
from sfumato.errors import DataError, OutputError
from sfumato.pipeline.facts import RUN_FILE, foreign_to_run, population_files, read_facts
from sfumato.pipeline.known import Record, changed_since
from sfumato.pipeline.original import Original
from sfumato.plan import Plan

MEASURE, ATTACK = "measure", "attack"
NAMES = "backslashreplace"  # names of files need not be UTF-8; JSON reads these escapes back
PAGE_FILE = RUN_FILE.with_name("report.html")
Page: TypeAlias = Callable[[Mapping[str, Any]], str]  # turns the facts of a run into the holder's report


def asked(*, measure: bool, attack: bool) -> frozenset[str]:
    """Return the names of what is to be done now, rather than later."""
    return frozenset(name for name, wanted in ((MEASURE, measure), (ATTACK, attack)) if wanted)


def plan_facts(plan: Plan, out: Path | None) -> dict[str, Any]:
    """Return what a run keeps of its plan, with the way from the run to it."""
    shown = {"path": plan.path.name if plan.path else None, "sha256": plan.sha256, "text": plan.text}
    if plan.path is not None and out is not None:
        try:
            shown["at"] = Path(os.path.relpath(plan.path.resolve(), out.resolve())).as_posix()
        except ValueError:  # on another drive
            shown["at"] = plan.path.resolve().as_posix()
    return shown


def finish_earlier(out: Path, target: Source) -> None:
    """Give the folder of an earlier run its name, if that was killed between the commit of its table and the very end.

    What was committed is there, and its folder was complete: it must not be swept up.
    """

    def was_committed(folder: Path) -> bool:
        if not (folder / RUN_FILE).is_file():
            return False
        try:
            about = json.loads((folder / RELEASE / DESCRIPTION).read_text(encoding="utf-8"))
            return bool(about["table"]["sha256"] == read_digested(target)[1])
        except (OSError, ValueError, KeyError, DataError):
            return False

    if put_in_place_if(out, was_committed, foreign_to_run):
        drop_replaced(target)
        raise OutputError(
            f"An earlier run into {out} was stopped after its table was published, so its folder was put in place now "
            f"and nothing else was done.\n`sfumato report {out}` completes it."
        )


@dataclass(frozen=True, eq=False)
class Kept:
    """The private part of a run as it was found."""

    run: Path
    facts: Mapping[str, Any]
    text: bytes  # of run.json

    @classmethod
    def at(cls, run: Path) -> Kept:
        """Return what the run in a folder keeps."""
        facts = read_facts(run)
        return cls(run, facts, (run / RUN_FILE).read_bytes())

    @staticmethod
    def new(private: Path, facts: Mapping[str, Any], page: Page, populations: Mapping[str, Dataset]) -> None:
        """Write facts and page into a folder that nobody sees yet; a copy of them is for its owner alone, too."""
        for name, file in population_files(populations).items():
            (private / file).touch(mode=0o600)
            write_population(populations[name], private / file)
        for name, text in ((RUN_FILE.name, _json(facts)), (PAGE_FILE.name, page(facts))):
            (private / name).touch(mode=0o600)
            (private / name).write_text(text, encoding="utf-8", errors=NAMES)

    @property
    def pending(self) -> tuple[str, ...]:
        """What was left for later, or was not reached when the run was stopped."""
        return tuple(self.facts.get("pending") or ())

    def plan(self, at: Path | None = None) -> Plan:
        """Return the plan of the run as it was then; what it names is looked for beside the plan's file.

        `at` is where that file is now, if not where it was.
        """
        kept = self.facts["plan"]
        if kept.get("text") is None or (at is None and kept.get("at") is None):
            why = "but it was made from a plan in Python, which is kept nowhere"
            raise self._not_completed(why, "Complete it there: sf.complete(run, plan).")
        if at is not None and Plan.load(at).sha256 != kept["sha256"]:
            why = f"but {at.name} is not the plan that it was made with"
            raise self._not_completed(why, "Name that one with --plan, or run `sfumato anonymize` again.")
        place = at or self.run.resolve() / kept["at"]
        if not place.is_file():
            why = "which needs its plan and source, but the plan is not where it was"
            raise self._not_completed(why, "Name it with --plan.")
        return Plan.from_text(kept["text"], place)

    def refuse_unless_same(self, record: Record | None, original: Original) -> None:
        """Raise unless release, source and all other inputs are those of the run: else figures would mislead."""
        todo = "Put back what was there, or run `sfumato anonymize` again."
        if record is None:
            raise self._not_completed("but its release is not the one that the run wrote", todo)
        if not original.at_hand:
            moved = "If the plan was moved together with its source, name it with --plan."
            why = "which needs the source of the run, but that is not there"
            raise self._not_completed(why, f"{todo} {moved}")
        if changed := changed_since(record, original):
            raise self._not_completed(f"but inputs have changed since then: {', '.join(changed)}", todo)

    def replace(self, facts: Mapping[str, Any], page: Page) -> None:
        """Put facts and page into the place of those found; facts last, as a page can be made again from them."""
        path = self.run / RUN_FILE
        if not path.is_file():
            raise self._gone()
        with atomic_file(path) as told, atomic_file(self.run / PAGE_FILE) as shown:
            shown.write_text(page(facts), encoding="utf-8", errors=NAMES)
            told.write_text(_json(facts), encoding="utf-8", errors=NAMES)
            if path.read_bytes() != self.text:
                raise self._gone()

    def _not_completed(self, why: str, todo: str) -> DataError:
        return DataError(f"{self.run} is to be completed, {why}.\n{todo}")

    def _gone(self) -> OutputError:
        return OutputError(
            f"The run in {self.run} was to be completed, but it was replaced or moved in the meantime.\n"
            "What is there now was left as it is. Complete that one with `sfumato report`."
        )


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
