import copy
import itertools
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.report import risks
from sfumato.report.page import PARTS, render

NASTY = "<script>alert(1)</script>\"'&\u202e\U0001f9ec" + "é" * 260
NO_END_TAG = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """A page as a list of tags; raises when they do not nest."""

    def __init__(self, html):
        super().__init__()
        self.tags = []  # (name, attributes)
        self.headings = []  # (level, words)
        self.words = []
        self._open = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))
        if tag not in NO_END_TAG:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"h1", "h2", "h3"} & set(self._open):
            level, words = self.headings[-1]
            self.headings[-1] = (level, words + data)

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def test_the_verdict_is_the_first_heading(facts):
    headings = Page(render(facts)).headings

    assert headings[0] == (1, "Every one of 3 requirements holds: 392 rows may leave the house.")
    assert sum(level == 1 for level, _ in headings) == 1


def test_all_sections_are_there_and_linked(facts):
    found = Page(render(facts))

    ids = {attributes["id"] for _, attributes in found.tags if "id" in attributes}
    links = {attributes["href"][1:] for attributes in found.all("a")}
    here = {
        name: part for name, part in PARTS.items() if name not in ("randomized", "masks", "rows")
    }  # nothing is, here
    assert {"verdict", *here} <= links <= ids
    assert [part.TITLE for part in here.values()] == [
        words for level, words in found.headings if level == 2 and "warning" not in words
    ]


def test_headings_never_skip_a_level(facts):
    levels = [level for level, _ in Page(render(facts)).headings]

    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_pictures_have_words_for_those_who_cannot_see_them(facts):
    found = Page(render(facts))

    pictures = [attributes for _, attributes in found.tags if attributes.get("role") == "img"]
    assert len(pictures) == len(found.all("figure")) == 14
    assert all(len(attributes["aria-label"]) > 30 for attributes in pictures)
    assert len(found.all("details")) == 14
    drawn = found.all("svg")
    assert all(
        attributes.get("aria-hidden") == "true" or attributes.get("focusable") == "false" for attributes in drawn
    )


def test_landmarks_and_language_are_there(facts):
    found = Page(render(facts))

    assert found.all("html")[0]["lang"] == "en"
    assert all(found.all(landmark) for landmark in ("header", "nav", "main", "footer"))
    assert found.all("title")
    labelled = [attributes["aria-labelledby"] for attributes in found.all("section")]
    assert {"verdict-title", "promises-title"} <= set(labelled)


def test_tables_have_headings_for_columns_and_rows(facts):
    found = Page(render(facts))

    assert {attributes.get("scope") for attributes in found.all("th")} == {"col", "row"}


def test_ids_are_given_once(facts):
    ids = [attributes["id"] for _, attributes in Page(render(facts)).tags if "id" in attributes]

    assert len(ids) == len(set(ids))


def test_nothing_outside_is_asked_for(facts):
    found = Page(render(facts))
    html = render(facts)

    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html
    assert "@import" not in html
    assert not [
        tag for tag, _ in found.tags if tag in ("script", "img", "iframe", "object", "embed", "source", "image")
    ]
    addresses = [a[key] for _, a in found.tags for key in ("src", "href", "xlink:href", "srcset", "action") if key in a]
    assert {address for address in addresses if not address.startswith("#")} == {"data:,"}


def test_the_browser_is_told_to_load_and_run_nothing(facts):
    policy = next(a["content"] for a in Page(render(facts)).all("meta") if "http-equiv" in a)

    assert policy.startswith("default-src 'none'")
    assert "script" not in policy


def test_the_page_says_that_it_is_private(facts):
    assert "Private: for the data holder" in render(facts)


def test_nothing_in_the_facts_becomes_markup(facts):
    found = Page(render(_with_every_text(facts, NASTY)))

    assert not found.all("script")
    assert not [attributes for _, attributes in found.tags if any(name.startswith("on") for name in attributes)]
    assert any("<script>alert(1)</script>" in words for words in found.words)


def test_keys_in_the_facts_do_not_become_markup_either(facts):
    facts["versions"] = {NASTY: NASTY}
    facts["steps"][0]["options"] = {NASTY: NASTY}
    facts["steps"][0]["facts"] = {NASTY: {NASTY: [NASTY]}}
    facts["verdicts"][0][NASTY] = NASTY

    assert not Page(render(facts)).all("script")


def test_a_label_cannot_turn_the_text_around_it_about(facts):
    facts["columns"][1]["name"] = "a\u202eb\u2066c\x00\x1bd"

    assert "<bdi>a\ufffdb\ufffdc\ufffd\ufffdd</bdi>" in render(facts)


def test_half_a_character_can_still_be_written(facts):
    facts["columns"][1]["name"] = "a\ud800b"

    assert render(facts).encode("utf-8")


def test_a_page_without_any_facts_is_a_page():
    assert Page(render({})).headings[0][0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["plan", "source", "release", "columns", "steps", "verdicts", "measurements", "timings"]
)
@pytest.mark.parametrize("instead", [None, {}, "text", [None], [{}]])
def test_a_missing_or_odd_part_costs_nothing_else(facts, part, instead):
    html = render(facts | {part: instead})

    Page(html)
    assert "could not be shown" not in html
    assert "How to reproduce it" in html


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ncp", "suppression", "class-sizes", "risk", "column-distributions", "query-error"])
@pytest.mark.parametrize("instead", [None, {}, {"columns": [{}]}, {"bins": [{}], "dimensions": [{}], "prosecutor": {}}])
def test_a_measurement_without_its_parts_is_left_out_of_the_pictures(facts, name, instead):
    for entry in facts["measurements"]:
        if entry["name"] == name:
            entry |= {"facts": instead, "value": float("nan"), "before": None}

    html = render(facts)

    Page(html)
    assert "could not be shown" not in html
    assert "nan" not in re.sub(r"finance|name|nant", "", html.split("</style>")[1]).lower().split()


def test_a_part_that_cannot_be_read_says_so_and_leaves_the_others(facts, monkeypatch):
    def fail(facts):
        raise KeyError("of another version")

    monkeypatch.setattr(risks, "content", fail)

    html = render(facts)

    assert "could not be shown (KeyError)" in html
    assert "What is promised" in html


def test_numbers_that_are_none_or_not_a_number_show_as_a_dash(facts):
    Page(render(_with_every_number(facts, None)))
    Page(render(_with_every_number(facts, float("nan"))))
    Page(render(_with_every_number(facts, float("inf"))))
    html = render(_with_every_number(facts, None))
    assert "None" not in html
    assert "could not be shown" not in html


@pytest.mark.parametrize("value", [0, -1, 1e300, 1e-300])
def test_extreme_numbers_are_drawn(facts, value):
    html = render(_with_every_number(facts, value))

    Page(html)
    assert "could not be shown" not in html
    assert not re.search(r'(?:width|height|x|y)="-?(?:nan|inf)', html)
    assert not re.search(r'(?:width|height)="-', html)


_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_one_place_the_page_survives(facts, data):
    damaged = copy.deepcopy(facts)
    node = damaged
    while True:
        key = data.draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(_plain)
            break
        node = node[key]

    html = render(damaged)

    Page(html)
    assert "could not be shown" not in html


@pytest.mark.slow
def test_sixty_columns_with_long_labels_stay_small(facts):
    drawn = next(entry for entry in facts["measurements"] if entry["name"] == "column-distributions")
    labels = [f"{'a long label ' * 25}{i}" for i in range(30)]
    drawn["facts"]["columns"] = [
        {
            "name": f"{'column ' * 40}{i}",
            "role": "quasi-identifier",
            "kind": "category",
            "bins": labels,
            "edges": None,
            "others": 12,
            "before": list(range(30, 0, -1)),
            "after": list(range(30)),
            "moved": 0.25,
        }
        for i in range(60)
    ]
    facts["columns"] = [
        {"name": f"{'column ' * 40}{i}", "role": "quasi-identifier", "kind": "category"} for i in range(60)
    ]

    html = render(facts)

    assert len(Page(html).all("figure")) == 8 + 60
    assert len(html) < 3_000_000


def test_rendering_twice_gives_the_same_page(facts):
    assert render(facts) == render(copy.deepcopy(facts))


def test_the_facts_are_left_as_they_were(facts):
    before = copy.deepcopy(facts)
    render(facts)

    assert facts == before


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("background", ["paper", "card", "sunken"])
@pytest.mark.parametrize("ink", ["ink", "muted", "link"])
def test_text_stands_out_from_its_background(theme, background, ink):
    colours = _colours(theme)

    assert _contrast(colours[ink], colours[background]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("meaning", ["good", "bad", "note"])
def test_coloured_words_stand_out_from_their_background(theme, meaning):
    colours = _colours(theme)

    assert _contrast(colours[meaning], colours[f"{meaning}-soft"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_stand_out_from_the_card(theme):
    colours = _colours(theme)

    assert _contrast(colours["after"], colours["card"]) >= 3
    assert _contrast(colours["before"], colours["card"]) >= 2.8


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_whole_wordmark_can_be_read(theme):
    colours = _colours(theme)

    shades = re.findall(r"#\w{6}", colours["haze"])
    assert len(shades) == 4
    assert all(_contrast(shade, colours["paper"]) >= 4.5 for shade in shades)


def test_importing_the_report_brings_no_template_engine_along():
    code = "import sys, sfumato.report.page, sfumato.report.text; sys.exit('jinja2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _with_every_text(node, words):
    if isinstance(node, dict):
        return {key: _with_every_text(value, words) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_every_text(value, words) for value in node]
    return node + words if isinstance(node, str) and node not in _NAMES else node


# Texts that the page finds its facts by.
_NAMES = {"ncp", "suppression", "class-sizes", "risk", "column-distributions", "query-error", "classification"}


def _with_every_number(node, value):
    if isinstance(node, dict):
        return {key: _with_every_number(inner, value) for key, inner in node.items()}
    if isinstance(node, list):
        return [_with_every_number(inner, value) for inner in node]
    return value if isinstance(node, int | float) and not isinstance(node, bool) else node


def _colours(theme):
    style = (Path(risks.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    found = dict(re.findall(r"--([\w-]+): (.*?);", light))
    return found | dict(re.findall(r"--([\w-]+): (.*?);", dark)) if theme == "dark" else found


def _contrast(one, other):
    """The contrast ratio of two colours, after WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_what_stands_between_backticks_is_shown_as_code(facts):
    page = render(facts | {"warnings": ["Ask `sfumato sweep` <b>first</b>."]})

    assert "Ask <code>sfumato sweep</code> &lt;b&gt;first&lt;/b&gt;." in page


def test_a_page_of_a_run_has_no_raw_backticks(facts):
    masked = {"masked_values": 3, "vacuous_masked_values": 1, "worst_posterior": {}, "columns": []}

    assert "`" not in re.sub(r"<style>.*?</style>", "", render(facts | {"steps": [{"facts": masked}]}), flags=re.S)
