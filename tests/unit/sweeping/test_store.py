"""What a sweep leaves in its folder."""

from __future__ import annotations

import csv
import json
import stat

import pytest

import sfumato as sf
from sfumato.errors import OutputError
from sfumato.sweeping.facts import FORMAT
from sfumato.sweeping.grid import grid_of
from sfumato.sweeping.store import ABOUT, digest_of, key_of
from sweeps import SECRET, counted


def test_it_leaves_measurements_for_its_owner_and_no_data(people, plan, tmp_path):
    out = tmp_path / "out"

    sf.sweep(plan, {"k": "2,4,61"}, frame=people, out=out)

    assert {path.name for path in out.iterdir()} == {"cells", "sweep.csv", "sweep.json", "sweep.html"}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    for path in out.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert SECRET not in text
            assert "Somebody" not in text
    with (out / "sweep.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["k"], row["holds"]) for row in rows] == [("2", "true"), ("4", "true"), ("61", "false")]
    assert float(rows[0]["ncp"]) < float(rows[1]["ncp"])
    assert rows[2]["reason"]
    assert json.loads((out / "sweep.json").read_text(encoding="utf-8"))["format"] == FORMAT


def test_a_damaged_file_is_done_again(people, plan, tmp_path, monkeypatch):
    out = tmp_path / "out"
    sf.sweep(plan, {"k": "2,3"}, frame=people, out=out)
    damaged = next(path for path in (out / "cells").glob("*.json") if path.name != ABOUT)
    damaged.write_text('{"holds": tr', encoding="utf-8")

    done = counted(monkeypatch)
    sf.sweep(plan, {"k": "2,3"}, frame=people, out=out)

    assert len(done) == 1


def test_other_data_or_roles_are_not_mixed_in(people, plan, tmp_path):
    out = tmp_path / "out"
    sf.sweep(plan, {"k": "2"}, frame=people, out=out)

    with pytest.raises(OutputError, match="another plan, other data"):
        sf.sweep(plan, {"k": "2"}, frame=people.slice(1), out=out)
    sf.sweep(plan, {"k": "2"}, frame=people.slice(1), out=out, overwrite=True)


def test_a_sweep_that_could_not_write_anything_can_be_tried_again(people, plan, tmp_path):
    (tmp_path / "out" / "cells").mkdir(parents=True)
    (tmp_path / "out" / "cells" / ".about.json.tmp-0").write_text("", encoding="utf-8")

    assert sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path / "out").facts["holding"] == 1


def test_a_folder_that_is_no_sweep_is_never_touched(people, plan, tmp_path):
    (tmp_path / "letters").write_text("dear", encoding="utf-8")

    with pytest.raises(OutputError, match="no sweep"):
        sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path, overwrite=True)
    with pytest.raises(OutputError, match="is a file"):
        sf.sweep(plan, {"k": "2"}, frame=people, out=tmp_path / "letters")
    assert (tmp_path / "letters").read_text(encoding="utf-8") == "dear"


def test_equal_work_has_equal_names_however_it_was_asked_for(plan):
    [direct] = grid_of(plan, {"k": [2]}).combinations
    [detour] = grid_of(plan, {"k-anonymity.k": "2"}).combinations
    [other] = grid_of(plan, {"k": [3]}).combinations

    assert key_of(direct, 1) == key_of(detour, 1)
    assert len({key_of(direct, 1), key_of(direct, 2), key_of(other, 1)}) == 3


def test_tables_are_told_apart_by_what_they_hold(people):
    assert digest_of(people) == digest_of(people.slice(0))
    assert digest_of(people) != digest_of(people.slice(1))


def test_what_a_sweep_leaves_is_for_its_owner_alone_also_in_a_folder_that_was_there(people, plan, tmp_path):
    out = tmp_path / "out"
    out.mkdir(mode=0o755)
    sf.sweep(plan, {"k": "2,3"}, frame=people, out=out)
    assert {path.stat().st_mode & 0o077 for path in (out, *out.rglob("*"))} == {0}
