"""Made-up patients: the same for the same seed, and written where nothing else is."""

from __future__ import annotations

import pytest

from sfumato.errors import OutputError
from sfumato.generators import add_demo, patients, write_demo
from sfumato.plan import Plan


def test_the_same_seed_makes_the_same_people():
    assert patients(50, seed=3).equals(patients(50, seed=3))
    assert not patients(50, seed=3).equals(patients(50, seed=4))


def test_some_jobs_are_missing_and_names_are_unique():
    table = patients(2_000)

    assert table.column("job").null_count > 0
    assert len(set(table.column("name").to_pylist())) == 2_000


def test_the_plan_of_the_demonstration_is_a_good_one(tmp_path):
    plan = Plan.load(write_demo(tmp_path / "demo", 100))

    assert len(plan.policy.requirements) == 4
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "diseases.csv",
        "jobs.csv",
        "patients.csv",
        "plan.toml",
        "symptoms.csv",
    ]


def test_a_folder_in_use_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("", encoding="utf-8")

    with pytest.raises(OutputError, match="--overwrite"):
        write_demo(tmp_path, 100)
    with pytest.raises(OutputError, match="file"):
        write_demo(tmp_path / "mine.txt", 100)


def test_the_demonstration_is_put_beside_what_is_there_and_overwrites_nothing(tmp_path):
    (tmp_path / "mine.csv").write_text("a\n", encoding="utf-8")
    add_demo(tmp_path, 100, "example.toml")
    assert Plan.load(tmp_path / "example.toml").source.path == tmp_path / "patients.csv"

    (tmp_path / "example.toml").unlink()
    with pytest.raises(OutputError, match=r"patients\.csv, jobs\.csv"):
        add_demo(tmp_path, 100, "example.toml")
    assert not (tmp_path / "example.toml").exists()
