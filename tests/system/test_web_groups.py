"""Groups made by hand in a real browser: dragged, by keyboard alone, by buttons without scripts; and the tree."""

from __future__ import annotations

import re

import pytest

from visiting import LONG, MARKS, QUICK, Visit, chromium_started, counted, expect, pictured
from websites import served

pytestmark = MARKS
TOWNS = ("Bern", "Genf", "Chur", "Basel", "Lugano", "Sion")
PEOPLE = "name,age,town,illness\n" + "".join(
    f"Marker{n},{20 + n % 40},{TOWNS[n % 6]},{('flu', 'asthma', 'cough')[n % 3]}\n" for n in range(60)
)
TOWN = "/plans/plan.toml/columns/2/hierarchy"
GROUPS = "#groups"


@pytest.fixture(scope="module")
def chromium():
    with chromium_started() as browser:
        yield browser


@pytest.fixture
def folder(tmp_path):
    project = tmp_path / "clinic"  # the name on the picture
    project.mkdir()
    (project / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (project / "plan.toml").write_text(QUICK, encoding="utf-8")
    return project


@pytest.fixture
def visit(chromium, folder):
    with served(folder) as (address, session):
        made = Visit(chromium, address, session, viewport={"width": 1280, "height": 1100})
        yield made
        made.done()


def opened(page):
    page.goto(TOWN)
    while page.get_by_text("Look again").count():  # who has no scripts looks again by hand
        page.get_by_text("Look again").first.click()
    counted(page.get_by_text("Groups by hand")).click()
    expect(page.locator("#alone-title")).to_have_text("Not yet grouped: 6 values")


def box(page, name):
    return page.locator(f"{GROUPS} [data-name='{name}']").first


def into_group(page, name, *values):
    for value in values:
        page.get_by_label(value, exact=True).check()
    page.get_by_label("Group", exact=True).fill(name)
    page.get_by_role("button", name="Put the ticked ones into it").click()
    expect(page.locator(f"{GROUPS} .said")).to_contain_text(f"put into {name}")


def kept(folder):
    return dict(
        line.split(";", 1) for line in (folder / "hierarchies" / "town.csv").read_text(encoding="utf-8").splitlines()
    )


def use(page):
    page.get_by_role("button", name="Use these groups").click()
    page.wait_for_url("**/hierarchy?said=saved")
    expect(page.locator(".coverage")).to_contain_text("covers 6 of 6 values, 60 of 60 rows")


def test_values_and_groups_are_dragged_into_groups_and_out(visit, folder):
    page = visit.page
    opened(page)
    into_group(page, "West", "Genf", "Sion")
    box(page, "Bern").drag_to(box(page, "West"), target_position={"x": 20, "y": 8})
    expect(box(page, "West")).to_contain_text("3 values, 30 rows")
    page.get_by_label("Chur", exact=True).check()
    box(page, "Basel").drag_to(box(page, "West"), target_position={"x": 20, "y": 8})  # not ticked: goes alone
    expect(box(page, "West")).to_contain_text("4 values, 40 rows")
    into_group(page, "East", "Chur")
    page.get_by_label("Genf", exact=True).check()
    page.get_by_label("Sion", exact=True).check()
    box(page, "Sion").drag_to(page.locator("[data-drop=out]"))  # ticked: the ticked go along
    expect(page.locator("#alone-title")).to_have_text("Not yet grouped: 3 values")
    box(page, "East").drag_to(
        box(page, "West"), source_position={"x": 160, "y": 8}, target_position={"x": 20, "y": 8}
    )  # a group into a group: another level
    expect(box(page, "West").locator("[data-name=East]")).to_be_visible()
    use(page)

    assert kept(folder) == {
        "Bern": "West;*", "Basel": "West;*", "Chur": "East;West;*", "Genf": "*", "Sion": "*", "Lugano": "*"
    }  # fmt: skip


def test_everything_goes_by_keyboard_alone(visit, folder):
    page = visit.page
    opened(page)

    def focused():
        return page.evaluate("document.activeElement.value || document.activeElement.id")

    page.get_by_label("Bern", exact=True).focus()
    for key, at in (("End", "Sion"), ("Home", "Bern"), ("ArrowDown", "Genf"), ("c", "Chur"), ("b", "Basel")):
        page.keyboard.press(key)
        assert focused() == at
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowDown")  # Bern and Genf are ticked
    page.keyboard.press("m")
    assert focused() == "group-name"
    page.keyboard.type("West")
    page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("2 put into West")
    expect(page.locator("#alone-title")).to_have_text("Not yet grouped: 4 values")
    assert focused() == "Basel"  # where Genf was: one goes on from there
    page.keyboard.press("m")
    assert page.evaluate("getSelection().toString()") == "West"  # Enter would put it there, too
    page.keyboard.type("Rhine > North")
    page.keyboard.press("Enter")
    expect(box(page, "North").locator("[data-name=Rhine]")).to_be_visible()

    page.locator("summary", has_text="Rename, split, add a level: West").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Low")
    page.keyboard.press("Enter")
    expect(box(page, "Low")).to_contain_text("2 values, 20 rows")
    page.locator("#group-undo").focus()
    page.keyboard.press("Enter")
    expect(box(page, "West")).to_be_visible()
    page.get_by_role("button", name="Use these groups").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/hierarchy?said=saved")

    assert kept(folder) == {
        "Bern": "West;*", "Genf": "West;*", "Chur": "*", "Basel": "Rhine;North;*", "Lugano": "*", "Sion": "*"
    }  # fmt: skip


SCREENS = [
    {"java_script_enabled": False},
    {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}},
]


@pytest.mark.parametrize("how", SCREENS, ids=["without scripts", "small and dark"])
def test_buttons_do_all_that_a_drag_does(chromium, folder, how):
    with served(folder) as (address, session):
        visit = Visit(chromium, address, session, **how)
        page = visit.page
        opened(page)
        into_group(page, "West", "Bern", "Genf", "Sion")
        into_group(page, "South", "Lugano")

        def changed(group, button, name=""):
            details = box(page, group).locator("details").first
            if details.get_attribute("open") is None:
                details.locator("summary").click()
            if name:
                details.get_by_label("New name").fill(name)
            details.get_by_role("button", name=button).click()

        changed("South", "Rename it", "Ticino")
        expect(box(page, "Ticino")).to_be_visible()
        page.get_by_label("Sion", exact=True).check()
        changed("West", "Split the ticked ones off", "Wallis")
        expect(box(page, "Wallis")).to_contain_text("1 value, 10 rows")
        changed("Wallis", "Put it into a larger group", "Alps")
        expect(box(page, "Alps")).to_contain_text("Wallis")
        page.get_by_label("Ticino", exact=True).check()
        page.get_by_role("button", name=re.compile("here.*into Alps")).click()
        expect(box(page, "Alps")).to_contain_text("2 values, 20 rows")
        changed("Alps", "Rename it")  # without a name: says what is missing
        expect(page.locator(f"{GROUPS} [role=alert]")).to_contain_text("needs a name")
        page.get_by_label("Genf", exact=True).check()
        page.get_by_role("button", name="Take the ticked ones out").click()
        expect(page.locator("#alone-title")).to_have_text("Not yet grouped: 3 values")
        page.get_by_role("button", name=re.compile("Undo this step: 'Genf' taken out")).click()
        expect(page.locator("#alone-title")).to_have_text("Not yet grouped: 2 values")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        use(page)
        visit.done()

    assert kept(folder) == {
        "Bern": "West;*", "Genf": "West;*", "Sion": "Wallis;Alps;*", "Lugano": "Ticino;Alps;*",
        "Chur": "*", "Basel": "*",
    }  # fmt: skip


def test_a_plan_that_is_undone_gets_its_groups_back(visit, folder):
    page = visit.page
    opened(page)
    into_group(page, "West", "Genf", "Sion")
    use(page)
    first = kept(folder)
    counted(page.get_by_text("Groups by hand")).click()
    into_group(page, "North", "Basel")
    pictured(page, "web-groups.png")
    use(page)
    assert kept(folder) != first
    page.get_by_role("button", name="Undo", exact=True).click()
    page.wait_for_url("**/plan.toml?said=undone")

    assert kept(folder) == first


def test_the_tree_is_walked_by_keys(visit, folder):
    (folder / "towns.csv").write_text("".join(f"{name};{name[0]} towns;Swiss;*\n" for name in TOWNS), encoding="utf-8")
    (folder / "plan.toml").write_text(
        QUICK.replace(
            '[columns.town]\nrole = "quasi-identifier"',
            '[columns.town]\nrole = "quasi-identifier"\nhierarchy = "towns.csv"',
        ),
        encoding="utf-8",
    )
    page = visit.page
    page.goto(TOWN)
    counted(page.get_by_text("As a tree")).click()
    tree = page.get_by_role("tree")
    tree.get_by_role("treeitem").first.focus()

    def at():
        return page.evaluate("document.activeElement.querySelector('bdi').textContent")

    for key, where in (
        ("ArrowDown", "B towns"), ("ArrowRight", "Bern"), ("ArrowLeft", "B towns"), ("End", "Sion"), ("Home", "*"),
        ("l", "Lugano"), ("c", "Chur"), ("ArrowUp", "Genf"), ("ArrowUp", "Basel"),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert at() == where, key
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # closes
    assert at() == "B towns"
    expect(tree.get_by_role("treeitem", name="Bern", exact=True)).to_be_hidden()
    page.keyboard.press("ArrowDown")
    assert at() == "Genf"
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1


def test_groups_that_are_not_saved_are_asked_about_before_somebody_leaves(visit):
    page, asked = visit.page, []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    opened(page)
    into_group(page, "West", "Genf")
    page.get_by_role("link", name="All hierarchies").click()
    page.wait_for_url("**/hierarchies")

    assert asked == ["beforeunload"]
    expect(page.locator("main")).to_contain_text("none", timeout=LONG)
