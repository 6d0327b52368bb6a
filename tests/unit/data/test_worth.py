"""What terms are worth: read from a table, heeded by the search, measured by it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.schema import ColumnSpec, Role
from sfumato.data.worth import read_worth, worth_of
from sfumato.errors import DataError, PlanError, PolicyError

BASE = {
    "columns": {"age": {"role": "quasi-identifier"}, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
    "knowledge": {"path": "signs.csv", "label": "d", "terms": "s", "separator": "|"},
    "require": [{"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2}],
}
PEOPLE = pa.table({"age": ["20", "20"], "symptoms": ["a|b|c", "a|b|c"]})


@pytest.fixture
def folder(tmp_path):
    # Without b, a and c belong to both; without a and c, b does.
    (tmp_path / "signs.csv").write_text("d,s\nflu,a|b|c\ngout,a|c\ncold,b\n", encoding="utf-8")
    (tmp_path / "worth.csv").write_text("term,worth\nb,9\n", encoding="utf-8")
    return tmp_path


def published(folder, *, worth=None, **options):
    symptoms = {**BASE["columns"]["symptoms"], **({} if worth is None else {"worth": worth})}
    columns = {**BASE["columns"], "symptoms": symptoms}
    plan = sf.Plan.from_dict({**BASE, "columns": columns, "anonymizers": {"term-suppression": options}}, base=folder)
    run = sf.anonymize(PEOPLE, plan, seed=1)
    [loss] = [each for each in run.measurements if each.name == "term-loss"]
    return sorted(run.release.data["symptoms"].to_pylist()), loss


def test_the_search_keeps_what_is_worth_most_and_the_loss_is_measured_by_it(folder):
    plain, lost = published(folder)
    counted, _ = published(folder, cost="count")
    dear, lost_worth = published(folder, worth="worth.csv")

    assert plain == counted == [["a", "c"]] * 2
    assert lost.value == pytest.approx((1 / 3) / (1 + 1 / 2 + 1 / 3))
    assert dear == [["b"]] * 2
    assert lost_worth.value == pytest.approx(2 / 11)
    assert "what the plan says they are worth" in lost_worth.explanation


def test_only_the_exact_search_knows_other_costs(folder):
    with pytest.raises(PlanError, match="Only search"):
        published(folder, cost="count", search="dfs")
    with pytest.raises(PolicyError, match="weights, misses, worth or a hierarchy"):
        published(folder, worth="worth.csv", search="dfs")


def test_a_worth_belongs_to_terms(folder):
    wrong = {**BASE["columns"], "age": {"role": "quasi-identifier", "worth": "worth.csv"}}
    with pytest.raises(PlanError, match="only a column with the role 'quasi-sensitive'"):
        sf.Plan.from_dict({**BASE, "columns": wrong}, base=folder)
    with pytest.raises(PlanError, match=r"\[columns.symptoms\]"):
        published(folder, worth="none.csv")


@pytest.mark.parametrize("text", ["t,w\na,0\n", "t,w\na,much\n", "t,w\na,1\na,2\n", "t,w,x\na,1,2\n"])
def test_tables_that_say_nothing_are_refused(tmp_path, text):
    (tmp_path / "worth.csv").write_text(text, encoding="utf-8")

    with pytest.raises(DataError, match="was to say what terms are worth"):
        read_worth(tmp_path / "worth.csv")


def test_terms_that_are_joined_are_worth_what_they_are_worth_alone():
    spec = ColumnSpec(name="signs", role=Role.QUASI_SENSITIVE, worth=(("rash", Fraction(2)),))

    assert worth_of([spec, None]) == {"rash": 2, "signs=rash": 2}
    assert worth_of([None]) is None
