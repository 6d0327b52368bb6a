"""A table in parts: the same walk where one machine does not hold every row. What runs the parts is not known here.

| step | how it divides |
| --- | --- |
| read, code | tallies of parts add up to one codebook, by which each part is coded as the whole would be |
| classes, masks | decided about distinct rows with weights, here; dealt out to the rows of each in their order. Too
many of these are cut into regions, and decided about region by region, where tasks run (regions.py) |
| terms | class by class: whole classes, with those that they may have to be joined with, go to tasks (class_tasks.py);
what all of them tell is added up over distinct sets of terms, here |
| items | in parts of alike records: a union of parts that are safe is safe |
| cells | row by row, under keys of blocks of rows of the whole table |
| publish | rows go to files by a keyed number, as one machine would put them in order |
| audit | of each file distinct rows with weights; the judges see them all, here |
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Divides, Phase, RowByRow, Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.anonymizers.dependence import GivenAway, Question
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, as_arrow, as_numpy, starts_of
from sfumato.data.encoding import Codebooks
from sfumato.data.files import Source, digest, read_columns
from sfumato.data.files.release import PARTS, ReleaseFormat, write_description
from sfumato.data.files.source import format_of
from sfumato.data.files.typed import row_groups
from sfumato.data.keystream import Stretch
from sfumato.data.kinds import is_text, number_type
from sfumato.data.persons import Persons
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.release import Release, ReleasedColumn, publish
from sfumato.data.schema import Kind, Role, Schema
from sfumato.disk import refuse_without_rename
from sfumato.engines import tasks
from sfumato.engines.class_tasks import ROWS_TOGETHER, ClassesInParts, distinct_terms
from sfumato.engines.coding import ROWS_A_PART, code
from sfumato.engines.comparing import Comparing
from sfumato.engines.foreseeing import refuse_what_no_driver_could_judge
from sfumato.engines.giving_away import Asking, given_away_in_parts
from sfumato.engines.item_tasks import item_parts, send_items, withhold
from sfumato.engines.local import LOCAL_SERVES, LocalEngine
from sfumato.engines.region_classes import decide_in_regions
from sfumato.engines.region_tasks import AllDistinct, carry_out_on_distinct, coded_distinct, of_distinct
from sfumato.engines.regions import Cluster, RegionalWork, every_label, too_many
from sfumato.engines.seeing import columns_seen, release_seen
from sfumato.engines.tasks import WEIGHT, Decision, Home, Part, Publishing, Splits, without_rows
from sfumato.engines.workroom import got, keep, kept, plain, put
from sfumato.errors import DataError
from sfumato.models.base import Policy
from sfumato.progress import Progress

DISTINCT_HERE = 20_000_000  # distinct rows that are decided about here
OCCURRENCES = 4_000_000  # of items in a part
LOOKED_AT = 1 << 14  # rows that are looked at for columns that give one another away


@dataclass
class DividedEngine:
    """A table in parts of a work folder, each of which a task can take."""

    name: ClassVar[str] = "parts"
    holds_rows: ClassVar[bool] = False

    cluster: Cluster
    distinct_here: int = DISTINCT_HERE
    rows_a_part: int | None = None  # None: by the size of the table
    rows_a_file: int = 1 << 20
    occurrences: int = OCCURRENCES
    rows_together: int = ROWS_TOGETHER  # of classes that a task works on
    room: Path = field(default=Path(), init=False)
    parts: tuple[Part, ...] = field(default=(), init=False)
    columns: tuple[str, ...] = field(default=(), init=False)  # that decide about classes
    by_row: bool = field(default=False, init=False)  # whether every row is decided about here
    regions: RegionalWork | None = field(default=None, init=False)  # where distinct rows are too many
    terms: tuple[str, ...] = field(default=(), init=False)  # columns that are decided about class by class
    homes: list[Home] = field(default_factory=list, init=False)  # columns whose rows come home from elsewhere
    item_parts: int = field(default=0, init=False)
    drawn: dict[str, Labelled | CodedSets] = field(default_factory=dict, init=False)
    comparing: Comparing | None = field(default=None, init=False)  # where a release is looked at beside its original

    def threads(self, wanted: int | None) -> int:
        """Return how many threads what is decided here may use."""
        return LocalEngine().threads(wanted)

    def stoppable(self) -> AbstractContextManager[Callable[[], bool]]:
        """Give a function that says whether a signal asked this process to stop."""
        return LocalEngine().stoppable()

    @contextmanager
    def workroom(self, folder: Path) -> Iterator[None]:
        """Work in a folder, which is gone afterwards."""
        folder.mkdir(mode=0o700)
        self.room, self.parts, self.homes, self.drawn, self.regions = folder.resolve(), (), [], {}, None
        self.comparing = None
        kept.cache_clear()
        try:
            refuse_without_rename(self.room, folder)
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def form(self, wanted: ReleaseFormat | None) -> ReleaseFormat | None:
        """Return how the release is written: whatever is wanted, in parts."""
        return "parquet"

    # From the source to codes.

    def column_names(self, source: Source) -> list[str]:
        """Return the names of the columns of a source."""
        return read_columns(source)

    def read(self, source: Source, drop: Collection[str], progress: Progress) -> tuple[Any, str | None]:
        """Return where the rows of a source are, and its digest; nothing is read yet."""
        if source.database is not None:
            raise DataError(
                f"A table of a database was to be read with --engine {self.name}, which reads files.\n"
                f"Export it to Parquet first, give Spark's own frame of it in Python, or {LOCAL_SERVES}."
            )
        return self._splits(source, drop), digest(source.path)

    def _splits(self, source: Source, drop: Collection[str]) -> Splits:
        groups = None
        if format_of(source) == "parquet":
            groups = row_groups(source.path, drop, self.rows_a_part or ROWS_A_PART)
        return Splits(source, frozenset(drop), groups)

    def persons(self, table: Any, schema: Schema) -> Persons | None:
        """Return None: whose row each is, is not looked for."""
        return None

    def encode(
        self, table: Any, schema: Schema, steps: Sequence[Step], progress: Progress, *, once: bool = False
    ) -> Dataset:
        """Write the table in codes, in parts; return what is decided about here: distinct rows, or all of them."""
        splits = cast("Splits", table)
        choose = partial(self._decided, steps) if self.comparing is None else self.comparing.columns
        coded = code(self.cluster, self.room, splits, schema, self.rows_a_part, choose)
        self.parts = coded.parts
        if self.comparing is not None:
            return self.comparing.original(coded)
        found = self._all_rows(coded.template) if self.by_row else self._distinct_rows(coded.template, steps)
        if self.terms:
            of_terms = distinct_terms(self.cluster, self.room, self.parts, self.terms, self.distinct_here)
            found = replace(found, of_terms=of_terms)
        refuse_what_no_driver_could_judge(self.cluster, self.room, coded, steps, self.distinct_here)
        return found

    def _decided(self, steps: Sequence[Step], template: Dataset, books: Codebooks, rows: int) -> tuple[str, ...]:
        """Return the columns that are decided about here, or raise what cannot be done in parts, before any work."""
        self._choose_columns(template, steps)
        self._refuse(steps, books, rows)
        return self.columns

    def _choose_columns(self, template: Dataset, steps: Sequence[Step]) -> None:
        """Decide what has to be here for steps that look at many rows at once."""
        forming = [step for step in steps if step.anonymizer.phase.forms_groups]
        judged = {name for step in forming for name in step.policy.judged_columns}
        columns = [column for column in template.columns.values() if isinstance(column, CodedColumn)]
        self.by_row = any(step.anonymizer.rows_only(step.policy) for step in forming)
        apart = {
            name
            for step in forming
            if step.anonymizer.divides is Divides.CLASSES and not self.by_row
            for model in step.policy
            for name in model.judged_columns
        }
        self.terms = tuple(name for name in template.columns if name in apart)
        self.columns = tuple(
            column.name
            for column in columns
            if forming and (column.role is Role.QUASI_IDENTIFIER or column.name in judged) and column.name not in apart
        )

    def _refuse(self, steps: Sequence[Step], books: Codebooks, rows: int) -> None:
        """Raise what cannot be done in parts, before any work."""
        for step in steps:
            why = step.anonymizer.rows_only(step.policy) if step.anonymizer.phase.forms_groups else None
            if why is not None and rows > self.distinct_here:
                raise DataError(
                    f"{step.anonymizer.name} was asked for on {rows:,} rows in parts, but {why}, so that every row is "
                    f"decided about on the driver, which takes {self.distinct_here:,}.\nRaise --distinct-on-driver if "
                    f"the driver has the memory, or {LOCAL_SERVES}, with 4 bytes a term as well."
                )
            if step.anonymizer.phase is not Phase.ITEMS:
                continue
            for name in step.policy.judged_columns:
                book = books.by_column.get(name)
                found = int(book.tally.counts.sum()) if book is not None else 0
                if step.anonymizer.divides is Divides.NOT and found > self.occurrences:
                    able = [each for each in ANONYMIZERS.values() if each.divides is Divides.ANYHOW]
                    names = ", ".join(each.name for each in able if all(map(each.aims, step.policy)))
                    raise DataError(
                        f"{step.anonymizer.name} was asked for on column {name!r} with {found:,} items in all records, "
                        f"but it has to see all of them at once: a part has at most {self.occurrences:,}.\n"
                        f"Name an anonymizer that works in parts ({names}), or {LOCAL_SERVES}, with 4 bytes an item as "
                        "well."
                    )

    def _distinct_rows(self, template: Dataset, steps: Sequence[Step]) -> Dataset:
        """Return the distinct rows of the table with weights, and keep where those of each part are among them.

        Where they are too many, return a sample of them: then regions are decided about.
        """
        sizes = [len(template.column(name).labels) for name in self.columns]
        sample = too_many(self.cluster, self.room, self.parts, self.columns, sizes, self.distinct_here)
        if sample is not None:
            self._refuse_regions(steps, sample.distinct)
            work = RegionalWork.of(
                self.cluster, self.room, self.parts, self.columns, template, self.distinct_here, sample
            )
            self.regions = work
            return work.dataset
        distinct = AllDistinct.of(self.room, self.parts, sizes)
        begun = np.zeros(distinct.weight.size, dtype=np.int64)
        for part in self.parts:
            table = got(self.room / "distinct" / part.name)
            number = distinct.places(coded_distinct(table, self.columns))
            put(
                self.room / "distinct" / part.name,
                [pa.table({"number": as_arrow(number), "begun": as_arrow(begun[number])})],
            )
            begun[number] += as_numpy(plain(table.column(WEIGHT)))
        return of_distinct(template, self.columns, distinct.codes, distinct.weight)

    def _refuse_regions(self, steps: Sequence[Step], found: int) -> None:
        """Raise where somebody has to see all distinct rows at once, and they are too many."""
        for at, step in enumerate(steps):
            why = step.anonymizer.whole_only(step.policy) if step.anonymizer.phase.forms_groups else None
            if at == 0 and step.anonymizer.divides is Divides.CLASSES:
                why = "no step before it forms classes"
            if why is not None:
                raise DataError(
                    f"{step.anonymizer.name} was asked for on about {found:,} distinct rows of "
                    f"{', '.join(self.columns)}, of which the driver takes {self.distinct_here:,}, and it cannot work "
                    f"on regions of the table: {why}.\nRaise --distinct-on-driver if the driver has the memory (about "
                    f"1 kB each), declare coarser values (bins), or {LOCAL_SERVES}."
                )

    def _all_rows(self, template: Dataset) -> Dataset:
        parts = [tasks.coded_part(self.room, part.name) for part in self.parts]
        columns = dict(template.columns)
        for name, column in template.columns.items():
            if isinstance(column, CodedColumn):
                columns[name] = replace(column, codes=np.concatenate([part.column(name).codes for part in parts]))
            elif column.role is Role.QUASI_SENSITIVE:
                sets = [cast("CodedSets", part.columns[name]) for part in parts]
                start = starts_of(np.concatenate([np.diff(each.start) for each in sets]))
                columns[name] = replace(column, items=np.concatenate([each.items for each in sets]), start=start)
        return replace(template, columns=columns, carried=None, n_rows=sum(part.rows for part in self.parts))

    # Steps.

    def carry_out(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Return what a step decides; what is decided row by row stays where the rows are."""
        if step.anonymizer.phase is Phase.ITEMS:
            self._keep_decision(dataset, before)
            return self._withhold(step, dataset, before, workplace)
        if step.anonymizer.divides is Divides.ROWS:
            self._keep_decision(dataset, before)
            return self._draw(step, dataset, before, workplace)
        if step.anonymizer.divides is Divides.CLASSES and self.terms:
            return self._by_class(step, dataset, before, workplace)
        if self.regions is not None:
            return self.regions.carry_out(step, workplace)
        return carry_out_on_distinct(step, dataset, before, workplace)

    def _keep_decision(self, dataset: Dataset, recoding: Recoding) -> None:
        """Let all parts know what was decided so far."""
        kept.cache_clear()
        found = self._decision(dataset, recoding) if self.regions is None else self.regions.decision(recoding)
        keep(self.room / "decision", found)

    def _decision(self, dataset: Dataset, recoding: Recoding) -> Decision:
        columns, ends, distinct_ends = self.columns, None, None
        if not self.by_row:
            assert dataset.weights is not None
            distinct_ends = np.cumsum(dataset.weights)
            ends = distinct_ends if recoding.pieces is None else np.cumsum(recoding.pieces.count)
        bare = Recoding(columns=recoding.columns, keep_row=recoding.keep_row)
        return Decision(columns, ends, distinct_ends, bare)

    def _by_class(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Have a step done class by class, where all rows of a class are."""
        together = min(self.rows_together, self.distinct_here)
        apart = ClassesInParts(self.cluster, self.room, self.parts, self.terms, together, self.distinct_here)
        if self.regions is not None:
            recoding, home = decide_in_regions(self.regions, apart, step, dataset, workplace)
        else:
            recoding, home = apart.decide(step, dataset, self._decision(dataset, before), before, workplace)
        self.homes.append(home)
        return recoding

    def _withhold(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Withhold items in parts of the records."""
        names = step.policy.judged_columns
        sets = cast("CodedSets", dataset.columns[names[0]])
        cuts = item_parts(self.cluster, self.room, self.parts, names, sets, self.occurrences)
        within = any(getattr(model, "within", None) == "classes" for model in step.policy)
        if within and (shown := tuple(column.name for column in dataset.quasi_identifiers)):
            cuts = replace(cuts, quasi_identifiers=shown)
        self.cluster.each(partial(send_items, self.room, cuts), self.parts, "send records")
        place = Workplace(seeded=workplace.seeded, public=workplace.public)
        work = partial(withhold, self.room, step, place, workplace.keys(), self.parts)
        done = self.cluster.each(work, cuts.numbers, "withhold items")
        self.item_parts = len(cuts.numbers)
        self.homes.append(Home("to-home", tuple(f"{at}" for at in cuts.numbers), done[0][1]))
        return replace(before, facts=step.anonymizer.facts_of_parts([facts for facts, _ in done]))

    def _draw(self, step: Step, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Draw row by row, once it is decided what to draw."""
        some, published = self._some_rows(dataset, before, workplace.rng)
        work = cast("RowByRow", step.anonymizer).decide(dataset, step.policy, some, published, workplace)
        bare = replace(dataset, columns=_without_codes(dataset.columns), n_rows=0, weights=None)
        keys: list[bytes] = []

        def noted() -> bytes:
            keys.append(workplace.keys())
            return keys[-1]

        total = sum(part.rows for part in self.parts)
        self.drawn = dict(work.draw(bare, noted, workplace, Stretch(0, 0, total)))
        keep(self.room / "drawing", tasks.ToDraw(work, tuple(keys), total))
        self.cluster.each(partial(tasks.draw_part, self.room), self.parts, "draw sets")
        return work.on(before)

    def _some_rows(self, dataset: Dataset, before: Recoding, rng: np.random.Generator) -> tuple[Dataset, Recoding]:
        """Return some rows of the table, and what is published of them so far."""
        total = sum(part.rows for part in self.parts)
        rows = np.arange(total)
        if total > LOOKED_AT:
            rows = np.sort(rng.choice(total, LOOKED_AT, replace=False))
        firsts = np.array([part.first for part in self.parts])
        part_of = np.searchsorted(firsts, rows, side="right") - 1
        jobs = [(self.parts[at], rows[part_of == at] - firsts[at]) for at in np.unique(part_of).tolist()]
        found = self.cluster.each(partial(tasks.some_rows, self.room), jobs, "look at some rows")
        some = tasks.rows_like(pa.concat_tables([table for table, _ in found]), kept(self.room / "template"))
        columns: dict[str, Labelled | CodedSets] = {
            name: replace(column, codes=np.concatenate([shown[name] for _, shown in found]))
            for name, column in before.columns.items()
            if isinstance(column, Labelled)
        }
        return some, Recoding(columns=columns)

    # The release.

    def given_away(self, dataset: Dataset, recoding: Recoding, questions: Sequence[Question]) -> Sequence[GivenAway]:
        """Return which hidden cells other columns tell, counted in all parts."""
        shells = {name: column for home in self.homes for name, column in home.columns.items()} | self.drawn
        published = {**recoding.columns, **shells}
        questions = tuple(each for each in questions if each.column in published)
        if not questions:
            return []
        self._keep_decision(dataset, recoding)
        asked = [(at, name) for at, each in enumerate(questions) for name in dataset.order if name not in each.judged]
        columns = tuple((at, name, whole) for at, name in asked for whole in (False, True))
        total = sum(part.rows for part in self.parts)
        asking = Asking(questions, columns, self.parts, total, self.drawn, tuple(self.homes))
        template = kept(self.room / "template")
        return given_away_in_parts(self.cluster, self.room, asking, template, published)

    def publish(
        self, dataset: Dataset, recoding: Recoding, models: Sequence[Mapping[str, Any]], key: bytes | None
    ) -> Release:
        """Return what is known of the release without its rows; they are put in order when it is written."""
        self._keep_decision(dataset, recoding)
        shown, rows = self._shown(dataset, recoding)
        shells = {name: column for home in self.homes for name, column in home.columns.items()} | self.drawn
        bare = _without_codes(kept(self.room / "template").columns)
        empty = replace(dataset, columns=bare, carried=None, n_rows=0, weights=None)
        labelled = {name: without_rows(column) for name, column in recoding.columns.items()}
        release = publish(empty, replace(recoding, columns={**labelled, **shells}, keep_row=None), models)
        columns = {name: shown.get(name, column) for name, column in release.columns.items()}
        types = {name: number_type(known) for name, known in self._texts_of_numbers(dataset, columns)}
        files = max(1, round(rows / self.rows_a_file))
        total = sum(part.rows for part in self.parts)
        publishing = Publishing(self.parts, total, files, key, self.drawn, tuple(self.homes), types)
        keep(self.room / "publishing", publishing)
        counts = {"rows": rows} | ({"rows_dropped": total - rows} if rows < total else {})
        return replace(release, columns=columns, n_rows=rows, description={**release.description, **counts})

    def _shown(self, dataset: Dataset, recoding: Recoding) -> tuple[Mapping[str, ReleasedColumn | CodedSets], int]:
        """Return columns with all labels that are published, as far as it was decided here, and how many rows are."""
        recoding, rows = replace(recoding, public={}), dataset.total
        if self.regions is not None:  # of which only some rows are here
            dataset, recoding = every_label(dataset.held), replace(recoding, columns=every_label(recoding).columns)
            return publish(dataset, recoding, ()).columns, rows
        if recoding.pieces is not None:
            dataset = dataset.standing_for(recoding.pieces.row_of, recoding.pieces.count)
        if recoding.keep_row is not None:
            weights = dataset.weights if dataset.weights is not None else np.ones(dataset.n_rows, dtype=np.int64)
            rows = int(weights[recoding.keep_row].sum())
        return publish(dataset.held, recoding, ()).columns, rows

    def _texts_of_numbers(
        self, dataset: Dataset, columns: Mapping[str, ReleasedColumn | CodedSets]
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield columns of numbers that came as text, and the labels that are published of them."""
        for name, column in columns.items():
            if isinstance(column, ReleasedColumn) and column.kind is Kind.NUMBER and is_text(column.type):
                labels, missing = column.labels, column.missing
                if not column.codes.size:  # published as it is, where its rows are
                    labels, missing = dataset.column(name).labels, dataset.column(name).missing
                yield name, [label for code, label in enumerate(labels) if code != missing]

    def write(
        self, release: Release, folder: Path, form: ReleaseFormat, *, missing: str, progress: Progress
    ) -> Mapping[str, str]:
        """Write a folder of parts, each with rows in a keyed order, and return the digests of all files."""
        (folder / PARTS).mkdir()
        stage = progress.stage("write", total=release.n_rows)
        files = kept(self.room / "publishing").files
        self.cluster.each(partial(tasks.send_rows, self.room), range(len(self.parts)), "put rows in order")
        target = (folder / PARTS).resolve()
        written = self.cluster.each(partial(tasks.write_file, self.room, target), range(files), "write files")
        found = sum(rows for _, _, rows in written)
        assert found == release.n_rows, "every row is written once"
        stage.done()
        digests = {f"{PARTS}/{name}": sha256 for name, sha256, _ in written}
        return write_description(release, folder, digests, missing=missing)

    def read_back(self, folder: Path, schema: Schema, policy: Policy) -> Release:
        """Return what was written as distinct rows with weights; in parts by class, where these are too many."""
        return release_seen(self.cluster, self.room, folder, schema, policy, self.distinct_here)

    def read_some(self, folder: Path, columns: Sequence[str]) -> Release:
        """Return some columns of a release in parts as distinct rows with weights."""
        return columns_seen(self.cluster, self.room, folder, columns, self.distinct_here)

    def compare(self, folder: Path, schema: Schema) -> Comparing:
        """Return who looks at a release in parts beside the original, which `encode` returns as it does from now on."""
        self.comparing = Comparing(self.cluster, self.room, folder, schema, self.distinct_here)
        return self.comparing

    def every_row(self, table: Any) -> pa.Table:
        """Return all rows of a table here, for whoever needs every one of them."""
        splits = cast("Splits", table)
        return pa.concat_tables([splits.read(number) for number in splits.numbers])


def _without_codes(columns: Mapping[str, CodedColumn | CodedSets]) -> dict[str, CodedColumn | CodedSets]:
    """Return columns without the rows of those of single values."""
    none = np.empty(0, dtype=np.int32)
    return {
        name: replace(column, codes=none) if isinstance(column, CodedColumn) else column
        for name, column in columns.items()
    }
