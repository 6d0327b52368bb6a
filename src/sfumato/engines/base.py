"""The contract of engines: where the walk from a table to a release is done.

The order of work is the pipeline's; an engine says how each part of it is carried out. Whatever runs elsewhere, in
threads, another process or on a cluster, stays behind these verbs, which take and return plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import Dataset
from sfumato.data.files import Source
from sfumato.data.files.release import ReleaseFormat
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.progress import Progress


class Engine(Protocol):
    """Where a run is carried out."""

    name: ClassVar[str]

    def threads(self, wanted: int | None) -> int:
        """Return how many threads a step may use: those that are wanted, else all that can run side by side."""

    def stoppable(self) -> AbstractContextManager[Callable[[], bool]]:
        """Give a function that says whether work inside shall end; it may be asked from any thread."""

    def read(self, source: Source, drop: Collection[str], progress: Progress) -> tuple[pa.Table, str]:
        """Return a table without the columns in `drop`, and the SHA-256 of what was read."""

    def encode(self, table: pa.Table, schema: Schema, progress: Progress) -> Dataset:
        """Return the table in codes."""

    def carry_out(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Return what a step decides, given what steps before it decided."""

    def publish(
        self,
        dataset: Dataset,
        recoding: Recoding,
        models: Sequence[Mapping[str, Any]],
        key: bytes | None,
    ) -> Release:
        """Return what an outsider would get; rows in the order of a key, or as they were when it is None."""

    def write(
        self, release: Release, folder: Path, form: ReleaseFormat, *, missing: str, progress: Progress
    ) -> Mapping[str, str]:
        """Write a release into a folder, and return the SHA-256 of each file in it by name."""

    def read_back(self, folder: Path, schema: Schema) -> Release:
        """Return what was written, as an outsider reads it."""
