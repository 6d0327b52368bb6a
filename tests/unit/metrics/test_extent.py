"""How much of the domain labels leave open, against figures worked out by hand."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.data.base_rates import BaseRates
from sfumato.data.bins import Bins
from sfumato.data.builders import Given, NestedHierarchy, Prefix, Widths
from sfumato.data.dates import Dates
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import NOTHING_PUBLIC, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.kl_divergence import KlDivergence
from sfumato.metrics.ncp import Ncp
from sfumato.metrics.query_error import QueryError

JOBS = {"Health": ["nurse", *(f"h{n}" for n in range(99))], "Food": ["cook", *(f"f{n}" for n in range(99))]}


def pair_of(before, after, missing=("",), public=NOTHING_PUBLIC, **spec):
    schema = Schema({"c": ColumnSpec(**{"name": "c", "role": Role.QUASI_IDENTIFIER, **spec})}, missing=missing)
    release = replace(Release.from_table(pa.table({"c": after}), schema), public=public)
    return Comparison(encode(pa.table({"c": before}), schema), release).pair("c")


def losses(before, after, **spec):
    pair = pair_of(before, after, **spec)
    loss = dict(zip(pair.released.labels, pair.extent.loss.tolist(), strict=True))
    return [pytest.approx(loss[label]) for label in after]


def both(before, after, **spec):
    schema = Schema({"c": ColumnSpec(name="c", role=Role.QUASI_IDENTIFIER, **spec)})
    return Comparison(encode(pa.table({"c": before}), schema), Release.from_table(pa.table({"c": after}), schema))


def test_leaves_that_never_occur_count():
    before = ["nurse"] * 50 + ["cook"] * 50
    found = both(before, ["Health"] * 50 + ["Food"] * 50, hierarchy=NestedHierarchy(JOBS))

    measured = Ncp().of(found)

    assert measured.value == pytest.approx(99 / 199)
    assert measured.facts["loss_of_occurring"] == 0
    assert QueryError(queries=20).of(found).value == pytest.approx(0.99)  # one nurse in a hundred jobs
    assert KlDivergence().of(found).facts["columns"][0]["divergence"] == pytest.approx(4.6051702)  # log(100)
    assert losses(before, ["h7", "*", "nurse"], hierarchy=NestedHierarchy(JOBS)) == [0, 1, 0]


def test_a_group_without_any_occurring_value_stands_for_its_own_leaves():
    tree = {"a": ["1x", "2x"], "b": ["3x", "4x", "5x"]}
    pair = pair_of(["1x", "2x"], ["b", "1x"], hierarchy=NestedHierarchy(tree))

    assert sorted(pair.extent.loss.tolist()) == [0, pytest.approx(2 / 4)]
    assert sorted(pair.extent.spread(pair.shown_by).tolist()) == [0, 1]


def test_ranges_of_numbers_count_by_their_width():
    ages = [0, 40, 41, 42, 42, 43, 100, 100]

    assert losses(ages, ["[40, 59]", "[40, 60)", "[0, 59]", "100", "[90, inf)", "[-5, 20]", "*"]) == [
        0.19,
        0.19,
        0.59,
        0,
        0.1,
        0.2,
        1,
    ]
    assert losses(ages, ["{41|43}", "[44, 47]"]) == [0.02, 0.03]


def test_numbers_have_the_precision_that_the_column_has():
    pair = pair_of(["0.5", "1.25", "2"], ["[0.5, 1.25]", "[0.5, 1.25)", "*"])

    assert sorted(pair.extent.size.tolist()) == [75, 76, 151]
    assert sorted(pair.extent.loss.tolist()) == pytest.approx([0.74 / 1.5, 0.75 / 1.5, 1])


def test_huge_and_real_numbers_are_measured_too():
    assert losses(["10000000000000001", "20000000000000001"], ["[10000000000000001, 15000000000000001]", "*"]) == [
        0.5,
        1,
    ]
    assert losses(["0.1234567890123", "1.1234567890123"], ["[0.1234567890123, 0.3734567890123]"]) == [0.25]


def test_a_declared_domain_or_hierarchy_of_numbers_is_wider_than_what_occurs():
    domain = tuple(map(str, range(121)))

    assert losses(["20", "80"], ["[20, 80]", "*"], domain=domain, kind=Kind.NUMBER) == [0.5, 1]
    tree = Hierarchy.from_paths([(str(age), "young" if age < 31 else "old") for age in range(121)])
    assert losses(["20", "80"], ["young", "old", "[31, 61]"], hierarchy=Given(tree)) == [30 / 120, 89 / 120, 30 / 120]


def test_a_rule_for_numbers_makes_ranges_within_those_that_occur():
    assert losses([23, 24, 43], ["[20, 29]", "[40, 49]"], hierarchy=Widths([10])) == [6 / 20, 3 / 20]


def test_a_declared_domain_of_words_counts_and_goes_through_a_rule():
    domain = ("120", "121", "122", "130", "140")

    spec = {"kind": Kind.CATEGORY, "domain": domain}
    assert losses(["120", "130"], ["12*", "13*", "*"], hierarchy=Prefix([2]), **spec) == [2 / 4, 0, 1]
    assert losses(["120", "130"], ["{120|121}", "{120|130}"], **spec) == [1 / 4, 1 / 4]


def test_ordered_values_count_those_between_whether_or_not_they_occur():
    sizes = ("S", "M", "L, long", "XL")

    assert losses(["S", "XL"], ["[S, L, long]", "[S, M)", "M"], kind=Kind.ORDERED, domain=sizes) == [2 / 3, 0, 0]


def test_bins_count_as_declared():
    bins = Bins.of([0, 10, 20, 30, 40])
    first, _, third, _ = bins.labels

    assert losses([5, 35], [first, f"[{first}, {third}]", "*"], bins=bins, domain=bins.labels) == [0, 2 / 3, 1]


def test_dates_count_by_the_calendar():
    days = ["2024-01-01", "2024-01-15", "2024-12-31"]

    assert losses(days, ["2024-01", "2024-01-15", "*"], kind=Kind.DATE, hierarchy=Dates(["month"])) == [30 / 365, 0, 1]
    assert losses(days, ["[2024-01-01, 2024-01-15]", "2024-01-15"], kind=Kind.DATE) == [14 / 365, 0]


def test_times_of_one_day_share_it():
    pair = pair_of(["2024-01-01 10:00", "2024-01-01 12:00", "2024-01-03"], ["[2024-01-01, 2024-01-02]"], kind=Kind.DATE)

    assert pair.extent.width.tolist() == [0.5, 0.5, 1]
    assert pair.extent.spread(pair.shown_by).tolist() == [0.25, 0.25, 0]


def test_a_set_that_names_strangers_makes_them_known():
    pair = pair_of(["blue", "red"], ["{blue|pink}", "red"])

    assert pair.extent.domain == 3
    assert sorted(pair.extent.loss.tolist()) == [0, 0.5]


def test_missing_values_are_one_more_value_and_a_number_that_may_be_missing_tells_nothing():
    assert losses(["20", "", "30"], ["{20|}", "[20, 30]", ""], kind=Kind.NUMBER) == [1, 1, 0]
    pair = pair_of(["20", "", "30"], ["*"], kind=Kind.NUMBER)
    assert pair.extent.spread(pair.shown_by).tolist() == pytest.approx([1 / 12] * 3)


def test_public_base_rates_name_values_but_counts_of_the_table_do_not():
    rates = {"flu": 5, "asthma": 3, "ulcer": 1, "gout": 1}

    for counted, expected in ((False, 1 / 3), (True, 1)):
        public = PublicInputs(base_rates={"c": BaseRates(weight=rates, counted=counted)})
        assert losses(["flu", "asthma"], ["{flu|asthma}", "*"], public=public) == [expected, 1]


def test_figures_of_classes_count_by_the_ranges_that_they_stand_for():
    before = {"c": [0, 10, 20, 100]}
    schema = Schema({"c": ColumnSpec(name="c", role=Role.QUASI_IDENTIFIER)})
    about = {"columns": {"c": {"shows": "mean", "spans": {"5": {"[0, 10]": 2}}}}}
    release = Release.from_table(pa.table({"c": ["5", "5", "20", "100"]}), schema)
    release.description.update(about)

    measured = Ncp().measure(encode(pa.table(before), schema), release)

    assert measured.value == pytest.approx(2 * 0.1 / 4)


def test_nothing_at_all_is_no_trouble():
    pair = pair_of(pa.array([], pa.string()), pa.array([], pa.string()))
    assert pair.extent.loss.size == pair.extent.spread(pair.shown_by).size == 0
    for kind in (Kind.NUMBER, Kind.CATEGORY):
        assert losses(["", ""], ["", "*"], kind=kind) == [0, 0]


def test_rows_of_an_empty_original_are_no_trouble():
    for label in ("25", "x", "[20, 30]"):
        with pytest.raises(DataError) if label == "x" else nullcontext():
            pair = pair_of(pa.array([], pa.string()), [label], kind=Kind.NUMBER)
            assert pair.extent.loss.tolist() == [0]
            assert pair.extent.spread(pair.shown_by).size == 0


def test_a_year_without_any_date_is_no_number():
    days = ["2020-01-01", "2021-05-05", "2022-12-31"]
    years = Given(Dates(["year"]).build(days, "The hierarchy"))

    assert pair_of(days[::2], ["2021"], kind=Kind.DATE, hierarchy=years).extent.size.tolist() == [365]
    sizes = pair_of(days[::2], ["2020", "*"], kind=Kind.DATE, hierarchy=years).extent.size.tolist()
    assert sorted(sizes) == [366, 1096]


def test_a_rule_need_not_fit_values_that_only_the_domain_has():
    spec = {"kind": Kind.CATEGORY, "hierarchy": Widths([10]), "domain": ("20", "25", "31", "none")}

    assert losses(["20", "25", "31"], ["[20, 29]", "*"], **spec) == [1 / 3, 1]
