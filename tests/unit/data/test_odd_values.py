"""Values that no range or group holds: infinite numbers, durations, words that all differ."""

import datetime
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.data.files import Source
from sfumato.drafting import draft
from sfumato.drafting.writing import draft_table

RATIOS = [math.inf, math.inf, -math.inf, None, *[number / 4 for number in range(36)]]
WORDS = [f"word {number}" for number in range(40)]


def released(values, **column):
    plan = sf.Plan.from_dict(
        {
            "columns": {"x": {"role": "quasi-identifier", **column}},
            "require": [{"model": "k-anonymity", "k": 4}],
        }
    )
    run = sf.anonymize(pa.table({"x": values}), plan, attack=False)
    assert all(verdict.satisfied for verdict in sf.audit(run.release.data, plan))
    return run.release.data["x"].to_pylist(), run.facts["warnings"]


@pytest.mark.slow
def test_infinite_numbers_are_missing_ones_and_a_warning_counts_them():
    cells, warnings = released(RATIOS)

    assert sum(cell is None for cell in cells) == 4
    assert not any("inf" in str(cell) or "|" in str(cell) for cell in cells)
    assert any("'x' has 3 infinite number(s)" in warning for warning in warnings)
    assert not any("infinite" in warning for warning in released(RATIOS[3:])[1])


def test_infinite_numbers_of_other_columns_stay():
    table = pa.table({"x": ["a", "b"] * 20, "y": RATIOS, "z": RATIOS})
    columns = {"x": {"role": "quasi-identifier"}, "y": {"role": "other"}, "z": {"role": "sensitive"}}
    plan = sf.Plan.from_dict({"columns": columns, "require": [{"model": "k-anonymity", "k": 2}]})
    data = sf.anonymize(table, plan, attack=False, measure=False).release.data
    for name in "yz":
        assert sorted(map(str, data[name].to_pylist())) == sorted(map(str, RATIOS))


def test_a_draft_lists_infinite_numbers_as_missing_ones():
    drafted = draft_table(pa.table({"ratio": RATIOS, "sex": ["f", "m"] * 20}))

    assert drafted.plan.schema.missing == ("", "inf", "-inf")
    assert drafted.plan.schema.columns["ratio"].kind == "number"
    assert any("infinite numbers" in warning for warning in drafted.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_told_in_seconds_whatever_their_unit(unit):
    stays = pa.array([datetime.timedelta(seconds=600 + 30 * row) for row in range(40)], pa.duration("us"))
    stays = stays.cast(pa.duration(unit))

    assert {*released(stays, hierarchy={"widths": [3000]})[0]} == {"[0, 2999]"}
    plan = sf.Plan.from_dict({"columns": {"x": {"role": "quasi-identifier"}}, "require": []} | REQUIRED)
    kept = sf.anonymize(pa.table({"x": stays}), plan, attack=False, measure=False).release.data["x"]
    assert kept.type == stays.type
    assert sorted(kept.to_pylist()) == sorted(stays.to_pylist())
    assert "durations in seconds" in draft_table(pa.table({"stay": stays, "sex": ["f", "m"] * 20})).text


REQUIRED = {"require": [{"model": "k-anonymity", "k": 1}]}


def test_words_that_all_differ_become_a_star_and_no_list_of_the_words_of_others():
    cells, warnings = released(WORDS)

    assert set(cells) == {"*"}
    assert any("'x' has 40 words or codes, nearly all of them different" in warning for warning in warnings)
    some, warnings = released([f"word {number % 20}" for number in range(40)])
    assert any(cell.startswith("{") for cell in some)
    assert not any("nearly all" in warning for warning in warnings)


def test_checks_and_drafts_warn_of_words_that_all_differ(tmp_path):
    pq.write_table(pa.table({"city": WORDS, "sex": ["f", "m"] * 20}), tmp_path / "a.parquet")
    document = {
        "source": {"path": "a.parquet"},
        "columns": {"city": {"role": "quasi-identifier"}, "sex": {"role": "quasi-identifier"}},
        "require": [{"model": "k-anonymity", "k": 2}],
    }
    assert any("nearly all" in warning for warning in sf.Plan.from_dict(document, tmp_path).explain().warnings)
    drafted = draft(Source(tmp_path / "a.parquet"), tmp_path)
    assert any("Nearly all cells differ in city" in warning for warning in drafted.warnings)
