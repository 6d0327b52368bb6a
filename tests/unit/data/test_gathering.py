"""One row a person: fast gathering does what a plain loop does, and nothing of the people's numbers is left."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from commands import told
from sfumato.data.files import Source, digest, read_table
from sfumato.data.gathering import Gather, Gathered, How, gather
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

KINDS = {"text": pa.string(), "number": pa.int64(), "day": pa.date32()}


def cells_of(rows: int, kind: str, chance: np.random.Generator) -> list[Any]:
    numbers = [None if number == 0 else int(number) for number in chance.integers(0, 6, rows)]
    if kind == "text":
        return [None if number is None else f"v{number}" for number in numbers]
    return numbers


def slowly(how: How, cells: Iterable[Any]) -> Any:
    """What becomes of the cells of a person, by definition."""
    known = [cell for cell in cells if cell is not None]
    match how:
        case How.SET:
            return sorted(set(known), key=str)
        case How.COUNT:
            return len(known)
        case How.FIRST | How.LAST:
            return (known[0] if how is How.FIRST else known[-1]) if known else None
        case How.MIN | How.MAX:
            return (min(known) if how is How.MIN else max(known)) if known else None
        case How.SUM | How.MEAN:
            return None if not known else sum(known) if how is How.SUM else sum(known) / len(known)
    raise AssertionError(how)


def gathered(table: pa.Table, *columns: Gathered, order: str | None = None, schema: Schema | None = None) -> pa.Table:
    schema = schema or Schema(rest=Role.OTHER)
    asked = Gather(person="who", columns=columns, order=order)
    return gather(table, asked, schema, lambda source, drop: read_table(source, drop=drop))[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [how for how in How if how is not How.SAME])
@pytest.mark.parametrize("order", [None, "when"])
def test_a_column_is_gathered_as_a_plain_loop_would(how, kind, order):
    chance = np.random.default_rng(list(How).index(how) + 10 * list(KINDS).index(kind))
    rows = 60
    who = [f"p{number}" for number in chance.integers(0, 12, rows)]
    when = chance.permutation(rows).tolist()
    cells = pa.array(cells_of(rows, kind, chance), pa.int32() if kind == "day" else None).cast(KINDS[kind])
    table = pa.table({"who": who, "cell": cells, "when": when})
    if (how in (How.SUM, How.MEAN) and kind != "number") or (how in (How.MIN, How.MAX) and kind == "text"):
        with pytest.raises(DataError, match="Column 'cell': its values are n"):
            gathered(table, Gathered(name="cell", how=how, column="cell"), order=order)
        return

    asked = (Gathered(name="cell", how=how, column="cell"), Gathered(name="when", how=How.COUNT, column="when"))
    found = gathered(table, *asked, order=order)

    rows_of: dict[str, list[Any]] = {name: [] for name in who}
    in_time = sorted(zip(when if order else range(rows), who, cells.to_pylist(), strict=True), key=lambda row: row[0])
    for _, name, cell in in_time:
        rows_of[name].append(cell)
    expected = [slowly(how, rows_of[name]) for name in dict.fromkeys(who)]
    shown = found.column("cell").to_pylist()
    if how is How.SET:
        assert [sorted(members, key=str) for members in shown] == expected
    elif how is How.MEAN:
        assert all(a == b or math.isclose(a, b) for a, b in zip(shown, expected, strict=True))
    else:
        assert shown == expected
    assert found.column_names == ["cell", "when"]


def test_rows_are_counted_where_no_column_is_named():
    table = pa.table({"who": ["b", "a", "b"]})

    assert gathered(table, Gathered(name="rows", how=How.COUNT, column=None)).to_pydict() == {"rows": [2, 1]}


def test_a_count_of_rows_may_take_the_name_of_a_column():
    table = pa.table({"who": ["b", "a", "b"], "stay": ["1", "2", "3"]})

    assert gathered(table, Gathered(name="stay", how=How.COUNT, column=None)).to_pydict() == {"stay": [2, 1]}


def test_people_cannot_be_told_apart_by_lists():
    with pytest.raises(DataError, match="Column 'who': Values of type"):
        gathered(pa.table({"who": [["a"], ["b"]], "n": [1, 2]}))


def test_columns_that_are_not_named_must_be_the_same_in_all_rows_of_a_person():
    table = pa.table({"who": ["a", "b", "a"], "sex": ["f", "m", None], "zip": ["1", "2", "3"]})

    with pytest.raises(DataError, match="Column 'zip': 1 people have different values in their rows") as refused:
        gathered(table)
    assert "'sex'" not in str(refused.value)
    assert gathered(table.drop(["zip"])).to_pydict() == {"sex": ["f", "m"]}


def test_numbers_in_text_are_ordered_as_numbers():
    table = pa.table({"who": ["a"] * 3, "n": ["9", "10", "2.5"]})

    shown = [
        gathered(table, Gathered(name="n", how=how, column="n")).column("n")[0].as_py() for how in (How.MAX, How.MIN)
    ]
    assert shown == ["10", "2.5"]


def last_of(when: list[str]) -> int:
    table = pa.table({"who": ["a"] * len(when), "n": list(range(len(when))), "when": when})
    return int(gathered(table, Gathered(name="n", how=How.LAST, column="n"), order="when").column("n")[0].as_py())


@pytest.mark.parametrize(
    "when",
    [
        ["2024-03-31 23:30:00-02:00", "2024-04-01 00:10:00+00:00"],
        ["2024-04-01T09:00Z", "2024-04-01 10:00 +01", "2024-04-01T08:59:59.5+00"],
        ["2024-04-01 11:00", "2024-04-01T10:00", "2024-04-01"],
        ["visit 10", "visit 2", "visit 09"],
        ["V" + "9" * 5_000, "V2"],
    ],
    ids=["zones", "spellings", "no zones", "words", "long"],
)
def test_rows_are_ordered_by_what_their_cells_mean(when):
    assert [last_of(when), last_of(when[::-1])] == [0, len(when) - 1]


def test_moments_with_and_without_a_zone_are_not_ordered():
    with pytest.raises(DataError, match=r"(?s)Column 'when': 1 of its 2 values tell their time zone.*all of them"):
        last_of(["2024-04-01 10:00Z", "2024-04-01 10:30"])


def test_an_order_of_words_is_said():
    table = pa.table({"who": ["a", "a"], "n": [1, 2], "visit": ["visit 2", "visit 10"], "day": ["2024-04-01"] * 2})
    for order, said in (("visit", ["order of words in 'visit'"]), ("day", []), (None, [])):
        asked = Gather(person="who", columns=(Gathered(name="n", how=How.LAST, column="n"),), order=order)
        schema = Schema(rest=Role.OTHER)
        sentences = gather(table.select(["who", "n", *([order] if order else [])]), asked, schema, None)[1].sentences()
        assert [part in sentence for part, sentence in zip(said, sentences, strict=True)] == [True] * len(said)


def test_sets_are_united_cut_at_the_separator_of_the_column():
    table = pa.table({"who": ["a", "b", "a"], "codes": ["x|y", "", "y|z"], "lists": [["k", None], None, ["l"]]})
    schema = Schema({name: ColumnSpec(name=name, role=Role.ITEMS, kind=Kind.SET) for name in ("codes", "lists")})

    asked = (Gathered(name=name, how=How.SET, column=name) for name in ("codes", "lists"))
    found = gathered(table, *asked, schema=schema)

    assert [sorted(members) for members in found.column("codes").to_pylist()] == [["x", "y", "z"], []]
    assert [sorted(members) for members in found.column("lists").to_pylist()] == [["k", "l"], []]


def test_one_cell_of_a_list_column_is_refused():
    with pytest.raises(DataError, match="lists can be gathered as a set only"):
        gathered(pa.table({"who": ["a"], "c": [["x"]]}), Gathered(name="c", how=How.LAST, column="c"))


# A plan with two tables, from the command line to the release.

PLAN = """
[source]
path = "person.csv"
person = "person_id"

[[gather.events]]
path = "condition.csv"
order = "day"
columns = { codes = { set = "code" }, latest = { last = "code" }, visits = "count" }

[columns.birth]
role = "quasi-identifier"
hierarchy = { widths = [10] }
[columns.codes]
role = "items"
sensitive_items = ["F20"]
[columns.latest]
role = "sensitive"
[columns.visits]
role = "other"

[[require]]
model = "k-anonymity"
k = 2
[[require]]
model = "rho-uncertainty"
column = "codes"
rho = 0.9
"""
PERSONS = "person_id,birth\n" + "".join(f"Q{n}Z,{1940 + 5 * (n // 4)}\n" for n in range(16))
CONDITIONS = "event,person_id,code,day\n" + "".join(
    f"{n},Q{n % 15}Z,{('I10', 'E11', 'F20')[n % 3 - (n % 2)]},2024-01-{28 - n % 28:02}\n" for n in range(40)
)


@pytest.fixture
def folder(tmp_path):
    for name, text in (("plan.toml", PLAN), ("person.csv", PERSONS), ("condition.csv", CONDITIONS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_two_tables_become_a_release_of_people_without_their_numbers(folder):
    found = told("anonymize", folder / "plan.toml", "--out", folder / "run")

    assert found["release"]["rows"] == found["source"]["rows"] == found["source"]["gathered"] == 16
    assert found["persons"] is None
    digests = {"source.path": digest(folder / "person.csv"), "gather.events[1].path": digest(folder / "condition.csv")}
    assert found["inputs"] == digests
    kept = b"".join(path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file())
    assert b"Q3Z" not in kept
    described = json.loads((folder / "run" / "release" / "release.json").read_text(encoding="utf-8"))
    assert list(described["columns"]) == ["birth", "codes", "latest", "visits"]
    assert told("audit", folder / "run", "--plan", folder / "plan.toml")["satisfied"]


def test_explain_gathers_first_and_says_so(folder):
    found = told("explain", folder / "plan.toml")

    fate = {column["name"]: column["fate"] for column in found["columns"]}
    assert (found["rows"], found["people"]) == (16, True)
    assert fate["person_id"] == "says whose row it is; dropped"
    assert fate["codes"].startswith("set of a person's rows; ")


def test_explain_says_that_rows_are_in_the_order_of_words(folder):
    text = folder.joinpath("condition.csv").read_text(encoding="utf-8").replace("2024-01-", "visit ")
    folder.joinpath("condition.csv").write_text(text, encoding="utf-8")
    warnings = sf.Plan.load(folder / "plan.toml").explain().warnings
    assert any("in the order of words in 'day', numbers inside them by size" in warning for warning in warnings)


def test_a_plan_that_gathers_goes_through_python_with_a_frame(folder):
    plan = sf.Plan.load(folder / "plan.toml")
    frame = read_table(Source(folder / "person.csv"))

    run = sf.anonymize(frame, plan, seed=1)

    assert sum(run.release.data.column("visits").to_pylist()) == 40
    assert all(verdict.satisfied for verdict in sf.audit(run, plan, original=frame))
    assert sf.Plan.from_dict(plan.document, folder).gather == plan.gather
    said = "each row was taken for another one"
    assert all(said in verdict.notes[-1] for verdict in sf.audit(run.release, plan, original=frame))
    assert not any(said in note for verdict in sf.audit(run, plan, original=frame) for note in verdict.notes)


def test_rows_of_people_who_are_not_in_the_source_are_left_out_and_counted(folder):
    with (folder / "condition.csv").open("a", encoding="utf-8") as file:
        file.write("99,nobody,I10,2024-02-01\n")

    found = told("anonymize", folder / "plan.toml", "--out", folder / "run")

    said = "1 rows of condition.csv are about people who are not in the source: they were left out."
    assert said in found["warnings"]


@pytest.mark.slow
@pytest.mark.parametrize("nobody", ["", "NA"])  # whether or not the plan lists it
@pytest.mark.parametrize("name", ["person.csv", "condition.csv"])
def test_rows_without_a_person_are_refused_with_their_count(folder, name, nobody):
    text = (folder / name).read_text(encoding="utf-8")
    (folder / name).write_text(text.replace("Q3Z", nobody).replace("Q7Z", nobody), encoding="utf-8")
    rows = text.count("Q3Z") + text.count("Q7Z")

    for command in (("explain",), ("anonymize", "--out", folder / "run")):
        with pytest.raises(DataError, match=f"but {rows} of {text.count('Q')} rows have no value in 'person_id'"):
            told(command[0], folder / "plan.toml", *command[1:])
    assert not (folder / "run").exists()


def test_several_rows_a_person_without_gather_are_refused_before_any_work(folder):
    (folder / "plan.toml").write_text(
        '[source]\npath = "person.csv"\nperson = "person_id"\n[columns.birth]\nrole = "quasi-identifier"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        encoding="utf-8",
    )
    assert told("anonymize", folder / "plan.toml", "--out", folder / "run")["release"]["rows"] == 16
    with (folder / "person.csv").open("a", encoding="utf-8") as file:
        file.write("Q3Z,1940\n")

    with pytest.raises(DataError, match="numbers 16 people on 17 rows"):
        told("anonymize", folder / "plan.toml", "--out", folder / "other")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'set = "code"',
            'set = "cod"',
            "condition.csv lacks a column that the plan gathers: 'cod'",
        ),
        ("visits =", "birth =", "makes columns that are there already: 'birth'"),
        ('person = "person_id"', 'person = "persn_id"', "lacks a column that the plan gathers: 'persn_id'"),
    ],
)
def test_columns_that_are_not_there_or_twice_are_refused(folder, old, new, words):
    (folder / "plan.toml").write_text(PLAN.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(DataError, match=words):
        told("explain", folder / "plan.toml")
