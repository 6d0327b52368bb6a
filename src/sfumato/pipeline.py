"""From a plan to an audited release: the order of work, and what is kept of it.

Fail closed: audits judge what was written, read back from disk; unless all of them pass, nothing appears.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import __version__
from sfumato.anonymizers.base import Workplace, options_of
from sfumato.attacks import THRESHOLD, Exposure, attack_all
from sfumato.attacks.base import as_if_published
from sfumato.data.base_rates import BaseRates, read_base_rates
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset
from sfumato.data.encoding import check_columns, encode
from sfumato.data.files import Source, digest, read_columns, read_table
from sfumato.data.files.release import is_run, read_release, schema_for, write_release
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import Role, Schema
from sfumato.data.terms import TermColumns
from sfumato.disk import atomic_folder, read_numbered
from sfumato.engines.local import available_threads, use_threads
from sfumato.errors import DataError, PlanError, Problem, SfumatoError, Unsatisfiable
from sfumato.estimators import CrossTable, reconstruct
from sfumato.metrics import measure_all
from sfumato.metrics.base import Measurement
from sfumato.models.base import Policy, Verdict, describe
from sfumato.models.judging.beliefs import estimated_prior
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress

RUN_FORMAT = 1
MEASURE_BUDGET = 2e8  # operations for each cross table that is computed back
Page = Callable[[Mapping[str, Any]], str]  # turns the facts of a run into the holder's report


@dataclass
class Clock:
    """Where the time went, step by step."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Count what happens inside as one step."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            self.steps.append({"step": step, **spent})


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release with its second opinion and what it cost."""

    plan: Plan
    release: Release
    verdicts: tuple[Verdict, ...]
    measurements: tuple[Measurement, ...]
    exposures: tuple[Exposure, ...]
    facts: Mapping[str, Any]  # all of it as plain data: what run.json holds


def run_in_memory(
    table: pa.Table,
    plan: Plan,
    *,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Anonymize a table, audit what would be published, and measure what was lost."""
    clock = Clock()
    dataset, release, steps = _make_release(table, plan, seed, threads, progress, clock)
    with clock.time("audit"):
        schema = schema_for(release.description, plan.schema)
        seen = replace(Release.from_table(release.table(), schema, release.description), public=release.public)
        verdicts = judge(seen, plan.policy, progress)
    _refuse_unless_all_hold(verdicts)
    with clock.time("measure"):
        measurements = measured(plan, dataset, release, progress)
    with clock.time("attack"):
        exposures = _attacked(dataset, seen, progress)
    return _outcome(plan, dataset, release, steps, verdicts, measurements, exposures, clock, source=None)


def run_to_folder(
    plan: Plan,
    out: Path,
    page: Page,
    *,
    seed: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> Outcome:
    """Do what the plan says and leave DIR/release and DIR/private, or nothing at all.

    `page` renders the holder's report from the facts of the run.
    """
    clock = Clock()
    # First of all: a bad folder is known before hours of work.
    with atomic_folder(out, overwrite=overwrite, is_run=is_run) as folder:
        table, source = read_source(plan, progress, clock)
        dataset, release, steps = _make_release(table, plan, seed, threads, progress, clock)
        del table
        # Whoever finds this after a power cut shall not take it for a release: it gets that name last of all.
        public, private = folder / "unaudited", folder / "private"
        public.mkdir()
        private.mkdir(mode=0o700)
        with clock.time("write"):
            missing = plan.schema.missing[0] if plan.schema.missing else ""
            write_release(release, public, plan.release.format, missing=missing, progress=progress)
            everybody_knows = release.public
            del release  # what counts from here on is what was written
            written = replace(read_release(public, plan.schema), public=everybody_knows)
        with clock.time("audit"):
            verdicts = judge(written, plan.policy, progress)
        _refuse_unless_all_hold(verdicts)
        with clock.time("measure"):
            measurements = measured(plan, dataset, written, progress)
        with clock.time("attack"):
            exposures = _attacked(dataset, written, progress)
        outcome = _outcome(plan, dataset, written, steps, verdicts, measurements, exposures, clock, source)
        text = json.dumps(outcome.facts, indent=1, ensure_ascii=False)
        (private / "run.json").write_text(text + "\n", encoding="utf-8")
        stage = progress.stage("report")
        (private / "report.html").write_text(page(outcome.facts), encoding="utf-8")
        stage.done()
        public.rename(folder / "release")
    return outcome


def audit_path(path: Path, plan: Plan, progress: Progress = SILENT, *, show_items: bool = False) -> tuple[Verdict, ...]:
    """Judge a release folder, or a file of any tool, by the plan's requirements.

    With `show_items`, verdicts that can do so name the items that break them: for the holder only.
    """
    release = _read_any(path, plan)
    known = _known_to_all(plan, release, path, progress)
    return judge(replace(release, public=known), plan.policy, progress, show_items=show_items)


def measure_path(
    path: Path, plan: Plan, *, target: str | None = None, progress: Progress = SILENT
) -> tuple[Measurement, ...]:
    """Measure a release folder, or a file of any tool, against the plan's source."""
    table, _ = read_source(plan, progress, Clock())
    dataset = encode(table, plan.schema)
    release = replace(_read_any(path, plan), public=public_inputs_of(plan, dataset, progress))
    return measured(plan, dataset, release, progress, target=target)


def measured(
    plan: Plan, dataset: Dataset, release: Release, progress: Progress = SILENT, target: str | None = None
) -> tuple[Measurement, ...]:
    """Measure a release against the original, as the plan asks; tables are computed back as an analyst would."""

    def estimate(seen: Release, columns: Sequence[str]) -> CrossTable:
        return reconstruct(seen, columns, budget=MEASURE_BUDGET)

    target, tables = target or plan.measure.target, plan.measure.tables
    return measure_all(dataset, release, target=target, estimate=estimate, tables=tables, progress=progress)


def attack_path(
    path: Path,
    plan: Plan,
    *,
    threshold: float = THRESHOLD,
    population: Path | None = None,
    progress: Progress = SILENT,
) -> tuple[Exposure, ...]:
    """Attack a release folder, or a file of any tool, and the plan's source beside it where the plan names one.

    `population` is a larger table with the same quasi-identifiers, which a journalist would search.
    """
    release = _read_any(path, plan)
    crowd = _read_population(population, plan) if population is not None else None
    original = None
    if plan.source is None:
        public = _known_to_all(plan, release, path, progress)
    else:
        table, _ = read_source(plan, progress, Clock())
        dataset = encode(table, plan.schema)
        public = public_inputs_of(plan, dataset, progress)
        original = replace(as_if_published(dataset), public=public)
    seen = replace(release, public=public)
    return attack_all(seen, original, threshold=threshold, population=crowd, progress=progress)


def _attacked(dataset: Dataset, release: Release, progress: Progress) -> tuple[Exposure, ...]:
    original = replace(as_if_published(dataset), public=release.public)
    return attack_all(release, original, on_demand=False, progress=progress)


def _read_population(path: Path, plan: Plan) -> Dataset:
    """Return the quasi-identifiers of a larger table; what else it holds is left out."""
    table = read_table(Source(path, missing=plan.schema.missing))
    wanted = {spec.name: spec for spec in plan.schema if spec.role is Role.QUASI_IDENTIFIER}
    absent = [name for name in wanted if name not in table.column_names]
    if absent:
        raise DataError(
            f"The population lacks {len(absent)} quasi-identifier(s): {', '.join(map(repr, absent))}.\n"
            "Give a table with all quasi-identifiers of the plan, in the same spelling."
        )
    return encode(table.select(list(wanted)), Schema(columns=wanted, missing=plan.schema.missing))


def _read_any(path: Path, plan: Plan) -> Release:
    return read_release(path, plan.schema, separator=plan.source.separator if plan.source else None)


def public_inputs_of(plan: Plan, dataset: Dataset, progress: Progress = SILENT) -> PublicInputs:
    """Return what everybody knows besides a release: the knowledge table, and a prior, given or from the original.

    How common each value of a sensitive quasi-identifier is counts as known too: closeness is measured from there.
    """
    base_rates = {
        column.name: BaseRates.as_shown(column, plan.schema.missing)
        for column in dataset.with_role(Role.SENSITIVE_QUASI_IDENTIFIER)
        if isinstance(column, CodedColumn)
    }
    masked = _given_rates(plan)
    for name in plan.masked_columns:
        if name not in masked and isinstance(column := dataset.columns.get(name), CodedColumn):
            masked[name] = BaseRates.of(column)
    if plan.knowledge is None:
        return PublicInputs(base_rates=base_rates | masked)
    knowledge = plan.knowledge.read(progress)
    judged = plan.policy.of(QSDiversity, QSCloseness)
    if knowledge.weight is not None or not judged:
        return PublicInputs(knowledge, base_rates=base_rates | masked)
    # All of them are about the same columns: the plan sees to that.
    terms = TermColumns.of_dataset(dataset, judged[0].judged_columns)
    prior = None if terms.not_sets else estimated_prior(terms.sets, knowledge)
    return PublicInputs(knowledge, prior, base_rates | masked)


def _known_to_all(plan: Plan, release: Release, path: Path, progress: Progress = SILENT) -> PublicInputs:
    """Return the public inputs for an audit; what was counted in the original comes from the run, else the source."""
    masked = known_rates(plan, release, progress)
    knowledge = plan.knowledge.read(progress) if plan.knowledge is not None else None
    needs_prior = knowledge is not None and knowledge.weight is None
    needs_rates = bool(plan.schema.named(Role.SENSITIVE_QUASI_IDENTIFIER))
    if not needs_prior and not needs_rates:
        return PublicInputs(knowledge, base_rates=masked)
    for folder in (path, path.parent):
        if (folder / "private" / "run.json").is_file():
            facts = read_facts(folder)
            prior, counted = facts.get("prior"), facts.get("base_rates") or {}
            known = not needs_prior or (prior is not None and knowledge and len(prior) == knowledge.n_labels)
            if known and (counted or not needs_rates):
                rates = {name: BaseRates(weight=weight, counted=True) for name, weight in counted.items()}
                return PublicInputs(knowledge, np.array(prior) if needs_prior else None, rates | masked)
    if plan.source is None and not needs_prior:
        return PublicInputs(knowledge, base_rates=masked)  # an audit without base rates can refute, and says so
    table, _ = read_source(plan, progress, Clock())
    found = public_inputs_of(plan, encode(table, plan.schema), progress)
    return replace(found, base_rates={**found.base_rates, **masked})


def known_rates(plan: Plan, release: Release, progress: Progress = SILENT) -> dict[str, BaseRates]:
    """Return how common values of masked columns are, for an audit: as given, as published, else from the source."""
    rates = _published_rates(plan, release) | _given_rates(plan)
    if plan.source is not None and any(name not in rates for name in plan.masked_columns):
        table, _ = read_source(plan, progress, Clock())
        dataset = encode(table, plan.schema)
        rates = {name: BaseRates.of(dataset.column(name)) for name in plan.masked_columns} | rates
    return rates


def _given_rates(plan: Plan) -> dict[str, BaseRates]:
    specs = [plan.schema.spec(name) for name in plan.masked_columns]
    return {
        spec.name: read_base_rates(spec.base_rates, plan.schema.missing)
        for spec in specs
        if spec is not None and spec.base_rates is not None
    }


def _published_rates(plan: Plan, release: Release) -> dict[str, BaseRates]:
    """Return base rates that release.json shows."""
    columns = release.description.get("columns", {})
    rates = {}
    for name in plan.masked_columns:
        shown = columns.get(name, {}).get("base_rates") if isinstance(columns, Mapping) else None
        if isinstance(shown, Mapping):
            counted = shown.get("counted") is True
            rates[name] = BaseRates(weight=dict(shown["values"]), missing=int(shown["missing"]), counted=counted)
    return rates


def read_facts(run: Path) -> dict[str, Any]:
    """Return the facts of an earlier run from its folder."""
    path = run / "private" / "run.json"
    if not path.is_file():
        raise DataError(f"{run} holds no run: there is no private/run.json in it.\nName the folder given as --out.")
    return read_numbered(path, RUN_FORMAT, "is no run of sfumato.\nRun `sfumato anonymize` again.")


def judge(
    release: Release, policy: Policy, progress: Progress = SILENT, *, show_items: bool = False
) -> tuple[Verdict, ...]:
    """Let every model of the policy judge the release; an audit that breaks counts as failed and is a bug."""
    stage = progress.stage("audit", total=len(policy.requirements))
    verdicts = []
    for model in policy:
        try:
            verdicts.append(model.audit(release, name_items=show_items))
        except SfumatoError:
            raise
        except Exception as error:
            raise SfumatoError(
                f"The audit of {model.name} broke ({type(error).__name__}), so nothing can be said about the release.\n"
                "No release was written. This is a bug in sfumato: please report it."
            ) from error
        stage.advance()
    stage.done()
    return tuple(verdicts)


def _refuse_unless_all_hold(verdicts: tuple[Verdict, ...]) -> None:
    failed = [verdict for verdict in verdicts if not verdict.satisfied]
    if failed:
        lines = "\n".join(f"- {verdict}" for verdict in failed)
        raise Unsatisfiable(
            f"The audit rejected the release: {len(failed)} of {len(verdicts)} requirements do not hold.\n{lines}\n"
            "Nothing was written. Relax the requirement, or choose another anonymizer."
        )


def read_source(plan: Plan, progress: Progress, clock: Clock) -> tuple[pa.Table, dict[str, Any]]:
    """Return the plan's data without identifiers, and what is to be known about the file."""
    if plan.source is None:
        raise PlanError([Problem("source.path", 'it names no data: [source] path = "...".')])
    with clock.time("read"):
        check_columns(read_columns(plan.source), plan.schema)  # before reading everything
        table = read_table(plan.source, drop=frozenset(plan.schema.named(Role.IDENTIFIER)), progress=progress)
    with clock.time("digest"):
        source = {"path": plan.source.path.name, "sha256": digest(plan.source.path), "rows": table.num_rows}
    return table, source


def _make_release(
    table: pa.Table, plan: Plan, seed: int | None, threads: int | None, progress: Progress, clock: Clock
) -> tuple[Dataset, Release, list[dict[str, Any]]]:
    with clock.time("encode"):
        stage = progress.stage("encode")
        dataset = encode(table, plan.schema)
        stage.done()
    if dataset.n_rows == 0:
        raise DataError("The table has columns but no rows.\nThere is nothing to publish.")
    if not dataset.quasi_identifiers and any(step.anonymizer.phase.forms_groups for step in plan.steps()):
        raise DataError("No column of the table is a quasi-identifier.\nGive at least one that role in the plan.")
    with clock.time("knowledge"):
        public = public_inputs_of(plan, dataset, progress)
    # Entropy from the system unless a seed is given; the seed itself is kept nowhere.
    workplace = Workplace(
        rng=np.random.default_rng(seed),
        seeded=seed is not None,
        threads=threads or available_threads(),
        progress=progress,
        public=public,
    )
    recoding = Recoding()
    steps = []
    with use_threads(workplace.threads):
        for step in plan.steps():
            with clock.time(step.anonymizer.name):
                recoding = step.carry_out(dataset, recoding, workplace)
            steps.append(
                {
                    "anonymizer": step.anonymizer.name,
                    "options": options_of(step.anonymizer),
                    "requirements": [describe(model) for model in step.policy],
                    "why": step.why,
                    "facts": dict(recoding.facts),
                }
            )
    with clock.time("publish"):
        models = [describe(model) for model in plan.policy]
        release = publish(dataset, recoding, models, workplace.rng if plan.release.shuffle else None)
    description = dict(release.description)
    if seed is not None:
        description["test_only"] = True  # whoever guesses the seed repeats every draw
    if plan.publish_prior and public.knowledge is not None and public.belief is not None:
        description["prior"] = dict(zip(public.knowledge.labels, public.belief.tolist(), strict=True))
    if plan.release.publish_base_rates:
        columns = {name: dict(column) for name, column in description["columns"].items()}
        for name in plan.masked_columns:
            rates = public.base_rates[name]
            shown = {"values": dict(rates.weight), "missing": rates.missing, "counted": rates.counted}
            columns[name]["base_rates"] = shown
        description["columns"] = columns
    return dataset, replace(release, public=public, description=description), steps


def _outcome(
    plan: Plan,
    dataset: Dataset,
    release: Release,
    steps: list[dict[str, Any]],
    verdicts: tuple[Verdict, ...],
    measurements: tuple[Measurement, ...],
    exposures: tuple[Exposure, ...],
    clock: Clock,
    source: Mapping[str, Any] | None,
) -> Outcome:
    """Return what came of a run, with everything that the report shows as plain data."""
    facts = {
        "format": RUN_FORMAT,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "plan": {"path": plan.path.name if plan.path else None, "sha256": plan.sha256},
        "source": dict(source) if source else {"rows": dataset.n_rows},
        "release": {"format": plan.release.format, "rows": release.n_rows, "shuffled": plan.release.shuffle},
        "columns": _columns(plan, dataset),
        "steps": steps,
        "verdicts": [
            {**verdict.as_dict(), "text": str(verdict), "promise": verdict.model.promise, "limit": verdict.model.limit}
            for verdict in verdicts
        ],
        "measurements": [measurement.as_dict() for measurement in measurements],
        "attacks": [exposure.as_dict() for exposure in exposures],
        "prior": release.public.prior.tolist() if release.public.prior is not None else None,
        "base_rates": {
            column.name: dict(release.public.base_rates[column.name].weight)
            for column in dataset.with_role(Role.SENSITIVE_QUASI_IDENTIFIER)
        },
        "timings": clock.steps,
        "warnings": [*plan.warnings(), *_warnings_of(dataset)],
        "versions": versions(),
    }
    return Outcome(
        plan=plan, release=release, verdicts=verdicts, measurements=measurements, exposures=exposures, facts=facts
    )


def _warnings_of(dataset: Dataset) -> list[str]:
    """Return what the data do not bear out of what the plan says."""
    found = []
    for column in dataset.with_role(Role.ITEMS):
        spec = dataset.schema.spec(column.name)
        named = spec.sensitive_items if spec is not None else None
        if isinstance(column, CodedSets) and column.sensitive is not None and isinstance(named, tuple):
            absent = len(set(named)) - int(column.sensitive.sum())
            if absent:
                found.append(
                    f"{absent:,} of {len(set(named)):,} sensitive items never occur in column {column.name!r}. "
                    "Check that they are written as in the data."
                )
    return found


def _columns(plan: Plan, dataset: Dataset) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = [
        {"name": name, "role": Role.IDENTIFIER.value, "dropped": True} for name in plan.schema.named(Role.IDENTIFIER)
    ]
    for name in dataset.order:
        column = dataset.columns.get(name)
        if column is None:
            described.append({"name": name, "role": Role.OTHER.value})
            continue
        entry: dict[str, Any] = {
            "name": name,
            "role": column.role.value,
            "kind": column.kind.value,
            "values": len(column.labels),
        }
        if isinstance(column, CodedColumn):
            entry["kind"] = column.shown_kind.value
            entry["kind_inferred"] = column.kind_inferred
            entry["missing"] = int((column.codes == column.missing).sum()) if column.missing >= 0 else 0
            entry["levels"] = column.hierarchy.height if column.hierarchy is not None else None
        described.append(entry)
    return described


def versions() -> dict[str, str]:
    """Return the versions that a run can be repeated with."""
    packages = ("numpy", "numba", "pyarrow")
    return {
        "sfumato": __version__,
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
    }
