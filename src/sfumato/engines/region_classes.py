"""Classes of regions, worked on with all of their rows: what regions know of them, and what they are told.

nodes/NUMBER   the class that each row of a region is in, for the rows of each part; of each region numbered from 0

Classes are joined inside their region. Where not even all of a region is safe as one class, it is joined with what it
was cut from, and classes are formed anew there.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import ByClass, ClassTree, ClassWork, Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import Dataset, as_arrow, as_numpy
from sfumato.data.recoding import Recoding
from sfumato.engines.class_tasks import NODE, ClassesInParts, Gathered, Integers, rows_in
from sfumato.engines.region_tasks import AT, COUNT, Arrived, Said, Shape, Solved, of_distinct, rows_of_runs, said_of
from sfumato.engines.regions import RegionalWork
from sfumato.engines.tasks import Home, Part
from sfumato.engines.workroom import got, keep, kept, plain, sent
from sfumato.errors import Unsatisfiable


def _distinct(room: Path, phase: str, shape: Shape, number: int) -> tuple[Solved, Dataset]:
    """Return what was decided about a region, and its distinct rows, or pieces of them."""
    made: Solved = pickle.loads((room / "region" / f"{phase}-{number}").read_bytes())
    distinct, pieces = of_distinct(kept(room / "counted"), shape.columns, made.codes, made.weight), made.recoding.pieces
    return made, distinct if pieces is None else distinct.standing_for(pieces.row_of, pieces.count)


def find_classes(room: Path, work: ClassWork, phase: str, shape: Shape, number: int) -> tuple[Integers, Integers]:
    """Send the class of each row of a region to its part; return what classes can be joined to, and rows of each."""
    made, distinct = _distinct(room, phase, shape, number)
    tree = work.classes(distinct, made.recoding)
    here = Arrived.of(room, shape, number)
    owner, entry, count = made.runs(here)
    table = pa.table({AT: as_arrow(here.at[owner]), COUNT: as_arrow(count), NODE: as_arrow(tree.node_of[entry])})
    sent(room / "nodes" / f"{number}", table, here.part_of(owner), len(shape.parts))
    return tree.parent, rows_in(tree, distinct)


@dataclass(frozen=True, eq=False)
class DealtClasses:
    """Classes of rows that were decided about in regions."""

    shape: Shape
    first: tuple[int, ...]  # the number of the first class of each region

    def nodes(self, room: Path, part: Part, dataset: Dataset) -> Integers:
        """Return the class of each row of a part."""
        place = self.shape.parts.index(part.name)
        tables = [got(room / "nodes" / f"{number}", place) for number in range(len(self.first))]
        first = np.repeat(self.first, [table.num_rows for table in tables])
        runs = pa.concat_tables(tables).combine_chunks()
        node = as_numpy(plain(runs.column(NODE)))
        rows, run_of = rows_of_runs(runs, self.shape, dataset)
        found = np.empty(part.rows, dtype=np.int64)
        found[rows] = np.where(node >= 0, node + first, -1)[run_of]
        return found


def join_classes(room: Path, work: ClassWork, phases: tuple[str, str], shape: Shape, job: tuple[int, Integers]) -> Said:
    """Give classes of a region that were joined what they show together; job: its number, and where each ended."""
    number, ended = job
    made, distinct = _distinct(room, phases[0], shape, number)
    tree: ClassTree = work.classes(distinct, made.recoding)
    node_of = np.where(tree.node_of >= 0, ended[tree.node_of], -1)
    made = replace(made, recoding=work.joined(distinct, made.recoding, node_of))
    keep(room / "region" / f"{phases[1]}-{number}", made)
    return said_of(room, shape, made, number)


def decide_in_regions(
    regional: RegionalWork, apart: ClassesInParts, step: Step, dataset: Dataset, workplace: Workplace
) -> tuple[Recoding, Home]:
    """Return what a step decides of the sample's rows, and where the rows of its columns come home from."""
    work = cast("ByClass", step.anonymizer).by_class(dataset, step.policy, workplace)
    phases, regions, rounds = (regional.phase, step.anonymizer.phase.name), len(regional.shape.regions.leaves), 0
    while True:
        shape = regional.shape
        numbers = range(len(shape.regions.leaves))
        find = partial(find_classes, apart.room, work, phases[0], shape)
        found = apart.cluster.each(find, numbers, "find classes")
        first = np.cumsum([0, *(parent.size for parent, _ in found)])
        parent = [np.where(each >= 0, each + at, -1) for (each, _), at in zip(found, first, strict=False)]
        gathered = Gathered(np.concatenate(parent), np.concatenate([own for _, own in found]), apart.together)
        try:
            classes = DealtClasses(shape, tuple(first[:-1].tolist()))
            home, facts = apart.solve(step, work, classes, gathered, workplace, rounds)
            break
        except Unsatisfiable:
            if len(numbers) == 1:
                raise
        rounds += gathered.rounds
        regional.join(np.unique(np.searchsorted(first, gathered.stuck, side="right") - 1).tolist(), workplace)
    jobs = [(number, gathered.ended[first[number] : first[number + 1]] - first[number]) for number in numbers]
    said = apart.cluster.each(partial(join_classes, apart.room, work, phases, shape), jobs, "join classes")
    told = {"regions_joined": regions - len(numbers)} if rounds else {}
    return regional.heard(step, said, {**facts, **told}), home
