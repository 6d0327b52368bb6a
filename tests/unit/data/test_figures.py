"""Figures of classes: means and medians as published, nobody's own, with the range that each stands for."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.data.encoding import encode
from sfumato.data.figures import MOST_OFF, span_of, with_figures
from sfumato.data.labels import parse_range
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import PlanError


def dataset(**columns):
    specs = {name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in columns}
    return encode(pa.table(columns), Schema(columns=specs))


def shown(labels, **columns):
    """What each row shows, given the labels of the column `x`, and what release.json adds."""
    names = tuple(dict.fromkeys(labels))
    codes = np.array([names.index(label) for label in labels], dtype=np.int32)
    more = columns.pop("more", {})
    recoding = with_figures(dataset(**columns), Recoding(columns={"x": Labelled(codes, names)}), **more)
    column = recoding.columns["x"]
    return [column.labels[code] for code in column.codes], recoding.public["x"]["spans"]


MEAN = {"shows": "mean", "least": 2}


def test_a_class_shows_its_mean_and_release_json_its_range():
    labels, spans = shown(["[0, 99]"] * 3 + ["[100, 199]"] * 2, x=[10, 11, 30, 120, 125], more=MEAN)

    assert labels == ["17"] * 3 + ["122", "122"]  # the second is 122.5, in steps of 1
    assert spans == {"17": {"[0, 99]": 3}, "122": {"[100, 199]": 2}}


def test_classes_are_of_equal_labels_in_all_quasi_identifiers():
    labels, _ = shown(["[0, 9]"] * 4, x=[1, 2, 8, 9], sex=["f", "f", "m", "m"], more=MEAN)

    assert labels == ["1.5", "1.5", "8.5", "8.5"]


def test_a_figure_that_fewer_people_have_is_not_printed():
    values = [100, 140, 260]  # the median is somebody's own
    labels, _ = shown(["[0, 999]"] * 3, x=values, more={"shows": "median", "least": 2})
    assert float(labels[0]) not in values
    assert abs(float(labels[0]) - 140) <= MOST_OFF * 999
    shared, _ = shown(["[0, 999]"] * 4, x=[100, 140, 140, 260], more={"shows": "median", "least": 2})
    assert shared[0] == "140"
    # Every mark near the median, 20.5 in steps of 10, is one person's: the range stays.
    assert shown(["[0, 500]"] * 42, x=[*range(42)], more={"shows": "median", "least": 2}) == (["[0, 500]"] * 42, {})


def test_a_class_with_a_missing_value_and_one_of_a_single_value_keep_their_labels():
    labels, spans = shown(["*", "*", "7", "7", "[0, 9]", "[0, 9]"], x=[1, None, 7, 7, 2, 3], more=MEAN)

    assert labels[:4] == ["*", "*", "7", "7"]
    assert labels[4] == "2.5"
    assert list(spans) == ["2.5"]


def test_equal_figures_of_different_ranges_stand_for_both():
    ranges = ["[0, 10]", "[0, 10]", "[2, 20]", "[2, 20]"]
    _, spans = shown(ranges, x=[4, 5, 3, 6], sex=["f", "f", "m", "m"], more=MEAN)

    assert spans == {"4.4": {"[0, 10]": 2, "[2, 20]": 2}}  # 4.5 in steps of 0.2
    assert span_of(spans, "4.4") == "[0, 20]"


def test_a_number_that_is_shown_as_it_is_and_a_figure_elsewhere_stands_for_both():
    _, spans = shown(["[0, 9]", "[0, 9]", "4", "4"], x=[3, 5, 4, 4], sex=["f", "f", "m", "m"], more=MEAN)

    assert spans == {"4": {"4": 2, "[0, 9]": 2}}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(6)
    n = 800
    pay = np.exp(rng.normal(10, 0.7, n)).astype(int)
    return pa.table({"age": rng.integers(18, 80, n), "pay": pay, "sex": rng.choice(["f", "m"], n)})


def plan_for(shows, *, widths=None, **more):
    columns = {name: {"role": "quasi-identifier"} for name in ("age", "pay", "sex")}
    if widths:
        columns["age"]["hierarchy"], columns["sex"]["hierarchy"] = {"widths": [10, 20]}, {"flat": True}
        columns["pay"]["hierarchy"] = {"widths": [5_000, 20_000, 100_000]}
    require = [{"model": "k-anonymity", "k": 7, **more}]
    return sf.Plan.from_dict({"columns": columns, "require": require, "release": {"shows": shows}})


@pytest.mark.slow
@pytest.mark.parametrize("widths", [False, True], ids=["mondrian", "local-recoding"])
@pytest.mark.parametrize("shows", ["mean", "median"])
def test_releases_hold_lose_what_ranges_lose_and_print_nobody(people, shows, widths):
    ranged = sf.anonymize(people, plan_for("range", widths=widths), seed=1)
    run = sf.anonymize(people, plan_for(shows, widths=widths), seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    losses = [next(found.value for found in each.measurements if found.name == "ncp") for each in (ranged, run)]
    assert losses[0] - 1e-12 <= losses[1] <= 1.6 * losses[0] + 0.02  # equal figures of different classes stand for both
    printed = next(each for each in run.exposures if each.attack == "printed-figures")
    assert printed.after.exposed == 0
    people_with = {name: Counter(people[name].to_pylist()) for name in ("age", "pay")}
    about = run.release.description["columns"]
    for name, have in people_with.items():
        assert about[name]["shows"] == shows
        for figure, stands_for in about[name]["spans"].items():
            assert have.get(float(figure), 7) >= 7
            for ends in filter(None, map(parse_range, stands_for)):
                assert ends[0] <= float(figure) <= ends[1]


def test_means_are_those_of_classes_up_to_what_is_rounded(people):
    plan = sf.Plan.from_dict({**plan_for("mean").document, "release": {"shows": "mean", "shuffle": False}})
    loaded = sf.load(sf.anonymize(people, plan, seed=1, measure=False, attack=False).release)
    pay = people["pay"].to_numpy()
    rows = defaultdict(list)
    for row, cells in enumerate(loaded.release.table().to_pylist()):
        rows[tuple(cells.values())].append(row)

    for members in rows.values():
        column, first = loaded["pay"], members[0]
        off = abs(column.midpoint[first] - pay[members].mean())
        assert off <= MOST_OFF * (column.upper[first] - column.lower[first]) + 1e-9
    (mean,) = loaded.mean("pay")
    assert mean.lower <= pay.mean() <= mean.upper
    assert mean.upper - mean.lower < 0.1 * mean.value


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda: plan_for("mean", widths=True, anonymizer="full-domain"), "only classes of local-recoding, mondrian"),
        (lambda: plan_for("mode"), "shows"),
    ],
)
def test_what_cannot_show_figures_is_refused(plan, message):
    with pytest.raises(PlanError, match=message):
        plan().searchable()


def test_figures_of_a_parquet_release_are_read_back_as_what_they_stand_for(people, tmp_path):
    pa.parquet.write_table(people, tmp_path / "people.parquet")
    document = {**plan_for("mean").document, "source": {"path": "people.parquet"}}
    plan = sf.Plan.from_dict({**document, "release": {"shows": "mean", "format": "parquet"}}, tmp_path)
    run = sf.run(plan, tmp_path / "run", seed=1, attack=False)

    loaded = sf.load(tmp_path / "run")
    assert (loaded["pay"].lower < loaded["pay"].upper).all()
    again = {found.name: found.value for found in sf.measure(tmp_path / "run", plan)}
    assert again["ncp"] == pytest.approx({found.name: found.value for found in run.measurements}["ncp"])
