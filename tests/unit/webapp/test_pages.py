"""Every page in its states, as a browser without scripts has it."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import sqlite3
import sys
import time
import tomllib
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.plan.keys import TABLES
from sfumato.plan.members import able, requirable
from sfumato.webapp.pages import ROUTES
from websites import HOME, PEOPLE, PLAN, visited

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with a plan and a run, made once."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    (folder / "runs").mkdir()
    sf.run(sf.Plan.load(folder / "plan.toml"), folder / "runs" / "first", seed=1)
    return folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


@pytest.fixture
def browser(folder):
    with visited(folder) as found:
        yield found


@pytest.fixture(scope="module")
def reader(made):
    with visited(made) as found:
        yield found


class Form(HTMLParser):
    """The fields of a page's forms with what they hold, as a browser would send them."""

    def __init__(self, page):
        super().__init__()
        self.forms, self._select, self._area = [], None, None
        self.feed(page)

    def handle_starttag(self, tag, pairs):
        given = dict(pairs)
        if tag == "form":
            self.forms.append({"": given.get("action", "")})
        elif not self.forms:
            return
        elif tag == "input" and given.get("name") and given.get("type") not in ("checkbox", "file", "search"):
            self._add(given["name"], given.get("value", ""))
        elif tag == "input" and "checked" in given:
            self._add(given["name"], given.get("value", "on"))
        elif tag == "select":
            self._select, self._first = given.get("name"), True
        elif tag == "option" and self._select and ("selected" in given or self._first):
            self.forms[-1][self._select] = given.get("value", "")
            self._first = False
        elif tag == "textarea":
            self._area = given["name"]
            self.forms[-1][self._area] = ""

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.forms[-1][self._area] = self.forms[-1][self._area].removeprefix("\n")
            self._area = None
        self._select = None if tag == "select" else self._select

    def handle_data(self, data):
        if self._area:
            self.forms[-1][self._area] += data

    def _add(self, name, value):
        there = self.forms[-1].get(name)
        self.forms[-1][name] = value if there is None else [*(there if isinstance(there, list) else [there]), value]


def forms(browser, path):
    return Form(browser.get(path).text).forms


def filled_in(browser, at, which, **changes):
    """Send a form of a page as it is, but for some changes."""
    form = next(form for form in forms(browser, at) if which(form))
    return browser.fill(form.pop(""), **{**form, **changes})


# The project, and addresses.


@pytest.mark.slow
def test_the_project_shows_plans_and_runs(reader):
    page = reader.text("/")

    assert "plan.toml" in page
    assert "first" in page
    assert "As the plan asks" in page or "Rows counted" in page


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/plans/other.toml",
        "/plans/..%2fplan.toml",
        "/runs/none",
        "/jobs/none",
        "/sweeps/none",
        "/static/..%2fserver.py",
        "/static/nothing.css",
        "/help/none",
        "/plans/plan.toml/columns/99",
        "/plans/plan.toml/columns/x",
        "/runs/first/files/..%2f..%2fprivate%2frun.json",
        "/runs/first/files/run.json",
    ],
)
def test_what_is_not_in_a_list_is_not_there(reader, path):
    assert reader.get(path).status_code == 404


NAMES = {"plan": "plan.toml", "run": "first", "column": "1", "word": "class", "name": "app.css"}


@pytest.mark.slow
def test_every_get_is_safe(reader, made):
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file() and ".sfumato" not in path.parts}
    for route in ROUTES:
        if "GET" in route.methods and "events" not in route.path and route.path != "/enter":
            path = re.sub(r"{(\w+)}", lambda found: NAMES.get(found[1], "none"), route.path)
            assert reader.get(path).status_code in (200, 404, 422), path
    after = {path: path.read_bytes() for path in made.rglob("*") if path.is_file() and ".sfumato" not in path.parts}
    assert after == before


def test_ending_asks_what_becomes_of_jobs(folder):
    ended = []
    with visited(folder, quit_=lambda: ended.append(True)) as browser:
        browser.state.jobs.ask("run", ["--version"], watched=False)
        assert "under way" in browser.fill("/quit").text
        assert ended == []
        browser.fill("/quit", jobs="stop")
    assert ended == [True]


# Plans.


def test_a_page_of_the_plan_says_what_will_be_done(browser):
    page = browser.text("/plans/plan.toml")

    assert "dropped" in page
    assert "independent audit" in page


PLANS = sorted([*ROOT.glob("examples/*/plan.toml")])
SNIPPETS = [
    (f"{page.stem}-{number}", block.split("```", 1)[0].lstrip("\n"))
    for page in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
    for number, block in enumerate(page.read_text(encoding="utf-8").split("```toml")[1:])
    if "[columns" in block.split("```", 1)[0]
]


def saves_unchanged(folder):
    """Send every form of every page of a plan as it is: nothing may change, to the letter."""
    before = (folder / "plan.toml").read_bytes()
    columns = len(tomllib.loads(before.decode()).get("columns", {}))
    with visited(folder) as browser:
        pages = ("", "/columns", "/promises", "/release", "/text", *(f"/columns/{n}" for n in range(min(columns, 4))))
        for page in pages:
            for form in forms(browser, f"/plans/plan.toml{page}"):
                action = form.pop("")
                if (
                    "/plans/plan.toml" in action
                    and not action.endswith(("/undo", "/redo", "/answer", "/run", "/sweep"))
                    and form.get("do") != "preset"
                    and ("do" in form or "model" not in form or "place" in form)
                ):
                    answer = browser.fill(action, **{"do": "roles" if page == "/columns" else "save", **form})
                    assert answer.headers.get("location", "").endswith("said=same"), (action, form, answer.text)
    assert (folder / "plan.toml").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.parent.name)
def test_every_form_of_every_example_saves_the_plan_unchanged(path, tmp_path):
    for other in path.parent.iterdir():
        if other.is_file():
            shutil.copyfile(other, tmp_path / other.name)

    saves_unchanged(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), SNIPPETS, ids=[name for name, _ in SNIPPETS])
def test_every_plan_of_the_documentation_opens_and_is_saved_unchanged(name, text, tmp_path):
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")

    saves_unchanged(tmp_path)


def test_a_role_is_changed_and_comments_stay(browser, folder):
    form = next(form for form in forms(browser, "/plans/plan.toml/columns") if form[""].endswith("/columns"))
    form.pop("")
    answer = browser.fill("/plans/plan.toml/columns", **{**form, "role.2": "sensitive", "do": "roles"})

    assert answer.headers["location"] == "/plans/plan.toml/columns?said=saved"
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    assert text == PLAN.replace('[columns.town]\nrole = "quasi-identifier"', '[columns.town]\nrole = "sensitive"')


def test_many_columns_get_a_role_at_once(browser, folder):
    filled_in(
        browser,
        "/plans/plan.toml/columns",
        lambda form: "role.0" in form,
        do="all",
        column=["age", "town"],
        role="other",
        kind="category",
    )

    columns = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))["columns"]
    assert [columns[name]["role"] for name in columns] == ["identifier", "other", "other", "sensitive"]
    assert columns["town"]["kind"] == "category"


def test_what_is_set_for_many_columns_stands_above_them(browser):
    page = browser.get("/plans/plan.toml/columns").text
    assert page.index("Filter by name") < page.index("Set for all ticked") < page.index("Choose age")


def test_who_ticks_nothing_is_told_so(browser):
    answer = filled_in(browser, "/plans/plan.toml/columns", lambda form: "role.0" in form, do="all", role="other")

    assert answer.status_code == 422
    assert "Tick the columns first" in answer.text


def test_edits_are_undone_and_done_again(browser, folder):
    filled_in(browser, "/plans/plan.toml/promises", lambda form: form.get("place") == "0", do="save", k="7")
    changed = (folder / "plan.toml").read_text(encoding="utf-8")
    assert "k = 7" in changed
    assert "k of requirement 1: 7" in browser.text("/plans/plan.toml/text")

    filled_in(browser, "/plans/plan.toml", lambda form: form[""].endswith("/undo"))
    assert (folder / "plan.toml").read_text(encoding="utf-8") == PLAN
    filled_in(browser, "/plans/plan.toml", lambda form: form[""].endswith("/redo"))
    assert (folder / "plan.toml").read_text(encoding="utf-8") == changed


def test_promises_count_people_where_the_plan_does(browser, folder):
    assert "rows that could be theirs" in browser.text("/plans/plan.toml/promises")
    (folder / "plan.toml").write_text(f"{PLAN}\n[gather]\n", encoding="utf-8")
    assert "people alike" in browser.text("/plans/plan.toml/promises")


def test_what_an_editor_saved_is_shown_and_never_overwritten(browser, folder):
    form = next(form for form in forms(browser, "/plans/plan.toml/promises") if form.get("place") == "0")
    form.pop("")
    theirs = PLAN.replace("l = 2", "l = 3")
    (folder / "plan.toml").write_text(theirs, encoding="utf-8")

    answer = browser.fill("/plans/plan.toml/promises", **{**form, "do": "save", "k": "9"})

    assert answer.status_code == 409
    assert (folder / "plan.toml").read_text(encoding="utf-8") == theirs
    merged = next(form for form in Form(answer.text).forms if form[""].endswith("/text"))
    assert merged["text"] == theirs.replace("k = 5", "k = 9")
    assert (
        browser.fill("/plans/plan.toml/text", **{key: each for key, each in merged.items() if key}).status_code == 303
    )
    assert (folder / "plan.toml").read_text(encoding="utf-8") == theirs.replace("k = 5", "k = 9")


def test_a_problem_stands_beside_its_field(browser):
    filled_in(browser, "/plans/plan.toml/promises", lambda form: form.get("place") == "0", do="save", k="nonsense")

    page = browser.get("/plans/plan.toml/promises").text
    field = page[page.index('name="k"') :]
    assert "problem" in field[: field.index("</div>")]
    assert "problem (1)" in browser.text("/plans/plan.toml/promises")


def test_text_that_is_no_toml_is_not_saved_and_says_where(browser, folder):
    answer = filled_in(browser, "/plans/plan.toml/text", lambda form: "text" in form, text="[columns\n")

    assert "not valid TOML" in answer.text
    assert marked(answer.text) == [1]
    assert (folder / "plan.toml").read_text(encoding="utf-8") == PLAN


def marked(page):
    """The lines of the text that are marked, each with a problem that leads to it."""
    lines = [int(line) for line in re.findall(r'<mark id="line-(\d+)">', page)]
    assert sorted(map(int, set(re.findall(r'href="#line-(\d+)"', page)))) == lines
    return lines


def test_problems_of_the_text_stand_beside_their_lines(browser, folder):
    text = PLAN.replace("k = 5", "k = -5").replace('[columns.town]\nrole = "quasi-', '[columns.town]\nrole = "crazy-')
    assert filled_in(browser, "/plans/plan.toml/text", lambda form: "text" in form, text=text).status_code == 303
    lines = text.split("\n")
    page = browser.get("/plans/plan.toml/text").text

    assert [lines[line - 1] for line in marked(page)] == ['role = "crazy-identifier"', "k = -5"]
    assert f"\n{len(lines):4}\n</pre>" in page
    assert marked(browser.fill("/plans/plan.toml/text", text=f"{PLAN}[[[", digest="").text) == [len(PLAN.split("\n"))]


def test_a_plan_that_is_no_toml_can_still_be_mended(folder):
    (folder / "plan.toml").write_text(PLAN + "[[[", encoding="utf-8")
    with visited(folder) as browser:
        assert browser.get("/plans/plan.toml").url.path == "/plans/plan.toml/text"
        assert filled_in(browser, "/plans/plan.toml/text", lambda form: "text" in form, text=PLAN).status_code == 303
    assert (folder / "plan.toml").read_text(encoding="utf-8") == PLAN


# Forms from what members say of themselves.


@pytest.mark.slow
@pytest.mark.parametrize("name", requirable())
def test_every_model_has_a_form_and_what_it_sends_is_a_requirement(browser, folder, name):
    answer = filled_in(
        browser, "/plans/plan.toml/promises", lambda form: form.get("model") == name and "place" not in form, do="add"
    )

    assert answer.status_code == 303
    added = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))["require"][-1]
    assert added["model"] == name
    required = {key.name for key in requirable()[name].parameters if key.required}
    judged = requirable()[name].judges
    has_columns = judged is None or judged.value == "sensitive"
    assert set(added) >= required or not has_columns
    assert browser.get("/plans/plan.toml/promises").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("name", able())
def test_every_anonymizer_has_a_form(browser, folder, name):
    keys = able()[name].parameters
    found = [
        form for form in forms(browser, "/plans/plan.toml/release") if form.get("plan_table") == f"anonymizers.{name}"
    ]

    assert bool(found) == bool(keys)
    for form in found:
        assert {key.name for key in keys} <= set(form) | {key.name for key in keys if key.takes == "true or false"}


def test_every_table_of_a_plan_has_a_form_and_every_key_of_it_a_field(browser):
    """A law: whoever adds a key to a plan has its field for nothing."""
    pages = "".join(browser.get(f"/plans/plan.toml{page}").text for page in ("", "/release", "/knowledge"))
    parts = re.split("<form ", pages)
    fields = {
        name: {field for part in parts if mark in part for field in re.findall(r'name="(\w+)"', part)}
        for name in TABLES
        for mark in ('/knowledge"' if name == "knowledge" else f'value="{name}"',)
    }
    fields["source"] |= {field for part in parts if 'value="people"' in part for field in re.findall(r'"(\w+)"', part)}
    missing = {name: set(table.names()) - fields[name] for name, table in TABLES.items()}

    # Questions have buttons, and a file is opened rather than typed; the terms of a table that is not chosen yet have
    # no box each.
    assert missing.pop("draft") == {"questions"}
    assert missing.pop("source") == {"path"}
    assert missing.pop("knowledge") == {"terms"}
    assert not any(missing.values()), missing


def table_form(name):
    return lambda form: form.get("plan_table") == name


@pytest.mark.slow
def test_the_population_and_households_are_said_in_forms(browser, folder):
    text = PLAN.replace("[columns.illness]", '[columns.home]\nrole = "other"\n[columns.illness]')
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    rows = PEOPLE.splitlines()
    table = [f"{rows[0]},home", *(f"{row},{n // 3}" for n, row in enumerate(rows[1:]))]
    (folder / "people.csv").write_text("\n".join(table) + "\n", encoding="utf-8")

    filled_in(browser, "/plans/plan.toml", table_form("population"), size="8500000")
    filled_in(browser, "/plans/plan.toml", table_form("people"), household="home")
    said = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))
    assert said["population"] == {"size": 8_500_000}
    assert said["source"] == {"path": "people.csv", "household": "home"}
    assert sf.Plan.load(folder / "plan.toml").population.size == 8_500_000
    assert "# kept beside it" in (folder / "plan.toml").read_text(encoding="utf-8")

    filled_in(browser, "/plans/plan.toml", table_form("population"), fraction="2")
    page = browser.get("/plans/plan.toml").text
    assert 'data-for="population-size"' not in page  # no slider goes to millions
    assert "such as { weight = " in page.replace("&#34;", '"')  # as a plan has it, not as Python
    part = page[page.index('id="population-fraction"') :]
    assert "problem" in part[: part.index("</form>")]
    filled_in(browser, "/plans/plan.toml", table_form("population"), size="", fraction="")
    filled_in(browser, "/plans/plan.toml", table_form("people"), household="")
    assert (folder / "plan.toml").read_text(encoding="utf-8").strip() == text.strip()


@pytest.mark.slow
def test_a_header_is_found_out_there_or_not(browser, folder):
    answers = []
    for header in ("yes", "no", ""):
        filled_in(browser, "/plans/plan.toml", table_form("source"), header=header)
        answers.append(tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))["source"].get("header"))

    assert answers == [True, False, None]
    assert "True" not in browser.text("/plans/plan.toml")
    assert "True" not in re.sub("<[^>]+>", " ", browser.fill("/open/reading", path="people.csv").text)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", "0", "-1", "1e999", "\x00", "<b>", "9" * 300, "1/0", "nan", "é"])
def test_nonsense_in_a_form_never_breaks_the_app(browser, value):
    for which in ("k", "l"):
        place = {"k": "0", "l": "1"}[which]
        answer = filled_in(
            browser,
            "/plans/plan.toml/promises",
            lambda form, place=place: form.get("place") == place,
            **{"do": "save", which: value},
        )
        assert answer.status_code in (303, 422), answer.text
    assert browser.get("/plans/plan.toml/promises").status_code == 200
    assert browser.get("/plans/plan.toml").status_code == 200


def test_a_trial_says_what_the_plan_would_cost(browser, folder):
    (folder / "plan.toml").write_text(
        PLAN.replace("k = 5", 'k = 5\nanonymizer = "mondrian"').replace("l = 2", 'l = 2\nanonymizer = "mondrian"'),
        encoding="utf-8",
    )
    until = time.monotonic() + 60
    while "under way" in (page := browser.text("/plans/plan.toml/trial")):
        assert time.monotonic() < until
        time.sleep(0.05)

    assert "Detail lost:" in page
    assert "All 60 rows" in page


def test_a_preset_fills_in_numbers_and_says_so(browser, folder):
    form = next(form for form in forms(browser, "/plans/plan.toml/promises") if form.get("do") == "preset")
    browser.fill(form.pop(""), **form, preset="public")

    required = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))["require"]
    assert [(each["model"], each.get("k"), each.get("l")) for each in required] == [
        ("k-anonymity", 20, None),
        ("l-diversity", None, 3),
        ("t-closeness", None, None),
    ]
    assert "k of requirement 1: 20" in browser.text("/plans/plan.toml/text")
    assert browser.fill("/plans/plan.toml/promises", do="preset", preset="other").status_code == 422


# One column.


def test_a_column_shows_how_often_values_occur_and_who_is_unique_without_it(browser):
    page = browser.text("/plans/plan.toml/columns/2")

    assert re.search("Bern +30", page)
    assert "Unique people" in page
    assert "without this one" in page
    assert "of 4 characters each" in page


def test_values_of_a_secret_column_are_shown_to_who_asks(browser):
    assert "asthma" not in browser.get("/plans/plan.toml/columns/3").text
    assert "asthma" in browser.get("/plans/plan.toml/columns/3?show=yes").text
    assert "if others knew it, too" in browser.text("/plans/plan.toml/columns/3")


def test_the_table_of_columns_shows_some_values_but_none_of_secrets(browser):
    page = browser.get("/plans/plan.toml/columns").text

    assert "Bern" in page
    assert "Marker" not in page
    assert "asthma" not in page


# Hierarchies.


TOWN = "/plans/plan.toml/columns/2/hierarchy"


def town(folder):
    return tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))["columns"]["town"].get("hierarchy")


@pytest.mark.slow
def test_a_file_is_checked_before_it_replaces_another(browser, folder):
    answer = filled_in(browser, TOWN, lambda form: form.get("way") == "file", text="Bern;West;*\nChurr;East;*\n")

    assert "Not saved yet" in answer.text
    assert "did you mean" in answer.text
    assert town(folder) is None
    filled_in(browser, TOWN, lambda form: form.get("way") == "file", text="Bern;West;*\nChur;East;*\n")
    assert town(folder) == "hierarchies/town.csv"
    assert "covers 2 of 2 values" in browser.text(TOWN)
    answer = filled_in(browser, TOWN, lambda form: form.get("way") == "file", text="Bern;A;*\nChur;B;*\n")
    assert answer.headers["location"].endswith("said=saved")
    assert "file hierarchies/town.csv" in browser.text("/plans/plan.toml/text")
    filled_in(browser, "/plans/plan.toml", lambda form: form[""].endswith("/undo"))
    assert (folder / "hierarchies" / "town.csv").read_text(encoding="utf-8") == "Bern;West;*\nChur;East;*\n"


def test_a_broken_file_is_told_in_words(browser, folder):
    answer = filled_in(browser, TOWN, lambda form: form.get("way") == "file", text="Bern;West;*\nBern;East;*\n")

    assert answer.status_code == 422
    assert town(folder) is None


def stepped(browser, answer, do, **fields):
    """Press a button of the groups, on the page that the last press answered with."""
    form = next(form for form in Form(answer.text).forms if form.get("way") == "hand")
    return browser.fill(form.pop("").partition("#")[0], **{**form, "do": do, **fields})


def test_values_are_grouped_by_hand_step_by_step_and_kept_when_somebody_says_so(browser, folder):
    answer = stepped(browser, browser.get(TOWN), "move", pick="Bern", name="West")
    assert "Done, not saved yet" in answer.text
    assert "Not yet grouped: 1 value" in answer.text
    answer = stepped(browser, answer, "rename.0", **{"name.0": "Low"})
    answer = stepped(browser, answer, "level.0", **{"name.0": "Swiss"})
    answer = stepped(browser, answer, "move.1", pick="Chur")
    assert "Undo this step: &#39;Chur&#39; put into Swiss" in answer.text
    assert town(folder) is None
    assert not (folder / "hierarchies").exists()

    answer = stepped(browser, answer, "undo")
    assert stepped(browser, answer, "use").headers["location"] == f"{TOWN}?said=saved"
    assert (folder / "hierarchies" / "town.csv").read_text(encoding="utf-8") == "Chur;*\nBern;Low;Swiss;*\n"
    assert "covers 2 of 2 values, 60 of 60 rows" in browser.text(TOWN)
    assert re.search("1 value .*Low", browser.text(TOWN))  # a group of one is still there


@pytest.mark.parametrize(
    ("do", "fields", "words"),
    [
        ("move", {"name": "West"}, "Nothing is ticked."),
        ("move", {"pick": "Bern"}, "The group needs a name"),
        ("move", {"pick": "Bern", "name": "Chur"}, "is a value of the column"),
        ("undo", {}, "There is nothing to undo."),
        ("rename.5", {"name": "West"}, "not there any more"),
    ],
)
def test_a_step_that_lacks_something_says_what(browser, folder, do, fields, words):
    answer = stepped(browser, browser.get(TOWN), do, **fields)

    assert answer.status_code == 200  # it is an answer about the step, and the groups stay as they are
    assert words in answer.text
    assert town(folder) is None


def test_groups_that_did_not_come_from_a_page_are_refused(browser, folder):
    for given in ("", "{", '{"rows": {"a": 1}, "above": {"a": "a"}}'):
        assert stepped(browser, browser.get(TOWN), "use", draft=given).status_code == 422
    assert not (folder / "hierarchies").exists()


def test_an_edit_of_a_page_that_is_out_of_date_writes_no_file(browser, folder):
    answer = stepped(browser, browser.get(TOWN), "move", pick="Bern", name="West")
    (folder / "plan.toml").write_text(PLAN.replace("k = 5", "k = 6"), encoding="utf-8")

    assert stepped(browser, answer, "use").status_code == 409
    assert not (folder / "hierarchies").exists()


def test_values_of_a_secret_column_are_grouped_once_they_are_shown(browser):
    path = "/plans/plan.toml/columns/3/hierarchy"
    assert "Groups by hand" not in browser.text(path)
    answer = stepped(browser, browser.get(f"{path}?show=yes"), "move", pick=["flu", "cough"], name="lungs; or so")

    assert "lungs; or so" in answer.text
    assert stepped(browser, answer, "use").status_code == 303
    assert "lungs; or so" not in browser.text(path)


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({"rule": "widths", "numbers": "5, 10"}, {"widths": [5, 10]}),
        ({"rule": "prefix", "numbers": "4"}, {"prefix": 4}),
        ({"rule": "flat"}, {"flat": True}),
    ],
)
def test_a_rule_becomes_a_line_of_the_plan(browser, folder, fields, made):
    filled_in(browser, TOWN, lambda form: form.get("way") == "rule", sure="yes", **fields)

    assert town(folder) == made


def test_a_hierarchy_is_taken_from_another_column_and_taken_away(browser, folder):
    filled_in(browser, TOWN, lambda form: form.get("way") == "like", other="age", sure="yes")
    assert town(folder) == {"widths": [5, 10, 20]}
    filled_in(browser, TOWN, lambda form: form.get("way") == "none")

    assert town(folder) is None


def test_a_rule_is_looked_at_before_anything_is_saved(browser, folder):
    answer = filled_in(browser, TOWN, lambda form: form.get("way") == "rule", rule="prefix", numbers="4", do="look")

    assert "Not saved yet" in answer.text
    assert "Bern" in answer.text
    assert 'role="tree"' in answer.text
    assert town(folder) is None


def test_a_hierarchy_is_copied_from_another_project(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "here" / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "there" / "towns.csv").write_text("Bern;West;*\nChur;East;*\n", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("Bern;West;*\nChur;East;*\n", encoding="utf-8")
    with visited(tmp_path / "here", roots=[tmp_path / "there"]) as browser:
        given = {"way": "path", "path": "../secret.csv"}
        assert filled_in(browser, TOWN, lambda form: form.get("way") == "path", **given).status_code == 422
        filled_in(browser, TOWN, lambda form: form.get("way") == "path", path="../there/towns.csv")
    assert (tmp_path / "here" / "hierarchies" / "town.csv").read_text(encoding="utf-8") == "Bern;West;*\nChur;East;*\n"


def test_values_of_a_secret_column_are_covered(browser):
    assert "asthma" not in browser.get("/plans/plan.toml/columns/3/hierarchy").text
    assert "asthma" in browser.get("/plans/plan.toml/columns/3/hierarchy?show=yes").text


def test_what_a_check_found_stays_on_the_page_and_other_jobs_go_on(folder):
    for kind, result in (("check", {"sentences": ["26 of 30 terms are known."]}), ("draft", {})):
        job = folder / ".sfumato" / "jobs" / f"{kind}-0"
        job.mkdir(parents=True)
        about = {"id": job.name, "kind": kind, "words": [kind], "state": "finished", "then": "/plans/plan.toml"}
        (job / "job.json").write_text(json.dumps(about), encoding="utf-8")
        (job / "result.json").write_text(json.dumps(result), encoding="utf-8")
    with visited(folder) as browser:
        check, draft = (browser.get(f"/jobs/{kind}-0").text for kind in ("check", "draft"))

        assert "26 of 30 terms are known." in check
        assert 'id="then"' not in check  # where the script would go on by itself
        assert 'id="then"' in draft
        assert "Holding the table against the data" in browser.text("/")


def test_a_hand_over_that_was_confirmed_is_done(made):
    with visited(made) as browser:
        assert "Hand over to do" in browser.text("/plans/plan.toml")
        browser.fill("/runs/first/confirm", who="Ada", roles="yes", limits="yes")
        assert "Hand over confirmed" in browser.text("/plans/plan.toml")
    (made / "runs" / "first" / "private" / "handover.json").unlink()


def test_terms_are_chosen_from_the_columns_of_the_knowledge_table(browser, folder):
    (folder / "known.csv").write_text("disease,signs\nflu,fever|cough\n", encoding="utf-8")
    (folder / "plan.toml").write_text(
        PLAN + '[knowledge]\npath = "known.csv"\nlabel = "disease"\nterms = "signs"\n', encoding="utf-8"
    )
    page = browser.get("/plans/plan.toml/knowledge").text

    assert re.findall('name="terms" value="([^"]+)"', page) == ["disease", "signs"]


def test_a_table_is_built_from_columns_of_the_file_that_was_chosen(browser, folder):
    (folder / "events.csv").write_text("who,illness,sign\n1,flu,fever\n2,flu,cough\n", encoding="utf-8")
    path = "/plans/plan.toml/knowledge"
    assert 'name="label" required' not in browser.get(path).text  # a file comes first
    page = filled_in(browser, path, lambda form: form[""].endswith("/columns"), source="events.csv").text

    for name in ("label", "terms", "person"):
        (choices,) = re.findall(rf'<select id="b-{name}".*?</select>', page)
        assert re.findall("<option>(.*?)</option>", choices) == ["who", "illness", "sign"]
    for nothing in ("", "no.csv", "../people.csv", "plan.toml"):
        assert browser.fill(f"{path}/columns", source=nothing).status_code == 422
    assert "events.csv" not in str(browser.get(path).url)


# Databases.


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A database that has a name, and whose address nobody shall see."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    path = tmp_path / "hidden place.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table stays (name text, age integer, illness text)")
        rows = [(f"Marker{n}", 20 + n, "asthma") for n in range(50)]
        connection.executemany("insert into stays values (?, ?, ?)", rows)
        connection.execute("create view adults as select * from stays where age > 30")
    connection.close()
    return f"sqlite://{path}"


def test_a_connection_shows_its_tables_and_a_table_its_first_rows(browser, clinic):
    browser.fill("/connections", name="clinic", address=clinic)
    tables = browser.fill("/connections/test", name="clinic").text
    assert "clinic answers: SQLite" in tables
    assert 'value="stays"' in tables
    assert 'value="adults"' in tables

    page = browser.fill("/connections/look", name="clinic", table="stays").text
    assert "The table has 50 rows." in page
    assert "illness" in page
    assert "Marker1" not in page
    assert "Marker1" in browser.fill("/connections/look", name="clinic", table="stays", show="yes").text
    assert "hidden place" not in tables + page
    form = next(form for form in Form(page).forms if form.get("table") == "stays")
    assert (form["name"], form[""]) == ("clinic", "/connections/look")
    assert 'formaction="/connections/draft"' in page


def test_a_table_that_is_not_there_is_told_in_words(browser, clinic):
    browser.fill("/connections", name="clinic", address=clinic)
    answer = browser.fill("/connections/look", name="clinic", table="nothing")

    assert answer.status_code == 422
    assert "hidden place" not in answer.text
    for name, table in (("other", "stays"), ("clinic", "a; drop"), ("clinic", "")):
        assert browser.fill("/connections/look", name=name, table=table).status_code == 422


# Opening data.


def test_a_plan_that_is_opened_as_data_is_opened_as_a_plan(browser, folder):
    assert browser.fill("/open/reading", path="plan.toml").headers["location"] == "/plans/plan.toml"
    (folder / "sub").mkdir()
    (folder / "sub" / "plan.toml").write_text(PLAN, encoding="utf-8")
    assert "another project" in browser.fill("/open/reading", path="sub/plan.toml").text


def test_a_plan_that_was_deleted_under_the_app_is_told_so(browser, folder):
    (folder / "plan.toml").unlink()

    assert "moved, renamed or deleted" in browser.text("/plans/plan.toml/columns", 404)
    assert "There is no such page" in browser.text("/nowhere", 404)


def test_a_table_that_vanished_is_told_on_every_page_of_its_plan(browser, folder):
    (folder / "people.csv").unlink()

    for page in ("/columns", "/columns/1", "/hierarchies", "/check"):
        assert "not where the plan says" in browser.text(f"/plans/plan.toml{page}")


def test_a_file_is_read_and_what_looks_like_a_secret_is_covered(browser):
    page = browser.fill("/open/reading", path="people.csv")

    assert page.status_code == 200
    assert "illness" in page.text
    assert "Marker1" not in page.text
    assert "Marker1" in browser.fill("/open/reading", path="people.csv", show="yes").text


def as_found(page):
    return [html.unescape(line) for line in re.findall(r"<li><bdi>(.*?)</bdi></li>", page.partition('class="raw"')[2])]


def test_first_lines_stand_as_found_beside_how_they_are_read(browser, folder):
    rows = "".join(f'"Marker; {n}";{20 + n},5;{1 + n % 28:02}.02.2024\r\n' for n in range(40))
    (folder / "german.csv").write_bytes(f"name;weight;day\r\n{rows}".encode("cp1252"))
    page = browser.fill("/open/reading", path="german.csv").text

    assert as_found(page)[:2] == ["name;weight;day", "•••;20,5;01.02.2024"]
    assert len(as_found(page)) == 21
    assert "<bdi>20.5</bdi>" in page
    assert "<bdi>2024-02-01</bdi>" in page
    assert "Marker" not in page
    shown = browser.fill("/open/reading", path="german.csv", show="yes").text
    assert as_found(shown)[1] == '"Marker; 0";20,5;01.02.2024'


def test_first_lines_of_a_file_that_cannot_be_read_are_covered_until_somebody_asks(browser, folder):
    (folder / "bare.csv").write_text(
        "".join(f"Ann{n},{20 + n % 40},2020-01-{10 + n % 9}\n" for n in range(40)), encoding="utf-8"
    )
    (folder / "odd.csv").write_bytes(b"name,b\nMarker,2,3\n4\n")
    for name, line in (("bare.csv", "Ann0,20,2020-01-10"), ("odd.csv", "name,b")):
        page = browser.fill("/open/reading", path=name)
        assert page.status_code == 422
        assert as_found(page.text) == []
        assert "Show them" in page.text
        assert not re.search("Ann0|Marker", page.text)
        assert as_found(browser.fill("/open/reading", path=name, show="yes").text)[0] == line


@pytest.mark.parametrize("path", ["../outside.csv", "/etc/passwd", "link.csv", "\x00", "no.csv", ""])
def test_nothing_outside_of_the_roots_is_opened(browser, folder, path):
    (folder.parent / "outside.csv").write_text("secret\ncell\n", encoding="utf-8")
    if os.name == "posix":
        (folder / "link.csv").symlink_to(folder.parent / "outside.csv")

    answer = browser.fill("/open/reading", path=path)

    assert "cell" not in answer.text
    assert "no file at this path" in answer.text
    assert browser.fill("/plans", path=path).status_code == 422


def test_a_file_that_cannot_be_read_is_told_in_words(browser, folder):
    (folder / "odd.csv").write_bytes(b"a,b\n1,2,3\n4\n")
    answer = browser.fill("/open/reading", path="odd.csv")

    assert answer.status_code == 422
    assert "Traceback" not in answer.text


def put(browser, body, name="Ärzte 2024.CSV", **headers):
    headers = {"origin": HOME, "x-form-token": browser.session.form_token, "x-name": name.encode().hex(), **headers}
    return browser.put("/uploads/abc", content=body, headers={**headers, "x-name": "%C3%84rzte%202024.CSV"})


def test_a_file_is_copied_in_under_a_name_of_ours(browser, folder):
    answer = put(browser, b"a,b\n1,2\n")

    (copied,) = (folder / ".sfumato" / "uploads").iterdir()
    assert folder / answer.json()["path"] == copied
    assert re.fullmatch(r"rzte-2024-[0-9a-f]{6}\.csv", copied.name)
    assert copied.read_bytes() == b"a,b\n1,2\n"
    assert os.name != "posix" or copied.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_too_large_is_refused_before_it_comes(browser, folder):
    assert put(browser, b"x", **{"content-length": str(10**15)}).status_code == 413
    assert list((folder / ".sfumato" / "uploads").iterdir()) == []


def test_a_file_that_turns_out_too_large_leaves_nothing(folder):
    with visited(folder, max_upload=1000) as browser:
        answer = browser.put(
            "/uploads/abc",
            content=iter([b"x" * 600] * 3),
            headers={"origin": HOME, "x-form-token": browser.session.form_token},
        )
        assert answer.status_code == 413
    assert list((folder / ".sfumato" / "uploads").iterdir()) == []


def test_an_upload_needs_the_token(browser):
    assert browser.put("/uploads/abc", content=b"x", headers={"origin": HOME}).status_code == 403


def test_a_form_copies_a_file_in_too(browser):
    answer = browser.post(
        "/uploads",
        data={"form_token": browser.session.form_token},
        files={"file": ("t.csv", b"a,b\n1,2\n3,4\n")},
        headers={"origin": HOME},
    )

    assert answer.status_code == 200
    assert "How" in answer.text


def test_a_header_that_looks_like_a_record_is_questioned(browser, folder):
    (folder / "bare.csv").write_text(
        "".join(f"Ann{n},{20 + n % 40},2020-01-{10 + n % 9},Bern\n" for n in range(40)), encoding="utf-8"
    )
    page = browser.fill("/open/reading", path="bare.csv")

    assert page.status_code == 422
    assert str(folder) not in page.text
    assert "The first line names the columns" in page.text
    assert "column_1" in browser.fill("/open/reading", path="bare.csv", header="no").text


def test_cells_that_do_not_fit_are_counted(browser, folder):
    rows = "".join(f"{20 + n},2020-01-{10 + n % 20}\n" for n in range(30))
    (folder / "odd.csv").write_text("age,day\n" + rows + "n.k.,then\nold,2020-01-01\n", encoding="utf-8")
    page = browser.fill("/open/reading", path="odd.csv").text

    assert "<bdi>age</bdi>: 2 cells are no number" in page
    assert "<bdi>day</bdi>: 1 cell is no date" in page


def test_the_example_is_made_from_nothing(tmp_path):
    with visited(tmp_path) as browser:
        assert browser.fill("/example").headers["location"] == "/plans/example.toml"
        assert browser.get("/plans/example.toml/columns").status_code == 200


# Runs.


def test_a_run_shows_who_is_still_exposed_beside_the_verdict(reader):
    page = reader.text("/runs/first")

    assert "hold" in page
    assert re.search(r"surer than \d+%", page)


def test_rows_before_and_after_are_shown_where_the_run_has_them(reader):
    assert "before" in reader.text("/runs/first")


def test_downloads_wait_until_a_person_has_looked(made, tmp_path):
    shutil.copytree(made / "runs", tmp_path / "runs")
    with visited(tmp_path) as browser:
        assert "release.zip" not in browser.get("/runs/first").text
        assert browser.fill("/runs/first/confirm", who="Ada", roles="yes").status_code == 422
        assert browser.fill("/runs/first/confirm", who="Ada", roles="yes", limits="yes").status_code == 303
        page = browser.get("/runs/first").text
        assert "release.zip" in page
        assert "Ada" in page


def test_what_is_handed_over_is_the_release_to_the_letter(reader, made):
    data = reader.get("/runs/first/files/data.csv")

    assert data.content == (made / "runs" / "first" / "release" / "data.csv").read_bytes()
    assert data.headers["content-disposition"].startswith("attachment")
    packed = zipfile.ZipFile(io.BytesIO(reader.get("/runs/first/files/release.zip").content))
    assert {"release/data.csv", "release/release.json", "certificate.html"} <= set(packed.namelist())
    assert not any("private" in name for name in packed.namelist())
    assert reader.get("/runs/first/files/plan.toml").text == PLAN


def test_the_certificate_holds_nothing_that_was_counted_in_the_original(reader, made):
    page = reader.get("/runs/first/certificate")
    facts = json.loads((made / "runs" / "first" / "private" / "run.json").read_text(encoding="utf-8"))

    assert "k-anonymity" in page.text
    assert facts["release"]["files"]["data.csv"] in page.text
    assert facts["source"]["sha256"] not in page.text
    assert not any(value in page.text for value in ("Marker", "asthma", "Bern", "flu"))
    assert "reached" not in page.text


def test_the_report_stands_in_a_frame_without_rights(reader):
    answer = reader.get("/runs/first/report")

    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "frame-ancestors 'self'" in policy
    assert "script-src" not in policy
    assert '<iframe class="report" src="/runs/first/report" sandbox=""' in reader.get("/runs/first").text


def test_runs_are_compared_with_their_plans_in_words(made, tmp_path):
    shutil.copytree(made / "runs" / "first", tmp_path / "runs" / "one")
    shutil.copytree(made / "runs" / "first", tmp_path / "runs" / "two")
    file = tmp_path / "runs" / "two" / "private" / "run.json"
    file.write_text(file.read_text(encoding="utf-8").replace("k = 5", "k = 10"), encoding="utf-8")
    with visited(tmp_path) as browser:
        assert "k-anonymity: k 5 → 10" in browser.text("/compare?r=one&r=two")
        assert browser.get("/compare?r=one").status_code == 422


def test_a_run_is_deleted_only_by_who_is_sure(made, tmp_path):
    shutil.copytree(made / "runs", tmp_path / "runs")
    with visited(tmp_path) as browser:
        assert browser.fill("/runs/first/delete").status_code == 200
        assert (tmp_path / "runs" / "first").exists()
        assert browser.fill("/runs/first/delete", sure="yes").status_code == 303
    assert not (tmp_path / "runs" / "first").exists()


def test_a_run_is_asked_for_as_a_command(folder):
    with visited(folder) as browser:
        jobs = browser.state.jobs
        jobs.command = ("python", "-c", "")
        answer = browser.fill("/plans/plan.toml/run", seed="7")
        (job,) = jobs.all()
        assert answer.headers["location"] == f"/jobs/{job.id}"
        assert job.command.startswith("sfumato anonymize plan.toml --out runs/")
        assert job.command in browser.get(f"/jobs/{job.id}").text.replace("&#39;", "'")
        browser.fill(f"/jobs/{job.id}/cancel")


@pytest.mark.slow
def test_the_engine_is_prepared_once_for_a_kind_of_plan_and_a_run_does_not_wait_for_it(folder):
    with visited(folder) as browser:
        jobs = browser.state.jobs
        jobs.command = (sys.executable, "-c", "import time; time.sleep(30)")
        jobs.prepares = True
        for k in ("6", "7"):
            filled_in(browser, "/plans/plan.toml/promises", lambda form: form.get("place") == "0", do="save", k=k)
        (job,) = jobs.all()
        assert job.command == "sfumato warm plan.toml"
        assert "Preparing the engine" in browser.text("/")
        browser.fill("/plans/plan.toml/run")
        assert jobs.get(job.id).state == "cancelled"
        assert [each.kind for each in jobs.running()] == ["run"]
        browser.fill(f"/jobs/{jobs.running()[0].id}/cancel")


def test_no_cell_of_a_secret_column_is_on_a_page_of_the_plan(browser):
    for page in ("", "/columns", "/columns/0", "/columns/3", "/promises", "/run", "/text", "/release"):
        text = browser.get(f"/plans/plan.toml{page}").text
        assert not any(cell in text for cell in ("Marker", "asthma", ">flu<")), page


# Public knowledge.

KNOWN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.signs]
role = "quasi-sensitive"
kind = "set"
[knowledge]
path = "knowledge/signs.csv"
label = "illness"
terms = "sign"
[[require]]
model = "qs-diversity"
column = "signs"
l = 2
c = 1
"""


@pytest.fixture
def knowing(tmp_path):
    """A project whose data spell a term otherwise than its knowledge table, with a run by it."""
    (tmp_path / "people.csv").write_text("age,signs\n" + "30,fever|cough\n31,feverr\n" * 12, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(KNOWN, encoding="utf-8")
    (tmp_path / "knowledge").mkdir()
    (tmp_path / "knowledge" / "signs.csv").write_text(
        "illness,sign\nflu,fever\nflu,cough\ncold,cough\ncold,fever\n", encoding="utf-8"
    )
    return tmp_path


def ended(browser, answer):
    """Return the page of a job once it has ended."""
    job = answer.headers["location"].rpartition("/")[2]
    until = time.monotonic() + 120
    while browser.state.jobs.get(job).under_way:
        assert time.monotonic() < until
        time.sleep(0.05)
    return browser.text(f"/jobs/{job}"), browser.state.jobs.get(job)


@pytest.mark.slow
def test_near_spellings_are_found_covered_kept_and_built_in(knowing):
    path = "/plans/plan.toml/knowledge"
    with visited(knowing) as browser:
        page, _ = ended(browser, browser.fill(f"{path}/check"))
        assert "2 of 3 terms in 'signs' are known to the table" in page.replace("&#39;", "'"), page
        assert "Looking terms up gives away, now:" in page
        assert "feverr" not in page
        assert "feverr" not in browser.get(path).text
        filled_in(browser, f"{path}?show=yes", lambda form: form[""].endswith("/merge"), spelling="feverr")
        assert (knowing / "knowledge" / "aliases.csv").read_text(encoding="utf-8") == "spelling,term\nfeverr,fever\n"
        page = filled_in(browser, path, lambda form: form[""].endswith("/columns"), source="knowledge/signs.csv").text
        form = next(form for form in Form(page).forms if form[""].endswith("/build"))
        assert form["source"] == "knowledge/signs.csv"
        _, job = ended(
            browser, browser.fill(form.pop(""), **{**form, "label": "illness", "terms": "sign", "name": "better"})
        )
        assert "--aliases knowledge/aliases.csv" in job.command
        assert browser.fill(f"{path}/merge").status_code == 422
    assert "feverr" in (knowing / "knowledge" / "better.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_whose_knowledge_has_changed_is_said_to_be_and_judged_again(knowing):
    (knowing / "people.csv").write_text("age,signs\n" + "30,fever|cough\n31,fever\n" * 12, encoding="utf-8")
    (knowing / "runs").mkdir()
    sf.run(sf.Plan.load(knowing / "plan.toml"), knowing / "runs" / "one", seed=1, measure=False, attack=False)
    with visited(knowing) as browser:
        assert "judge again" not in browser.text("/")
        (knowing / "knowledge" / "signs.csv").write_text(
            "illness,sign\nflu,fever\nflu,cough\ncold,cough\n", encoding="utf-8"
        )
        assert "judge again: knowledge.path changed since" in browser.text("/")
        answer = filled_in(browser, "/runs/one", lambda form: form[""] == "/judge", kind="audit")
        page, job = ended(browser, answer)

    assert job.command == "sfumato audit runs/one/release --plan plan.toml"
    assert "does not hold" in page  # by what everybody can look up now, a fever is the flu


# Our own files.


WEBAPP = ROOT / "src" / "sfumato" / "webapp"


def test_templates_hold_no_script_no_style_and_no_trust():
    templates = sorted((WEBAPP / "templates").glob("*.html"))
    assert templates
    for path in templates:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|\bon\w+=|javascript:|<script(?! type=\"module\" src=)", text), path.name
        assert "style=" not in text, path.name
        assert "<style" not in text or path.name == "certificate.html"
        assert not re.search(r"https?://", text), path.name


def test_the_app_stays_small():
    def lines(*patterns):
        return sum(
            len(path.read_text(encoding="utf-8").splitlines()) for each in patterns for path in WEBAPP.rglob(each)
        )

    assert lines("*.py") <= 3_500
    assert lines("*.js") <= 800
