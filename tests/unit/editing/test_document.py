"""A plan as a document: one thing is changed, the rest stays to the letter."""

from __future__ import annotations

import difflib
import hashlib
import tomllib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from house import ROOT
from sfumato.editing import PlanDocument, named, problems
from sfumato.errors import Conflict, EditError, PlanError
from sfumato.models import PRIVACY_MODELS, KAnonymity
from sfumato.plan import Plan

TEXT = """# mine
[source]
path = "people.csv"  # where

[columns."age"]
role = "quasi-identifier"  # guess: others may know it
# if wrong: detail is lost
kind = "number"  # a whole one

# about job
[columns.job]
role = "sensitive"
hierarchy = { flat = true }

[[require]]  # the first
model = "k-anonymity"
k = 5  # each hides among so many

# what matters most
[[require]]
model = "l-diversity"
sensitive = "job"
l = 2
[release]
format = "csv\""""  # no end of line


@pytest.fixture
def document():
    return PlanDocument.from_text(TEXT)


def changed(document, before=TEXT):
    """The lines that went and came."""
    lines = difflib.ndiff(before.splitlines(), document.text.splitlines())
    return [f"{line[0]}{line[2:]}" for line in lines if line[0] in "+-" and line[2:].strip()]


def test_a_changed_value_keeps_its_comment_and_all_other_lines(document):
    document.set(("require", 0, "k"), 7)

    assert changed(document) == ["-k = 5  # each hides among so many", "+k = 7  # each hides among so many"]
    assert document.get(("require", 0, "k")) == 7
    assert document.changes == ["k of requirement 1: 7"]


def test_what_a_draft_said_of_a_guess_goes_when_it_is_changed_and_only_then(document):
    document.set(("columns", "age", "kind"), "category")
    assert changed(document) == ['-kind = "number"  # a whole one', '+kind = "category"  # a whole one']

    document.set(("columns", "age", "role"), "sensitive")

    assert "guess" not in document.text
    assert "if wrong" not in document.text
    assert '[columns."age"]\nrole = "sensitive"\nkind = "category"  # a whole one\n\n# about job\n' in document.text


def test_the_guesses_of_a_real_draft_go_as_well(tmp_path):
    (tmp_path / "t.csv").write_bytes("name;größe\n".encode("cp1252") + b"Ann;1,5\nBob;2,5\n" * 20)
    text = sf.draft(tmp_path / "t.csv").text
    document = PlanDocument.from_text(text)

    document.set(("columns", "größe", "role"), "other")
    document.set(("source", "encoding"), "latin-1")

    assert "found: " in text
    assert 'encoding = "latin-1"\n' in document.text
    assert document.text.count("# guess:") == text.count("# guess:") - 1
    assert document.text.count("# if wrong:") == text.count("# if wrong:") - 1


def test_setting_what_is_there_changes_nothing(document):
    document.set(("require", 0, "k"), 5)
    document.set(("columns", "job"), {"role": "sensitive", "hierarchy": {"flat": True}})
    document.remove(("columns", "nobody"))

    assert (document.text, document.changes) == (TEXT, [])


def test_new_keys_stand_behind_the_last_one_of_their_table(document):
    document.set(("columns", "job", "weight"), 2.0)
    document.set(("measure", "target"), "job")

    assert changed(document) == ["+weight = 2.0", "+[measure]", '+target = "job"']
    assert "hierarchy = { flat = true }\nweight = 2.0\n\n" in document.text


def test_columns_and_requirements_are_added_beside_their_like(document):
    place = document.append(("require",), {"model": "t-closeness", "sensitive": "job", "t": 0.2})
    document.set(("columns", "a b"), {"role": "other", "kind": "category"})

    assert place == ("require", 2)
    assert document.get(place)["t"] == 0.2
    text = document.text
    assert text.index("[columns.job]") < text.index('[columns."a b"]') < text.index("# the first")
    assert text.index("l = 2") < text.index("t = 0.2") < text.index("[release]")


def test_a_table_is_replaced_key_by_key(document):
    document.set(("require", 0), {"model": "k-anonymity", "k": 3, "anonymizer": "mondrian"})

    assert changed(document) == [
        "-k = 5  # each hides among so many",
        "+k = 3  # each hides among so many",
        '+anonymizer = "mondrian"',
    ]


def test_what_is_taken_away_goes_with_the_comments_above_it(document):
    document.remove(("require", 1))

    assert changed(document) == [
        "-# what matters most",
        "-[[require]]",
        '-model = "l-diversity"',
        '-sensitive = "job"',
        "-l = 2",
    ]
    document.remove(("require", 0))
    assert document.get(("require",)) is None
    assert document.changes == ["requirement 2 taken away", "requirement 1 taken away"]


@pytest.mark.parametrize("by", [1, 5])
def test_a_requirement_moves_with_its_comments(document, by):
    assert document.move(("require", 0), by) == ("require", 1)

    assert [each["model"] for each in document.get(("require",))] == ["l-diversity", "k-anonymity"]
    assert document.text.index("# what matters most") < document.text.index("# the first")
    document.move(("require", 1), -1)
    assert document.get(()) == tomllib.loads(TEXT)


def test_columns_move_and_what_ends_the_file_can_move_away_from_there():
    document = PlanDocument.from_text('[columns.a]\nrole = "other"\n[columns.b]\nrole = "sensitive"')

    document.move(("columns", "b"), -1)

    assert list(document.get(("columns",))) == ["b", "a"]


def test_objects_are_written_as_a_plan_spells_them(document):
    document.append(("require",), KAnonymity(k=9))

    assert document.get(("require", 2)) == {"model": "k-anonymity", "k": 9}


@pytest.mark.parametrize(
    "text",
    [
        'columns = { age = { role = "other" } }\nrequire = [ { model = "k-anonymity", k = 2 } ]\n',
        'columns.age.role = "other"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        '[columns]\nage.role = "other"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        '[columns]\nage = { role = "other" }\n[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        '[[require]]\nmodel = "k-anonymity"\nk = 2\n[columns.age]\nrole = "other"\n',
        '[[require]]\r\nmodel = "k-anonymity"\r\nk = 2 # two\r\n\r\n[columns.age]\r\nrole = "other"\r\n',
    ],
)
def test_other_spellings_are_changed_in_their_own_way(text):
    document = PlanDocument.from_text(text)
    document.set(("columns", "age", "role"), "quasi-identifier")
    document.set(("columns", "job"), {"role": "sensitive"})
    document.set(("require", 0, "k"), 3)
    document.append(("require",), {"model": "k-anonymity", "k": 4})
    document.remove(("columns", "job", "role"))

    assert document.get(("columns", "age")) == {"role": "quasi-identifier"}
    assert [each["k"] for each in tomllib.loads(document.text)["require"]] == [3, 4]
    assert document.text.count("\r\n") in (0, document.text.count("\n"))


@pytest.mark.parametrize(
    "place", [(), ("require", 9, "k"), ("require", "k"), ("source", "path", "x"), ("columns", 0), ("require", 7)]
)
def test_what_cannot_be_is_refused_and_nothing_changes(document, place):
    with pytest.raises(EditError):
        document.set(place, 1)
    with pytest.raises(EditError):
        document.append(("columns",), {})

    assert document.text == TEXT


def test_a_spelling_that_cannot_be_changed_piece_by_piece_is_left_alone():
    text = "[a]\nb.c = 1\n[a.d]\nx = 1\n"
    document = PlanDocument.from_text(text)

    try:
        document.set(("a", "b"), 3)
    except EditError:
        assert document.text == text
    else:
        assert tomllib.loads(document.text) == {"a": {"b": 3, "d": {"x": 1}}}


def test_problems_stand_at_the_place_that_was_edited(document, tmp_path):
    assert problems(document.text, tmp_path) == ()

    document.set(("require", 0, "k"), -1)
    document.set(("columns", "job", "role"), "sensitiv")

    places = [problem.place for problem in problems(document.text, tmp_path)]
    assert named(("require", 0, "k")) in places
    assert named(("columns", "job", "role")) in places
    with pytest.raises(PlanError):
        document.plan(tmp_path)


def test_a_text_that_is_no_toml_is_a_problem_of_the_whole(tmp_path):
    (found,) = problems("[columns", tmp_path)

    assert found.place == ""
    with pytest.raises(PlanError, match="not valid TOML"):
        PlanDocument.from_text("[columns")


# On disk.


def test_it_is_saved_as_it_stands_and_opened_again(document, tmp_path):
    path = tmp_path / "plan.toml"
    digest = document.save(path, expected=None)

    again = PlanDocument.open(path)
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    again.set(("require", 0, "k"), 6)
    again.save(path, expected=digest)

    assert path.read_bytes() == TEXT.replace("k = 5", "k = 6").encode()
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize("theirs", [TEXT + "\n# theirs", None])
def test_a_file_that_changed_meanwhile_is_left_alone(document, tmp_path, theirs):
    path = tmp_path / "plan.toml"
    digest = document.save(path, expected=None)
    if theirs is None:
        path.unlink()
    else:
        path.write_bytes(theirs.encode())
    document.set(("require", 0, "k"), 6)

    with pytest.raises(Conflict) as caught:
        document.save(path, expected=digest)

    assert (caught.value.ours, caught.value.theirs) == (document.text, theirs)
    assert (path.read_bytes().decode() if path.exists() else None) == theirs


def test_a_file_that_is_not_there_or_is_no_text_is_refused_as_a_plan_is(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")

    for name in ("none.toml", "bytes.toml"):
        with pytest.raises(PlanError):
            PlanDocument.open(tmp_path / name)


# The law: whatever is edited, there is a plan or a placed problem.

KEYS = st.sampled_from(["role", "kind", "hierarchy", "weight", "k", "l", "model", "sensitive", "nonsense", "a.b", ""])
NAMES = st.sampled_from(["age", "job", "new", "*", "x.y", 'a"b', ""])
VALUES = st.one_of(
    st.sampled_from(["sensitive", "quasi-identifier", "other", "number", *PRIVACY_MODELS]),
    st.integers(-3, 9),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.fixed_dictionaries({"widths": st.lists(st.integers(-1, 9), max_size=2)}),
    st.fixed_dictionaries({}, optional={"role": st.text(max_size=2), "model": st.sampled_from(sorted(PRIVACY_MODELS))}),
)
PLACES = st.one_of(
    st.tuples(st.just("columns"), NAMES, KEYS),
    st.tuples(st.just("columns"), NAMES),
    st.tuples(st.just("require"), st.integers(0, 3), KEYS),
    st.tuples(st.just("require"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["source", "release", "measure", "anonymizers", "draft"]), KEYS),
    st.tuples(st.sampled_from(["source", "require", "columns", "gather", "other"])),
)
EDITS = st.one_of(
    st.tuples(st.just("set"), PLACES, VALUES),
    st.tuples(st.just("remove"), PLACES),
    st.tuples(st.just("append"), st.just(("require",)), VALUES.filter(lambda value: isinstance(value, dict))),
    st.tuples(st.just("move"), PLACES, st.integers(-2, 2)),
)
STARTS = [
    TEXT,
    (ROOT / "examples/staff/plan.toml").read_text(encoding="utf-8"),
    "",
    'columns = { a = { role = "other" } }\n',
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(STARTS), st.lists(EDITS, max_size=6))
def test_any_sequence_of_edits_gives_a_plan_or_placed_problems(tmp_path_factory, start, edits):
    folder = tmp_path_factory.getbasetemp()
    document = PlanDocument.from_text(start)
    for edit, *given_ in edits:
        before = document.text
        try:
            getattr(document, edit)(*given_)
        except EditError:
            assert document.text == before
    read = tomllib.loads(document.text)

    assert repr(document.get(())) == repr(read)
    assert PlanDocument.from_text(document.text).text == document.text
    found = problems(document.text, folder)
    assert all(isinstance(problem.place, str) and problem.text for problem in found)
    if not found:
        assert isinstance(document.plan(folder), Plan)


def test_an_edited_plan_runs(document, tmp_path):
    document.set(("require", 0, "k"), 2)
    document.remove(("source",))
    people = pa.table({"age": [1, 1, 2, 2], "job": ["a", "b", "a", "b"]})

    assert sf.anonymize(people, document.plan(tmp_path), seed=1).verdicts[0].satisfied
