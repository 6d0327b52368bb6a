"""A release as a table of a database: staged, read back and judged in one transaction, which is committed last.

| step | who looks into the database meanwhile sees |
| --- | --- |
| a staging table is made and filled | nothing |
| it is read back in the same transaction, and judged | nothing |
| it takes the name of the release; an old table of that name is set aside | nothing, or the old table |
| commit, once the folder of the run is complete but for its name | the release, and the old table under another name |
| the folder has its name: the old table goes | the release |

Where a database makes and renames tables outside of transactions, the staging table can be seen until it has its
name, and says in its own name that nobody has judged it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import pyarrow as pa

from sfumato.data.dataset import CodedSets
from sfumato.data.files import read_digested
from sfumato.data.files.databases.base import BATCH, Refused, Session
from sfumato.data.files.databases.connections import DUCKDB
from sfumato.data.files.databases.failures import refusal
from sfumato.data.files.databases.reading import session_of
from sfumato.data.files.source import Source
from sfumato.data.release import Release
from sfumato.errors import DataError, OutputError
from sfumato.progress import SILENT, Progress

IfExists: TypeAlias = Literal["refuse", "replace"]
_ASIDE = "__sfumato_replaced"  # behind the name of a table that a release replaces, until its run has its place
_LONGEST = 40  # characters of a name that are kept: some databases take no more than 63


@dataclass(eq=False)
class Publication:
    """A table that is about to be published."""

    target: Source
    session: Session
    if_exists: IfExists
    staging: str = field(init=False)
    aside: str = field(init=False)  # the name that an old table has meanwhile
    replaces: bool = field(default=False, init=False)
    committed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        assert self.target.table is not None
        mark = "sfumato" if self.session.transactional else "unaudited"
        schema, point, name = self.target.table.rpartition(".")
        self.staging = f"{schema}{point}{name[:_LONGEST]}__{mark}_{secrets.token_hex(4)}"
        self.aside = f"{schema}{point}{name[:_LONGEST]}{_ASIDE}"

    def write(self, release: Release, progress: Progress = SILENT) -> tuple[pa.Table, dict[str, str]]:
        """Write a release into the staging table; return that as it is read back, and what is said of it in public."""
        separators = {
            name: column.separator for name, column in release.columns.items() if isinstance(column, CodedSets)
        }
        stage = progress.stage("write table", total=release.n_rows)
        with self._refusing("was to be written into"):
            for rows in self.session.create(self.staging, release.batches(BATCH, numbers=True), separators):
                stage.advance(rows)
        stage.done()
        table, sha256 = read_digested(replace(self.target, table=self.staging, session=self.session))
        about = {"name": str(self.target.table), "sha256": sha256}
        if self.target.file is None:  # a name that whoever receives it may give to their own connection
            about["database"] = str(self.target.database)
        return table, about

    def put_in_place(self, about: str) -> None:
        """Give the staging table its name, visible to nobody else yet."""
        assert self.target.table is not None
        with self._refusing("was to be published in"):
            if self.session.exists(self.target.table):
                if self.if_exists == "refuse":
                    raise Refused("42P07")
                if self.session.exists(self.aside):
                    self.session.drop(self.aside)  # of a run that was killed
                self.session.set_aside(self.target.table, self.aside)
                self.replaces = True
            self.session.rename(self.staging, self.target.table, about)

    def commit(self) -> None:
        """Let everybody see it."""
        with self._refusing("was to be published in"):
            self.session.commit()
        self.committed = True

    def finish(self) -> None:
        """Let the old table go for good: the run has its place."""
        if self.replaces:
            with self._refusing("was published, but the table that it replaces could not be dropped in"):
                self.session.finish(self.aside)

    def withdraw(self) -> None:
        """Let the table go again that was committed, because the rest of the run failed, and put the old one back."""
        assert self.target.table is not None
        with self._refusing("was to be withdrawn from"):
            self.session.withdraw(self.target.table, self.aside if self.replaces else None)

    @contextmanager
    def _refusing(self, asked: str) -> Iterator[None]:
        try:
            yield
        except Refused as refused:
            raise refusal(f"Table {self.target.table!r} {asked}", self.target.path, refused) from None


@contextmanager
def publishing(target: Source, if_exists: IfExists) -> Iterator[Publication]:
    """Open a transaction that leaves a table or nothing; what fails after the commit takes the table along."""
    file = target.file if target.file is not None and target.file.suffix.lower() not in DUCKDB else None
    is_new = file is not None and not file.exists()  # SQLite makes it at once
    try:
        session = session_of(target, writes=True)
    except Refused as refused:
        raise refusal(f"Table {target.table!r} was to be written into", target.path, refused) from None
    publication = Publication(target, session, if_exists)
    try:
        try:
            with publication._refusing("was to be written into"):
                session.prepare()
            yield publication
        except BaseException as error:
            if publication.committed:
                _withdrawn(publication, error)
            raise
        publication.finish()
    finally:
        session.close()
        if is_new and file is not None and not publication.committed:
            file.unlink(missing_ok=True)


def _withdrawn(publication: Publication, error: BaseException) -> None:
    shown = f"Table {publication.target.table!r} of {publication.target.path}"
    try:
        publication.withdraw()
    except DataError:
        raise OutputError(
            f"{error}\n{shown} was committed before and could not be dropped again: it is audited, but has no run. "
            "Drop it, or keep it."
        ) from None
    if isinstance(error, OutputError):
        old = ", and the table that it was to replace has its name back" if publication.replaces else ""
        raise OutputError(f"{error}\n{shown} was dropped again{old}.") from None


def drop_replaced(target: Source) -> None:
    """Let a table go that a run set aside before it was killed, now that the run has its place."""
    # The next release would do it, too.
    with suppress(Refused, DataError), closing(session_of(target, writes=True)) as session:
        aside = Publication(target, session, "replace").aside
        if session.exists(aside):
            session.prepare()
            session.finish(aside)


def refuse_early(target: Source, if_exists: IfExists) -> None:
    """Raise before hours of work where the table could not be written in the end."""
    asked = f"Table {target.table!r} was to be published in"
    assert target.table is not None
    if target.file is not None and not target.file.exists():
        if not target.file.parent.is_dir():
            raise OutputError(
                f"{target.file} cannot be written: there is no folder {target.file.parent}.\nMake that folder first."
            )
        return
    try:
        session = session_of(target, writes=True)
        try:
            if if_exists == "refuse" and session.exists(target.table):
                raise Refused("42P07")
            trial = Publication(target, session, if_exists).staging
            if session.transactional:
                for _ in session.create(trial, [pa.table({"tried": pa.array([], pa.int64())})], {}):
                    pass
        finally:
            with suppress(Refused):
                session.close()
    except Refused as refused:
        raise refusal(asked, target.path, refused) from None
