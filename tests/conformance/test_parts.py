"""The same seed gives the same release however a table is cut: into files, row groups and parts of any size."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from families import FAMILIES, PEOPLE, plan_in
from in_parts import Here
from sfumato.anonymizers import randomization
from sfumato.data import keystream
from sfumato.data.files import read_table
from sfumato.engines import dividing, regions
from sfumato.engines.dividing import DividedEngine

PRAM = """[[require]]
model = "sensitive-qid-closeness"
t = { job = 0.3, household = 0.4 }
anonymizer = "pram"
"""


@dataclass(frozen=True)
class Case:
    """A plan of a family, and what its engine is told beside the size of parts."""

    family: str
    engine: dict[str, Any] = field(default_factory=dict)
    required: str | None = None  # rather than what the plan requires
    release: str = ""


CASES = {
    **{family: Case(family) for family in FAMILIES if family != PEOPLE},  # who are refused in parts
    "single values by chance": Case("cells", required=PRAM),
    "regions": Case("classes", {"distinct_here": 40}),
    "items in several parts": Case("items", {"occurrences": 60}),
    "rows as they were": Case("hospital", release="[release]\nshuffle = false\n"),
}
CUTS = {  # files, rows of a row group, rows of a part
    "one part": (1, 1000, 1000),
    "many row groups": (2, 7, 11),
    "a file for a few rows": (9, 1000, 64),
}


def plan_of(case: Case, folder, files: int, rows_of_group: int) -> sf.Plan:
    """Return the plan of a case about the same rows in so many Parquet files."""
    path = plan_in(folder, case.family)
    text = path.read_text(encoding="utf-8")
    if case.required is not None:
        text = text.split("[[require]]")[0] + case.required
    source = sf.Plan.load(path).source
    assert source is not None
    table = read_table(source, drop=())
    (path.parent / "table").mkdir()
    ends = [table.num_rows * number // files for number in range(files + 1)]
    for number, (first, last) in enumerate(pairwise(ends)):
        to = path.parent / "table" / f"part-{number}.parquet"
        pa_parquet.write_table(table.slice(first, last - first), to, row_group_size=rows_of_group)
    text = text.replace(f'path = "{source.path.name}"', 'path = "table"', 1) + case.release
    path.write_text(text, encoding="utf-8")
    return sf.Plan.load(path)


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch):
    """Let small tables have several blocks of rows under keys of their own, samples, and rows that are looked at."""
    monkeypatch.setattr(keystream, "ROWS", 32)
    monkeypatch.setattr(randomization, "BATCH", 8)
    monkeypatch.setattr(dividing, "LOOKED_AT", 50)
    monkeypatch.setattr(regions, "SAMPLED", 60)


def released(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_release_does_not_depend_on_how_the_table_was_cut(name, tmp_path):
    case, found, parts = CASES[name], {}, {}
    for cut, (files, rows_of_group, rows) in CUTS.items():
        folder = tmp_path / cut
        folder.mkdir()
        plan = plan_of(case, folder, files, rows_of_group)
        engine = DividedEngine(Here(), rows_a_part=rows, rows_a_file=40, **case.engine)
        sf.run(plan, folder / "run", seed=5, engine=engine, measure=False, attack=False)
        found[cut], parts[cut] = released(folder / "run" / "release"), len(engine.parts)
    assert len(set(parts.values())) == len(CUTS)
    assert [cut for cut in CUTS if found[cut] != found["one part"]] == []
