"""Numbers and dates as people spell them: found out, respelled, and asked for where they cannot be told."""

from dataclasses import replace

import pytest

from sfumato.data.files import how_read, read_table
from tables_on_disk import SECRET, cells, refusal, write


def column(folder, *values, **settings):
    text = "name;x\n" + "".join(f"n;{value}\n" for value in values)
    return cells(read_table(replace(write(folder, "a.csv", text), **settings)))["x"]


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["78,4", "80", "-1,25"], ["78.4", "80", "-1.25"]),
        (["1.234,5", "12"], ["1234.5", "12"]),
        (["1 234,5", "12,25"], ["1234.5", "12.25"]),
        (["1'234.50", "7"], ["1234.50", "7"]),
        (["1,234.5", "12"], ["1234.5", "12"]),
        (["1,234,567", "12,345.5"], ["1234567", "12345.5"]),
        (["78.4", "80"], ["78.4", "80"]),
        (["0.234", "5.678"], ["0.234", "5.678"]),
        (["0,125", "1,250"], ["0.125", "1.250"]),  # nobody writes 125 so
        (["12 345,50", "7 890,25"], ["12345.50", "7890.25"]),
        (["78,4", "NA", ""], ["78.4", "NA", ""]),
        (["78,4", "a,b"], ["78,4", "a,b"]),
        (["12 345", "67 890"], ["12 345", "67 890"]),
        (["110 001", "560 034", "NA"], ["110 001", "560 034", "NA"]),
        (["1 234", "987", "0"], ["1234", "987", "0"]),
        (["12 345", "1 234 567", "NA"], ["12345", "1234567", "NA"]),
        (["-1 234", "+5 678"], ["-1234", "+5678"]),
        (["1 234.5", "2 000.25"], ["1234.5", "2000.25"]),
        (["12\u2009345", "67\xa0890", "12\u202f345"], ["12345", "67890", "12345"]),
        (["1 234", "0987"], ["1 234", "0987"]),
        (["1 234", "123 45"], ["1 234", "123 45"]),
        (["1 234", "12 Main"], ["1 234", "12 Main"]),
        (["01234", "02345"], ["01234", "02345"]),
        (["31.12.1980", "1.2.1981"], ["1980-12-31", "1981-02-01"]),
        (["12/31/80", "1/2/29"], ["1980-12-31", "2029-01-02"]),
        (["31/12/1980 04:05", "01/02/1981 23:59"], ["1980-12-31 04:05", "1981-02-01 23:59"]),
        (["31.12.1980 4:05:06 pm", "1.2.1981, 12:00 AM"], ["1980-12-31 16:05:06", "1981-02-01 00:00"]),
        (["12/31/1980 10:00 UTC", "12/30/1980 10:00+01:00"], ["1980-12-31 10:00Z", "1980-12-30 10:00+01:00"]),
        (["1980/12/31", "1981/1/2"], ["1980-12-31", "1981-01-02"]),
        (["31.12.1980", "31.13.1980"], ["31.12.1980", "31.13.1980"]),
        (["12-Jan-2020", "1-FEB-21", "NA"], ["2020-01-12", "2021-02-01", "NA"]),
        (["3. März 1985", "12. Dez. 1999", "1.Mai 2000"], ["1985-03-03", "1999-12-12", "2000-05-01"]),
        (["12 janv. 2020", "1er août 2020"], ["2020-01-12", "2020-08-01"]),
        (["12 de enero de 2020", "1º de março de 2021"], ["2020-01-12", "2021-03-01"]),
        (["12 maart 2020", "7 mei 2020"], ["2020-03-12", "2020-05-07"]),
        (["12 giugno 2020", "7 ott 2020"], ["2020-06-12", "2020-10-07"]),
        (["January 12, 2020", "Feb 3rd, 2021"], ["2020-01-12", "2021-02-03"]),
        (["12JAN2020", "2020-02-03"], ["2020-01-12", "2020-02-03"]),
        (["12JAN2020:10:30:00", "12 Jan 2020 4:05 pm"], ["2020-01-12 10:30:00", "2020-01-12 16:05"]),
        (["12-Jan-2020", "30-Feb-2020"], ["12-Jan-2020", "30-Feb-2020"]),
        (["12-Jan-2020", "soon"], ["12-Jan-2020", "soon"]),
        (["12-Moon-2020", "13-Moon-2020"], ["12-Moon-2020", "13-Moon-2020"]),
        (["May 2020", "June 2020"], ["May 2020", "June 2020"]),
        (["1980-12-31", "1981-01-02"], ["1980-12-31", "1981-01-02"]),
    ],
    ids=str,
)
def test_numbers_and_dates_are_respelled_as_we_write_them(tmp_path, values, read):
    assert column(tmp_path, *values) == read


def test_spellings_of_one_number_become_one_value(tmp_path):
    table = read_table(write(tmp_path, "a.csv", "x;y\n1.000,5;a\n1000,5;a\n"))
    assert table.column("x").chunk(0).dictionary.to_pylist() == ["1000.5"]


@pytest.mark.parametrize(
    ("values", "key", "settings"),
    [
        (["1,234", "5,678"], "decimal", {",": ["1.234", "5.678"], ".": ["1234", "5678"]}),
        (["950", "12.345"], "decimal", {",": ["950", "12345"], ".": ["950", "12.345"]}),
        (
            ["01/02/1980", "03/04/81"],
            "dates",
            {"day-month-year": ["1980-02-01", "1981-04-03"], "month-day-year": ["1980-01-02", "1981-03-04"]},
        ),
    ],
)
def test_what_cannot_be_told_is_asked_for(tmp_path, values, key, settings):
    text = f"name;x\n{SECRET};" + f"\n{SECRET};".join(values) + "\n"
    source = write(tmp_path, "a.csv", text)
    assert f"[source] {key} =" in refusal(source)
    for value, read in settings.items():
        assert cells(read_table(replace(source, **{key: value})))["x"] == read
    assert cells(read_table(replace(source, as_text=frozenset({"x"}))))["x"] == values


def test_a_point_between_commas_is_one_of_decimals(tmp_path):
    source = write(tmp_path, "a.csv", "name,x\nn,950\nn,12.345\n")
    assert cells(read_table(source))["x"] == ["950", "12.345"]


def test_a_column_that_tells_speaks_for_the_others(tmp_path):
    source = write(tmp_path, "a.csv", "a;b;c;d\n01/02/1980;31/12/1980;1.234;1,5\n")
    assert cells(read_table(source)) == {"a": ["1980-02-01"], "b": ["1980-12-31"], "c": ["1234"], "d": ["1.5"]}


@pytest.mark.parametrize(
    ("late", "key", "value", "read"),
    [
        ("1,234", "decimal", ",", "1.234"),
        ("12.345", "decimal", ",", "12345"),
        ("78,4", "decimal", ",", "78.4"),
        ("31.12.1980", "dates", "day-month-year", "1980-12-31"),
        ("01/02/1980", "dates", "month-day-year", "1980-01-02"),
    ],
)
def test_what_only_later_records_show_is_asked_for(tmp_path, late, key, value, read):
    early = "7" if key == "decimal" else ""
    source = write(tmp_path, "a.csv", "name;x\n" + f"{SECRET};{early}\n" * 1500 + f"{SECRET};{late}\n" * 3)
    said = refusal(source)
    assert f"[source] {key} =" in said
    assert "'x'" in said
    assert cells(read_table(replace(source, **{key: value})))["x"][-1] == read
    assert cells(read_table(replace(source, as_text=frozenset({"x"}))))["x"][-1] == late


def test_decimals_between_commas_need_not_be_in_the_first_records(tmp_path):
    source = write(tmp_path, "a.csv", "name,x\n" + "n,7\n" * 1500 + "n,1.234\n")
    assert cells(read_table(source))["x"][-1] == "1.234"


def test_columns_that_disagree_are_each_read_by_their_own_spelling(tmp_path):
    source = write(tmp_path, "a.csv", 'a;b;c\n78,4;"1,234.5";31/12/80\n80;7;01/02/81\n')
    assert cells(read_table(source)) == {
        "a": ["78.4", "80"],
        "b": ["1234.5", "7"],
        "c": ["1980-12-31", "1981-02-01"],
    }


@pytest.mark.parametrize("marker", ["unknown", "unbekannt", "k.A.", "-", "#WERT!"])
def test_what_means_missing_among_numbers_and_dates_keeps_no_column_from_being_respelled(tmp_path, marker):
    assert column(tmp_path, "31.12.1980", marker, "1.2.1981") == ["1980-12-31", marker, "1981-02-01"]
    assert column(tmp_path, "78,4", marker, "80") == ["78.4", marker, "80"]


def test_years_of_two_digits_are_said_to_be_of_a_century(tmp_path):
    source = write(tmp_path, "a.csv", "a;b\n31.12.25;x\n01.02.31;y\n")
    assert "two digits are 1930 to 2029" in how_read(source)[-1].reason
    assert "two digits are 1930 to 2029" in how_read(replace(source, dates="day-month-year"))[-1].reason
    assert "digits" not in how_read(write(tmp_path, "b.csv", "a;b\n31.12.1925;x\n"))[-1].reason


def test_names_of_months_are_said_and_leave_other_dates_to_be_asked_for(tmp_path):
    source = write(tmp_path, "a.csv", "a;b\n3. März 85;x\n12. Mai 99;y\n")
    reason = how_read(source)[-1].reason
    assert "months have names in 'a'" in reason
    assert "two digits are 1930 to 2029" in reason
    source = write(tmp_path, "a.csv", "a;b\n3. März 1985;01/02/1980\n12. Mai 1999;03/04/1981\n")
    assert "[source] dates =" in refusal(source)
    assert cells(read_table(replace(source, dates="month-day-year"))) == {
        "a": ["1985-03-03", "1999-05-12"],
        "b": ["1980-01-02", "1981-03-04"],
    }


def test_blanks_between_thousands_are_said(tmp_path):
    source = write(tmp_path, "a.csv", "wage;zip\n1 234;123 45\n987;110 00\n")
    for each, reason in ((source, "as usual"), (replace(source, decimal=","), "the plan says so")):
        found = {found.key: found.reason for found in how_read(each)}
        assert found["decimal"] == f"{reason}; blanks between thousands in 'wage'"
    assert "blanks" not in str(how_read(write(tmp_path, "b.csv", "wage;zip\n12 345;12345\n67 890;67890\n")))


def test_how_a_file_is_read_is_known_with_reasons(tmp_path):
    source = write(tmp_path, "a.csv", "größe;geboren;x\n1,80;31.12.1980;y\n".encode("windows-1252"))
    found = {each.key: each for each in how_read(source)}
    assert {key: each.value for key, each in found.items()} == {
        "format": "csv",
        "encoding": "windows-1252",
        "separator": ";",
        "header": True,
        "decimal": ",",
        "dates": "day-month-year",
    }
    assert "größe" in found["decimal"].reason
    assert "geboren" in found["dates"].reason
    given = how_read(replace(source, decimal=",", dates="day-month-year", header=True))
    assert [each.reason for each in given[3:]] == ["the plan says so"] * 3


THREE_WAYS = ["31.12.1980", "1981-01-31", "31/12/1982", "1983-02-01 10:30", "3. März 1985"]


def test_dates_in_several_ways_are_read_where_each_has_one_meaning(tmp_path):
    source = write(tmp_path, "a.csv", "born\n" + "\n".join(THREE_WAYS) + "\n")
    expected = ["1980-12-31", "1981-01-31", "1982-12-31", "1983-02-01 10:30", "1985-03-03"]
    assert cells(read_table(source)) == {"born": expected}

    american = write(tmp_path, "b.csv", "born\n31.12.1980\n12/31/1981\n02/02/1982\n31/12/1983\n")
    assert cells(read_table(american)) == {"born": ["1980-12-31", "1981-12-31", "1982-02-02", "1983-12-31"]}


def test_dates_in_several_ways_of_which_some_have_two_meanings_are_counted(tmp_path):
    rows = "born\n12/31/1981\n31.12.1980\n31/12/1983\n1981-01-31\n03/04/1982\n03/05/1982\n"
    source = write(tmp_path, "a.csv", rows)

    said = refusal(source)
    assert "4 as xx/xx/yyyy, 1 as dd.mm.yyyy, 1 as yyyy-mm-dd; 2 with two meanings" in said
    assert "--dates" in said
    assert "1982" not in said
    read = cells(read_table(replace(source, dates="month-day-year")))
    assert read["born"] == ["1981-12-31", "1980-12-31", "1983-12-31", "1981-01-31", "1982-03-04", "1982-03-05"]


def test_the_message_counts_the_ways_also_where_no_cell_tells_the_order(tmp_path):
    source = write(tmp_path, "a.csv", "born\n1981-01-31\n03/04/1982\n")
    assert "1 as xx/xx/yyyy, 1 as yyyy-mm-dd; 1 with two meanings" in refusal(source)
