from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.masking import Masking
from sfumato.attacks import attack_all
from sfumato.attacks.base import as_if_published
from sfumato.attacks.disclosure import KNOWS, Disclosure
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Flat, Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError
from sfumato.models import MultiDiversity
from sfumato.models.base import Policy

MORE, LESS = KNOWS
ILLS = Hierarchy.from_nested(
    {
        "skin": ["Albinism", "Eczema"],
        "lung": ["Asthma", "Pneumonia"],
        "blood": ["Haemophilia", "Leukaemia"],
        "liver": ["Hepatitis", "Liver cancer"],
        "light": ["Cold", "No"],
    }
)
# The medical table with two sensitive columns by which the method was introduced.
MEDICAL = pa.table(
    {
        "age": ["[10, 30]"] * 6 + ["[30, 60]"] * 6,
        "disease": ["Albinism"] * 3
        + ["Asthma", "Pneumonia", "Pneumonia", "Haemophilia", "Cold", "Liver cancer", "Liver cancer", "Liver cancer"]
        + ["Cold"],
        "household": [
            "Albinism",
            "No",
            "No",
            "Asthma",
            "Asthma",
            "Asthma",
            "Hepatitis",
            "No",
            "Pneumonia",
            "Hepatitis",
            "Hepatitis",
            "No",
        ],
    }
)
BOTH = ("disease", "household")
SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        **{name: ColumnSpec(name=name, role=Role.SENSITIVE, hierarchy=Given(ILLS)) for name in BOTH},
    }
)


def seen(table, schema=SCHEMA, original=MEDICAL):
    dataset = encode(original, schema)
    rates = {name: BaseRates.of(dataset.column(name)) for name in BOTH}
    return replace(Release.from_table(table, schema), public=PublicInputs(base_rates=rates))


def test_excluding_albinism_gives_the_household_away_before_and_not_after():
    original = seen(MEDICAL)
    for knows in KNOWS:
        before = Disclosure(columns=BOTH, knows=knows).on(original)
        assert before.worst == 1.0
        assert before.exposed > 0
        assert before.facts["newly"] > 0
    model = MultiDiversity(sensitive=BOTH, alpha_sa=0.5)
    dataset = encode(MEDICAL, SCHEMA)
    recoding = Masking().anonymize(dataset, Policy((model,)), Recoding(), Workplace(public=original.public))
    release = seen(publish(dataset, recoding, []).table())
    for knows in KNOWS:
        after = Disclosure(columns=BOTH, knows=knows).on(release)
        assert after.worst <= 0.5 + 1e-9
        assert after.exposed == 0


def test_beliefs_without_one_value_are_those_of_the_rows_that_are_left():
    table = MEDICAL.slice(0, 6)
    found = Disclosure(columns=BOTH, knows=LESS, threshold=0.9).on(seen(table))

    # Not albinism: the household has asthma for certain, for the three who do not have it. Household without asthma:
    # albinism for certain, for those who show another one. Nobody else learns more than 3/4 (not No: 3 of 4 asthma).
    assert found.exposed == 6
    assert found.facts["exposed_by_class"] == 0
    assert found.mean == 1.0


def test_knowing_the_other_value_means_its_sensitive_equivalence_class():
    found = Disclosure(columns=BOTH, knows=MORE, threshold=0.7).on(seen(MEDICAL.slice(0, 6)))

    # Household Albinism or No gives albinism (3 people); disease asthma or pneumonia gives asthma (3 people).
    assert (found.people, found.exposed, found.worst) == (6, 6, 1.0)


def test_a_masked_value_counts_by_base_rates():
    table = pa.table({"age": ["*"] * 2, "disease": ["lung", "*"], "household": ["*", "*"]})
    found = Disclosure(columns=BOTH, knows=MORE, threshold=0.5).on(seen(table))

    # Pneumonia: 2/3 below lung, 2/12 of all; the two together in one group, as the household is * for both.
    assert found.worst == pytest.approx((2 / 3 + 2 / 12) / 2)


def test_it_applies_where_several_columns_may_be_masked():
    release = seen(MEDICAL)
    original = replace(as_if_published(encode(MEDICAL, SCHEMA)), public=release.public)
    titles = [exposure.attack for exposure in attack_all(release, original)]
    assert titles.count("disclosure") == 2
    assert "disclosure" not in [exposure.attack for exposure in attack_all(replace(release, public=PublicInputs()))]


def test_a_guess_knows_the_most_common_value():
    guess = Disclosure(columns=BOTH).guess(seen(MEDICAL))
    assert guess.worst == pytest.approx(4 / 12)  # No, in the household
    assert guess.exposed == 0


def test_a_column_that_the_table_lacks_is_named():
    table = Release.from_table(MEDICAL, SCHEMA)

    with pytest.raises(DataError, match="column 'salary', which the release does not have"):
        Disclosure(columns=("disease", "salary")).on(table)
