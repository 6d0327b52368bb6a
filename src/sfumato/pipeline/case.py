"""A plan and its original, and everything that can be asked about them: make, audit, measure, attack.

Command line, Python, sweeps and every engine go through here, so that each verb gives the same answer whatever it is
asked about. Fail closed: audits judge what was written, read back from disk; unless all of them pass, nothing appears.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.attacks import FACTOR, THRESHOLD, WIDTH, Exposure, attack_all
from sfumato.attacks.base import as_if_published
from sfumato.data.dataset import Dataset
from sfumato.data.files import is_there
from sfumato.data.files.databases.publishing import Publication, publishing, refuse_early
from sfumato.data.files.release import DESCRIPTION, as_release, read_release, schema_for, write_release
from sfumato.data.people import by_person
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.data.strays import StrayKind, stray_entries
from sfumato.disk import atomic_folder, scratch_folder
from sfumato.engines import LocalEngine
from sfumato.engines.base import Engine
from sfumato.engines.dividing import DividedEngine
from sfumato.errors import DataError
from sfumato.estimators import reconstruct
from sfumato.metrics import measure_all
from sfumato.metrics.base import Measurement
from sfumato.models.base import Verdict
from sfumato.pipeline.ahead import compiling_ahead
from sfumato.pipeline.clock import Clock
from sfumato.pipeline.facts import (
    RUN_FORMAT,
    TEST_ONLY,
    columns_of,
    foreign_to_run,
    persons_facts,
    public_facts,
    verdict_facts,
    versions,
    warnings_of,
    warnings_of_attacks,
    warnings_of_losses,
    warnings_of_release,
    warnings_of_steps,
)
from sfumato.pipeline.judging import (
    ROWS_HERE,
    Seen,
    judge,
    refuse_those_who_need_rows,
    refuse_unless_all_hold,
    refuse_unstated,
)
from sfumato.pipeline.keeping import ATTACK, MEASURE, Kept, Page, asked, finish_earlier, plan_facts
from sfumato.pipeline.known import Gathering, Known, changed_since, changes_since, crowd_at
from sfumato.pipeline.making import Made, as_in_source, dialect_of, make, refuse_inputs_in, refuse_nothing_to_publish
from sfumato.pipeline.original import Original
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress, announce

MEASURE_BUDGET = 2e8  # operations for each cross table that is computed back


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release with its second opinion and what it cost."""

    plan: Plan
    release: Release
    verdicts: tuple[Verdict, ...]
    facts: Mapping[str, Any]  # all of it as plain data: what run.json holds
    measurements: tuple[Measurement, ...] = ()  # empty where that was left for later, as are exposures
    exposures: tuple[Exposure, ...] = ()
    folder: Path | None = None  # where the release lies, if it is not here row by row

    def table(self) -> pa.Table:
        """Return what was published."""
        return (self.release if self.folder is None else read_release(self.folder)).table()


@dataclass(eq=False)
class Case:
    """A plan and its original: a table given here, or the source that the plan names, read when it is needed."""

    plan: Plan
    table: Any = None  # of Arrow, or of the engine's own kind
    engine: Engine = field(default_factory=LocalEngine)
    progress: Progress = SILENT
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.clock.progress = self.progress
        if isinstance(self.table, pa.Table):
            self.plan = self.plan.over(self.table.column_names)

    @cached_property
    def original(self) -> Original:
        """The table that the plan is about."""
        table, self.table = self.table, None
        return Original(self.plan, self.engine, table, self.progress, self.clock)

    @classmethod
    def of_coded(cls, plan: Plan, dataset: Dataset) -> Case:
        """Return a case whose original was encoded before: by a case of another plan about the same columns."""
        case = cls(plan)
        case.original = Original.coded(plan, case.engine, dataset)
        return case

    # Making.

    def make(
        self, *, seed: int | None = None, threads: int | None = None, measure: bool = True, attack: bool = True
    ) -> Outcome:
        """Anonymize, audit what would be published, and measure what was lost, all in memory."""
        self.plan.searchable()
        known, made = self._made(seed, threads)
        with self.clock.time("audit"):
            schema = schema_for(made.release.description, self.plan.schema)
            seen = Release.from_table(made.release.table(), schema, made.release.description)
            verdicts = judge(seen, self.plan.policy, known, self.progress)
        refuse_unless_all_hold(verdicts)
        outcome = Outcome(self.plan, made.release, verdicts, self._facts(made, seen, known, verdicts, {}))
        return self._completed(outcome, replace(seen, public=known.public), asked(measure=measure, attack=attack))

    def make_folder(
        self,
        out: Path,
        page: Page,
        *,
        seed: int | None = None,
        threads: int | None = None,
        overwrite: bool = False,
        measure: bool = True,
        attack: bool = True,
        published: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Do what the plan says and leave DIR/release and DIR/private, or nothing at all.

        `page` renders the holder's report from the facts of the run. What was audited is there to stay before anything
        is measured or attacked, and `published` is called then: whatever happens later costs only what is missing.
        """
        self.plan.searchable()
        refuse_inputs_in(out, self.plan, self.engine)
        self.original.hold_once()
        dialect = dialect_of(self.plan, self.engine)
        if self.plan.target is not None:
            finish_earlier(out, self.plan.target)
            refuse_early(self.plan.target, self.plan.release.if_exists)
        parts = asked(measure=measure, attack=attack)
        self._announce("write", "audit", *(part for part in (MEASURE, ATTACK) if part in parts))
        with ExitStack() as transaction, atomic_folder(out, overwrite=overwrite, foreign=foreign_to_run) as folder:
            # Whoever finds this after a power cut shall not take it for a release: it gets that name last of all.
            public, private = folder / "unaudited", folder / "private"
            publication = None
            with self.engine.workroom(folder / "work"):
                known, made = self._made(seed, threads)
                made = replace(made, release=as_in_source(made.release, self.plan, self.engine, dialect))
                public.mkdir()
                private.mkdir(mode=0o700)
                if self.plan.target is not None:
                    publication = transaction.enter_context(publishing(self.plan.target, self.plan.release.if_exists))
                with self.clock.time("write"):
                    files, seen = self._write(made.release, public, publication)
                made = made.without_rows()  # the written ones count
                with self.clock.time("audit"):
                    for written in seen:
                        verdicts = judge(written, self.plan.policy, known, self.progress)
                        refuse_unless_all_hold(verdicts)
            written = replace(written, public=known.public)
            facts = self._facts(made, written, known, verdicts, files, out)
            Kept.new(private, facts, page, known.public.populations)
            public.rename(folder / "release")
            if publication is not None:
                publication.put_in_place(f"sfumato {files[DESCRIPTION]}")
                publication.commit()  # last but for the name of the folder; what fails behind it takes the table along
        published()
        kept = Kept.at(out)
        place = out.resolve() if written.weights is not None or not self.engine.holds_rows else None
        outcome = Outcome(self.plan, written, verdicts, facts, folder=place)
        if not self.engine.holds_rows:
            return self._looked_at_here(outcome, out, page, parts)
        outcome = self._completed(outcome, written, parts)
        if outcome.facts is not facts:
            kept.replace(outcome.facts, page)
        return outcome

    def _looked_at_here(self, outcome: Outcome, out: Path, page: Page, parts: frozenset[str]) -> Outcome:
        """Measure and attack a release of many parts: row by row where there is room here, else where its parts are."""
        source = self.plan.source
        if source is None or not parts:
            return outcome
        if outcome.facts["release"]["rows"] <= ROWS_HERE and is_there(source):
            done = Case(self.plan, progress=self.progress)._whole(out, page, parts)
        else:
            with scratch_folder(out) as work, self.engine.workroom(work):
                case = Case(self.plan, engine=self.engine, progress=self.progress)
                done = case._whole(out, page, parts, case.beside(out, out / "release"))
        return replace(outcome, facts=done.facts, measurements=done.measurements, exposures=done.exposures)

    def beside(self, path: Path, folder: Path) -> Seen:
        """Look at a release in parts of a folder beside the original, both as distinct rows with weights."""
        assert isinstance(self.engine, DividedEngine)
        comparing = self.engine.compare(folder, self.plan.schema)
        refuse_those_who_need_rows(self.plan, comparing.rows)
        before, after = comparing.both(self.original.dataset if self.original.at_hand else None)
        if before is not None:
            self.original.dataset = before
        return Seen.at(path, self.plan, self.progress, look=lambda: after)

    def complete(self, run: Path, page: Page, *, measure: bool = True, attack: bool = True) -> Mapping[str, Any]:
        """Measure and attack what that is missing of a run, and return its facts; nothing is done where it is whole."""
        return self._whole(run, page, asked(measure=measure, attack=attack)).facts

    def _whole(self, run: Path, page: Page, parts: frozenset[str], seen: Seen | None = None) -> Outcome:
        kept = Kept.at(run)
        missing = parts & set(kept.pending)
        if not missing:
            return Outcome(self.plan, Release({}, None, 0, ()), (), kept.facts)
        seen = seen or Seen.at(run, self.plan, self.progress)
        self.original.read_ahead()
        kept.refuse_unless_same(seen.record, self.original)
        release = replace(seen.release, public=self._known(seen).public)
        outcome = self._completed(Outcome(self.plan, release, (), kept.facts), release, missing)
        kept.replace(outcome.facts, page)
        return outcome

    def _announce(self, *then: str) -> None:
        """Say which parts the work will have, to whoever wants to know."""
        gathered = ("gather",) if self.plan.gather is not None else ()
        words = {step.anonymizer.name: step.anonymizer.phase.words for step in self.plan.steps()}
        announce(self.progress, ("read", *gathered, "encode", "knowledge", *words, "publish", *then), words)

    def _made(self, seed: int | None, threads: int | None) -> tuple[Known, Made]:
        with compiling_ahead(self.plan, self.engine) if not self.original.in_memory else nullcontext():
            dataset = self.original.dataset
            refuse_nothing_to_publish(self.plan, dataset)
            with self.clock.time("knowledge"):
                known = Gathering(self.plan, lambda: dataset, progress=self.progress, making=True).known()
        made = make(
            self.plan,
            dataset,
            known,
            self.engine,
            persons=self.original.persons,
            seed=seed,
            threads=threads,
            progress=self.progress,
            clock=self.clock,
        )
        return known, made

    def _write(
        self, release: Release, folder: Path, publication: Publication | None
    ) -> tuple[Mapping[str, str], list[Release]]:
        """Write a release, and return the digests of its files and the release as it is read back: file, then table."""
        schema, form = self.plan.schema, self.engine.form(self.plan.release.format)
        missing = schema.missing[0] if schema.missing else ""
        stored: list[pa.Table] = []
        if publication is not None:
            table, about = publication.write(release, self.progress)
            stored.append(table)
            release = replace(release, description={**release.description, "table": about})
        if form is None:
            files: Mapping[str, str] = write_release(release, folder, None, missing=missing, progress=self.progress)
        else:
            files = self.engine.write(release, folder, form, missing=missing, progress=self.progress)
        if release.entry_of is not None:
            return files, [read_release(folder, schema, once=True)]
        seen = [self.engine.read_back(folder, schema, self.plan.policy)] if form is not None else []
        return files, [*seen, *(as_release(table, folder, schema) for table in stored)]

    def _completed(self, outcome: Outcome, seen: Release, parts: frozenset[str]) -> Outcome:
        """Return an outcome with those parts that only the holder wants to know."""
        if not parts:
            return outcome
        earlier, before = list(outcome.facts["timings"]), len(self.clock.steps)
        found: dict[str, Any] = {}
        if MEASURE in parts:
            with self.clock.time(MEASURE):
                outcome = replace(outcome, measurements=self._measure(seen, None))
            found["measurements"] = [measurement.as_dict() for measurement in outcome.measurements]
            lost = warnings_of_losses(outcome.measurements, outcome.facts["verdicts"])
            found["warnings"] = [*outcome.facts["warnings"], *lost]
        if ATTACK in parts:
            with self.clock.time(ATTACK):
                outcome = replace(outcome, exposures=self._attack(seen, None, on_demand=False))
            found["attacks"] = [exposure.as_dict(private=True) for exposure in outcome.exposures]
            warnings = found.get("warnings", outcome.facts["warnings"])
            found["warnings"] = [*warnings, *warnings_of_attacks(outcome.exposures)]
        found["pending"] = [part for part in outcome.facts["pending"] if part not in parts]
        found["timings"] = [*earlier, *self.clock.steps[before:]]
        return replace(outcome, facts={**outcome.facts, **found})

    def _facts(
        self,
        made: Made,
        seen: Release,
        known: Known,
        verdicts: tuple[Verdict, ...],
        files: Mapping[str, str],
        out: Path | None = None,
    ) -> dict[str, Any]:
        """Return what a later audit needs and the report shows of what was made, as plain data."""
        plan, dataset, source = self.plan, self.original.dataset, self.original.facts()
        inputs = plan.digests() | self.original.digests
        if "sha256" in source:
            inputs["source.path"] = source["sha256"]
        return {
            "format": RUN_FORMAT,
            "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "plan": plan_facts(plan, out),
            "source": source,
            "inputs": inputs,
            "public": public_facts(known),
            "knowledge": known.coverage.as_dict() if known.coverage is not None else None,
            "spellings": {
                name: {kept: list(others) for kept, others in column.spellings.items()}
                for name, column in dataset.columns.items()
                if column.spellings
            },
            "release": {
                "format": self.engine.form(plan.release.format),
                "table": plan.target.shown if plan.target is not None else None,
                "rows": made.release.total,
                "shuffled": plan.release.shuffle,
                "files": dict(files),
            },
            "columns": columns_of(plan, dataset),
            "steps": [dict(step) for step in made.steps],
            "examples": dict(made.examples),
            "verdicts": verdict_facts(verdicts, plan.schema),
            "measurements": [],
            "attacks": [],
            "pending": [MEASURE, ATTACK],
            "timings": list(self.clock.steps),
            "persons": persons_facts(self.original.persons, made.alike),
            "warnings": [
                *plan.warnings(),
                *self.original.warnings(made.alike, made.notes),
                *warnings_of(dataset, known),
                *warnings_of_steps(made.steps),
                *warnings_of_release(seen),
            ],
            "versions": versions(),
        }

    # Asking about a table: a run, a release, a file of any tool, a frame.

    def audit(self, seen: Seen, *, name_items: bool = False) -> tuple[Verdict, ...]:
        """Judge a table; the original is read only where it alone tells what is public, or whether cells were drawn."""
        if self._tests_chance:
            self.original.read_ahead()
        known = self._known(seen, judging=True)
        truth = self._truth(seen)
        release = seen.release if truth is None else replace(seen.release.single_rows(), truth=truth)
        labels = known.public.knowledge.labels if known.public.knowledge is not None else ()
        invented = len(set(release.description.get("prior", {})) - set(labels))
        strays = stray_entries(StrayKind.ENTRIES, f"{DESCRIPTION} (prior)", invented)
        release = replace(release, strays=(*release.strays, *strays))
        return judge(release, self.plan.policy, known, self.progress, name_items=name_items)

    @property
    def _tests_chance(self) -> bool:
        return any(model.judged_role is Role.SENSITIVE_QUASI_IDENTIFIER for model in self.plan.policy)

    def _truth(self, seen: Seen) -> Dataset | None:
        """Return the original where a claim of chance can be tested by it: not if it may have changed since."""
        if not self._tests_chance or not self.original.at_hand:
            return None
        if seen.record is not None:
            changed = changed_since(seen.record, self.original)
            if self.original.unreadable or any(place.startswith(("source.", "gather.")) for place in changed):
                return None
        if self.engine.holds_rows:
            return self.original.dataset
        here = self.plan.source is not None and is_there(self.plan.source) and seen.release.total <= ROWS_HERE
        return Original(self.plan, LocalEngine(), progress=self.progress).dataset if here else None

    def measure(self, seen: Seen, *, target: str | None = None) -> tuple[Measurement, ...]:
        """Measure a table against the original."""
        if not self.original.at_hand and self.plan.source is None:
            raise DataError(
                "A release was to be measured, but there is no original to compare it with: the plan names no source.\n"
                'Name one ([source] path = "..."), or give the original in Python: measure(..., original=frame).'
            )
        refuse_unstated(seen.release)
        known = self._known(seen, compared=True)
        release = replace(seen.release, public=known.public)
        if self.plan.weight in release.order and not release.description:  # a file or a frame: the plan says it as well
            release = replace(release, description={"weight": self.plan.weight})
        return tuple(replace(found, notes=(*found.notes, *known.notes)) for found in self._measure(release, target))

    def attack(
        self,
        seen: Seen,
        *,
        threshold: float = THRESHOLD,
        factor: float = FACTOR,
        width: float = WIDTH,
        population: Path | None = None,
    ) -> tuple[Exposure, ...]:
        """Return what an intruder gets out of a table, and out of the original where that is at hand.

        `population` is a larger table with the same quasi-identifiers, which a journalist would search.
        """
        limits = {"threshold": threshold, "factor": factor, "width": width}
        refuse_unstated(seen.release)
        known = self._known(seen, compared=True)
        found = self._attack(replace(seen.release, public=known.public), population, on_demand=True, **limits)
        return tuple(replace(exposure, notes=(*exposure.notes, *known.notes)) for exposure in found)

    def _known(self, seen: Seen, *, judging: bool = False, compared: bool = False) -> Known:
        dataset = (lambda: self.original.dataset) if self.original.at_hand else None
        if dataset is not None and compared:
            dataset()  # it is digested as it is read, before anybody asks whether it has changed
        description = seen.release.description
        gathering = Gathering(self.plan, dataset, seen.record, description, progress=self.progress, judging=judging)
        known, notes = gathering.known(), list(seen.notes)
        if description.get("test_only"):
            notes.append(TEST_ONLY)
        if seen.record is not None:
            notes += changes_since(seen.record, self.original, known, compared=compared)
        elif self.plan.source is not None and not self.original.at_hand:
            notes.append("The source that the plan names is not there: nothing could be counted in it.")
        if compared and not self.original.at_hand:
            notes.append("The original is not at hand: what an intruder gets out of it is not shown.")
        if self.plan.gather is not None and seen.record is None:
            notes.append("The plan counts people, and each row was taken for another one: a release does not tell.")
        return replace(known, notes=(*notes, *known.notes))

    def _measure(self, release: Release, target: str | None) -> tuple[Measurement, ...]:
        """Measure as the plan asks; tables are computed back as an analyst would."""
        asked = self.plan.measure
        return measure_all(
            self.original.dataset,
            by_person(release),
            target=target or asked.target,
            population=crowd_at(None, self.plan),
            sampling=self.plan.sampling,
            estimate=partial(reconstruct, budget=MEASURE_BUDGET),
            tables=asked.tables,
            queries=asked.of_queries,
            rules=asked.of_rules,
            people=self.plan.counts_people,
            progress=self.progress,
        )

    def _attack(
        self, release: Release, population: Path | None, *, on_demand: bool, **limits: float
    ) -> tuple[Exposure, ...]:
        original = None
        if self.original.at_hand:
            original = replace(as_if_published(self.original.dataset), public=release.public)
        return attack_all(
            by_person(release),
            original,
            population=crowd_at(population, self.plan),
            sampling=self.plan.sampling,
            required=self.plan.policy,
            on_demand=on_demand,
            progress=self.progress,
            **limits,
        )
