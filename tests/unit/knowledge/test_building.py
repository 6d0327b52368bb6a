"""Knowledge tables that are built hold what enough lines say, and nothing else; where they came from stands beside."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import told
from sfumato.data.files import digest
from sfumato.data.knowledge import Knowledge
from sfumato.data.knowledge_reading import read_knowledge
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.generators.patients import patients, write_demo
from sfumato.knowledge import Build, Built
from sfumato.knowledge.aliases import Aliases, keep_aliases


def table_of(built: Built) -> Knowledge:
    """Return a table as audits use it."""
    return Knowledge.from_rows((row.label, row.terms) for row in built.rows)


def events(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("label", "term", "person"), *rows])
    return path


EVENT = st.tuples(st.sampled_from("LMN"), st.sampled_from("abcd"), st.sampled_from("1234567"))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(EVENT, min_size=1, max_size=40),
    least=st.integers(1, 4),
    share=st.sampled_from([0, "1/3", 0.5]),
    people=st.booleans(),
)
def test_what_is_written_is_what_enough_lines_or_people_say(tmp_path_factory, rows, least, share, people):
    folder = tmp_path_factory.mktemp("events")
    asked = Build(
        source=events(folder / "events.csv", rows),
        label="label",
        terms="term",
        min_count=least,
        min_share=share,
        person="person" if people else None,
    )
    counted = set(rows) if people else rows
    pairs = Counter((label, term) for label, term, _ in counted)
    total = Counter(label for label, _ in {(label, person) for label, _, person in rows}) if people else None
    total = total or Counter(label for label, _, _ in rows)
    wanted = {pair: n for pair, n in pairs.items() if n >= least and n >= asked.least_share * total[pair[0]]}
    if not wanted:
        with pytest.raises(DataError, match="often enough"):
            asked.make()
        return

    built = asked.make()
    built.write(folder / "table.csv")

    with (folder / "table.csv").open(encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head == ["label", "term", "count"]
    assert {(label, term): int(count) for label, term, count in lines} == wanted
    read = read_knowledge(folder / "table.csv", label="label", terms="term")
    assert read.as_dict() == table_of(built).as_dict()


def test_the_table_of_the_demo_is_what_its_patients_tell(tmp_path):
    write_demo(tmp_path / "demo", 100)
    pa.csv.write_csv(patients(5_000), tmp_path / "patients.csv")  # as many as the demo has
    known = read_knowledge(tmp_path / "demo" / "symptoms.csv", label="disease", terms="symptoms", separator="|")
    asked = {"label": "disease", "terms": "symptoms", "separator": "|"}

    insider = Build(source=tmp_path / "patients.csv", insider=True, **asked).make()
    again = Build(source=tmp_path / "demo" / "symptoms.csv", **asked).make()

    assert table_of(insider).as_dict() == table_of(again).as_dict() == known.as_dict()
    assert min(int(line.rpartition(",")[2]) for line in insider.text().splitlines()[1:]) >= 5
    assert "keep it in the house" in " ".join(insider.sentences())


def test_rows_of_sets_stay_rows_unless_lines_are_counted(tmp_path):
    (tmp_path / "table.csv").write_text("d,s\nflu,a|b\nflu,c\ncold,a\n", encoding="utf-8")
    asked = {"source": tmp_path / "table.csv", "label": "d", "terms": "s", "separator": "|"}

    built = Build(**asked).make()
    built.write(tmp_path / "out.csv")

    known = read_knowledge(tmp_path / "table.csv", label="d", terms="s", separator="|")
    assert read_knowledge(tmp_path / "out.csv", label="d", terms="s", separator="|").as_dict() == known.as_dict()
    assert table_of(Build(min_share="1/2", **asked).make()).as_dict()["rows"] == [
        ["cold", ["a"]],
        ["flu", ["a", "b", "c"]],
    ]
    assert 'separator = "|"' in built.as_toml(tmp_path / "out.csv")


def test_an_ontology_adds_what_is_above_and_codes_become_names(tmp_path):
    (tmp_path / "is_a.csv").write_text(
        "id,name,parents\nT:1,All,\nT:10,Seizure,T:1\nT:11,Spasm,T:10\n", encoding="utf-8"
    )
    (tmp_path / "notes.csv").write_text("d,t\nD:1,T:11\nD:2,T:10\n", encoding="utf-8")
    asked = {"source": tmp_path / "notes.csv", "label": "d", "terms": "t", "ontology": tmp_path / "is_a.csv"}

    assert table_of(Build(ancestors=True, names=True, **asked).make()).as_dict()["rows"] == [
        ["D:1", ["All", "Seizure", "Spasm"]],
        ["D:2", ["All", "Seizure"]],
    ]
    with pytest.raises(PolicyError, match="Name an ontology"):
        Build(**{**asked, "ontology": None}, names=True)


def test_codes_are_cut_to_what_is_above_them(tmp_path):
    (tmp_path / "codes.csv").write_text("person,code\n1,E11.9\n2,E11.0\n3,I10\n", encoding="utf-8")
    asked = {"source": tmp_path / "codes.csv", "label": "code", "terms": "code"}

    built = Build(label_prefix=1, terms_prefix=(3, 5), **asked).make()

    assert table_of(built).as_dict()["rows"] == [["E", ["E11", "E11.0", "E11.9"]], ["I", ["I10"]]]
    assert built.text().splitlines()[0] == "label,term,count"
    with pytest.raises(PolicyError, match="--label-prefix"):
        Build(**asked)


def test_a_label_has_a_term_under_all_its_names(tmp_path):
    (tmp_path / "aliases.csv").write_text("spelling,term\nFever,fever\nfevre,fever\n", encoding="utf-8")
    rows = [("flu", "Fever", "1"), ("flu", "fever", "2"), ("cold", "cough", "3")]
    source = events(tmp_path / "events.csv", rows)

    built = Build(source=source, label="label", terms="term", aliases=tmp_path / "aliases.csv", min_count=1).make()

    assert built.text() == "label,term,count\ncold,cough,1\nflu,Fever,2\nflu,fever,2\nflu,fevre,2\n"


@pytest.mark.parametrize("lines", ["Fever,fever\nFever,cough", "Fever,fever\nfever,pyrexia"])
def test_a_spelling_leads_to_one_term_at_once(tmp_path, lines):
    (tmp_path / "aliases.csv").write_text(f"spelling,term\n{lines}\n", encoding="utf-8")

    with pytest.raises(DataError, match="lead to one term"):
        Aliases.read(tmp_path / "aliases.csv")


def test_where_it_came_from_stands_beside_the_table(tmp_path):
    source = events(tmp_path / "events.csv", [("flu", "fever", "1")] * 3 + [("rare", "rash", "9")])
    out = tmp_path / "knowledge" / "own.csv"

    found = told(*("knowledge", "build", source, "--label", "label", "--terms", "term", "--min-count", 2, "--out", out))

    kept = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert kept["sources"] == [{"as": "source", "file": "events.csv", "sha256": digest(source)}]
    assert (kept["min_count"], kept["sha256"], kept["knows"]) == (2, digest(out), "public")
    assert kept["labels"] == found["labels"] == {"found": 2, "kept": 1}
    assert "rare" not in out.read_text(encoding="utf-8") + out.with_suffix(".json").read_text(encoding="utf-8")
    assert str(tmp_path) not in out.with_suffix(".json").read_text(encoding="utf-8")


def test_what_somebody_else_wrote_is_not_overwritten(tmp_path):
    source = events(tmp_path / "events.csv", [("flu", "fever", "1")])
    built = Build(source=source, label="label", terms="term").make()
    (tmp_path / "mine.csv").write_text("precious", encoding="utf-8")

    with pytest.raises(OutputError, match="not made by"):
        built.write(tmp_path / "mine.csv", overwrite=True)
    with pytest.raises(OutputError, match=r"ends in \.csv"):
        built.write(tmp_path / "mine.txt")
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "precious"
    built.write(tmp_path / "own.csv")
    built.write(tmp_path / "own.csv", overwrite=True)


def test_weights_are_taken_from_a_column_or_counted(tmp_path):
    lines = ["d,s,often", "flu,ache,1/2", "flu,ache,1", "flu,rash,HP:0040284", "flu,itch,HP:0040285", "cold,ache,"]
    (tmp_path / "notes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = {"source": tmp_path / "notes.csv", "label": "d", "terms": "s"}

    given = Build(weights="often", missing_weight="0.5", **asked).make()
    counted = Build(weights="count", **asked).make()

    assert given.text() == "d,s,count,weight\ncold,ache,1,1/2\nflu,ache,2,3/4\nflu,rash,1,1/40\n"
    assert counted.text().splitlines()[1:3] == ["cold,ache,1,1", "flu,ache,2,1/2"]
    assert 'weights = "weight"' in given.as_toml(tmp_path / "out.csv")
    with pytest.raises(DataError, match="1 of 5 cells are no share"):
        Build(weights="often", **asked).make()
    with pytest.raises(PolicyError, match="together with ancestors"):
        Build(weights="often", ancestors=True, ontology=tmp_path / "is_a.csv", **asked)


def test_spellings_are_added_to_a_list(tmp_path):
    path = tmp_path / "knowledge" / "aliases.csv"
    keep_aliases(path, {"Fever": "fever"})
    keep_aliases(path, {"couhg": "cough"})

    assert Aliases.read(path).term_of == {"Fever": "fever", "couhg": "cough"}
