"""What knowledge tables are made of: tables of lines, annotation files as they are published, ontologies."""

from __future__ import annotations

import gzip

import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.knowledge.ontology import read_ontology
from sfumato.knowledge.sources import Where, counted_lines, read_lines

HPOA = """\
#description: made up
#version: 2026-01-01
database_id\tdisease_name\tqualifier\thpo_id\tfrequency\taspect
D:1\tSomnolent "fever\t\tT:11\t1/2\tP
D:1\tSomnolent "fever\tNOT\tT:30\t\tP
D:1\tSomnolent "fever\t\tT:90\t\tI
D:2\tBlue cough\t\tT:12\t3/7\tP
"""
OBO = """\
format-version: 1.2

[Term]
id: T:1
name: All

[Term]
id: T:10
name: Seizure
is_a: T:1 ! All

[Term]
id: T:11
name: Spasm
alt_id: T:111
is_a: T:10 {source="made up"} ! Seizure

[Term]
id: T:99
name: obsolete Fit
is_obsolete: true
replaced_by: T:10

[Typedef]
id: part_of
name: part of
"""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("older", [False, True])
def test_annotations_are_read_as_they_are_published(tmp_path, packed, older):
    text = HPOA.replace("database_id\tdisease_name", "#DatabaseID\tDiseaseName") if older else HPOA
    path = tmp_path / ("phenotype.hpoa.gz" if packed else "phenotype.hpoa")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())

    lines = read_lines(path, ["hpo_id"], [])

    assert lines.texts("hpo_id") == ["T:11", "T:12"]  # neither what is absent nor how it is inherited
    assert lines.texts("diseasename" if older else "disease_name") == ['Somnolent "fever', "Blue cough"]
    assert (lines.rows, [str(each) for each in lines.where]) == (4, ["aspect=P", "qualifier!=NOT"])


def test_what_is_asked_of_a_column_goes_before_what_annotations_mean(tmp_path):
    (tmp_path / "export.csv").write_text("hpo_id,qualifier,aspect\nT:1,,P\nT:2,NOT,P\nT:3,,I\n", encoding="utf-8")

    assert read_lines(tmp_path / "export.csv", ["hpo_id"], [Where("aspect", "I")]).texts("hpo_id") == ["T:3"]


def test_lines_are_refused_that_nothing_is_left_of(tmp_path):
    (tmp_path / "events.csv").write_text("disease,sign\nflu,fever\n", encoding="utf-8")

    with pytest.raises(DataError, match="has no lines with disease=cold"):
        read_lines(tmp_path / "events.csv", ["sign"], [Where("disease", "cold")])
    with pytest.raises(DataError, match=r"lacks\. Did you mean 'sign'"):
        read_lines(tmp_path / "events.csv", ["sing"], [])
    with pytest.raises(PolicyError, match="Write --where column=value"):
        Where.parse("aspect")
    (tmp_path / "broken.hpoa").write_text("#a comment\nhpo_id\taspect\nT:1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no table with tabs"):
        read_lines(tmp_path / "broken.hpoa", ["hpo_id"], [])


def test_an_ontology_tells_names_ancestors_and_what_codes_are_today(tmp_path):
    (tmp_path / "hp.obo").write_text(OBO, encoding="utf-8")
    (tmp_path / "is_a.csv").write_text(
        "id,name,parents\nT:1,All,\nT:10,Seizure,T:1\nT:11,Spasm,T:10|T:1\n", encoding="utf-8"
    )

    obo, table = read_ontology(tmp_path / "hp.obo"), read_ontology(tmp_path / "is_a.csv")

    assert sorted(obo.with_ancestors("T:11")) == sorted(table.with_ancestors("T:11")) == ["T:1", "T:10", "T:11"]
    assert obo.name == table.name == {"T:1": "All", "T:10": "Seizure", "T:11": "Spasm"}
    assert obo.today == {"T:111": "T:11", "T:99": "T:10"}
    assert obo.called("T:7") == "T:7"
    (tmp_path / "flat.csv").write_text("id\nT:1\n", encoding="utf-8")
    (tmp_path / "empty.obo").write_text("format-version: 1.2\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 'parents'"):
        read_ontology(tmp_path / "flat.csv")
    with pytest.raises(DataError, match=r"has no \[Term\]"):
        read_ontology(tmp_path / "empty.obo")


def test_lines_of_a_person_count_once():
    labels, sets, persons = ["flu", "flu", "flu", None], [["a"], ["b"], ["a"], ["c"]], ["1", "1", "2", "3"]

    assert list(counted_lines(labels, sets, None)) == [("flu", {"a"}), ("flu", {"b"}), ("flu", {"a"})]
    assert list(counted_lines(labels, sets, persons)) == [("flu", {"a", "b"}), ("flu", {"a"})]
