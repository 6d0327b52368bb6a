"""Regions: what a divided table does where its distinct rows are too many for the driver. What runs tasks is unknown.

The same search as ever decides about each region, as a task. How common values are in the whole table is known there,
so that classes are compared with all people. A union of classes that hold is a class that holds, so regions may come
to show the same labels. No cut is made that leaves rows alone which do not hold as one class, for no classes of them
would; and where a region finds no way all the same, it is joined with what it was cut from.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.anonymizers.conditions import hold_together, judged_in_classes
from sfumato.data.dataset import CodedColumn, Dataset, counted, weights_of
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Role
from sfumato.engines.cutting import SAMPLED, Cut, Regions, Sample, SampledClasses, cut_up, joined_failing
from sfumato.engines.region_tasks import (
    AllDistinct,
    Dealt,
    Said,
    Shape,
    Sides,
    carry_out_on_distinct,
    deal_region,
    of_distinct,
    sample_part,
    send_distinct,
    solve_region,
)
from sfumato.engines.tasks import Part
from sfumato.engines.workroom import keep
from sfumato.errors import DataError, Unsatisfiable
from sfumato.models.base import Policy

CLOSE = 1.1  # times as many distinct rows by estimate, whose error is some .5 %: then there are more
Job = TypeVar("Job")
Result = TypeVar("Result")
Labels = TypeVar("Labels", Dataset, Recoding)


class Cluster(Protocol):
    """Who runs tasks."""

    def each(self, work: Callable[[Job], Result], jobs: Sequence[Job], what: str) -> list[Result]:
        """Return what comes of each job, in order. It may be done anywhere, and more than once."""


@dataclass
class RegionalWork:
    """Decides region by region; the driver holds a sample."""

    cluster: Cluster
    room: Path
    parts: tuple[Part, ...]
    limit: int  # distinct rows of a region
    sample: Sample
    shape: Shape
    dataset: Dataset  # the sample, which knows how common values are in the whole table
    phase: str = ""  # which was decided last
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    done: list[tuple[Step, bytes]] = field(default_factory=list)  # steps so far, with their keys

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        room: Path,
        parts: tuple[Part, ...],
        columns: Sequence[str],
        template: Dataset,
        limit: int,
        sample: Sample,
    ) -> RegionalWork:
        """Return work on a table in parts, whose columns know how common their values are."""
        shape = Shape(
            tuple(columns),
            tuple(len(template.column(name).labels) for name in columns),
            tuple(part.name for part in parts),
        )
        template = replace(template, whole=sum(part.rows for part in parts))
        keep(room / "counted", template)
        keep(room / "sample", sample)
        return cls(
            cluster, room, parts, limit, sample, shape, of_distinct(template, columns, sample.codes, sample.weight)
        )

    def carry_out(self, step: Step, workplace: Workplace) -> Recoding:
        """Return what a step decides: of the sample's rows; the regions keep theirs."""
        place = Workplace(seeded=workplace.seeded, public=workplace.public)
        facts: dict[str, Any] = {}
        first = not self.phase
        if first:
            keep(self.room / "forming", [each.anonymizer.phase.name for each in (step, *step.later)])
            facts = {"regions": self._cut(step, replace(place, threads=workplace.threads))}
        key = workplace.keys()
        self.done.append((step, key))
        while True:
            numbers = range(len(self.shape.regions.leaves))
            words = f"{step.anonymizer.name} in {len(numbers)} region(s)"
            if first and facts["regions"]["loss_in_sample"]:
                words += f", about {facts['regions']['more_loss_in_sample']:.0%} more loss"
            stage = workplace.stage(words)
            if first:
                send = partial(send_distinct, self.room, self.shape.columns, self.shape.regions)
                self.cluster.each(send, self.parts, "send distinct rows")
            solve = partial(solve_region, self.room, step, place, key, self.shape)
            said = self.cluster.each(solve, numbers, "decide about regions")
            stage.done()
            failed = [number for number, each in enumerate(said) if isinstance(each, Unsatisfiable)]
            if not failed:
                break
            if not first or len(numbers) == 1:
                raise next(each for each in said if isinstance(each, Unsatisfiable))
            self.shape = replace(self.shape, regions=joined_failing(self.shape.regions, failed))
            facts["regions"] |= {"regions": len(self.shape.regions.leaves), "joined": len(failed)}
        return self.heard(step, [each for each in said if isinstance(each, Said)], facts)

    def join(self, failed: Sequence[int], workplace: Workplace) -> None:
        """Join regions, by their numbers, with what they were cut from, and decide about all of them anew."""
        self.shape = replace(self.shape, regions=joined_failing(self.shape.regions, failed))
        send = partial(send_distinct, self.room, self.shape.columns, self.shape.regions)
        self.cluster.each(send, self.parts, "send distinct rows")
        shutil.rmtree(self.room / "region")
        place, numbers = Workplace(seeded=workplace.seeded, public=workplace.public), self.shape.regions.leaves
        for step, key in self.done:
            solve = partial(solve_region, self.room, step, place, key, self.shape)
            for said in self.cluster.each(solve, range(len(numbers)), "decide about regions"):
                if isinstance(said, Unsatisfiable):
                    raise said

    def heard(self, step: Step, said: Sequence[Said], facts: dict[str, Any]) -> Recoding:
        """Return what all regions decided in a step: of the sample's rows."""
        self.phase = step.anonymizer.phase.name
        names = list(said[0].labels)
        self.labels = {name: tuple(sorted({text for each in said for text in each.labels[name][0]})) for name in names}
        number_of = self.shape.regions.numbers(self.sample.codes)
        columns: dict[str, Any] = {}
        for name in names:
            place = {label: code for code, label in enumerate(self.labels[name])}
            codes = np.zeros(number_of.size, dtype=np.int32)
            for number, each in enumerate(said):
                codes[number_of == number] = [place[label] for label in each.sampled[name]]
            nothing = next((each.labels[name][1] for each in said if each.labels[name][1] is not None), None)
            columns[name] = Labelled(codes, self.labels[name], -1 if nothing is None else place.get(nothing, -1))
        if "regions" in facts:
            facts["regions"]["most_distinct_rows"] = max(each.distinct for each in said)
        facts = {**added([each.facts for each in said]), **facts}
        return Recoding(columns=columns, facts=facts, public=said[0].public)

    def decision(self, recoding: Recoding) -> Dealt:
        """Send what was decided to the rows of all parts, and return how these find it."""
        deal = partial(deal_region, self.room, self.phase, self.labels, self.shape)
        self.cluster.each(deal, range(len(self.shape.regions.leaves)), "deal out")
        columns = {name: column for name, column in recoding.columns.items() if isinstance(column, Labelled)}
        nothing = np.empty(0, dtype=np.int32)
        bare: dict[str, Any] = {name: replace(column, codes=nothing) for name, column in columns.items()}
        return Dealt(self.shape, Recoding(columns=bare))

    # Cutting.

    def _cut(self, step: Step, workplace: Workplace) -> dict[str, Any]:
        """Choose regions, and return what there is to say about them: also what cutting costs in the sample."""
        sampled = _as_whole(self.dataset)
        roles = [self.dataset.column(name).role for name in self.shape.columns]
        axes = [at for at, role in enumerate(roles) if role is Role.QUASI_IDENTIFIER]
        whole = _classes(carry_out_on_distinct(step, sampled, Recoding(), workplace), self.sample)
        self.shape = replace(
            self.shape, regions=cut_up(self.sample, whole, axes, self.limit, partial(self._meets, step))
        )
        node_of = self.shape.regions.numbers(self.sample.codes)
        cut: list[SampledClasses] = []
        for number in range(len(self.shape.regions.leaves)):
            rows = np.flatnonzero(node_of == number)
            here = replace(sampled.standing_for(rows, self.sample.weight[rows]), whole=sampled.total)
            here = replace(here, columns={name: here.columns[name] for name in self.dataset.columns})
            try:
                made = _classes(carry_out_on_distinct(step, here, Recoding(), workplace), self.sample, rows)
            except Unsatisfiable:  # so few of its people are in the sample
                made = SampledClasses(np.zeros(rows.size, dtype=np.int64), rows, self.sample.weight[rows])
            cut.append(made)
        columns = [self.dataset.column(self.shape.columns[at]) for at in axes]
        before = self._loss(columns, axes, [whole])
        after = self._loss(columns, axes, cut)
        largest = max(np.bincount(node_of)) * self.sample.each
        if largest > 2 * self.limit:
            raise DataError(
                f"Classes were to be decided about in regions of {self.limit:,} distinct rows, but a region of about "
                f"{round(largest):,} cannot be cut so that what is required can hold on both sides.\n"
                "Raise --distinct-on-driver if executors have the memory (about 1 kB each), declare coarser values "
                "(bins), or ask for less."
            )
        return {
            "regions": len(self.shape.regions.leaves),
            "distinct_rows": self.sample.distinct,
            "limit": self.limit,
            "sample": int(self.sample.weight.sum()),
            "loss_in_sample": before,
            "more_loss_in_sample": (after - before) / before if before else 0.0,
        }

    def _meets(self, step: Step, regions: Regions, cuts: Mapping[int, Sequence[Cut]]) -> dict[int, list[bool]]:
        """Return whether the rows on both sides of each cut hold as one class, counted in the whole table."""
        policy = Policy(tuple(model for each in (step, *step.later) for model in each.policy))
        judged = judged_in_classes(policy)
        sizes = tuple(len(self.dataset.column(name).labels) for name in judged)
        sides = Sides(self.shape.columns, regions, cuts, judged, sizes)
        found = self.cluster.each(partial(sides.counted_in, self.room), self.parts, "count both sides")
        hold = hold_together(self.dataset, policy)
        met = {}
        for node in cuts:
            counts = sum(each[node] for each in found)
            assert isinstance(counts, np.ndarray)
            met[node] = [
                all(int(side[0]) >= step.class_size and hold(side[1:], int(side[0])) for side in (low, counts[0] - low))
                for low in counts[1:]
            ]
        return met

    def _loss(self, columns: Sequence[CodedColumn], axes: Sequence[int], classes: Sequence[SampledClasses]) -> float:
        """Return what the extents of classes lose, from 0 to 1 for each person, in the mean."""
        lost = people = 0.0
        weights = weights_of(columns)
        for made in classes:
            _, class_of = np.unique(made.class_of, return_inverse=True)
            size = np.bincount(class_of, weights=made.count)
            people += float(size.sum())
            for weight, column, axis in zip(weights, columns, axes, strict=True):
                codes = self.sample.codes[made.row_of, axis]
                low, high = np.full(size.size, len(column.labels)), np.full(size.size, -1)
                np.minimum.at(low, class_of, codes)
                np.maximum.at(high, class_of, codes)
                lost += weight * float(size @ column.interval_loss(low.astype(np.int32), high.astype(np.int32)))
        return lost / max(people * len(columns), 1.0)


def _as_whole(sample: Dataset) -> Dataset:
    """Return a sample as a table of its own: what is common is what is common in it."""
    columns: dict[str, Any] = {}
    for name, column in sample.columns.items():
        columns[name] = column
        if isinstance(column, CodedColumn) and column.codes.size == sample.n_rows:
            columns[name] = replace(column, counts=counted(column.codes, len(column.labels), sample.weights))
    return replace(sample, columns=columns, whole=None)


def _classes(made: Recoding, sample: Sample, rows: NDArray[np.int64] | None = None) -> SampledClasses:
    assert made.class_of is not None, "whoever is asked for regions knows its classes"
    rows = np.arange(sample.weight.size) if rows is None else rows
    if made.pieces is None:
        return SampledClasses(made.class_of.astype(np.int64), rows, sample.weight[rows])
    return SampledClasses(made.class_of.astype(np.int64), rows[made.pieces.row_of], made.pieces.count)


def added(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of parts together: whole numbers are added, what all agree on stays, the rest is left out.

    >>> added([{"classes": 2, "search": "best", "mean": 0.5}, {"classes": 3, "search": "best", "mean": 0.25}])
    {'classes': 5, 'search': 'best'}
    """
    found: dict[str, Any] = {}
    for name in facts[0]:
        values: list[Any] = [each.get(name) for each in facts]
        if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            found[name] = sum(values)
        elif all(isinstance(value, Mapping) for value in values):
            found[name] = added(values)
        elif all(value == values[0] for value in values):
            found[name] = values[0]
    return found


def too_many(
    cluster: Cluster, room: Path, parts: Sequence[Part], columns: Sequence[str], sizes: Sequence[int], most: int
) -> Sample | None:
    """Return a sample of the distinct rows of all parts if they are more than so many, else None.

    An estimate from the sample says so; where it is a close call they are counted. Parts that have few together spare
    the estimate and never change the answer: that does not depend on how the table was cut.
    """
    if sum(part.distinct for part in parts) <= most:
        return None
    sample = sampled(cluster, room, parts, columns, sizes, SAMPLED)
    if sample.distinct <= most:
        return None
    if sample.distinct <= most * CLOSE and AllDistinct.of(room, parts, sizes).weight.size <= most:
        return None
    return sample


def sampled(cluster: Cluster, room: Path, parts: Sequence[Part], columns: Sequence[str], sizes: Sequence[int],
            most: int) -> Sample:  # fmt: skip
    """Return a sample of the distinct rows of all parts."""
    cluster.each(partial(sample_part, room, columns, most), parts, "look at some distinct rows")
    found = Sample(np.empty((0, len(columns)), dtype=np.int32), np.empty(0, dtype=np.int64), most)
    for part in parts:
        found = found.with_more(pickle.loads((room / "samples" / part.name).read_bytes()), sizes)
    return found


def every_label(shown: Labels) -> Labels:
    """Return columns that show each of their labels once, whatever rows are here."""
    columns = {
        name: replace(column, codes=np.arange(len(column.labels), dtype=np.int32))
        if isinstance(column, CodedColumn | Labelled)
        else column
        for name, column in shown.columns.items()
    }
    return replace(shown, columns=columns)
