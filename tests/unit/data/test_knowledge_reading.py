from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.data.knowledge_reading import KnowledgeSource, read_knowledge
from sfumato.errors import DataError, PolicyError


@pytest.fixture
def written(tmp_path):
    def write(text, name="diseases.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def rows_of(table):
    bounds = table.start.tolist()
    return [
        (table.labels[label], {table.terms[item] for item in table.items[begin:end]})
        for label, begin, end in zip(table.label_of_row, bounds[:-1], bounds[1:], strict=True)
    ]


def given(table, **how):
    return KnowledgeSource(path=Path("knowledge.csv"), **how).of_table(table)


NAMES = {"label": "disease", "terms": "symptoms"}
SETS = "disease,symptoms\nflu,fever | cough|\ncold,cough\ncold,sneeze|runny nose\nwell,\n"


def test_cells_of_several_terms_are_rows(written):
    table = read_knowledge(written(SETS), **NAMES, separator="|")
    assert rows_of(table) == [
        ("cold", {"cough"}),
        ("cold", {"sneeze", "runny nose"}),
        ("flu", {"fever", "cough"}),
        ("well", set()),
    ]
    assert table.unlinked == "ask"


@pytest.mark.parametrize("separator", [None, "|"])
def test_cells_of_one_term_are_joined_by_label(written, separator):
    text = "disease\tkind\tsymptoms\nflu\tP\tfever\ncold\tP\tcough\nflu\tP\tcough\nwell\tP\t\n"
    table = read_knowledge(written(text, "diseases.tsv"), **NAMES, separator=separator)
    assert rows_of(table) == [("cold", {"cough"}), ("flu", {"fever", "cough"}), ("well", set())]


def test_lists_and_numbers_of_a_typed_file_are_read(tmp_path):
    path = tmp_path / "diseases.parquet"
    lists = pa.array([["fever", None, "cough"], ["cough"], None], pa.list_(pa.string()))
    pq.write_table(pa.table({"disease": [1, 2, 3], "symptoms": lists, "share": [0.5, 0.25, 0.25]}), path)
    table = read_knowledge(path, **NAMES, prior="share")
    assert rows_of(table) == [("1", {"fever", "cough"}), ("2", {"cough"}), ("3", set())]
    assert table.weight.tolist() == [0.5, 0.25, 0.25]


def test_a_source_reads_what_the_plan_says(written):
    source = KnowledgeSource(path=written(SETS), **NAMES, separator="|", unlinked="zero")
    assert source.read().unlinked == "zero"


def test_weights_may_stand_on_one_line_of_a_label_or_on_all(written):
    text = "disease,symptoms,share\nflu,fever,0.75\nflu,cough,\ncold,cough,0.25\ncold,sneeze,0.25\n"
    table = read_knowledge(written(text), **NAMES, prior="share")
    assert dict(zip(table.labels, table.weight.tolist(), strict=True)) == {"cold": 0.25, "flu": 0.75}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("disease,symptoms,share\nflu,fever,0.75\ncold,cough,0.2\n", r"sum to 0\.95"),
        ("disease,symptoms,share\nflu,fever,1\ncold,cough,\n", "misses 1 of 2 labels"),
        ("disease,symptoms,share\nflu,fever,often\ncold,cough,0.2\n", "1 of its 2 cells are no numbers"),
        ("disease,symptoms,share\nflu,fever,0.75\nflu,cough,0.25\n", "1 labels have different weights"),
        ("disease,symptoms,share\nflu,fever,1.2\ncold,cough,-0.2\n", "negative"),
    ],
)
def test_a_prior_that_is_none_is_refused(written, text, message):
    with pytest.raises(DataError, match=message):
        read_knowledge(written(text), **NAMES, prior="share")


def test_columns_that_are_not_there_are_named_with_the_nearest(written):
    with pytest.raises(DataError) as caught:
        read_knowledge(written(SETS), label="diseases", terms="symptom", prior="weight")
    message = str(caught.value)
    assert "'diseases', which [knowledge] names as label. Did you mean 'disease'?" in message
    assert "'symptom', which [knowledge] names as terms. Did you mean 'symptoms'?" in message
    assert "'weight', which [knowledge] names as prior. Known: 'disease', 'symptoms'." in message


def test_one_column_cannot_be_both(written):
    with pytest.raises(DataError, match="one column cannot be two of them"):
        read_knowledge(written(SETS), label="disease", terms="disease")


def test_a_table_without_rows_or_terms_is_refused(written):
    with pytest.raises(DataError, match="no rows"):
        read_knowledge(written("disease,symptoms\n"), **NAMES)
    with pytest.raises(DataError, match="has no rows"):
        given(pa.table({"disease": [], "symptoms": []}), **NAMES)
    with pytest.raises(DataError, match="2 labels but not one term"):
        read_knowledge(written("disease,symptoms\nflu,\ncold,\n"), **NAMES)


def test_rows_without_a_label_are_refused_and_no_cell_is_shown(written):
    with pytest.raises(DataError, match="no label in 1 of 2 rows") as caught:
        read_knowledge(written("disease,symptoms\nflu,fever\n ,secretsymptom\n"), **NAMES)
    assert "secretsymptom" not in str(caught.value)


def test_a_forgotten_separator_is_noticed(written):
    text = "disease,symptoms\nflu,fever|cough\ncold,cough|sneeze\nwell,\n"
    with pytest.raises(DataError, match=r"2 of 2 cells contain '\|'.*\n.*separator = '\|'"):
        read_knowledge(written(text), **NAMES)
    with pytest.raises(DataError, match=r"separator .* is empty"):
        read_knowledge(written(text), **NAMES, separator="")


def test_nested_columns_are_refused():
    lists = pa.array([["a"], ["b"]])
    nested = pa.array([{"a": 1}, {"a": 2}])
    for columns, message in (
        ({"disease": lists, "symptoms": ["a", "b"]}, "needs one label"),
        ({"disease": ["x", "y"], "symptoms": nested}, "neither text nor lists"),
    ):
        with pytest.raises(DataError, match=message):
            given(pa.table(columns), **NAMES)
    with pytest.raises(DataError, match="not weights"):
        given(pa.table({"disease": ["x", "y"], "symptoms": lists, "w": lists}), **NAMES, prior="w")


def test_a_policy_that_is_not_known_is_refused(written):
    with pytest.raises(PolicyError, match="unlinked"):
        read_knowledge(written(SETS), **NAMES, separator="|", unlinked="drop")


def test_a_missing_file_is_a_data_error(tmp_path):
    with pytest.raises(DataError):
        read_knowledge(tmp_path / "nothing.csv", **NAMES)


def test_terms_in_several_columns_are_joined_as_column_and_value():
    table = pa.table({"disease": ["flu", "cold"], "symptoms": ["fever|cough", "cough"], "season": ["winter", None]})

    knowledge = given(table, label="disease", terms=("symptoms", "season"), separator="|")

    assert knowledge.terms == ("season=winter", "symptoms=cough", "symptoms=fever")
    assert knowledge.items.tolist() == [1, 0, 1, 2]


def test_weights_are_read_exactly_and_a_weight_of_zero_is_no_pair(tmp_path):
    (tmp_path / "signs.csv").write_text(
        "d,s,often\nflu,ache,45%\nflu,rash,1/20\ncold,ache,0.5\ncold,rash,0\n", encoding="utf-8"
    )

    table = read_knowledge(tmp_path / "signs.csv", label="d", terms="s", weights="often")

    assert table.as_dict()["rows"] == [["cold", ["ache"]], ["flu", ["ache", "rash"]]]
    assert table.as_dict()["likelihood"] == [["1/2"], ["9/20", "1/20"]]


@pytest.mark.parametrize(
    ("lines", "separator", "words"),
    [
        ("flu,ache,often\nflu,rash,2", None, "2 of 2 cells are no number"),
        ("flu,ache,1\nflu,ache,0.5", None, "1 terms of a label have different ones"),
        ("flu,ache|rash,1\nflu,rash,1", "|", "cells hold several terms"),
    ],
)
def test_weights_that_say_nothing_are_refused(tmp_path, lines, separator, words):
    (tmp_path / "signs.csv").write_text(f"d,s,often\n{lines}\n", encoding="utf-8")

    with pytest.raises(DataError, match=words):
        read_knowledge(tmp_path / "signs.csv", label="d", terms="s", separator=separator, weights="often")
