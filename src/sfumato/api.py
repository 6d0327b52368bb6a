"""sfumato in Python: frames in, frames out.

`import sfumato as sf` offers what is listed here; nothing heavy is loaded before it is used.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato import estimators
from sfumato.attacks import THRESHOLD, Exposure, attack_all
from sfumato.attacks.base import as_if_published
from sfumato.data.encoding import encode
from sfumato.data.files.release import read_release, schema_for
from sfumato.data.frames import like, to_arrow
from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.disk import atomic_file
from sfumato.errors import DataError
from sfumato.estimators import BUDGET
from sfumato.estimators.base import CrossTable, Estimator, Expectation
from sfumato.metrics.base import Measurement
from sfumato.models.base import Verdict
from sfumato.pipeline import (
    attack_path,
    audit_path,
    judge,
    known_rates,
    measure_path,
    measured,
    public_inputs_of,
    run_in_memory,
    run_to_folder,
)
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress
from sfumato.report.page import render
from sfumato.report.sweep import render_sweep, sweep_text
from sfumato.report.text import summary
from sfumato.sweeping import sweep as run_sweep


@dataclass(frozen=True, eq=False)
class Published:
    """What an outsider gets: the table, as the kind of frame that came in, and its public description."""

    data: Any
    description: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Run:
    """A release, the second opinion on it, and what it cost. Shows itself in a notebook."""

    release: Published
    verdicts: tuple[Verdict, ...]
    measurements: tuple[Measurement, ...]
    exposures: tuple[Exposure, ...]  # what an intruder gets, before and after
    facts: Mapping[str, Any]  # everything as plain data, as in private/run.json

    def report(self, path: str | Path) -> Path:
        """Write the holder's report, one page that opens without network, and return where it is."""
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(render(self.facts), encoding="utf-8")
        return Path(path)

    def __str__(self) -> str:
        return summary(self.facts)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(summary(self.facts))}</pre>"


def anonymize(
    frame: Any, plan: Plan, *, seed: int | None = None, threads: int | None = None, progress: Progress = SILENT
) -> Run:
    """Anonymize a pandas, polars or pyarrow frame; raise unless every requirement holds on what comes out.

    Randomness comes from the system's entropy; give a `seed` only to repeat a run in a test.

    >>> import pyarrow as pa
    >>> import sfumato as sf
    >>> people = pa.table({"age": [31, 32, 58, 59], "job": ["nurse", "nurse", "cook", "cook"]})
    >>> plan = sf.Plan.from_dict({
    ...     "columns": {"age": {"role": "quasi-identifier"}, "job": {"role": "sensitive"}},
    ...     "require": [{"model": "k-anonymity", "k": 2}],
    ... })
    >>> run = sf.anonymize(people, plan, seed=1)
    >>> sorted(set(run.release.data["age"].to_pylist()))
    ['[31, 32]', '[58, 59]']
    >>> run.verdicts[0].satisfied
    True
    """
    outcome = run_in_memory(to_arrow(frame), plan, seed=seed, threads=threads, progress=progress)
    return Run(
        release=Published(data=like(frame, outcome.release.table()), description=outcome.release.description),
        verdicts=outcome.verdicts,
        measurements=outcome.measurements,
        exposures=outcome.exposures,
        facts=outcome.facts,
    )


def run(
    plan: Plan,
    out: str | Path,
    *,
    seed: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> Run:
    """Do what a plan says with the data it names, and leave the folder that `sfumato anonymize` leaves."""
    outcome = run_to_folder(plan, Path(out), render, seed=seed, threads=threads, overwrite=overwrite, progress=progress)
    return Run(
        release=Published(data=outcome.release.table(), description=outcome.release.description),
        verdicts=outcome.verdicts,
        measurements=outcome.measurements,
        exposures=outcome.exposures,
        facts=outcome.facts,
    )


@dataclass(frozen=True, eq=False)
class Sweep:
    """What each combination of settings costs. Shows itself in a notebook."""

    facts: Mapping[str, Any]  # everything as plain data, as in sweep.json

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """The combinations: their values, whether they hold or why not, verdicts, measurements, attacks."""
        return tuple(self.facts["cells"])

    @property
    def frontier(self) -> Sequence[Mapping[str, Any]]:
        """The combinations that none beats in both strictness and loss, loosest first."""
        return tuple(self.cells[place] for place in self.facts["frontier"])

    @property
    def knee(self) -> Mapping[str, Any] | None:
        """The combination where the frontier bends, if it does."""
        place = self.facts["knee"]
        return None if place is None else self.cells[place]

    def report(self, path: str | Path) -> Path:
        """Write the page, which opens without network, and return where it is."""
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(render_sweep(self.facts), encoding="utf-8")
        return Path(path)

    def __str__(self) -> str:
        return sweep_text(self.facts)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(sweep_text(self.facts))}</pre>"


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
    facts = run_sweep(
        plan,
        vary,
        table=to_arrow(frame) if frame is not None else None,
        out=Path(out) if out is not None else None,
        page=render_sweep,
        loss=loss,
        jobs=jobs,
        seed=seed,
        overwrite=overwrite,
        progress=progress,
    )
    return Sweep(facts)


def audit(data: Any, plan: Plan, *, progress: Progress = SILENT) -> tuple[Verdict, ...]:
    """Judge any frame, the release of a run, a release folder or a file by the plan's requirements."""
    if isinstance(data, str | Path):
        return audit_path(Path(data), plan, progress)
    release = _seen(data, plan.schema)
    public = replace(release.public, base_rates=known_rates(plan, release, progress))
    return judge(replace(release, public=public), plan.policy, progress)


def _seen(data: Any, schema: Schema | None) -> Release:
    """Return a frame, or the release of a run with its description, as an outsider sees it."""
    if isinstance(data, Published):
        found = schema_for(data.description, schema)
        return Release.from_table(to_arrow(data.data), found, data.description)
    if schema is None:
        raise DataError(
            "A table was to be reconstructed from a frame, which does not say how it was randomized.\n"
            "Give the release folder, or the `release` of a run."
        )
    return Release.from_table(to_arrow(data), schema)


def reconstruct(
    release: Any,
    columns: Sequence[str],
    *,
    where: Mapping[str, str] | None = None,
    method: str | Estimator = "auto",
    budget: float = BUDGET,
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
    seen = read_release(Path(release)) if isinstance(release, str | Path) else _seen(release, None)
    return estimators.reconstruct(seen, columns, where=where, method=method, budget=budget)


def expect(release: Any, columns: Sequence[str], *, where: Mapping[str, str] | None = None) -> Expectation:
    """Return the size of a table and the error to expect of it, before it is reconstructed."""
    seen = read_release(Path(release)) if isinstance(release, str | Path) else _seen(release, None)
    return estimators.query(seen, columns, where).expectation()


def measure(
    release: Any, plan: Plan, *, original: Any = None, target: str | None = None, progress: Progress = SILENT
) -> tuple[Measurement, ...]:
    """Measure a release against the original: a frame, or the plan's source when none is given."""
    if original is None:
        return measure_path(Path(release), plan, target=target, progress=progress)
    dataset = encode(to_arrow(original), plan.schema)
    published = _seen(release, plan.schema)
    return measured(plan, dataset, published, progress, target=target)


def attack(
    data: Any, plan: Plan, *, original: Any = None, threshold: float = THRESHOLD, progress: Progress = SILENT
) -> tuple[Exposure, ...]:
    """Return what an intruder gets out of a frame, release folder or file, and out of the original if at hand."""
    if isinstance(data, str | Path):
        return attack_path(Path(data), plan, threshold=threshold, progress=progress)
    seen, before = _seen(data, plan.schema), None
    if original is not None:
        dataset = encode(to_arrow(original), plan.schema)
        public = public_inputs_of(plan, dataset, progress)
        seen, before = replace(seen, public=public), replace(as_if_published(dataset), public=public)
    return attack_all(seen, before, threshold=threshold, progress=progress)
