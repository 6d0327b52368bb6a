"""The text of a plan as blocks."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from house import ROOT
from sfumato.editing.blocks import blocks_of, spelled

PLANS = sorted([*ROOT.glob("examples/*/plan.toml"), *ROOT.glob("tests/data/**/plan.toml")])
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/sfumato/**/*.md")])
SHOWN = [
    text for page in PAGES for text in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]
TRICKY = '''# about the file
a = """
[not.a.header]
"""
b = [
    [1, 2],
[3],
]  # three

# about x

[x]
y.z = 1
# of y

# of the list
[[list]]
n = 1

    [list.inner]  # indented
    m = 2
[[list]]
[[list.deep]]
[list.deep."a.b"]
'''


@pytest.mark.parametrize("text", [*(path.read_bytes().decode() for path in PLANS), *SHOWN, TRICKY, "", "# only"])
def test_blocks_give_every_text_back_to_the_letter(text):
    assert "".join(block.text for block in blocks_of(text)) == text


def test_plans_of_files_and_of_pages_are_looked_at():
    assert len(PLANS) >= 8
    assert sum("[[require]]" in text for text in SHOWN) >= 5


def test_headers_are_told_from_lines_that_only_begin_with_a_bracket():
    places = [block.place for block in blocks_of(TRICKY)]

    assert places == [
        (),
        ("x",),
        ("list", 0),
        ("list", 0, "inner"),
        ("list", 1),
        ("list", 1, "deep", 0),
        ("list", 1, "deep", 0, "a.b"),
    ]


def test_comments_right_above_a_header_belong_to_it_and_others_stay():
    leads = {block.place: block.lead for block in blocks_of(TRICKY)}

    assert leads[("list", 0)] == "# of the list\n"
    assert leads[("x",)] == ""  # an empty line is between
    assert blocks_of("# of the file\n[x]\n")[0].body == "# of the file\n"


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=30)
@given(VALUES)
def test_a_value_is_spelled_so_that_it_is_read_back(value):
    assert tomllib.loads(f"x = {spelled(value)}")["x"] == value
