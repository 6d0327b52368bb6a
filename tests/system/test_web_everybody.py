"""Every page of the web app for everybody: what axe finds, what sticks out, and what is said where others look."""

from __future__ import annotations

import json
import re
import shutil

import pytest

import sfumato as sf
from visiting import LONG, MARKS, QUICK, Visit, chromium_started, expect
from websites import PEOPLE, served

pytestmark = MARKS
PAGES = [
    "/", "/help", "/help/k-anonymity", "/open", "/judge", "/connections", "/plans/plan.toml",
    "/plans/plan.toml/columns", "/plans/plan.toml/columns/1", "/plans/plan.toml/columns/3",
    "/plans/plan.toml/hierarchies",
    "/plans/plan.toml/columns/1/hierarchy", "/plans/plan.toml/promises", "/plans/plan.toml/trial",
    "/plans/plan.toml/knowledge", "/plans/plan.toml/run", "/plans/plan.toml/release", "/plans/plan.toml/text",
    "/plans/plan.toml/check", "/runs/one", "/compare?r=one&r=two", "/runs/one/certificate", "/sweeps/strict",
    "/jobs/run-0", "/jobs/audit-0", "/nowhere",
]  # fmt: skip
JOB = {"plan": "plan.toml", "digest": "", "target": "", "then": "/runs/one", "watched": True, "pid": 1, "since": "0"}


@pytest.fixture(scope="module")
def chromium():
    with chromium_started() as browser:
        yield browser


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A project with everything in it."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "plan.toml").write_text(QUICK, encoding="utf-8")
    (folder / "runs").mkdir()
    plan = sf.Plan.load(folder / "plan.toml")
    sf.run(plan, folder / "runs" / "one", seed=1)
    shutil.copytree(folder / "runs" / "one", folder / "runs" / "two")
    (folder / "sweeps").mkdir()
    sf.sweep(plan, {"k": [2, 5], "l": [2, 9]}, out=folder / "sweeps" / "strict", seed=1)
    for name, state in (("run-0", "wrong"), ("audit-0", "refused")):
        job = folder / ".sfumato" / "jobs" / name
        job.mkdir(parents=True)
        about = {"id": name, "kind": name[:-2], "words": ["anonymize"], "made": "2026-01-01T00:00:00+00:00", **JOB}
        (job / "job.json").write_text(
            json.dumps({**about, "state": state, "exit": 1, "seconds": 1.0}), encoding="utf-8"
        )
    verdict = {"model": "k-anonymity", "columns": [], "satisfied": False, "measure": "size", "reached": 1}
    found = {"verdicts": [{**verdict, "bound": "at least", "required": 5, "failing": 1, "groups": 2}]}
    (folder / ".sfumato" / "jobs" / "audit-0" / "result.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / ".sfumato" / "jobs" / "run-0" / "result.json").write_text(
        '{"error": "k is too large.\\nAsk for less."}', encoding="utf-8"
    )
    return folder


# Pages that only a form leads to.


def reading(page):
    page.goto("/open")
    page.get_by_role("button", name="people.csv").click()
    page.wait_for_url("**/open/reading")


def deleting(page):
    page.goto("/runs/two")
    page.get_by_role("button", name="Delete this run").click()


def a_hierarchy_that_misses_values(page):
    page.goto("/plans/plan.toml/columns/2/hierarchy")
    page.locator("#lines").evaluate("each => { each.closest('details').open = true }")
    page.locator("#lines").fill("Bern;West;*")
    page.locator("form", has=page.locator("#lines")).get_by_role("button", name="Check and use").click()
    expect(page.locator("main")).to_contain_text("Not saved yet", timeout=LONG)


def groups_under_way(page):
    page.goto("/plans/plan.toml/columns/2/hierarchy")
    page.locator("#groups").evaluate("each => { each.closest('details').open = true }")
    page.get_by_label("Bern", exact=True).check()
    page.get_by_label("Group", exact=True).fill("West > Swiss")
    page.get_by_role("button", name="Put the ticked ones into it").click()
    expect(page.locator("#groups .said")).to_contain_text("put into West")
    page.get_by_role("button", name="Take the ticked ones out").click()
    expect(page.locator("#groups [role=alert]")).to_contain_text("Nothing is ticked")
    page.on("dialog", lambda dialog: dialog.accept())  # leaving it is asked about


def both_versions(page):
    page.goto("/plans/plan.toml/text")
    page.locator("form[action$=text] [name=digest]").evaluate("each => { each.value = 'another' }")
    page.locator("#text").fill(QUICK + "# more")
    page.get_by_role("button", name="Save the text").click()
    expect(page.locator("h1")).to_have_text("The plan was changed elsewhere")


def text_with_a_problem(page):
    page.goto("/plans/plan.toml/text")
    page.locator("#text").fill(QUICK.replace("k = 5", "k = = 5"))
    page.get_by_role("button", name="Save the text").click()
    expect(page.locator(".problem")).to_contain_text("not valid TOML")


def columns_of_knowledge(page):
    page.goto("/plans/plan.toml/knowledge")
    page.get_by_label("From the file").fill("people.csv")
    page.get_by_role("button", name="Choose its columns").click()
    expect(page.get_by_label("Its column of terms")).to_be_visible()


WAYS = [
    reading,
    columns_of_knowledge,
    text_with_a_problem,
    deleting,
    a_hierarchy_that_misses_values,
    both_versions,
    groups_under_way,
]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_on_any_page_and_nothing_sticks_out(chromium, filled, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = []
    with served(filled) as (address, session):
        view = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "bypass_csp": True}
        visit = Visit(chromium, address, session, **view)
        for path in [*PAGES, *WAYS]:
            visit.page.goto(path) if isinstance(path, str) else path(visit.page)
            for details in visit.page.locator("details").all():
                details.evaluate("each => { each.open = true }")
            violations = axe.run(visit.page).response["violations"]
            found += [(path, each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in violations]
            if visit.page.evaluate("document.documentElement.scrollWidth") > width:
                found.append((path, "sticks out", width))
        visit.context.close()
    assert found == []


def test_at_four_times_the_size_nothing_sticks_out(chromium, filled):
    found = []
    with served(filled) as (address, session):
        visit = Visit(chromium, address, session, viewport={"width": 320, "height": 256})
        for path in PAGES:
            visit.page.goto(path)
            if visit.page.evaluate("document.documentElement.scrollWidth") > 320:
                found.append(path)
        visit.context.close()
    assert found == []


def test_no_cell_of_a_secret_column_is_in_a_title_an_address_the_log_or_a_job(chromium, filled, caplog):
    """Names and illnesses are planted markers; what is shown to who asks for it is on no page that is only visited."""
    with caplog.at_level("INFO", logger="sfumato.web"), served(filled) as (address, session):
        visit = Visit(chromium, address, session)
        titles, pages = [], []
        for path in [*PAGES, *WAYS]:
            visit.page.goto(path) if isinstance(path, str) else path(visit.page)
            titles.append(visit.page.title())
            if path not in ("/runs/one", "/help/k-anonymity"):  # a result shows rows, to the holder; help made-up ones
                pages.append((path, visit.page.content()))
        visit.context.close()
    said = "\n".join([*visit.addresses, *titles, *(record.getMessage() for record in caplog.records)])
    jobs = (filled / ".sfumato" / "jobs").rglob("*")
    kept = "\n".join(path.read_text(errors="replace", encoding="utf-8") for path in jobs if path.is_file())
    assert not re.search("Marker|asthma|cough|people.csv", said + kept)
    assert [path for path, text in pages if re.search("Marker|asthma|cough", text)] == []
