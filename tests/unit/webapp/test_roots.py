"""Plans name files; the web app opens those in the project and its roots alone, whatever key names them."""

from __future__ import annotations

import html
import os
import re
import sqlite3
import time
from contextlib import nullcontext

import pytest

import sfumato as sf
from house import ROOT
from sfumato import disk
from sfumato.data.files.databases.connections import apart
from sfumato.errors import InputError, PlanError
from sfumato.webapp.pages import ROUTES
from websites import PEOPLE, PLAN, visited

SECRET = "TOPSECRET"
NAMED = "[knowledge]\nlabel = 'lab'\nterms = 'ts'\n"
KEYS = {  # key that names a file: what a plan has in addition to PLAN, where {file} is the file
    "source.path": "[source]\npath = '{file}'\n",
    "source.catalog": "[source]\npath = 'x.sas7bdat'\ncatalog = '{file}'\n",
    "source.database": "[source]\ndatabase = '{file}.sqlite'\ntable = 'people'\n",
    "source.query": "[source]\ndatabase = 'x.sqlite'\nquery = '{file}.sql'\n",
    "columns.town.hierarchy": "hierarchy = '{file}'\n",
    "columns.town.domain": "domain = '{file}'\n",
    "columns.town.base_rates": "base_rates = '{file}'\n",
    "columns.town.worth": "role = 'quasi-sensitive'\nworth = '{file}'\n",
    "columns.town.sensitive_items": "role = 'items'\nkind = 'set'\nsensitive_items = '{file}'\n",
    "population.path": "[population]\npath = '{file}'\n",
    "require[1].population": "[[require]]\nmodel = 'k-map'\nk = 2\npopulation = '{file}'\n",
    "knowledge.path": NAMED + "path = '{file}'\n",
    "knowledge.hierarchy": NAMED + "path = 'x.csv'\nhierarchy = '{file}'\n",
    "gather.events[1].path": "[gather]\n[[gather.events]]\npath = '{file}'\ncolumns = {{ codes = 'set' }}\n",
    "gather.events[1].database": (
        "[gather]\n[[gather.events]]\ndatabase = '{file}.db'\ntable = 'a'\ncolumns = {{ codes = 'set' }}\n"
    ),
    "release.database": "[release]\ndatabase = '{file}.sqlite'\ntable = 'out'\n",
}


def text_of(key, file):
    """Return a plan in which one key names a file."""
    table, given = key.partition(".")[0], KEYS[key].format(file=file)
    source = "" if table == "source" else "[source]\npath = 'people.csv'\nperson = 'name'\n"
    town = given if table == "columns" else ""
    role = "" if "role =" in town else "role = 'quasi-identifier'\n"
    columns = f"[columns.name]\nrole = 'identifier'\n[columns.town]\n{role}{town}"
    required = "" if table == "require[1]" else "[[require]]\nmodel = 'k-anonymity'\nk = 2\n"
    return f"{'' if table == 'columns' else given}{source}{columns}{required}"


@pytest.fixture
def folder(tmp_path):
    """A project beside a folder with a secret in every file that a plan could name."""
    outside, inside = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    inside.mkdir()
    for name in ("f.csv", "f.csv.sql", "f.csv.db"):
        (outside / name).write_text(f"Bern;{SECRET}-one;*\nChur;{SECRET}-two;*\n", encoding="utf-8")
    with sqlite3.connect(outside / "f.csv.sqlite") as database:
        database.execute(f"create table people as select '{SECRET}' as town")
    database.close()
    (inside / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return inside


WAYS = ["../outside/f.csv", "{outside}/f.csv", "x/../../outside/f.csv"]
if os.name == "posix":
    WAYS += ["linked/f.csv", "link.csv"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", KEYS)
def test_a_file_outside_is_refused_by_the_key_that_names_it(folder, key, way):
    outside = folder.parent / "outside"
    if "link" in way:
        (folder / "linked").symlink_to(outside)
        for name in outside.iterdir():
            (folder / name.name.replace("f.csv", "link.csv")).symlink_to(name)
    text = text_of(key, way.format(outside=outside))
    with disk.confined([folder]), pytest.raises(PlanError) as refused:
        sf.Plan.from_text(text, folder / "plan.toml")

    said = [problem.text for problem in refused.value.problems if problem.place == key]
    assert len(said) == 1
    assert "outside of the folders" in said[0]
    assert "--roots" in said[0]
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("key", KEYS)
def test_a_file_in_a_root_or_without_roots_is_not_refused_for_its_place(folder, key):
    text = text_of(key, "../outside/f.csv")
    said = []
    for around in (disk.confined([folder, folder.parent / "outside"]), nullcontext()):
        try:
            with around:
                sf.Plan.from_text(text, folder / "plan.toml")
        except InputError as error:  # none of these files holds what its key needs
            said.append(str(error))

    assert "outside of the folders" not in " ".join(said)


def test_every_path_of_a_plan_is_made_in_one_place():
    """A key that is added later cannot forget to ask."""
    made = [
        path.name
        for path in (ROOT / "src/sfumato/plan").glob("*.py")
        if re.search(r"\bbase /", path.read_text(encoding="utf-8"))
    ]

    assert made == ["notes.py"]


@pytest.mark.posix
def test_a_part_of_a_table_that_leads_outside_is_refused(folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "one.parquet").symlink_to(folder.parent / "outside" / "f.csv")
    with disk.confined([folder]), pytest.raises(PlanError, match="outside of the folders"):
        sf.Plan.from_text(text_of("source.path", "parts"), folder / "plan.toml")


def test_a_file_that_is_not_there_is_refused_like_one_that_is(folder):
    """A refusal does not tell whether there is such a file."""
    said = set()
    for name in ("f.csv", "none.csv"):
        with disk.confined([folder]), pytest.raises(PlanError) as refused:
            sf.Plan.from_text(text_of("source.path", f"../outside/{name}"), folder / "plan.toml")
        said.add(str(refused.value))

    assert len(said) == 1


def test_processes_that_are_started_are_confined_as_well(folder, monkeypatch):
    with disk.confined([folder]):
        handed = apart()[0][disk.ROOTS]
    assert disk.ROOTS not in apart()[0]

    monkeypatch.setenv(disk.ROOTS, handed)
    with pytest.raises(PlanError, match="outside of the folders"):
        sf.Plan.from_text(text_of("source.path", "../outside/f.csv"), folder / "plan.toml")


@pytest.mark.parametrize("key", ["columns.town.hierarchy", "knowledge.path", "source.path"])
def test_no_page_of_a_plan_shows_anything_of_a_file_outside(folder, key):
    """Neither pages nor what they ask of the data: `visited` answers questions in this process."""
    (folder / "sent.toml").write_text(text_of(key, "../outside/f.csv"), encoding="utf-8")
    plans = [route.path for route in ROUTES if "{plan}" in route.path and "GET" in (route.methods or ())]
    with visited(folder) as browser:
        shown = {
            path: browser.get(path.replace("{plan}", "sent.toml").replace("{column}", "1") + "?show=yes").text
            for path in plans
        }
        browser.fill("/plans/sent.toml/columns/1/hierarchy", way="like", other="town", do="look")

    assert len(shown) > 5
    assert [path for path, page in shown.items() if SECRET in page] == []
    front = html.unescape(re.sub(r"<[^>]+>", " ", shown["/plans/{plan}/text"]))
    assert "--roots" in front


def test_a_hierarchy_that_a_form_names_is_refused_as_well(folder):
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    with visited(folder) as browser:
        ask = browser.state.bench(folder / "plan.toml").ask
        with disk.confined([folder]), pytest.raises(InputError, match="--roots"):
            ask("groups", name="town", hierarchy="../outside/f.csv")


@pytest.mark.posix
def test_plans_and_runs_that_are_links_to_the_outside_are_not_there(folder):
    (folder.parent / "outside" / "plan.toml").write_text(PLAN, encoding="utf-8")
    (folder / "plan.toml").symlink_to(folder.parent / "outside" / "plan.toml")
    (folder / "one" / "private").mkdir(parents=True)
    (folder / "one" / "private" / "run.json").write_text('{"release": {"files": {"a": ""}}}', encoding="utf-8")
    (folder / "one" / "private" / "report.html").symlink_to(folder.parent / "outside" / "f.csv")
    (folder / "one" / "release").symlink_to(folder.parent / "outside")
    (folder.parent / "outside" / "a").write_text(SECRET, encoding="utf-8")
    (folder / "two" / "private").mkdir(parents=True)
    (folder / "two" / "private" / "run.json").symlink_to(folder.parent / "outside" / "plan.toml")
    with visited(folder) as browser:
        for page in ("plans/plan.toml", "runs/two"):
            assert browser.get(f"/{page}").status_code == 404
        for page in ("report", "files/report.html", "files/a", "files/release.zip"):
            answer = browser.get(f"/runs/one/{page}")
            assert answer.status_code == 422
            assert SECRET not in answer.text


@pytest.mark.slow
def test_a_job_of_the_app_opens_nothing_outside(folder):
    """The command in its own process reads the plan as it is then, not as a page has checked it."""
    (folder / "sent.toml").write_text(text_of("columns.town.hierarchy", "../outside/f.csv"), encoding="utf-8")
    with visited(folder) as browser:
        jobs = browser.state.jobs
        job = browser.portal.call(lambda: jobs.ask("run", ["anonymize", "sent.toml", "--out", "out"], watched=False))
        until = time.monotonic() + 60
        while jobs.get(job.id).under_way:
            assert time.monotonic() < until
            time.sleep(0.05)
        said = jobs.result(job)

    assert said["exit_code"] == 2
    assert "--roots" in said["error"]
    assert "columns.town" in said["error"]
    assert not (folder / "out").exists()
