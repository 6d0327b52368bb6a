"""Pages about concepts, shown by the app itself."""

from __future__ import annotations

import re
import tomllib

import pytest

from house import ROOT
from sfumato.plan.members import requirable
from sfumato.report.markdown import rendered
from sfumato.webapp.concepts import concepts, page_about
from sfumato.webapp.words import WORDS

TAGS = {
    "a",
    "p",
    "em",
    "ul",
    "ol",
    "li",
    "td",
    "th",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "code",
    "pre",
    "strong",
    "div",
    "blockquote",
}
TAGS |= {"table", "thead", "tbody"}
PAGES = sorted(path.stem for path in (ROOT / "docs" / "concepts").glob("*.md"))


def test_the_wheel_has_every_page_of_the_documentation():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"docs/concepts": "sfumato/webapp/documentation"}
    assert list(concepts()) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_shown_whole_and_without_marks_or_scripts(name):
    made = str(rendered(concepts()[name], concepts()))
    words = re.sub("<[^>]+>", "", re.sub("<(code|pre).*?</(code|pre)>", "", made, flags=re.DOTALL))

    assert made.startswith("<h1>")
    assert ">>>" not in made
    assert not re.search(r"\*\*\w|```|^#+ |\]\(", words, re.MULTILINE), name
    assert set(re.findall(r"<(\w+)", made)) <= TAGS
    assert all(target in PAGES for target in re.findall('href="/help/([^"]*)"', made))
    prose = re.sub("^```.*?^```", "", concepts()[name], flags=re.DOTALL | re.MULTILINE)
    headings = re.findall("^#+ +(.*)$", prose, re.MULTILINE)
    assert len(re.findall("<h[1-4]>", made)) == len(headings)


@pytest.mark.parametrize("name", requirable())
def test_every_model_leads_to_a_page_that_speaks_of_it(name):
    assert name in concepts()[page_about(name)]


def test_every_word_that_promises_more_has_a_page():
    named = {word.concept for word in WORDS.values() if word.concept}
    assert named
    assert named <= set(PAGES)
    assert page_about("nothing that anybody wrote") == ""
