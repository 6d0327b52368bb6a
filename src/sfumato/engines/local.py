"""This machine: threads of one process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.anonymizers.base import Phase, Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.anonymizers.dependence import GivenAway, Question, given_away
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode, holds_sets
from sfumato.data.files import Source, read_columns, read_digested
from sfumato.data.files.release import ReleaseFormat, read_release, write_release
from sfumato.data.once import held_once, publish_once, widened
from sfumato.data.persons import Persons, number_columns, repeated_persons
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import Role, Schema
from sfumato.errors import PolicyError
from sfumato.models.base import Policy
from sfumato.progress import Progress

# For whoever refuses what no other engine does.
LOCAL_SERVES = (
    "use --engine local, which takes what fits into the memory of one machine: some 100,000,000 rows of 10 columns in "
    "24 GB"
)
STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP") if hasattr(signal, name))


def available_threads() -> int:
    """Return how many threads can run side by side here."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@dataclass(frozen=True)
class LocalEngine:
    """Everything in this process."""

    name: ClassVar[str] = "local"
    holds_rows: ClassVar[bool] = True

    once_from: int = 1 << 19  # rows of a table from which on equal ones are held once, where all steps can take that

    def threads(self, wanted: int | None) -> int:
        """Return how many threads a step may use."""
        if wanted is not None and wanted < 1:
            raise PolicyError(f"{wanted} threads were asked for.\nUse at least one.")
        return wanted or available_threads()

    @contextmanager
    def stoppable(self) -> Iterator[Callable[[], bool]]:
        """Give a function that says whether a signal asked this process to stop.

        Whatever the signal did before, it does still. Usually that interrupts the main thread, which takes its threads
        along, or goes on without them where a plan says so. Where it does not, work ends at the next checkpoint. Beside
        the main thread nothing can be heard, and work goes on until somebody else ends it.
        """
        asked = threading.Event()
        if threading.current_thread() is not threading.main_thread():
            yield asked.is_set
            return
        usual = {number: signal.getsignal(number) for number in STOPPING}
        if usual.get(hang_up := getattr(signal, "SIGHUP", None)) is signal.SIG_IGN:  # nohup
            del usual[hang_up]

        def tell(number: int, frame: FrameType | None) -> None:
            before = usual[signal.Signals(number)]
            if callable(before):
                before(number, frame)
            elif before is signal.SIG_DFL:
                signal.default_int_handler(number, frame)
            asked.set()

        def hear(dropped: sys.UnraisableHookArgs) -> None:
            # Where C code calls Python, as the compiler of the inner loops does, an interrupt has nowhere to go.
            if issubclass(dropped.exc_type, KeyboardInterrupt):
                asked.set()
            else:
                drops(dropped)

        drops = sys.unraisablehook
        sys.unraisablehook = hear
        for number in usual:
            signal.signal(number, tell)
        try:
            yield asked.is_set
        finally:
            sys.unraisablehook = drops
            for number, handler in usual.items():
                signal.signal(number, handler)

    def workroom(self, folder: Path) -> AbstractContextManager[None]:
        """Need no folder: everything is in memory."""
        return nullcontext()

    def form(self, wanted: ReleaseFormat | None) -> ReleaseFormat | None:
        """Return what is wanted."""
        return wanted

    def column_names(self, source: Source) -> list[str]:
        """Return the names of the columns of a source."""
        return read_columns(source)

    def read(self, source: Source, drop: Collection[str], progress: Progress) -> tuple[pa.Table, str]:
        """Return a table without the columns in `drop`, and its digest."""
        return read_digested(source, drop=drop, progress=progress)

    def persons(self, table: pa.Table, schema: Schema) -> Persons | None:
        """Return the people of a table with several rows a person."""
        return repeated_persons(table, number_columns(table.column_names, schema), schema.missing)

    def encode(
        self, table: pa.Table, schema: Schema, steps: Sequence[Step], progress: Progress, *, once: bool = False
    ) -> Dataset:
        """Return the table in codes; where asked for, equal rows once if that saves half and all can take it."""
        if not (once and self._takes_once(table, schema, steps)):
            return encode(table, schema, progress)
        most = table.num_rows // 2
        dataset = encode(table, schema, progress, narrow=True)
        return held_once(dataset, most) or widened(dataset)

    def _takes_once(self, table: pa.Table, schema: Schema, steps: Sequence[Step]) -> bool:
        """Whether a table is large, and all of its columns are single values that classes are decided by."""
        judged = {name for step in steps for name in step.policy.judged_columns}

        def decides(name: str, kind: pa.DataType) -> bool:
            spec = schema.spec(name)
            if spec is None or holds_sets(kind, spec):
                return False
            return spec.role is Role.QUASI_IDENTIFIER or name in judged

        columns = zip(table.column_names, table.schema.types, strict=True)
        identifiers = schema.named(Role.IDENTIFIER)
        return (
            table.num_rows >= self.once_from
            and all(step.anonymizer.phase < Phase.TERMS and step.anonymizer.counts_with(step.policy) for step in steps)
            and all(decides(name, kind) for name, kind in columns if name not in identifiers)
        )

    def carry_out(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Return what a step decides."""
        return step.carry_out(dataset, before, workplace)

    def given_away(self, dataset: Dataset, recoding: Recoding, questions: Sequence[Question]) -> Sequence[GivenAway]:
        """Return which hidden cells other columns tell."""
        return given_away(dataset, recoding, questions)

    def publish(
        self, dataset: Dataset, recoding: Recoding, models: Sequence[Mapping[str, Any]], key: bytes | None
    ) -> Release:
        """Return what an outsider would get."""
        make = publish if dataset.entry_of is None else publish_once
        return make(dataset, recoding, models, key)

    def write(
        self, release: Release, folder: Path, form: ReleaseFormat, *, missing: str, progress: Progress
    ) -> Mapping[str, str]:
        """Write a release into a folder, and return the digests of its files."""
        return write_release(release, folder, form, missing=missing, progress=progress)

    def read_back(self, folder: Path, schema: Schema, policy: Policy) -> Release:
        """Return what was written."""
        return read_release(folder, schema)
