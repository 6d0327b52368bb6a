"""Catalogs of SAS: value labels of data sets, which lie in a file of their own."""

import json
import random
from dataclasses import replace

import pyreadstat
import pytest

import sfumato as sf
from commands import sfumato
from sas_files import write_sas7bcat, write_sas7bdat
from sfumato.data.files import Source, how_read, read_columns, read_digested, read_table, sample
from sfumato.drafting import draft
from sfumato.workbench.looking import looked_at
from tables_on_disk import SECRET, cells, refusal

COLUMNS = {
    "name": [SECRET, "Ann", "Bob", "Eve"],
    "sex": [1.0, 2.0, None, 2.0],
    "again": [2.0, 1.0, 1.0, 9.0],
    "region": ["n", "s", "x", ""],
    "age": [30.0, 31.0, 30.0, 31.0],
}
FORMATS = {"sex": "SEXF", "again": "sexf8.", "region": "$REG", "age": "BEST12."}
LABELS = {"SEXF": {1.0: "male", 2.0: "female"}, "$REG": {"n": "north", "s": "south"}, "OTHER": {1.0: "x"}}


@pytest.fixture
def source(tmp_path):
    write_sas7bdat(tmp_path / "a.sas7bdat", COLUMNS, formats=FORMATS, titles={"sex": "Sex at birth"})
    write_sas7bcat(tmp_path / "formats.sas7bcat", LABELS)
    return Source(tmp_path / "a.sas7bdat", catalog=tmp_path / "formats.sas7bcat")


def plan_of(folder, source, **more):
    columns = {"name": {"role": "identifier"}, "age": {"role": "quasi-identifier"}, "*": {"role": "other"}}
    plan = {"source": source, "columns": columns, "require": [{"model": "k-anonymity", "k": 2}], **more}
    return sf.Plan.from_dict(plan, base=folder)


@pytest.mark.slow
def test_labels_in_a_catalog_are_the_categories(source):
    assert read_columns(source) == list(COLUMNS)
    table, _ = read_digested(source, drop=frozenset({"name"}))
    assert cells(table) == {
        "sex": ["male", "female", None, "female"],
        "again": ["female", "male", "male", "9"],  # whatever the width that a format is printed at
        "region": ["north", "south", "x", ""],
        "age": [30, 31, 30, 31],
    }
    assert cells(sample(source, 2))["sex"] == ["male", "female"]
    found = {each.key: each for each in how_read(source)}["catalog"]
    assert (found.value, "3 column(s)" in found.reason) == ("formats.sas7bcat", True)


def test_without_a_catalog_or_without_labels_codes_stand_for_themselves(source):
    assert cells(read_table(replace(source, catalog=None)))["sex"] == [1, 2, None, 2]
    source.catalog.unlink()
    assert cells(read_table(replace(source, labels=False)))["sex"] == [1, 2, None, 2]


def test_a_catalog_that_changes_is_read_again(source):
    assert cells(read_table(source))["sex"][0] == "male"
    write_sas7bcat(source.catalog, {"SEXF": {1.0: "a man", 2.0: "a woman"}})
    assert cells(read_table(source))["sex"][0] == "a man"


def test_a_plan_names_it_and_labels_have_their_codes_again(tmp_path, source):
    plan = plan_of(tmp_path, {"path": "a.sas7bdat", "catalog": "formats.sas7bcat"}, release={"format": "spss"})
    run = sf.run(plan, tmp_path / "out", measure=False, attack=False)

    _, about = pyreadstat.read_sav(str(tmp_path / "out" / "release" / "data.sav"))
    assert about.variable_value_labels["sex"] == {1: "male", 2: "female"}
    assert about.variable_value_labels["again"] == {1: "male", 2: "female", 9: "9"}
    assert about.column_names_to_labels["sex"] == "Sex at birth"
    assert plan.files == {"source.catalog": source.catalog}
    assert plan.digests()["source.catalog"] in json.dumps(run.facts)


@pytest.mark.parametrize(
    "where",
    [
        {"path": "a.sav"},
        {"path": "a.xpt"},
        {"path": "a.xpt", "format": "sas"},
        {"path": "a.csv"},
        {"path": "a.sas7bdat", "format": "csv"},
        {"table": "stays"},
    ],
)
def test_only_data_sets_of_sas_have_one(tmp_path, where):
    with pytest.raises(sf.PlanError) as refused:
        plan_of(tmp_path, {**where, "catalog": "formats.sas7bcat"})
    assert [problem.place for problem in refused.value.problems] == ["source.catalog"]
    assert "only data sets of SAS" in str(refused.value)


def test_so_has_a_source_in_python(source):
    transport = source.path.with_suffix(".xpt")
    transport.write_bytes(b"")
    assert "only data sets of SAS" in refusal(replace(source, path=transport))


@pytest.mark.slow
@pytest.mark.parametrize("made", ["missing", "folder", "text", "cut", "data set", "empty"])
def test_one_that_is_missing_or_damaged_is_refused_and_named(tmp_path, source, made):
    content = source.catalog.read_bytes()
    source.catalog.unlink()
    match made:
        case "folder":
            source.catalog.mkdir()
        case "text":
            source.catalog.write_text(f"{SECRET} is no catalog", encoding="utf-8")
        case "cut":
            source.catalog.write_bytes(content[: len(content) // 3])
        case "data set":
            source.catalog.write_bytes(source.path.read_bytes())
        case "empty":
            source.catalog.write_bytes(b"")
    said = refusal(source)
    assert "formats.sas7bcat" in said
    assert "catalog of SAS" in said

    path = tmp_path / "plan.toml"
    path.write_text(
        plan_of(tmp_path, {"path": "a.sas7bdat", "catalog": "formats.sas7bcat"}).to_toml(), encoding="utf-8"
    )
    done = sfumato("anonymize", path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "catalog of SAS" in " ".join(done.stderr.split())
    assert SECRET not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()


def test_a_damaged_table_is_not_blamed_on_its_catalog(source):
    source.path.write_bytes(source.path.read_bytes()[:2000])
    assert "as a file of SAS" in refusal(source)


@pytest.mark.slow
def test_a_draft_takes_the_one_with_the_same_name_beside_it_and_says_so(tmp_path, source):
    source.catalog.rename(tmp_path / "a.sas7bcat")
    bare = Source(source.path)
    drafted = draft(bare, tmp_path)
    assert 'catalog = "a.sas7bcat"' in drafted.text
    assert "a.sas7bcat" in drafted.warnings[0]
    assert drafted.plan.source.catalog == tmp_path / "a.sas7bcat"
    assert "female" in {cell for row in looked_at(bare).rows for cell in row}

    done = sfumato("init", source.path, "--out", tmp_path / "plan.toml")
    assert done.returncode == 0, done.stderr
    assert "are taken from a.sas7bcat" in " ".join((done.stdout + done.stderr).split())
    done = sfumato("explain", tmp_path / "plan.toml")
    assert "value labels for 3 column(s)" in " ".join(done.stdout.split()), done.stderr

    assert "catalog =" not in draft(Source(source.path, labels=False), tmp_path).text
    (tmp_path / "a.sas7bcat").unlink()
    assert "catalog =" not in draft(bare, tmp_path).text


@pytest.mark.slow
def test_flipped_bits_of_a_catalog_are_read_or_refused_as_its_own(source):
    """Some end the process that reads them."""
    content, refused = source.catalog.read_bytes(), []
    for seed in range(20):
        chance, bits = random.Random(seed), bytearray(content)
        for _ in range(chance.randint(1, 12)):
            bits[chance.choice((chance.randrange(1024), 4096 + chance.randrange(4096)))] ^= 1 << chance.randrange(8)
        source.catalog.write_bytes(bits)
        try:
            assert read_table(source).num_rows == 4
        except sf.DataError as error:
            refused.append(str(error))
    assert len(refused) > 1
    assert all("catalog of SAS" in said for said in refused)
