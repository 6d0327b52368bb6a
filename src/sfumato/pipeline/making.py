"""From coded data to a release, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import Anonymizer, Workplace, chosen_of, options_of
from sfumato.anonymizers.dependence import dependence_of_steps
from sfumato.anonymizers.people import spread
from sfumato.data.dataset import Dataset
from sfumato.data.figures import FEW, with_figures
from sfumato.data.files import fitted, how_read, is_there
from sfumato.data.files.csv_release import Dialect
from sfumato.data.files.source import format_of
from sfumato.data.files.stat import STAT_FORMATS, codes_of, titles_of
from sfumato.data.legend import legends
from sfumato.data.persons import Alike, Persons, people_per_class
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.weighting import row_weights_of
from sfumato.engines.base import Engine
from sfumato.engines.local import LOCAL_SERVES
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.models.base import describe
from sfumato.pipeline.clock import Clock
from sfumato.pipeline.known import Known
from sfumato.plan import Plan
from sfumato.plan.checks import needs_quasi_identifiers
from sfumato.progress import Progress
from sfumato.receiving.dictionary import Dictionary

EXAMPLES = 5  # rows that the holder sees before and after


@dataclass(frozen=True, eq=False)
class Made:
    """A release that nobody has judged yet, and what the steps have to say about it."""

    release: Release
    steps: tuple[Mapping[str, Any], ...]
    examples: Mapping[str, Any]  # some rows before and after: for the holder alone
    alike: Alike | None = None  # how many people share a class, where a table has several rows a person
    notes: tuple[str, ...] = ()  # what deserves a second look

    def without_rows(self) -> Made:
        """Return what is to be said without the rows themselves."""
        return replace(self, release=replace(self.release, columns={}, carried=None, entry_of=None))


def make(
    plan: Plan,
    dataset: Dataset,
    known: Known,
    engine: Engine,
    *,
    persons: Persons | None = None,
    seed: int | None,
    threads: int | None,
    progress: Progress,
    clock: Clock,
) -> Made:
    """Carry out the steps of a plan and publish what they decide."""
    if plan.release.shows != "range" and dataset.whole is not None:
        raise DataError(
            f"Classes were to show the {plan.release.shows} of their numbers, but the table has too many distinct rows "
            "for the driver, and regions of it show ranges.\nRaise --distinct-on-driver, or leave [release] shows out."
        )
    with engine.stoppable() as stop:
        # Entropy from the system unless a seed is given; the seed itself is kept nowhere.
        workplace = Workplace(
            rng=_chance(seed),
            seeded=seed is not None,
            threads=engine.threads(threads),
            progress=progress,
            public=known.public,
            stop=stop,
        )
        recoding = Recoding()
        steps: list[dict[str, Any]] = []
        for step in plan.steps():
            with clock.time(step.anonymizer.name):
                recoding = engine.carry_out(step, dataset, recoding, workplace)
            steps.append(
                {
                    "anonymizer": step.anonymizer.name,
                    "options": options_of(step.anonymizer),
                    "chosen": chosen_of(step.anonymizer),
                    "requirements": [describe(model) for model in step.policy],
                    "why": step.why,
                    "facts": dict(recoding.facts),
                }
            )
    with clock.time("publish"):
        labels = known.public.knowledge.labels if known.public.knowledge is not None else ()
        told = dependence_of_steps(plan.steps(), dataset, labels, partial(engine.given_away, dataset, recoding))
        for said in steps:
            said |= told.get(said["anonymizer"], {})
        notes: tuple[str, ...] = ()
        if dataset.rows is not None:
            notes = tuple(_told_by_rows(dataset, recoding))
            dataset, recoding = spread(dataset, recoding, workplace.keys())
        if plan.release.shows != "range":
            least = max((FEW, *(step.class_size for step in plan.steps())))
            weight = row_weights_of(dataset.carried, {"weight": plan.weight}, dataset.n_rows)
            recoding = with_figures(dataset, recoding, plan.release.shows, least, weight)
        models = [describe(model) for model in plan.policy]
        release = engine.publish(dataset, recoding, models, workplace.keys() if plan.release.shuffle else None)
    description = _described(plan, release, dataset, known, seeded=seed is not None)
    release = replace(release, public=known.public, description=description, readme=str(Dictionary.of(description)))
    alike = _alike(plan, dataset, recoding, persons) if persons is not None else None
    return Made(release, tuple(steps), _examples(dataset, recoding), alike, notes)


def _chance(seed: Any) -> np.random.Generator:
    """Return what chance comes from."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
        raise PolicyError("The seed is no whole number of at least 0.\nGive one, to repeat a test, or none.")
    return np.random.default_rng(None if seed is None else int(seed))


def _alike(plan: Plan, dataset: Dataset, recoding: Recoding, persons: Persons) -> Alike | None:
    if not dataset.quasi_identifiers:
        return None
    k = max((k for model in plan.policy if (k := getattr(model, "k", None))), default=2)
    return Alike.of(people_per_class(dataset, recoding, persons), k)


def _told_by_rows(people: Dataset, recoding: Recoding) -> Iterator[str]:
    """Yield how many people could be told from others by the number of their rows, which is published with them."""
    assert people.rows is not None
    rows_of = np.bincount(people.rows.person_of, minlength=people.n_rows)
    everybody = Persons("", np.arange(people.n_rows, dtype=np.int32), people.n_rows)
    if count := int((people_per_class(people, recoding, everybody, rows_of) == 1).sum()):
        yield (
            f"Rows of a person carry the same new number, so everybody sees how many there are: {count:,} of "
            f"{people.n_rows:,} people are the only ones of their class with as many. Who knows how many rows somebody "
            "has finds them; [gather] puts the rows of a person together."
        )


def refuse_nothing_to_publish(plan: Plan, dataset: Dataset) -> None:
    """Raise where a table gives no step anything to work on, or does not fit what the plan says of its people."""
    if dataset.n_rows == 0:
        raise DataError("The table has columns but no rows.\nThere is nothing to publish.")
    if not dataset.quasi_identifiers and needs_quasi_identifiers(plan):
        raise DataError("No column of the table is a quasi-identifier.\nGive at least one that role in the plan.")
    plan.sampling.refuse_unfit(dataset.carried, dataset.n_rows, dataset.rows)


def refuse_unfit(plan: Plan, dataset: Dataset) -> None:
    """Raise what a run would find wrong before it decides anything, for who only wants to know."""
    refuse_nothing_to_publish(plan, dataset)
    before: list[Anonymizer] = []
    for step in plan.steps():
        step.anonymizer.refuse_unfit(dataset, step.policy, before)
        before.append(step.anonymizer)


def dialect_of(plan: Plan, engine: Engine) -> Dialect | None:
    """Return the dialect of the source, where the release shall have it."""
    if plan.release.dialect == "plain" or not engine.holds_rows:  # parts are no CSV files
        return None
    source = plan.source
    if source is None or format_of(source) not in ("csv", "tsv"):
        raise DataError(
            "The release was to have the dialect of the source, but that is no CSV file.\n"
            'Write [release] dialect = "plain", or leave it out.'
        )
    return Dialect.found(how_read(fitted(source, plan.schema)))


def as_in_source(release: Release, plan: Plan, engine: Engine, dialect: Dialect | None) -> Release:
    """Return a release that is written as its source is: in its dialect, or with its codes and descriptions."""
    description, titles, source = dict(release.description), {}, plan.source
    if dialect is not None:
        description["dialect"] = dialect.as_dict()
    if source is not None and source.database is None and is_there(source) and format_of(source) in STAT_FORMATS:
        form = format_of(source)
        titles = {name: title for name, title in titles_of(source, form).items() if _keeps_its_title(name, plan)}
        titles = {name: titles[name] for name in release.order if name in titles}
        described = description["columns"]
        description["columns"] = described | {name: described[name] | {"label": titles[name]} for name in titles}
        if engine.form(plan.release.format) in STAT_FORMATS:
            release = replace(release, codes=codes_of(source, form))
    if dialect is None and not titles:
        return release
    return replace(release, titles=titles, description=description, readme=str(Dictionary.of(description)))


def _keeps_its_title(name: str, plan: Plan) -> bool:
    """Whether a published column is that of the source: numbers of people are drawn anew, and others may be made."""
    made = {column.name: column.column for column in plan.gather.columns} if plan.gather is not None else {}
    return name != plan.schema.person and made.get(name, name) == name


def refuse_inputs_in(out: Path, plan: Plan, engine: Engine) -> None:
    """Raise where the output folder holds what a run reads, or a release would go where its engine does not write."""
    if plan.target is not None and not engine.holds_rows:
        found = f"[release] names a table of a database, but --engine {engine.name} writes files."
        raise OutputError(f"{found}\nLeave the table out, or {LOCAL_SERVES}.")
    inputs = {"the plan": plan.path, "source.path": plan.source.file if plan.source else None, **plan.files}
    inside = [name for name, path in inputs.items() if path and path.resolve().is_relative_to(out.resolve())]
    if inside:
        raise OutputError(
            f"The output folder {out} holds what this run reads: {', '.join(inside)}.\nChoose another folder."
        )


def _examples(dataset: Dataset, recoding: Recoding) -> dict[str, Any]:
    """Return some rows before and after, in the order of the source, as plain data."""
    if recoding.pieces is not None:
        dataset = dataset.standing_for(recoding.pieces.row_of, recoding.pieces.count)
    dataset = dataset.held
    kept = np.arange(dataset.n_rows) if recoding.keep_row is None else np.flatnonzero(recoding.keep_row)
    few = np.zeros(dataset.n_rows, dtype=np.bool_)
    few[kept[np.linspace(0, kept.size - 1, min(EXAMPLES, kept.size)).astype(np.int64)]] = True
    sides = {"before": Recoding(keep_row=few), "after": replace(recoding, keep_row=few, public={})}
    tables = {side: publish(dataset, seen, ()).table() for side, seen in sides.items()}
    return {
        "columns": list(dataset.order),
        **{
            side: [list(map(_shown, row)) for row in zip(*map(_cells, table.columns), strict=True)]
            for side, table in tables.items()
        },
    }


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return the cells of a column; as text where Python has no such moments, before year 1 or after 9999."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return list(column.cast(pa.string()).to_pylist())


def _shown(cell: Any) -> str:
    """Return a cell as text; the members of a set one after the other."""
    if isinstance(cell, list):
        return ", ".join(map(_shown, cell))
    return "" if cell is None else str(cell)


def _described(plan: Plan, release: Release, dataset: Dataset, known: Known, *, seeded: bool) -> dict[str, Any]:
    """Return the public description, with what the plan lets everybody know."""
    public, described = known.public, dict(release.description)
    if plan.weight is not None:
        described["weight"] = plan.weight
    if seeded:
        described["test_only"] = True  # whoever guesses the seed repeats every draw
    if plan.publish_prior and public.knowledge is not None and public.belief is not None:
        described["prior"] = dict(zip(public.knowledge.labels, public.belief.tolist(), strict=True))
    described["columns"] = columns = {name: dict(column) for name, column in described["columns"].items()}
    if plan.schema.gathered:
        described["gathered"] = True  # each row is a person
    if plan.schema.person is not None:
        described["person"] = plan.schema.person
        columns[plan.schema.person]["numbers"] = "people"
    if plan.release.publish_base_rates:
        for name in plan.masked_columns:
            columns[name]["base_rates"] = public.base_rates[name].as_dict()
    for name, legend in legends(dataset, release, members=plan.release.publish_members).items():
        columns[name]["legend"] = legend
    return described
