"""What cells of randomized columns show."""

from __future__ import annotations

from sfumato.report import randomized
from sfumato.report.wording import UNKNOWN


def run(*columns, tables=()):
    return {
        "steps": [{"anonymizer": "mondrian", "facts": {"cuts": 1}}, {"facts": {"columns": list(columns)}}],
        "measurements": [{"name": "cross-tables", "facts": {"tables": list(tables)}}],
    }


def test_each_randomized_column_is_a_row():
    shown = randomized.content(run({"column": "job", "values": 14, "eta": 5, "p": 0.75, "published": "sets"}))

    assert shown["rows"] == [["job", "14", "5", "0.75", UNKNOWN, UNKNOWN, "sets"]]
    assert shown["remarks"] == []


def test_what_a_reader_should_know_of_a_column_is_remarked():
    def remarks(**about):
        return randomized.content(run({"column": "job", "eta": 1, **about}))["remarks"]

    assert "true values themselves" in remarks(published="as it is")[0]
    assert "tells nothing" in remarks(published="whole domain")[0]
    assert "l was lowered to 2" in remarks(small_domain="lower", l=2)[0]
    assert "taken from the data" in remarks(domain="data")[0]


def test_tables_that_were_computed_back_are_listed():
    table = {"columns": ["job", "age"], "cells": 28, "l1": 0.125, "l2": 0.5, "hellinger": 0.25}

    shown = randomized.content(run({"column": "job", "eta": 2}, tables=[table]))

    assert shown["tables"] == [["job x age", "28", "12.5%", "0.5", "0.25"]]


def test_a_run_without_randomized_columns_has_no_such_part():
    assert randomized.content(run()) is None
    assert randomized.content(run({"name": "therapy", "masked": 3})) is None
