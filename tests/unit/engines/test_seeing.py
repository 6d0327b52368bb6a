"""A written release seen by tasks: as distinct rows, or in parts by class, with the verdicts of one machine."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from in_parts import ROWS, Here, K, T, in_parts, plan_of, written_in_files
from sfumato.data.files.release import read_release
from sfumato.data.schema import Role
from sfumato.engines.seeing import release_seen
from sfumato.errors import DataError
from sfumato.models.base import Policy
from sfumato.models.judging.classes import classes_of
from sfumato.pipeline import judging
from sfumato.pipeline.known import Known

BETA = {"model": "beta-likeness", "sensitive": "illness", "beta": 3}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "table").mkdir()
    plan = plan_of(written_in_files(tmp_path / "table"), K, T, BETA)
    sf.run(plan, tmp_path / "run", seed=3, engine=in_parts(ROWS), measure=False, attack=False)
    return plan, tmp_path / "run" / "release"


def seen(run, tmp_path, most):
    plan, folder = run
    room = tmp_path / f"room-{most}"
    room.mkdir()
    return release_seen(Here(), room, folder, plan.schema, plan.policy, most)


def verdicts(release, plan):
    return [verdict.as_dict() for verdict in judging.judge(release, plan.policy, Known(release.public))]


@pytest.mark.parametrize("most", [10, 60, 10**6])
def test_parts_by_class_are_judged_as_the_whole_is(run, tmp_path, most):
    found = seen(run, tmp_path, most)
    assert (found.parts is None) == (most == 10**6)
    wanted = verdicts(read_release(run[1], run[0].schema), run[0])
    for one, two in zip(verdicts(found, run[0]), wanted, strict=True):
        one["facts"].pop("worst_class_rows")  # of several worst classes, the first
        two["facts"].pop("worst_class_rows")
        assert one == two


def test_no_class_is_in_two_parts(run, tmp_path):
    parts = list(seen(run, tmp_path, 10).parts)
    assert len(parts) > 3
    assert sum(part.total for part in parts) == ROWS
    whole = classes_of(read_release(run[1], run[0].schema)).size.size
    assert sum(classes_of(part).size.size for part in parts) == whole


def test_a_class_that_breaks_a_promise_is_found_in_its_part_and_the_changed_file_named(run, tmp_path):
    plan, folder = run
    path = folder / "data.parquet" / "part-00001.parquet"
    table = pa_parquet.read_table(path)
    ages = pa.array(["17", *table.column("age").cast(pa.string()).to_pylist()[1:]])
    pa_parquet.write_table(table.set_column(table.column_names.index("age"), "age", ages), path)
    found = judging.judge(seen(run, tmp_path, 10), plan.policy, Known(read_release(folder).public))
    assert not found[0].satisfied
    assert found[-1].model.name == "nothing-else"
    assert not found[-1].satisfied


def test_what_must_be_judged_at_once_is_refused_where_it_is_too_much(run, tmp_path):
    plan, folder = run
    (tmp_path / "room").mkdir()
    population = type("Model", (), {"name": "k-map", "judges_apart": False, "judged_role": Role.SENSITIVE})()
    with pytest.raises(DataError, match=r"k-map looks at all of them(.|\n)*--cells-on-driver"):
        release_seen(Here(), tmp_path / "room", folder, plan.schema, Policy((population,)), 5)
