"""Files of Stata, SPSS and SAS: labels as categories, declared missing values as missing."""

import datetime
import io
import json
import random
import subprocess

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import sfumato as sf
from sas_files import write_sas7bdat
from sfumato.data.files import Source, read_columns, read_digested, read_table, sample, stat, stat_apart
from tables_on_disk import SECRET, cells, mutants_refused, refusal, write

FRAME = pl.DataFrame(
    {
        "name": [SECRET, "Ann", ""],
        "age": [34, 35, None],
        "sex": [1.0, 2.0, -9.0],
        "kg": [78.5, 60.0, 55.0],
        "born": [datetime.date(1980, 12, 31)] * 3,
    }
)
LABELS = {"sex": {1.0: "male", 2.0: "female", -9.0: "no answer"}}


def spss(folder):
    pyreadstat.write_sav(FRAME, folder / "a.sav", variable_value_labels=LABELS, missing_ranges={"sex": [-9.0]})
    return Source(folder / "a.sav")


def stata(folder, version=15):
    labels = {"sex": {1: "male", 2: "female", -9: "no answer"}}
    frame = FRAME.with_columns(pl.col("sex").cast(pl.Int32), pl.col("age").fill_null(36))
    pyreadstat.write_dta(frame, folder / "a.dta", variable_value_labels=labels, version=version)
    return Source(folder / "a.dta")


@pytest.mark.slow
def test_labels_of_spss_are_the_categories_and_what_is_declared_missing_is_missing(tmp_path):
    source = spss(tmp_path)
    table, _ = read_digested(source, drop=frozenset({"name"}))
    assert read_columns(source) == FRAME.columns
    assert cells(table) == {
        "age": [34, 35, None],
        "sex": ["male", "female", None],
        "kg": [78.5, 60.0, 55.0],
        "born": [datetime.date(1980, 12, 31)] * 3,
    }
    assert pa.types.is_integer(table.schema.field("age").type)
    assert sample(source, 2).num_rows == 2


def test_labels_that_name_people_stay_in_the_file_where_the_plan_says_so(tmp_path):
    """The codes are the values then, in the release as well."""
    frame = pl.DataFrame({"doctor": [1.0, 1.0, 2.0, 2.0], "age": [30, 30, 40, 40]})
    names = {"doctor": {1.0: SECRET, 2.0: "Dr Who"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=names)
    plan = {
        "source": {"path": "a.sav", "labels": False},
        "columns": {"doctor": {"role": "quasi-identifier"}, "age": {"role": "other"}},
        "require": [{"model": "k-anonymity", "k": 2}],
        "release": {"format": "spss"},
    }
    sf.run(sf.Plan.from_dict(plan, base=tmp_path), tmp_path / "out", measure=False, attack=False)

    assert cells(read_table(Source(tmp_path / "a.sav", labels=False)))["doctor"] == [1, 1, 2, 2]
    assert cells(read_table(Source(tmp_path / "a.sav")))["doctor"] == [SECRET, SECRET, "Dr Who", "Dr Who"]
    for path in (tmp_path / "out").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_versions_of_stata_are_read(tmp_path, version):
    table = read_table(stata(tmp_path, version))
    assert cells(table)["sex"] == ["male", "female", "no answer"]
    assert cells(table)["age"] == [34, 35, 36]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"), [("a.dta", "Stata"), ("a.sav", "SPSS"), ("a.sas7bdat", "SAS"), ("a.xpt", "SAS")]
)
def test_damaged_files_are_refused(tmp_path, name, words):
    said = refusal(write(tmp_path, name, f"{SECRET} is no table"))
    assert f"as a file of {words}" in said


def test_a_stata_file_of_another_version_is_refused(tmp_path):
    path = stata(tmp_path).path
    path.write_bytes(
        path.read_bytes().replace(b"<release>119<", b"<release>199<").replace(b"<release>118<", b"<release>199<")
    )
    assert "a version that is not known" in refusal(Source(path))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "read"), [("stata", "read_dta"), ("spss", "read_sav")])
def test_labels_have_the_codes_of_the_source_again_and_new_ones_have_others(tmp_path, form, read):
    frame = pl.DataFrame({"sex": [7.0, 2.0] * 6, "region": [10.0] * 5 + [20.0] + [30.0] * 6})
    labels = {"sex": {7.0: "male", 2.0: "female"}, "region": {10.0: "north", 20.0: "south", 30.0: "west", 40.0: "east"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    tree = {"coast": ["north", "south"], "inland": ["west", "east"]}
    plan = sf.Plan.from_dict(
        {
            "source": {"path": "a.sav"},
            "columns": {
                "sex": {"role": "other"},
                "region": {"role": "quasi-identifier", "kind": "category", "hierarchy": tree},
            },
            "require": [{"model": "k-anonymity", "k": 3}],
            "release": {"format": form},
        },
        tmp_path,
    )

    sf.run(plan, tmp_path / "out", measure=False, attack=False)

    path = next((tmp_path / "out" / "release").glob("data.*"))
    columns, about = getattr(pyreadstat, read)(str(path), output_format="dict")
    assert about.variable_value_labels["sex"] == {2: "female", 7: "male"}
    shown = about.variable_value_labels["region"]
    assert {code for code in shown if shown[code] in labels["region"].values()} <= {10, 20, 30}
    assert {code for code in shown if shown[code] not in labels["region"].values()} <= {41, 42}  # none that east had
    assert sorted(columns["sex"]) == [2] * 6 + [7] * 6
    assert "codes" not in json.loads((tmp_path / "out" / "release" / "release.json").read_text(encoding="utf-8"))


def labelled_source(folder, suffix):
    """A table whose columns say what they are about, in each of the programs that can."""
    frame = pl.DataFrame({"id": [1.0, 2.0, 3.0, 4.0], "age": [30.0, 31.0, 30.0, 31.0], "sex": [1.0, 1.0, 2.0, 2.0]})
    about = {"id": SECRET, "age": "Age in\nyears, at admission", "sex": "Größe `x` " + "ü" * 200}
    path, writer = folder / f"a{suffix}", {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav}.get(suffix)
    if suffix == ".dta":
        about["sex"] = about["sex"][:80]
    if writer is not None:
        writer(frame, path, column_labels=about, variable_value_labels={"sex": {1: "male", 2: "female"}})
    else:
        write_sas7bdat(path, frame.to_dict(as_series=False), titles=about)


def published(folder, suffix, form, **more):
    labelled_source(folder, suffix)
    columns = {"id": {"role": "identifier"}, "age": {"role": "quasi-identifier"}, "sex": {"role": "other"}}
    plan = {"source": {"path": f"a{suffix}", **more}, "columns": columns, "release": {"format": form}}
    plan["require"] = [{"model": "k-anonymity", "k": 4}]
    sf.run(sf.Plan.from_dict(plan, base=folder), folder / "out", measure=False, attack=False)
    for path in (folder / "out").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    return next((folder / "out" / "release").glob("data.*"))


@pytest.mark.parametrize(
    ("suffix", "form", "read", "most"),
    [
        (".dta", "stata", "read_dta", 80),
        (".dta", "spss", "read_sav", 80),
        (".sav", "stata", "read_dta", 80),
        (".sav", "spss", "read_sav", 132),  # 256 bytes, of which 124 letters take two
        (".sas7bdat", "stata", "read_dta", 80),
        (".sas7bdat", "spss", "read_sav", 132),
    ],
)
def test_published_columns_say_what_they_are_about_as_in_the_source(tmp_path, suffix, form, read, most):
    path = published(tmp_path, suffix, form)

    columns, about = getattr(pyreadstat, read)(str(path), output_format="dict")
    assert list(columns) == ["age", "sex"]
    assert about.column_names_to_labels["age"] == "Age in years, at admission"  # and its cells are ranges
    assert set(about.variable_value_labels["age"].values()) == {"[25, 34]"}
    title = about.column_names_to_labels["sex"]
    assert title == ("Größe `x` " + "ü" * 200)[:most]


def test_descriptions_show_what_columns_are_about_whatever_the_format(tmp_path):
    folder = published(tmp_path, ".sav", "csv").parent
    told = json.loads((folder / "release.json").read_text(encoding="utf-8"))["columns"]
    assert told["age"]["label"] == "Age in years, at admission"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "- About: `Age in years, at admission`" in readme
    assert "- About: `Größe 'x' ü" in readme  # marks around it stay whole
    described = sf.describe(folder).as_dict()["columns"]
    assert described[0]["label"] == "Age in years, at admission"


def test_no_variable_label_leaves_where_labels_are_switched_off(tmp_path):
    path = published(tmp_path, ".sav", "spss", labels=False)
    assert pyreadstat.read_sav(str(path))[1].column_names_to_labels == {"age": None, "sex": None}
    for each in (tmp_path / "out").rglob("*"):
        assert not each.is_file() or b"at admission" not in each.read_bytes(), each


def test_a_column_made_from_others_is_not_described_as_one_that_is_not_published(tmp_path):
    """A count of rows has the name of a column of the source, and numbers of people are drawn anew."""
    frame = pl.DataFrame({"who": [1.0, 1.0, 2.0, 2.0], "visits": [5.0, 6.0, 7.0, 8.0], "sex": [1.0] * 4})
    about = {"who": "number of the patient", "visits": SECRET, "sex": "sex at birth"}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", column_labels=about)
    plan = {
        "source": {"path": "a.sav", "person": "who"},
        "columns": {"sex": {"role": "quasi-identifier"}, "visits": {"role": "other"}},
        "gather": {"columns": {"visits": "count"}},
        "require": [{"model": "k-anonymity", "k": 2}],
        "release": {"format": "spss"},
    }
    sf.run(sf.Plan.from_dict(plan, base=tmp_path), tmp_path / "out", measure=False, attack=False)
    _, told = pyreadstat.read_sav(str(tmp_path / "out" / "release" / "data.sav"))
    assert told.column_names_to_labels == {"visits": None, "sex": "sex at birth"}

    del plan["gather"]
    plan["columns"]["who"], plan["release"]["persons"] = {"role": "identifier"}, "numbered"
    sf.run(sf.Plan.from_dict(plan, base=tmp_path), tmp_path / "rows", measure=False, attack=False)
    _, told = pyreadstat.read_sav(str(tmp_path / "rows" / "release" / "data.sav"))
    assert told.column_names_to_labels == {"who": None, "visits": SECRET, "sex": "sex at birth"}


def sas(folder, version):
    """A transport file as SAS exchanges them, of version 5 (names of 8 letters) or 8."""
    frame = FRAME.with_columns(pl.col("age").cast(pl.Float64))
    pyreadstat.write_xport(frame, folder / "a.xpt", table_name="PEOPLE", file_format_version=version)
    return Source(folder / "a.xpt")


@pytest.mark.parametrize("version", [5, 8])
def test_transport_files_of_sas_are_read(tmp_path, version):
    source = sas(tmp_path, version)
    table, _ = read_digested(source, drop=frozenset({"name"}))
    assert read_columns(source) == FRAME.columns
    assert cells(table) == {
        "age": [34, 35, None],
        "sex": [1, 2, -9],
        "kg": [78.5, 60.0, 55.0],
        "born": [datetime.date(1980, 12, 31)] * 3,
    }
    assert sample(source, 2).num_rows == 2


def test_a_plan_goes_from_a_transport_file_of_sas_to_a_release(tmp_path):
    sas(tmp_path, 8)
    plan = sf.Plan.from_dict(
        {
            "source": {"path": "a.xpt", "missing": ["", "-9"]},
            "columns": {"name": {"role": "identifier"}, "age": {"role": "quasi-identifier"}, "*": {"role": "other"}},
            "require": [{"model": "k-anonymity", "k": 3}],
        },
        tmp_path,
    )
    assert sf.run(plan, tmp_path / "out", measure=False, attack=False).release.data.num_rows == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.xpt", "a.sas7bdat"])
def test_damaged_files_of_sas_are_refused_without_their_cells(tmp_path, name):
    content = sas(tmp_path, 5).path.read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2].replace(b"HEADER", b"HEADES", 1))
    with pytest.raises(sf.DataError, match="SAS") as refused:
        read_table(Source(tmp_path / name))
    assert SECRET not in str(refused.value)


@pytest.mark.slow
def test_data_sets_of_sas_are_read(tmp_path):
    rows = {
        "name": [SECRET, "Ann", "Ümit"],
        "age": [34.0, None, 36.0],
        "kg": [78.5, 60.0, 55.25],
        "sex": ["f", "m", ""],
    }
    write_sas7bdat(tmp_path / "a.sas7bdat", rows)
    source = Source(tmp_path / "a.sas7bdat")
    assert read_columns(source) == list(rows)
    table, _ = read_digested(source, drop=frozenset({"name"}))
    assert cells(table) == {"age": [34, None, 36], "kg": [78.5, 60.0, 55.25], "sex": ["f", "m", ""]}
    assert read_table(source).column("name").to_pylist() == rows["name"]
    content = source.path.read_bytes()
    source.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(sf.DataError, match="SAS") as refused:
        read_table(source)
    assert SECRET not in str(refused.value)


@pytest.mark.slow
def test_portable_files_of_spss_are_read(tmp_path):
    pyreadstat.write_por(FRAME.drop("age"), tmp_path / "a.por")
    source = Source(tmp_path / "a.por")
    table, _ = read_digested(source, drop=frozenset({"NAME"}))
    assert read_columns(source) == ["NAME", "SEX", "KG", "BORN"]
    assert cells(table)["KG"] == [78.5, 60.0, 55.0]
    assert cells(table)["BORN"] == [datetime.date(1980, 12, 31)] * 3
    assert "has its own letters" in refusal(Source(source.path, encoding="cp850"))


def test_a_file_that_claims_more_rows_than_it_has_room_for_is_refused_before_memory_is_asked_for(tmp_path):
    path = spss(tmp_path).path
    content = bytearray(path.read_bytes())
    assert content[80:84] == (3).to_bytes(4, "little")  # where SPSS writes how many rows there are
    content[80:84] = (500_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    assert "damaged" in refusal(Source(path))


def asked_for(source, **wanted):
    request = {"path": str(source.path), "reader": "read_sav", "encoding": None, **wanted}
    told = io.BytesIO()
    return stat_apart.answer(json.dumps(request).encode(), told), told.getvalue()


def test_a_column_without_a_name_is_damage(tmp_path, monkeypatch):
    """The C library gives none where the bytes of a name are no text."""
    source = spss(tmp_path)
    read = pyreadstat.read_sav

    def read_nameless(*arguments, **options):
        columns, about = read(*arguments, **options)
        about.column_names = [None, *about.column_names[1:]]
        return columns, about

    assert asked_for(source)[0] == 0
    monkeypatch.setattr(pyreadstat, "read_sav", read_nameless)
    assert asked_for(source) == (stat_apart.DAMAGED, b"")


def test_what_is_wrong_is_an_exit_code_and_no_words(tmp_path, monkeypatch):
    source = spss(tmp_path)

    def raises(error):
        def read(*arguments, **options):
            raise error(SECRET)

        return read

    monkeypatch.setattr(pyreadstat, "read_sav", raises(ValueError))
    assert asked_for(source) == (stat_apart.DAMAGED, b"")
    monkeypatch.setattr(pyreadstat, "read_sav", raises(MemoryError))
    assert asked_for(source) == (stat_apart.NO_MEMORY, b"")


def test_a_process_that_ends_in_the_middle_is_damage_and_one_without_memory_says_so(tmp_path, monkeypatch):
    source = spss(tmp_path)
    for code, error in (("import os; os.kill(os.getpid(), 9)", sf.DataError), ("raise SystemExit(4)", MemoryError)):
        stat._described.cache_clear()
        monkeypatch.setattr(stat, "_WAITING", [])
        monkeypatch.setattr(stat, "_APART", write(tmp_path, "other.py", code).path)
        with pytest.raises(error):
            read_columns(source)


@pytest.mark.slow
def test_one_process_reads_file_after_file_and_another_one_where_it_has_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(stat, "_WAITING", waiting := [])
    read_table(spss(tmp_path))
    [(_, first)] = waiting
    stat._described.cache_clear()
    read_table(stata(tmp_path))
    assert waiting[0][1] is first
    first.kill()
    first.wait()
    read_table(spss(tmp_path))
    [(_, second)] = waiting
    assert second is not first
    stat._end_all()
    assert second.returncode == 0


@pytest.mark.slow
def test_a_process_that_reads_bytes_of_anybody_gets_no_address_of_a_database(tmp_path, monkeypatch):
    monkeypatch.setattr(stat, "_WAITING", waiting := [])
    monkeypatch.setenv("SFUMATO_DATABASE_CLINIC", "postgresql://a:hunter2@host/x")
    started, told = subprocess.Popen, []
    monkeypatch.setattr(stat.subprocess, "Popen", lambda *words, **how: (told.append(how), started(*words, **how))[1])
    read_table(spss(tmp_path))
    assert len(waiting) == 1
    stat._end_all()

    [how] = told
    assert "PATH" in how["env"]
    assert "SFUMATO_DATABASE_CLINIC" not in how["env"]


@pytest.mark.slow
def test_a_process_of_another_process_is_not_asked(tmp_path, monkeypatch):
    """After a fork both would write into the same pipe."""
    monkeypatch.setattr(stat, "_WAITING", waiting := [(-1, None)])
    read_table(spss(tmp_path))
    assert len(waiting) == 1
    assert waiting[0][1] is not None
    stat._end_all()


def test_who_reads_waits_for_another_question_until_none_comes(tmp_path):
    request = json.dumps({"path": str(spss(tmp_path).path), "reader": "read_sav", "encoding": None}).encode()
    told = io.BytesIO()
    assert stat_apart.serve(io.BytesIO(request + b"\n" + request + b"\n"), told) == 0
    first, second = told.getvalue().splitlines()
    assert first == second
    assert json.loads(first)["rows"] == 3
    assert (
        stat_apart.serve(io.BytesIO(request[:-1] + b', "columns": 7}\n' + request), io.BytesIO()) == stat_apart.DAMAGED
    )


def test_damaged_bytes_end_the_process_that_reads_them_and_not_this_one(tmp_path):
    """These bits of a header were found by trying: they are a segmentation fault in the C library."""
    path = spss(tmp_path).path
    bits = bytearray(path.read_bytes())
    chance = random.Random(145)
    for _ in range(chance.randint(1, 12)):
        bits[chance.randrange(len(bits))] ^= 1 << chance.randrange(8)
    path.write_bytes(bits)
    assert "damaged" in refusal(Source(path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.dta", "a.sav", "b.zsav", "a.por", "a.xpt", "a.sas7bdat"])
def test_flipped_bits_never_end_the_process(tmp_path, name):
    spss(tmp_path), stata(tmp_path), sas(tmp_path, 8)
    pyreadstat.write_sav(FRAME, tmp_path / "b.zsav", compress=True)
    pyreadstat.write_por(FRAME.drop("age"), tmp_path / "a.por")
    write_sas7bdat(tmp_path / "a.sas7bdat", {"name": [SECRET, "Ann"] * 9, "age": [34.0, None] * 9})
    assert mutants_refused(tmp_path / name, 12) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write_to", "suffix", "form", "numbers", "read"),
    [
        (pyreadstat.write_dta, "dta", "%tdDD/NN/CCYY", [500.0], [datetime.date(1961, 5, 15)]),
        (pyreadstat.write_dta, "dta", "%tcDDmonCCYY_HH:MM", [6e4], [datetime.datetime(1960, 1, 1, 0, 1)]),
        (pyreadstat.write_dta, "dta", "%tm", [775.0], [datetime.date(2024, 8, 1)]),
        (pyreadstat.write_dta, "dta", "%tq", [-1.0], [datetime.date(1959, 10, 1)]),
        (pyreadstat.write_dta, "dta", "%ty", [1999.0], [1999]),
        (pyreadstat.write_sav, "sav", "MOYR8", [13e9], [datetime.date(1994, 9, 26)]),
        (pyreadstat.write_sav, "sav", "MONTH3", [12.0], [12]),
        (pyreadstat.write_sav, "sav", "TIME8", [3_723.0, 108_000.0], ["01:02:03", "30:00:00"]),
        (pyreadstat.write_sav, "sav", "DTIME12", [-1.5], ["-00:00:01.500000"]),
        (pyreadstat.write_xport, "xpt", "MONYY7", [500.0], [datetime.date(1961, 5, 15)]),
        (pyreadstat.write_xport, "xpt", "WORDDATE18", [500.0], [datetime.date(1961, 5, 15)]),
        (pyreadstat.write_xport, "xpt", "TIME8", [108_000.0], ["30:00:00"]),
    ],
)
def test_formats_say_what_numbers_mean(tmp_path, write_to, suffix, form, numbers, read):
    path = tmp_path / f"a.{suffix}"
    write_to(pl.DataFrame({"v": [*numbers, None]}), str(path), variable_format={"v": form})
    assert cells(read_table(Source(path)))["v"] == [*read, None]


def test_a_code_with_an_empty_label_shows_itself_and_is_not_missing(tmp_path):
    frame = pl.DataFrame({"v": [1.0, 2.0, None]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels={"v": {1.0: "yes", 2.0: ""}})
    assert cells(read_table(Source(tmp_path / "a.sav")))["v"] == ["yes", "2", None]
    assert stat.codes_of(Source(tmp_path / "a.sav"), "spss") == {"v": {"yes": 1}}
