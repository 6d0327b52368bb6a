"""sfumato in Python: frames in, frames out.

`import sfumato as sf` offers what is listed here; nothing heavy is loaded before it is used: pages are made by modules
that judging a table does not need.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import estimators
from sfumato.attacks import FACTOR, THRESHOLD, WIDTH, Exposure
from sfumato.data.files import Source
from sfumato.data.files.release import read_release, schema_for
from sfumato.data.frames import is_spark, like, to_arrow
from sfumato.data.names import listed
from sfumato.data.release import Release
from sfumato.disk import atomic_file
from sfumato.engines import Engine
from sfumato.errors import DataError, SfumatoWarning
from sfumato.estimators import BUDGET
from sfumato.estimators.base import CrossTable, Estimator, Expectation
from sfumato.metrics.base import Measurement
from sfumato.models.base import Verdict
from sfumato.pipeline import Case, Kept, Outcome, Seen, asked, asking, columns_at, engine_of, make_elsewhere
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress, announce
from sfumato.receiving.dictionary import Dictionary
from sfumato.receiving.loading import Loaded
from sfumato.sweeping import sweep as run_sweep

if TYPE_CHECKING:
    from sfumato.drafting import Draft
    from sfumato.report.explored import Sweep
    from sfumato.report.notebook import Framed


@dataclass(eq=False, repr=False)
class Published:
    """What an outsider gets: the table, as the kind of frame that came in, and its public description."""

    _make: Callable[[], Any]
    description: Mapping[str, Any]

    @cached_property
    def data(self) -> Any:
        """The table; made when it is first asked for."""
        return self._make()

    def __repr__(self) -> str:
        return f"<Published: {self.description.get('rows', 0):,} rows; {', '.join(self.description['columns'])}>"


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A release, the second opinion on it, and what it cost. Shows itself in a notebook."""

    release: Published
    verdicts: tuple[Verdict, ...]
    measurements: tuple[Measurement, ...]
    exposures: tuple[Exposure, ...]  # what an intruder gets, before and after
    facts: Mapping[str, Any]  # everything as plain data, as in private/run.json

    @classmethod
    def of(cls, outcome: Outcome, frame: Any = None) -> Run:
        """Return an outcome as users see it: the release as the kind of frame that came in, else an Arrow table."""

        def table() -> Any:
            made = outcome.table()
            return made if frame is None else like(frame, made)

        return cls(
            release=Published(table, outcome.release.description),
            verdicts=outcome.verdicts,
            measurements=outcome.measurements,
            exposures=outcome.exposures,
            facts=outcome.facts,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the run, a sentence or two each; Python's `warnings` hears the first of each kind."""
        return tuple(self.facts.get("warnings", ()))

    def report(self, path: str | Path) -> Path:
        """Write the holder's report, one page that opens without network, and return where it is."""
        from sfumato.report.page import render

        with atomic_file(Path(path)) as temporary:
            temporary.write_text(render(self.facts), encoding="utf-8")
        return Path(path)

    def __str__(self) -> str:
        from sfumato.report.text import summary, warned

        return "\n\n".join(part for part in (summary(self.facts), warned(self.facts)) if part)

    def __repr__(self) -> str:
        held = sum(verdict.satisfied for verdict in self.verdicts)
        rows = self.facts.get("release", {}).get("rows", 0)
        return f"<Run: {held} of {len(self.verdicts)} requirements hold, {rows:,} rows>"

    def _repr_html_(self) -> str:
        from sfumato.report.page import CARD, render

        return _framed(render(self.facts, CARD), 640)._repr_html_()

    def show(self, height: int = 900) -> Framed:
        """Return the whole report, for a notebook to show in a frame of so many pixels."""
        from sfumato.report.page import render

        return _framed(render(self.facts), height)


def _framed(page: str, height: int) -> Framed:
    from sfumato.report.notebook import Framed

    return Framed(page, height)


def _refuse_no_plan(plan: Any) -> None:
    if not isinstance(plan, Plan):
        raise DataError(
            f"A plan was expected, but a {type(plan).__module__}.{type(plan).__qualname__} was given.\n"
            "Make one of it: sf.Plan.load(path), sf.Plan.from_dict(document)."
        )


def _warn(sentences: Sequence[str]) -> None:
    """Warn once of each kind, at the line that called a function of this module.

    Two warnings are of one kind if they differ only in quoted names and in figures.
    """
    kinds: dict[str, list[str]] = {}
    for sentence in sentences:
        kinds.setdefault(re.sub(r"""'[^']*'|"[^"]*"|\d[\d,.]*""", "", sentence), []).append(sentence)
    for first, *others in kinds.values():
        more = f" ({len(others):,} more of this kind: see the warnings of the run.)" if others else ""
        warnings.warn(first + more, SfumatoWarning, stacklevel=3)


def draft(data: Any, *, progress: Progress = SILENT) -> Draft:
    """Return a first plan for a frame, or for a file: what each column looks like, and what only you can know.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"name": ["Ann", "Bob"] * 20, "age": list(range(20, 60)), "illness": ["flu", "cold"] * 20})
    >>> first = sf.draft(people)
    >>> [(guess.name, str(guess.role)) for guess in first.guesses]
    [('name', 'identifier'), ('age', 'quasi-identifier'), ('illness', 'sensitive')]
    >>> sf.anonymize(people, first.plan, seed=1)
    <Run: 2 of 2 requirements hold, 40 rows>
    """
    from sfumato import drafting

    if isinstance(data, str | Path | Source):
        return drafting.draft(data if isinstance(data, Source) else Source(Path(data)), Path(), progress)
    return drafting.draft_table(to_arrow(data), progress)


def anonymize(
    frame: Any,
    plan: Plan,
    *,
    seed: int | None = None,
    threads: int | None = None,
    measure: bool = True,
    attack: bool = True,
    progress: Progress = SILENT,
) -> Run:
    """Anonymize a pandas, polars, pyarrow or Spark frame; raise unless every requirement holds on what comes out.

    Chance comes from the system's entropy; give a `seed` only to repeat a run in a test. What is left for later without
    `measure` and `attack`, `sf.measure(run, plan, original=frame)` and `sf.attack` work out.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"age": [31, 32, 58, 59], "job": ["nurse", "nurse", "cook", "cook"]})
    >>> plan = sf.Plan.from_dict({
    ...     "columns": {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}},
    ...     "require": [{"model": "k-anonymity", "k": 2}],
    ... })
    >>> run = sf.anonymize(people, plan, seed=1)
    >>> sorted(set(run.release.data["age"].to_pylist()))
    ['[30, 34]', '[55, 64]']
    >>> run.verdicts[0].satisfied
    True
    """
    _refuse_no_plan(plan)
    if is_spark(frame):
        outcome, data = make_elsewhere(frame, plan, seed=seed, threads=threads, progress=progress)
        made = replace(Run.of(outcome), release=Published(data, outcome.release.description))
    else:
        case = Case(plan, to_arrow(frame, plan.schema.columns), progress=progress)
        made = Run.of(case.make(seed=seed, threads=threads, measure=measure, attack=attack), frame)
    _warn(made.warnings)
    return made


def run(
    plan: Plan,
    out: str | Path,
    *,
    seed: int | None = None,
    threads: int | None = None,
    engine: str | Engine | None = None,
    master: str | None = None,
    distinct_on_driver: int | None = None,
    overwrite: bool = False,
    measure: bool = True,
    attack: bool = True,
    published: Callable[[], None] = lambda: None,
    progress: Progress = SILENT,
) -> Run:
    """Do what a plan says with the data it names, and leave the folder that `sfumato anonymize` leaves.

    The release is there to stay, and `published` is called, before it is measured and attacked; what is left for later
    with `measure` and `attack`, `complete` does. `engine` is "local", "spark" with its `master`, or as the plan says.
    """
    from sfumato.report.page import render

    _refuse_no_plan(plan)
    case = Case(
        plan, engine=engine_of(plan, engine, master=master, distinct_on_driver=distinct_on_driver), progress=progress
    )
    made = Run.of(
        case.make_folder(
            Path(out),
            render,
            seed=seed,
            threads=threads,
            overwrite=overwrite,
            measure=measure,
            attack=attack,
            published=published,
        )
    )
    _warn(made.warnings)
    return made


def complete(
    run: str | Path,
    plan: Plan | str | Path | None = None,
    *,
    measure: bool = True,
    attack: bool = True,
    progress: Progress = SILENT,
) -> Mapping[str, Any]:
    """Measure and attack what is missing of a run in a folder, make its report, and return all its facts.

    The source must be as it was. A `plan` is needed only if it was made in Python, or if its file was moved.
    """
    from sfumato.report.page import render

    kept = Kept.at(Path(run))
    if not asked(measure=measure, attack=attack) & set(kept.pending):
        return kept.facts
    at = Path(plan) if isinstance(plan, str | Path) else None
    made_by = plan if isinstance(plan, Plan) else kept.plan(at)
    facts = Case(made_by, progress=progress).complete(Path(run), render, measure=measure, attack=attack)
    known = set(kept.facts.get("warnings", ()))
    _warn([warning for warning in facts["warnings"] if warning not in known])
    return facts


def sweep(
    plan: Plan,
    vary: Mapping[str, str | Sequence[Any]],
    *,
    frame: Any = None,
    out: str | Path | None = None,
    loss: str | None = None,
    jobs: int = 1,
    seed: int | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> Sweep:
    """Try every combination of some settings of a plan on a frame, or on the plan's source when none is given.

    Values are lists, or text such as "2,5,10" and "0.2..0.5". With `out` the folder that `sfumato sweep` leaves is
    written, and a sweep that was stopped goes on. More than one of `jobs` start new interpreters: call it from a script
    with `if __name__ == "__main__":` then.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"age": list(range(20, 60)), "job": ["nurse", "cook"] * 20})
    >>> plan = sf.Plan.from_dict({
    ...     "columns": {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}},
    ...     "require": [{"model": "k-anonymity", "k": 2}],
    ... })
    >>> found = sf.sweep(plan, {"k": [2, 4, 50]}, frame=people)
    >>> [(cell["values"]["k"], cell["holds"]) for cell in found.cells]
    [(2, True), (4, True), (50, False)]
    """
    from sfumato.report.explored import Sweep
    from sfumato.report.sweep import render_sweep

    _refuse_no_plan(plan)
    facts = run_sweep(
        plan,
        vary,
        table=to_arrow(frame, plan.schema.columns) if frame is not None else None,
        out=Path(out) if out is not None else None,
        page=render_sweep,
        loss=loss,
        jobs=jobs,
        seed=seed,
        overwrite=overwrite,
        progress=progress,
    )
    return Sweep(facts)


# What is asked about a table: a run, the release of a run, its folder, a file of any tool, a source, or any frame.


def audit(
    data: Any, plan: Plan, *, original: Any = None, name_items: bool = False, progress: Progress = SILENT, **where: Any
) -> tuple[Verdict, ...]:
    """Judge a table by the plan's requirements: a run, its folder, a release, a file of any tool, or any frame.

    What is public beyond the release comes from the plan, from the run, or is counted in the `original`: a frame, or
    the plan's source when none is given. Verdicts say which. With `name_items`, those that can name what breaks them.
    Here and below, `engine`, `master` and `distinct_on_driver` say where folders are looked at, as for `run`.
    """
    announce(progress, ("read", "audit"))
    with _looking(data, plan, original, progress, every_row=False, **where) as (case, seen):
        return case.audit(seen, name_items=name_items)


def measure(
    data: Any, plan: Plan, *, original: Any = None, target: str | None = None, progress: Progress = SILENT, **where: Any
) -> tuple[Measurement, ...]:
    """Measure what a table is still good for against the original: a frame, or the plan's source when none is given."""
    announce(progress, ("read", "encode", "measure"))
    with _looking(data, plan, original, progress, every_row=True, **where) as (case, seen):
        return case.measure(seen, target=target)


def attack(
    data: Any,
    plan: Plan,
    *,
    original: Any = None,
    threshold: float = THRESHOLD,
    factor: float = FACTOR,
    width: float = WIDTH,
    population: str | Path | None = None,
    progress: Progress = SILENT,
    **where: Any,
) -> tuple[Exposure, ...]:
    """Return what an intruder gets out of a table, and out of the original: a frame, or the plan's source.

    A person is exposed when an attacker's confidence exceeds `threshold`. A value below 5 % of the table also exposes a
    person when their class makes it more than `factor` times as likely. Numbers in an interval of `width`, a share of
    the whole range, count as near each other. `population` is a file with more people and the same quasi-identifiers,
    which a journalist would search.
    """
    announce(progress, ("read", "encode", "attack"))
    crowd = Path(population) if population is not None else None
    with _looking(data, plan, original, progress, every_row=True, **where) as (case, seen):
        return case.attack(seen, threshold=threshold, factor=factor, width=width, population=crowd)


def _looking(
    data: Any, plan: Plan, original: Any, progress: Progress, **how: Any
) -> AbstractContextManager[tuple[Case, Seen]]:
    _refuse_no_plan(plan)
    path = Path(data) if isinstance(data, str | Path) else None

    def seen() -> Seen:
        if path is not None or isinstance(data, Source):
            return Seen.at(path or data, plan, progress)
        published = data.release if isinstance(data, Run) else data
        if not isinstance(published, Published):
            return Seen.in_memory(to_arrow(data), plan, frame=data)
        facts = data.facts if isinstance(data, Run) else None
        return Seen.in_memory(to_arrow(published.data), plan, published.description, facts, published.data)

    given = to_arrow(original, plan.schema.columns) if original is not None else None
    return asking(plan, path, given, seen, progress, **how)


def reconstruct(
    release: Any,
    columns: Sequence[str],
    *,
    where: Mapping[str, str] | None = None,
    method: str | Estimator = "auto",
    budget: float = BUDGET,
    **engine: Any,
) -> CrossTable:
    """Return a table of some columns, with standard errors, from a randomized release: its folder, or `run.release`.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"job": ["nurse", "cook", "clerk", "nurse"] * 500})
    >>> plan = sf.Plan.from_dict({
    ...     "columns": {"job": {"role": "sensitive-quasi-identifier", "domain": ["clerk", "cook", "nurse"]}},
    ...     "require": [{"model": "sensitive-qid-diversity", "l": {"job": 2}}],
    ... })
    >>> answer = sf.reconstruct(sf.anonymize(people, plan, seed=1).release, ["job"])
    >>> answer.table().column_names
    ['job', 'count', 'std_error']
    >>> bool(900 < answer.counts[2] < 1100)
    True
    """
    path = release if isinstance(release, str | Path) else None
    seen = (
        columns_at(Path(path), (*listed(columns), *(where or ())), **engine) if path and engine else _described(release)
    )
    return estimators.reconstruct(seen, columns, where=where, method=method, budget=budget)


def expect(release: Any, columns: Sequence[str], *, where: Mapping[str, str] | None = None) -> Expectation:
    """Return the size of a table and the error to expect of it, before it is reconstructed."""
    return estimators.query(_described(release), columns, where).expectation()


# What a release tells whoever receives it.


def describe(release: Any) -> Dictionary:
    """Return what each column of a release means, how it was changed and what must not be concluded.

    Give its folder, or `run.release`. Printed, it is the page that `release/README.md` holds.
    """
    return Dictionary.of_release(_described(release))


def load(release: Any) -> Loaded:
    """Return a release as values: ranges with their ends, groups with level and members, sets, chances.

    Give its folder, or `run.release`.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"age": [31, 32, 58, 59], "job": ["nurse", "nurse", "cook", "cook"]})
    >>> plan = sf.Plan.from_dict({
    ...     "columns": {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}},
    ...     "require": [{"model": "k-anonymity", "k": 2}],
    ... })
    >>> loaded = sf.load(sf.anonymize(people, plan, seed=1).release)
    >>> sorted(zip(loaded["age"].lower.tolist(), loaded["age"].upper.tolist()))
    [(30.0, 34.0), (30.0, 34.0), (55.0, 64.0), (55.0, 64.0)]
    """
    return Loaded(_described(release))


def _described(release: Any) -> Release:
    """Return a release with the description that says how it was randomized."""
    if isinstance(release, str | Path):
        return read_release(Path(release))
    published = release.release if isinstance(release, Run) else release
    if not isinstance(published, Published):
        raise DataError(
            "A release was asked for, but a frame was given, which does not say how it was made.\n"
            "Give the release folder, or the `release` of a run."
        )
    schema = schema_for(published.description, None)
    return Release.from_table(to_arrow(published.data), schema, published.description)
