"""Hierarchies as somebody asks for them."""

from __future__ import annotations

import pytest

from sfumato.data.builders import hierarchy_source
from sfumato.editing.hierarchies import by_rule, file_name
from sfumato.errors import PolicyError


@pytest.mark.parametrize("rule", [("widths", "5, 10"), ("prefix", "3"), ("flat", ""), ("dates", "")])
def test_every_rule_is_one_that_a_plan_takes(rule, tmp_path):
    assert hierarchy_source(by_rule(*rule), tmp_path) is not None


@pytest.mark.parametrize("given", ["", "x", "5; 10"])
def test_numbers_that_are_none_are_refused(given):
    with pytest.raises(PolicyError, match="with commas"):
        by_rule("widths", given)


def test_a_file_has_a_name_of_ours_that_no_other_column_uses():
    assert file_name("Straße / Ort", "a;*", {"hierarchies/stra-e-ort.csv"}) == "hierarchies/stra-e-ort-2.csv"
    assert file_name("../../x", "[a]", ()) == "hierarchies/x.toml"


@pytest.mark.parametrize("device", ["aux", "Con", "nul", "COM1", "lpt9"])
def test_no_file_has_the_name_of_a_device_of_windows(device):
    assert file_name(device, "a;*", ()) == f"hierarchies/{device.lower()}-column.csv"
