"""The contract of engines: where the walk from a table to a release is done.

The order of work is the pipeline's; an engine says how each part of it is carried out. Whatever runs elsewhere, in
threads, another process or on a cluster, stays behind these verbs, which take and return plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.anonymizers.dependence import GivenAway, Question
from sfumato.data.dataset import Dataset
from sfumato.data.files import Source
from sfumato.data.files.release import ReleaseFormat
from sfumato.data.persons import Persons
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.models.base import Policy
from sfumato.progress import Progress


class Engine(Protocol):
    """Where a run is carried out."""

    name: ClassVar[str]
    holds_rows: ClassVar[bool]  # whether all rows are in this process, for whoever wants to look at them

    def threads(self, wanted: int | None) -> int:
        """Return how many threads a step may use: those that are wanted, else all that can run side by side."""

    def stoppable(self) -> AbstractContextManager[Callable[[], bool]]:
        """Give a function that says whether work inside shall end; it may be asked from any thread."""

    def workroom(self, folder: Path) -> AbstractContextManager[None]:
        """Let the engine keep what it needs for one run in a folder that is not there yet, and that is gone later."""

    def form(self, wanted: ReleaseFormat | None) -> ReleaseFormat | None:
        """Return how a release is written where a plan wants it so; None: not into a file."""

    def column_names(self, source: Source) -> list[str]:
        """Return the names of the columns of a source, without reading what is in them."""

    def read(self, source: Source, drop: Collection[str], progress: Progress) -> tuple[Any, str | None]:
        """Return a table of the engine's own kind without the columns in `drop`, and the SHA-256 of what was read.

        None: the source has no bytes of its own that could be digested.
        """

    def persons(self, table: Any, schema: Schema) -> Persons | None:
        """Return the people of a table with several rows a person, where one of its columns numbers them."""

    def encode(
        self, table: Any, schema: Schema, steps: Sequence[Step], progress: Progress, *, once: bool = False
    ) -> Dataset:
        """Return the table in codes, as far as the steps decide about it here; `once`: equal rows may be held once."""

    def carry_out(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Return what a step decides, given what steps before it decided."""

    def given_away(self, dataset: Dataset, recoding: Recoding, questions: Sequence[Question]) -> Sequence[GivenAway]:
        """Return which hidden cells other columns tell, by all that is published once all steps are done."""

    def publish(
        self, dataset: Dataset, recoding: Recoding, models: Sequence[Mapping[str, Any]], key: bytes | None
    ) -> Release:
        """Return what an outsider would get; rows in the order of a key, or as they were when it is None."""

    def write(
        self, release: Release, folder: Path, form: ReleaseFormat, *, missing: str, progress: Progress
    ) -> Mapping[str, str]:
        """Write a release into a folder, and return the SHA-256 of each file in it by name."""

    def read_back(self, folder: Path, schema: Schema, policy: Policy) -> Release:
        """Return what was written, as an outsider reads it, for whoever judges it by these requirements."""
