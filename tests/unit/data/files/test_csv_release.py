"""Releases as CSV files in the dialect of their source; the usual one is tested with releases."""

from __future__ import annotations

import json
import random

import pytest

import sfumato as sf
from sfumato.data.files.csv_release import Dialect, quoted
from sfumato.errors import DataError, PlanError

PLAN = """
[source]
path = "{path}"
[columns."Größe"]
role = "quasi-identifier"
[columns.Kosten]
role = "sensitive"
kind = "number"
[columns.Gewicht]
role = "other"
[columns.Diagnose]
role = "sensitive"
[columns.Codes]
role = "other"
kind = "set"
[[require]]
model = "k-anonymity"
k = 3
[release]
dialect = "source"
"""


def written(folder, *, separator=";", encoding="windows-1252", decimal=",", path="stays.csv"):
    chance = random.Random(3)
    lines = [separator.join(["Größe", "Kosten", "Gewicht", "Diagnose", "Codes"])]
    for n in range(60):
        cells = [
            f"{chance.randint(150, 190)}",
            f"{100 + n}.{n % 7}5".replace(".", decimal),
            f"7{chance.randint(0, 9)}{decimal}5",
            chance.choice(["Übelkeit", f"Fieber{separator} hoch"]),
            chance.choice(["a|b", ""]),
        ]
        lines.append(separator.join(quoted(cell, separator) if cell else "" for cell in cells))
    (folder / path).write_bytes(("\n".join(lines) + "\n").encode(encoding))
    (folder / "plan.toml").write_text(PLAN.format(path=path), encoding="utf-8")
    return sf.Plan.load(folder / "plan.toml")


def run(plan, folder):
    return sf.run(plan, folder / "out", seed=1, measure=False, attack=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("separator", "encoding", "decimal"),
    [(";", "windows-1252", ","), ("\t", "utf-16", ","), (",", "utf-8", "."), ("|", "windows-1252", ".")],
)
def test_a_release_has_the_dialect_of_its_source_and_reads_back_label_for_label(tmp_path, separator, encoding, decimal):
    plan = written(tmp_path, separator=separator, encoding=encoding, decimal=decimal)

    made = run(plan, tmp_path)

    release = tmp_path / "out" / "release"
    text = (release / "data.csv").read_bytes().decode(encoding)
    lines = text.splitlines()
    assert lines[0].split(separator) == ["Größe", "Kosten", "Gewicht", "Diagnose", "Codes"]
    assert f'"Fieber{separator} hoch"' in text
    assert f"159{decimal}35" in text
    assert "[" in text  # ranges are spelled in one way
    told = json.loads((release / "release.json").read_text(encoding="utf-8"))["dialect"]
    assert told == {"separator": separator, "encoding": encoding, "decimal": decimal}
    assert all(verdict.satisfied for verdict in sf.audit(release, plan))
    costs = {str(cell) for cell in made.release.data["Kosten"].to_pylist()}
    assert costs == {f"{100 + n}.{n % 7}5" for n in range(60)}
    plan_of_plain = tmp_path / "plain.toml"
    plan_of_plain.write_text(
        (tmp_path / "plan.toml").read_text(encoding="utf-8").replace('"source"', '"plain"'), encoding="utf-8"
    )
    plain = sf.run(sf.Plan.load(plan_of_plain), tmp_path / "plain", seed=1, measure=False, attack=False)
    assert plain.release.data.equals(made.release.data)


def test_a_source_that_is_no_csv_file_has_no_dialect(tmp_path):
    plan = written(tmp_path)
    (tmp_path / "plan.toml").write_text(
        (tmp_path / "plan.toml").read_text(encoding="utf-8") + 'format = "parquet"\n', encoding="utf-8"
    )

    with pytest.raises(PlanError, match="dialect is of CSV files"):
        sf.Plan.load(tmp_path / "plan.toml")
    (tmp_path / "stays.csv").rename(tmp_path / "stays.db")
    text = PLAN.format(path="x").replace('path = "x"', 'database = "stays.db"\ntable = "a"')
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="no CSV file"):
        run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path)
    assert plan.release.dialect == "source"


def test_labels_that_the_encoding_of_the_source_does_not_know_are_refused(tmp_path):
    written(tmp_path)
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    small, tall = (", ".join(f'"{n}"' for n in part) for part in (range(150, 171), range(171, 191)))
    tree = f'[columns."Größe"]\nhierarchy = {{ "小" = [{small}], "大" = [{tall}] }}'
    (tmp_path / "plan.toml").write_text(
        text.replace('[columns."Größe"]', tree).replace("k = 3", "k = 20"), encoding="utf-8"
    )

    with pytest.raises(DataError, match="as windows-1252, as the source is"):
        run(sf.Plan.load(tmp_path / "plan.toml"), tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_cell_is_quoted_for_its_own_separator():
    assert (quoted("a;b"), quoted("a;b", ";"), quoted("[1, 2]", ";")) == ("a;b", '"a;b"', "[1, 2]")
    assert Dialect.of({}) == Dialect(separator=",", encoding="utf-8", decimal=".")


def test_numbers_beside_what_is_withheld_read_back_as_the_numbers_that_they_are(tmp_path):
    """Three decimals behind a point would be thousands in this dialect."""
    lines = ["30;1,234", "30;1,234", "31;+2,500", "31;+2,500", "30;7,125", "31;8,375"]
    (tmp_path / "a.csv").write_text("\n".join(["age;kg", *lines]) + "\n", encoding="utf-8")
    settings = {
        "source": {"path": "a.csv", "decimal": ","},
        "columns": {
            "age": {"role": "quasi-identifier"},
            "kg": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        },
        "require": [{"model": "k-anonymity", "k": 2}],
        "release": {"dialect": "source"},
    }
    run(sf.Plan.from_dict(settings, base=tmp_path), tmp_path)
    assert set(sf.load(tmp_path / "out" / "release")["kg"].labels) == {"*", "1.234", "+2.500"}
    assert "30;1,234\n" in (tmp_path / "out" / "release" / "data.csv").read_text(encoding="utf-8")
