from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.data.base_rates import BaseRates, read_base_rates
from sfumato.data.encoding import encode
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError


def test_rates_of_a_column_count_missing_values_apart():
    schema = Schema({"ill": ColumnSpec(name="ill", role=Role.SENSITIVE)}, missing=("?",))
    rates = BaseRates.of(encode(pa.table({"ill": ["flu", "?", "flu", "cold"]}), schema).column("ill"))

    assert (dict(rates.weight), rates.missing, rates.counted) == ({"cold": 1, "flu": 2}, 1, True)
    assert rates.share("flu") == Fraction(1, 2)
    assert rates.share(None) == Fraction(1, 4)
    assert rates.share("gout") == 0


def test_shares_and_counts_are_read_exactly(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("ill,rate\nflu,0.1\ncold,0.3\n?,0.6\n", encoding="utf-8")
    rates = read_base_rates(path, ["?"])
    assert (rates.share("flu"), rates.share("cold"), rates.share(None)) == (
        Fraction(1, 10),
        Fraction(3, 10),
        Fraction(6, 10),
    )
    path.write_text("ill,rate\nflu,1000000000\ncold,3000000000\n", encoding="utf-8")
    assert read_base_rates(path, ["?"]).share("flu") == Fraction(1, 4)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("ill\nflu\n", "1 columns"),
        ("ill,rate\nflu,0.5\nflu,0.5\n", "again"),
        ("ill,rate\nflu,much\n", "no numbers"),
        ("ill,rate\nflu,-1\ncold,2\n", "below 0"),
        ("ill,rate\nflu,0\n", "none above"),
        ("ill,rate\nflu,0.12345678901\ncold,0.2\n", "digits"),
    ],
)
def test_wrong_tables_are_refused_without_showing_values(tmp_path, content, part):
    path = tmp_path / "rates.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=part) as caught:
        read_base_rates(path, [""])
    assert "flu" not in str(caught.value)
