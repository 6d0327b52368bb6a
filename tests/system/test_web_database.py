"""A table of PostgreSQL to a table of PostgreSQL, in a real browser: nobody ever sees the password again."""

from __future__ import annotations

import re

import pytest

from servers import PASSWORD, postgresql
from visiting import LONG, MARKS, Visit, chromium_started, counted, expect
from websites import served

pytestmark = [*MARKS, pytest.mark.posix]


@pytest.fixture(scope="module")
def server():
    with postgresql() as found:
        rows = ", ".join(f"('Marker {n}', {20 + n % 40}, '{('Bern', 'Chur')[n % 2]}', {n % 3})" for n in range(120))
        found.does(
            "create schema clinic",
            "create table clinic.stays (name text, age int, town text, illness int)",
            f"insert into clinic.stays values {rows}",
        )
        yield found


def test_a_table_of_a_database_becomes_another_one_there(server, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    folder = tmp_path / "project"
    folder.mkdir()
    with chromium_started() as chromium, served(folder) as (address, session), caplog.at_level("INFO"):
        visit = Visit(chromium, address, session)
        page = visit.page
        page.get_by_role("link", name=re.compile("Open data")).click()
        page.get_by_role("link", name="A table of a database").click()
        page.get_by_label(re.compile("^Name")).fill("clinic")
        page.get_by_label(re.compile("^Address")).fill(server.address())
        visit.press("Keep it")
        visit.press("Try the connection")
        expect(page.locator(".said")).to_contain_text("clinic answers: PostgreSQL", ignore_case=True)
        page.get_by_label(re.compile("^Table")).fill("clinic.stays")
        visit.press("Draft a plan")
        page.wait_for_url(re.compile(r"/plans/.*\.toml/columns"), timeout=LONG)
        plan = next(folder.glob("*.toml"))
        counted(page.locator("#columns-table").get_by_text("its name says so"))
        page.goto(f"/plans/{plan.name}/release")
        form = page.locator("form", has=page.locator("input[name=plan_table][value=release]"))
        form.get_by_label(re.compile("^Database")).fill("clinic")
        form.get_by_label(re.compile("^Table")).fill("clinic.stays_released")
        form.get_by_role("button", name="Save").click()
        expect(page.locator(".said")).to_have_text("Saved.")
        page.goto(f"/plans/{plan.name}/run")
        visit.press("Make the release")
        page.wait_for_url(re.compile("/runs/"), timeout=LONG)
        shown = page.content()
        visit.done()

    assert server.does("select count(*) from clinic.stays_released") == [(120,)]
    names = server.does("select column_name from information_schema.columns where table_name = 'stays_released'")
    assert "name" not in {name for (name,) in names}
    kept = "".join(path.read_text(errors="replace", encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    said = "\n".join([*visit.addresses, *(record.getMessage() for record in caplog.records)])
    assert PASSWORD not in kept + said + shown
    assert "Marker" not in said
