"""People's ways through the web app, in a real browser: what they do, and that nothing is said or asked elsewhere."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import sfumato as sf
from house import ROOT
from visiting import LONG, MARKS, QUICK, Visit, chromium_started, counted, expect, pictured, ready, run_it
from websites import PEOPLE, served

pytestmark = MARKS


@pytest.fixture(scope="module")
def chromium():
    with chromium_started() as browser:
        yield browser


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(QUICK, encoding="utf-8")
    return tmp_path


@pytest.fixture
def visit(chromium, folder):
    with served(folder) as (address, session):
        made = Visit(chromium, address, session)
        yield made
        made.done()


NO_SCRIPTS = {"java_script_enabled": False}
SMALL_AND_DARK = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}


# J1: from nothing to a release.


def test_the_example_becomes_a_release_that_the_command_line_makes_too(chromium, tmp_path):
    folder = tmp_path / "clinic"  # the name on the pictures
    folder.mkdir()
    with served(folder) as (address, session):
        visit = Visit(chromium, address, session, viewport={"width": 1280, "height": 860})
        page = visit.page
        visit.press(re.compile("Look at an example"))
        page.wait_for_url("**/plans/example.toml")
        page.goto("/plans/example.toml/columns")
        pictured(page, "web-columns.png")
        page.goto("/plans/example.toml/promises")
        expect(page.locator("#reach-0")).to_contain_text("Can be kept", timeout=LONG)
        pictured(page, "web-promises.png")
        page.goto("/plans/example.toml/run")
        page.get_by_text("For tests", exact=True).click()
        page.get_by_label(re.compile("Seed")).fill("7")
        visit.press("Make the release")
        expect(page.locator("#job")).to_contain_text("sfumato anonymize example.toml")
        page.wait_for_url(re.compile("/runs/"), timeout=LONG)
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("I have looked").check()
        page.get_by_label("I have read").check()
        visit.press(re.compile("Confirm"))
        with page.expect_download() as saved:
            page.get_by_role("link", name="Release with certificate").click()
        packed = zipfile.ZipFile(io.BytesIO(Path(saved.value.path()).read_bytes()))
        visit.done()

    sf.run(sf.Plan.load(folder / "example.toml"), folder / "typed", seed=7, measure=False, attack=False)
    typed = (folder / "typed" / "release" / "data.csv").read_bytes()
    assert hashlib.sha256(packed.read("release/data.csv")).digest() == hashlib.sha256(typed).digest()


@pytest.mark.parametrize("how", [NO_SCRIPTS, SMALL_AND_DARK])
def test_a_release_is_made_without_scripts_and_on_a_small_dark_screen(chromium, folder, how):
    with served(folder) as (address, session):
        visit = Visit(chromium, address, session, **how)
        page = visit.page
        page.get_by_role("link", name="plan.toml").first.click()
        page.get_by_role("link", name=re.compile("On to the columns")).click()
        ready(page.get_by_label("Role of town")).select_option("other")
        if "java_script_enabled" in how:
            visit.press("Save the roles")
        expect(page.locator(".said")).to_be_visible()
        page.goto("/plans/plan.toml/run")
        visit.press("Make the release")
        link = page.get_by_role("link", name="Go on", exact=True)
        if "java_script_enabled" in how:
            expect(link).to_be_visible(timeout=LONG)
            link.click()
        page.wait_for_url(re.compile("/runs/"), timeout=LONG)
        expect(page.locator(".verdict")).to_contain_text("surer than")
        visit.done()
    assert 'role = "other"' in (folder / "plan.toml").read_text(encoding="utf-8")


def test_the_whole_way_goes_by_keyboard(visit, folder):
    page = visit.page

    def tab_to(name):
        for _ in range(150):
            page.keyboard.press("Tab")
            label = page.evaluate(
                "() => { const e = document.activeElement; return e.ariaLabel || e.innerText || e.id || '' }"
            )
            if name in (label or ""):
                return
        pytest.fail(f"{name} cannot be reached with the keyboard")

    tab_to("plan.toml")
    page.keyboard.press("Enter")
    page.wait_for_url("**/plans/plan.toml")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    tab_to("On to the columns")
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    tab_to("Role of town")
    page.keyboard.type("other")
    page.keyboard.press("Tab")
    expect(page.locator(".said")).to_be_visible()
    page.goto("/plans/plan.toml/run")
    tab_to("Make the release")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/(jobs|runs)/"))
    page.wait_for_url(re.compile("/runs/"), timeout=LONG)


class Hand:
    """Counts what somebody does: each click, each choice and each field filled in is one thing."""

    def __init__(self, page):
        self.page, self.count = page, 0

    def does(self, locator, act="click", *given):
        self.count += 1
        getattr(ready(locator), act)(*given)


def test_a_data_officer_needs_fifteen_steps_from_a_table_to_a_download(chromium, tmp_path):
    shutil.copyfile(ROOT / "examples" / "hospital" / "stays.csv", tmp_path / "stays.csv")
    with served(tmp_path) as (address, session):
        visit = Visit(chromium, address, session)
        page, hand = visit.page, Hand(visit.page)
        shown = []
        page.on("domcontentloaded", lambda page: shown.append(page.inner_text("main")))
        hand.does(page.get_by_role("link", name=re.compile("Open data")))
        hand.does(page.get_by_role("button", name="stays.csv"))
        hand.does(page.get_by_role("button", name="Draft a plan"))
        page.wait_for_url(re.compile(r"/plans/.*\.toml/columns"), timeout=LONG)
        counted(page.locator("#columns-table").get_by_text("its name says so"))
        hand.does(page.get_by_label("Role of payer"), "select_option", "sensitive")
        expect(page.locator(".said")).to_be_visible()
        hand.does(page.get_by_role("link", name="Promises"))
        card = page.locator("article", has=page.get_by_role("heading", name="k-anonymity"))
        hand.does(card.get_by_label(re.compile("^Smallest class")).last, "fill", "8")
        hand.does(page.get_by_role("link", name="On to the run"))
        hand.does(page.get_by_role("button", name="Make the release"))
        page.wait_for_url(re.compile("/runs/"), timeout=LONG)
        hand.does(page.get_by_label("Your name"), "fill", "Ada")
        hand.does(page.get_by_label("I have looked"), "check")
        hand.does(page.get_by_label("I have read"), "check")
        hand.does(page.get_by_role("button", name=re.compile("Confirm")))
        with page.expect_download():
            hand.does(page.get_by_role("link", name="Release with certificate"))
        visit.done()

    assert hand.count <= 15
    assert "k = 8" in (tmp_path / "stays.toml").read_text(encoding="utf-8")
    assert not re.search(r"Traceback|\bNone\b yet|KeyError|<class|python|" + re.escape(str(tmp_path)), "\n".join(shown))


# J2: one's own file.


def test_a_german_file_is_dropped_read_and_drafted(chromium, tmp_path):
    rows = "".join(f"Müller{n};{20 + n % 50};{n % 9},5;Zürich\n" for n in range(80))
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "Kundendaten.csv"
    file.write_bytes(("Name;Alter;Gewicht;Ort\n" + rows).encode("windows-1252"))
    (tmp_path / "project").mkdir()
    with served(tmp_path / "project") as (address, session):
        visit = Visit(chromium, address, session)
        page = visit.page
        page.get_by_role("link", name=re.compile("Open data")).click()
        page.get_by_label(re.compile("^A table")).set_input_files(file)
        visit.press("Copy it in")
        page.wait_for_url("**/open/reading")
        expect(page.locator("main")).to_contain_text("windows-1252")
        expect(page.locator("main")).to_contain_text("decimal")
        expect(page.locator("main")).not_to_contain_text("Müller1")
        visit.press("Draft a plan")
        page.wait_for_url(re.compile(r"/plans/.*\.toml/columns"), timeout=LONG)
        counted(page.locator("#columns-table").get_by_text("Alter"))
        visit.done()
    (plan,) = (tmp_path / "project").glob("*.toml")
    assert sf.Plan.load(plan).source.encoding == "windows-1252"


# J3: a wrong hierarchy.


def test_a_wrong_file_never_replaces_a_good_hierarchy(visit, folder):
    page = visit.page
    page.goto("/plans/plan.toml/columns/2/hierarchy")
    page.get_by_text("From a file").click()
    page.get_by_label(re.compile("Its lines")).fill("Bern;West;*\nChurr;East;*\n")
    page.locator("form", has=page.locator("#lines")).get_by_role("button", name="Check and use").click()
    expect(page.locator("main")).to_contain_text("Not saved yet")
    expect(page.locator("main")).to_contain_text("did you mean Churr?")
    assert (folder / "plan.toml").read_text(encoding="utf-8") == QUICK
    page.get_by_label(re.compile("Its lines")).fill("Bern;West;*\nChur;East;*\n")
    page.locator("form", has=page.locator("#lines")).get_by_role("button", name="Check and use").click()
    expect(page.locator(".coverage")).to_contain_text("covers 2 of 2 values")
    assert 'hierarchy = "hierarchies/town.csv"' in (folder / "plan.toml").read_text(encoding="utf-8")


# J4: what cannot be.


def test_an_impossible_promise_is_said_at_once_with_the_best_value(visit, folder):
    page = visit.page
    page.goto("/plans/plan.toml/promises")
    card = page.locator("article", has=page.get_by_role("heading", name="l-diversity"))
    card.get_by_label(re.compile("^Diversity")).fill("50")
    card.get_by_role("button", name="Save").click()
    expect(page.locator("#reach-1")).to_contain_text("Impossible", timeout=LONG)
    expect(page.locator("#reach-1")).to_contain_text("3")
    card.get_by_label(re.compile("^Diversity")).fill("2")
    card.get_by_role("button", name="Save").click()
    expect(page.locator("#reach-1")).to_contain_text("Can be kept", timeout=LONG)
    assert (folder / "plan.toml").read_text(encoding="utf-8") == QUICK


def test_an_impossible_promise_is_understood_and_mended_by_keyboard_on_a_small_dark_screen(chromium, folder):
    with served(folder) as (address, session):
        visit = Visit(chromium, address, session, **SMALL_AND_DARK)
        page = visit.page
        page.goto("/plans/plan.toml/promises")
        field = page.locator("#p1-l")
        for value, words in (("50", "Impossible"), ("2", "Can be kept")):
            field.focus()
            page.keyboard.press("Control+A")
            page.keyboard.type(value)
            page.keyboard.press("Enter")
            expect(page.locator("#reach-1")).to_contain_text(words, timeout=LONG)
            expect(page.locator("#live")).to_contain_text(words, timeout=LONG)  # and is told to who does not see it
            assert page.evaluate("document.activeElement.id") == "p1-l"
        visit.done()
    assert (folder / "plan.toml").read_text(encoding="utf-8") == QUICK


def test_a_slider_is_saved_where_it_is_let_go_and_a_trial_says_what_it_costs(visit, folder):
    page = visit.page
    page.goto("/plans/plan.toml/promises")
    slider = page.get_by_label("Smallest class, slider").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".said")).to_have_text("Saved.")
    assert "k = 6\n" in (folder / "plan.toml").read_text(encoding="utf-8")
    expect(page.locator("article").first).to_contain_text("at least 6 rows")
    expect(page.locator("#trial")).to_contain_text("Detail lost:", timeout=LONG)
    expect(page.locator("#trial")).to_contain_text("All 60 rows")


# J5: stopped, and run again.


def test_a_run_is_stopped_leaves_nothing_and_runs_again(visit, folder):
    (folder / "people.csv").write_text(
        PEOPLE.split("\n", 1)[0] + "\n" + PEOPLE.split("\n", 1)[1] * 4000, encoding="utf-8"
    )
    page = visit.page
    page.goto("/plans/plan.toml/run")
    visit.press("Make the release")
    page.wait_for_url(re.compile("/jobs/"))
    visit.press("Cancel")
    expect(page.locator("h1")).to_have_text("Stopped", timeout=15_000)
    assert list((folder / "runs").iterdir()) == []
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    visit.press("Start it again")
    page.wait_for_url(re.compile("/runs/"), timeout=LONG)


# J7: many columns.


def test_three_hundred_columns_get_their_roles_at_once(chromium, tmp_path):
    names = [f"lab{n}" for n in range(300)]
    lines = [",".join(["age", *names]), *(",".join(str((row * 7 + n) % 5) for n in range(301)) for row in range(40))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tables = "".join(f'[columns.{name}]\nrole = "other"\n' for name in names)
    (tmp_path / "plan.toml").write_text(
        f'[source]\npath = "wide.csv"\n[columns.age]\nrole = "quasi-identifier"\n{tables}'
        '[[require]]\nmodel = "k-anonymity"\nk = 2\n',
        encoding="utf-8",
    )
    with served(tmp_path) as (address, session):
        visit = Visit(chromium, address, session)
        page = visit.page
        page.goto("/plans/plan.toml/columns")
        counted(page.get_by_text("1 to 100 of 301"))
        page.get_by_label("Choose lab50", exact=True).focus()  # far down, with what can be set for it in sight
        expect(page.get_by_role("button", name="Set for all ticked")).to_be_in_viewport(ratio=1)
        page.get_by_label("Filter by name").fill("lab1")
        page.get_by_label("Filter by name").press("Enter")  # which sends nothing
        visit.press("Tick all shown")
        page.get_by_label("Role", exact=True).select_option("identifier")
        visit.press("Set for all ticked")
        expect(page.locator(".said")).to_have_text("Saved.")
        visit.done()
    written = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert written.count("identifier") == 12  # age, lab1 and lab10 to lab19


# J8: how strict?


def test_a_combination_is_tried_used_run_and_compared(visit, folder):
    page = visit.page
    run_it(page)
    page.goto("/plans/plan.toml/run")
    page.get_by_label(re.compile("Smallest class")).fill("2,10")
    visit.press("Try the combinations")
    page.wait_for_url(re.compile("/sweeps/"), timeout=LONG)
    row = page.get_by_role("row", name=re.compile("^10 "))
    row.get_by_role("button", name="Use these values").click()
    page.wait_for_url("**/promises?said=saved")
    assert "k = 10" in (folder / "plan.toml").read_text(encoding="utf-8")
    run_it(page)
    visit.press("Compare", exact=True)
    page.wait_for_url("**/compare?*")
    expect(page.locator("main")).to_contain_text("k-anonymity: k 5 → 10")


# J9: a table of another tool.


def test_a_table_of_another_tool_gets_a_second_opinion(visit, folder):
    (folder / "theirs.csv").write_text(
        "age,town,illness\n" + "20-29,Bern,flu\n" * 6 + "30-39,Chur,cough\n", encoding="utf-8"
    )
    page = visit.page
    page.get_by_role("link", name=re.compile("second opinion")).click()
    page.get_by_label(re.compile("The table")).fill("theirs.csv")
    visit.press("Judge it")
    expect(page.locator("main")).to_contain_text("does not hold", timeout=LONG)
    expect(page.locator("h1")).to_have_text("Judged")
    assert page.get_by_role("row", name=re.compile("k-anonymity")).get_by_text("does not hold").count() == 1


# Two windows, an editor.


def test_two_windows_on_one_plan_never_overwrite_each_other(visit, folder):
    first, second = visit.page, visit.context.new_page()
    for page in (first, second):
        page.goto("/plans/plan.toml/text")
    first.get_by_label("plan (TOML)").fill(QUICK.replace("k = 5", "k = 6"))
    first.get_by_role("button", name="Save the text").click()
    first.wait_for_url("**/plans/plan.toml?said=saved")
    second.get_by_label("plan (TOML)").fill(QUICK.replace("l = 2", "l = 3"))
    second.get_by_role("button", name="Save the text").click()

    expect(second.locator("h1")).to_have_text("The plan was changed elsewhere")
    assert (folder / "plan.toml").read_text(encoding="utf-8") == QUICK.replace("k = 5", "k = 6")


def test_a_problem_leads_to_its_line_of_the_text(visit, folder):
    page = visit.page
    page.goto("/plans/plan.toml/text")
    page.get_by_label("plan (TOML)").fill(QUICK.replace("k = 5", "k = = 5"))
    visit.press("Save the text")
    line = QUICK.split("\n").index("k = 5") + 1
    expect(page.locator(".problem")).to_contain_text(f"Line {line}")
    page.wait_for_load_state()  # scripts included
    visit.press(f"Line {line}", role="link")

    chosen = "each => each.value.slice(each.selectionStart, each.selectionEnd)"
    assert page.locator("#text:focus").evaluate(chosen) == "k = = 5"
    above = "each => (each.offsetTop - document.getElementById('text').offsetTop) / each.offsetHeight"
    assert page.locator("mark").evaluate(above) == pytest.approx(line - 1, abs=0.6)  # beside it, at its height
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("#numbers")).to_contain_text(f"{len(QUICK.split(chr(10))) + 1}")
    expect(page.locator("mark")).to_have_count(0)
    assert (folder / "plan.toml").read_text(encoding="utf-8") == QUICK
