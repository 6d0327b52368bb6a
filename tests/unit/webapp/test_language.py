"""The language of the pages: every sentence is looked up whole, and a made-up language shows it."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest

import sfumato.webapp
from sfumato.report.page import environment as report_environment
from sfumato.webapp import showing
from sfumato.webapp.language import translations
from websites import PEOPLE, PLAN, visited

TEMPLATES = sorted((Path(sfumato.webapp.__file__).parent / "templates").glob("*.html"))
STATIC = Path(sfumato.webapp.__file__).parent / "static"
INLINE = "bdi|code|strong|em|span|dfn"
IN_TAGS = re.compile(r'(aria-label|title|placeholder|data-head|alt)="([^"]*)"')
NAMES = {"sfumato", "knowledge/", "plan.toml"}  # of things, in any language


class Pseudo(gettext.NullTranslations):
    """Says everything in brackets, so that what was not looked up stands outside."""

    def gettext(self, message):
        return f"⟦{message}⟧"

    def ngettext(self, one, many, number):
        return f"⟦{one if number == 1 else many}⟧"

    def info(self):
        return {"language": "xx"}


def sentences(path):
    """What a template has looked up."""
    found = showing.environment().extract_translations(path.read_text(encoding="utf-8"))
    return [message if isinstance(message, str) else message[0] for _, _, message in found]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_word_of_a_template_is_outside_a_sentence_that_is_looked_up(path):
    text = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    shown = [value for _, value in IN_TAGS.findall(text)] + re.sub(r"<[^>]*>", "\n", text).split("\n")
    words = [each.strip(' ·:,.()\u203a★"') for each in shown]

    assert [each for each in words if re.search("[A-Za-z]{2}", each) and each not in NAMES] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_sentence_is_glued_together(path):
    """What begins with a mark or a word that joins is the rest of another sentence, whose order is not ours to know."""
    bare = [re.sub("<[^>]+>", "", each).strip() for each in sentences(path)]

    assert [each for each in bare if re.match(r"[;,.:)]|(and|or|of|by|with|without|for|because|is|are) ", each)] == []
    assert [each for each in bare if re.search(r"[(,]$|\b(and|or|of|by|the|a)$", each)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_is_put_into_a_sentence_has_a_name_and_stands_between_whole_marks(path):
    for each in sentences(path):
        assert not re.search(r"%[^(%]|%$", each.replace("%%", "")), each
        opened = [tag for tag in re.findall(r"<(/?[a-z]+)", each) if tag != "br"]
        depth = 0
        for tag in opened:
            depth += -1 if tag.startswith("/") else 1
            assert depth >= 0, each
        assert depth == 0, each


@pytest.fixture
def pseudo(tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "translations", Pseudo)
    made = showing.environment.__wrapped__()  # a fresh one, which nobody else gets
    monkeypatch.setattr(showing, "environment", lambda: made)
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    with visited(tmp_path) as browser:
        yield browser


PAGES = ["/", "/open", "/help", "/judge", "/connections", "/nowhere"]
OF_PLAN = ["", "/columns", "/columns/1", "/hierarchies", "/columns/1/hierarchy", "/promises", "/run", "/release"]
OF_PLAN += ["/text", "/knowledge", "/check"]


@pytest.mark.slow
@pytest.mark.parametrize("path", [*PAGES, *(f"/plans/plan.toml{each}" for each in OF_PLAN)])
def test_pages_speak_the_language_and_stay_whole(pseudo, path):
    page = pseudo.get(path).text
    shown = re.sub("<[^>]+>", "\n", re.sub(f"</?({INLINE})[^>]*>", "", page))

    assert '<html lang="xx">' in page
    assert page.count("⟦") == page.count("⟧") > 20
    assert "%(" not in page
    assert not re.search(r"⟧ *⟦[a-z]", shown)  # two beside each other would be one sentence
    assert shown.count("⟦Everything stays on this computer") == 1


def test_what_comes_from_data_is_escaped_inside_a_sentence(pseudo):
    assert "&lt;b&gt;" in showing.environment().from_string('{{ _("<i>%(cell)s</i>", cell=cell) }}').render(cell="<b>")
    assert "&lt;b&gt;" in showing.environment().from_string("{{ cell|said }}").render(cell="<b>")


def test_without_a_catalogue_everything_is_said_as_it_is_written():
    assert showing.environment().from_string('{{ _("Save") }} {{ "Saved."|said }}').render() == "Save Saved."
    assert "said" not in report_environment().filters
    assert translations().gettext("Save") == "Save"


def test_scripts_hold_no_sentence():
    scripts = sorted(STATIC.glob("*.js"))
    assert scripts
    for path in scripts:
        code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        assert not re.search(r'"[A-Z][a-z]+ [a-z]+[^"]*"', code), path.name
