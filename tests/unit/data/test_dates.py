"""Dates as a kind: the order of time, ranges and periods, text and typed columns, clear errors."""

from __future__ import annotations

import datetime
import random

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.api import audit, measure
from sfumato.data.dates import Dates, day_of
from sfumato.data.encoding import encode_column
from sfumato.data.kinds import infer_kind
from sfumato.data.release import ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role
from sfumato.errors import DataError, HierarchyError
from sfumato.metrics.cover import cover

TEXT = pa.string()


def column(values, role=Role.QUASI_IDENTIFIER, **options):
    array = values if isinstance(values, pa.Array) else pa.array(values, TEXT)
    spec = ColumnSpec(name="day", role=role, **options)
    return encode_column(pa.chunked_array([array]), spec, ("", "?"))


@pytest.mark.parametrize(
    "text", ["2024-05-31", "2024-05-31T23:59", "2024-05-31 23:59:01.5Z", "2024-05-31T00:00:00+02:00"]
)
def test_iso_dates_with_and_without_times_are_days(text):
    assert day_of(text) == datetime.date(2024, 5, 31)


@pytest.mark.parametrize(
    "text", ["", "2024-5-31", "31.05.2024", "2024-02-30", "2024-05", "20240531", "2024-05-3\u0661"]
)
def test_anything_else_is_none(text):
    assert day_of(text) is None


def test_the_kind_is_inferred_from_all_values_and_said():
    assert infer_kind(["2024-05-31", "2023-01-01 12:00"], TEXT) is Kind.DATE
    assert infer_kind(["2024-05-31", "soon"], TEXT) is Kind.CATEGORY
    found = column(["2024-05-31", "?"])
    assert (found.shown_kind, found.kind_inferred) == (Kind.DATE, True)


@pytest.mark.parametrize(
    "values",
    [
        ["2024-03-05", "1999-12-31", "?", "2024-01-01"],
        pa.array([datetime.date(2024, 3, 5), datetime.date(1999, 12, 31), None, datetime.date(2024, 1, 1)]),
    ],
    ids=["text", "date32"],
)
@pytest.mark.parametrize("kind", [None, Kind.DATE])
def test_codes_are_in_the_order_of_time_and_missing_comes_last(values, kind):
    found = column(values, kind=kind)

    assert found.labels[:3] == ("1999-12-31", "2024-01-01", "2024-03-05")
    assert found.codes.tolist() == [2, 0, 3, 1]
    assert found.missing == 3


def test_moments_of_one_day_are_in_order_too():
    moments = [datetime.datetime(2024, 1, 2, 3), datetime.datetime(2024, 1, 2, 1), datetime.datetime(2023, 5, 5)]

    assert column(pa.array(moments, pa.timestamp("us"))).codes.tolist() == [2, 1, 0]


def test_a_day_is_a_level_above_moments():
    hierarchy = Dates(["day", "month"]).build(
        ["2024-01-02T03:00", "2024-01-02T01:00", "2024-01-09T01:00", "2024-02-01T00:00"], "It"
    )

    assert hierarchy.ancestors("2024-01-02T01:00") == ("2024-01-02T01:00", "2024-01-02", "2024-01", "*")
    assert hierarchy.leaves[0] == "2024-01-02T01:00"


def test_bad_dates_are_counted_and_shown_only_where_they_are_no_secret(monkeypatch):
    monkeypatch.setenv("SFUMATO_SHOW_VALUES", "1")
    bad = ["2024-01-01", "2024-02-30", "secret words"]

    with pytest.raises(DataError, match=r"2 of its 3 distinct values are none: '2024-02-30', 'secret words'"):
        column(bad, kind=Kind.DATE)
    with pytest.raises(DataError, match="2 of its 3") as caught:
        column(bad, role=Role.SENSITIVE, kind=Kind.DATE)
    assert "secret words" not in str(caught.value)


def test_other_groups_than_periods_stay_possible(tmp_path):
    groups = tmp_path / "groups.csv"
    groups.write_text("2024-01-01;feast\n2024-01-02;work\n2024-12-25;feast\n2024-12-24;work\n", encoding="utf-8")
    source = sf.Plan.from_dict(
        {"columns": {"day": {"role": "quasi-identifier", "hierarchy": "groups.csv"}}, "require": [sf.KAnonymity(k=2)]},
        tmp_path,
    ).schema.columns["day"]
    days = ["2024-01-01", "2024-01-02", "2024-12-24", "2024-12-25"]

    assert column(days, hierarchy=source.hierarchy).kind is Kind.CATEGORY
    with pytest.raises(HierarchyError, match="reach into one another"):
        column(days, hierarchy=source.hierarchy, kind=Kind.DATE)


def people(n=200, seed=3):
    chance = random.Random(seed)
    start = datetime.date(1940, 1, 1)
    born = [start + datetime.timedelta(days=chance.randrange(25_000)) for _ in range(n)]
    return {"born": born, "job": [chance.choice(["cook", "nurse", "clerk"]) for _ in range(n)]}


def plan(hierarchy=None):
    born = {"role": "quasi-identifier", "kind": "date"} | ({"hierarchy": hierarchy} if hierarchy else {})
    return sf.Plan.from_dict(
        {"columns": {"born": born, "job": {"role": "sensitive"}}, "require": [{"model": "k-anonymity", "k": 4}]}
    )


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False], ids=["date32", "text"])
@pytest.mark.parametrize("hierarchy", [None, {"dates": ["month", "quarter", "year", "decade"]}])
def test_what_is_published_covers_the_birthday_of_each(typed, hierarchy):
    table = pa.table(people())
    if not typed:
        table = table.set_column(0, "born", table.column("born").cast(TEXT))
    asked = plan(hierarchy)

    run = sf.anonymize(table, asked, seed=1)

    assert all(verdict.satisfied for verdict in sf.audit(run.release.data, asked))
    assert run.release.description["columns"]["born"]["kind"] == "date"
    loss = next(found for found in run.measurements if found.name == "ncp")
    assert 0 < loss.value < 0.5
    original = encode_column(table.column("born"), asked.schema.columns["born"], ("",))
    born = list(map(str, table.column("born").to_pylist()))
    shown = sf.anonymize(table, asked, seed=1).release.data.column("born").combine_chunks()
    labels = sorted(set(shown.to_pylist()))
    for label in labels:
        days = [day_of(original.labels[code]) for code in covered(label, original)]
        assert days == sorted(days)
        assert len(days) >= 2
        if label.startswith("["):
            low, high = label[1:-1].split(", ")
            assert low <= str(days[0]) <= str(days[-1]) <= high
            assert not {low, high} & {str(day) for day in days if born.count(str(day)) < 4}  # nobody's own birthday
        elif label != "*":
            assert all(period(day, label) for day in days)


def covered(label, original):

    shown = ReleasedColumn(
        name="born",
        role=original.role,
        kind=Kind.DATE,
        codes=np.zeros(1, np.int32),
        labels=(label,),
    )
    found = cover(shown, original).members(np.array([0]))[:, 0]
    return np.flatnonzero(found).tolist()


def period(day, label):
    if label.endswith("s"):
        return f"{day.year // 10}0s" == label
    if "Q" in label:
        return f"{day.year}-Q{(day.month - 1) // 3 + 1}" == label
    return str(day).startswith(label)


@pytest.mark.slow
def test_a_release_of_dates_reads_back_from_both_formats(tmp_path):

    pa.csv.write_csv(pa.table(people()), tmp_path / "people.csv")
    for form in ("csv", "parquet"):
        text = (
            '[source]\npath = "people.csv"\n[columns.born]\nrole = "quasi-identifier"\n'
            '[columns.job]\nrole = "sensitive"\n[[require]]\nmodel = "k-anonymity"\nk = 3\n'
            f'[release]\nformat = "{form}"\n'
        )
        (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
        asked = sf.Plan.load(tmp_path / "plan.toml")
        sf.run(asked, tmp_path / form)
        assert all(verdict.satisfied for verdict in audit(tmp_path / form, asked))
        assert measure(tmp_path / form, asked)
