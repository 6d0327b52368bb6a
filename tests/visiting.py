"""People in the web app with a real browser: what they press, what the console says, which hosts are asked."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from browsing import BROWSER
from house import ROOT
from websites import PLAN

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[dev]'")
expect = sync_api.expect

expect.set_options(timeout=60_000)  # a busy machine must not fail a test

MARKS = [
    pytest.mark.more,
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs a browser: install chromium, or put google-chrome on the PATH"),
]
PICTURES = ROOT / "docs" / "assets"
LONG = 300_000  # milliseconds: a run may compile first
# Quick to make, whatever was compiled before.
QUICK = PLAN.replace("k = 5\n", 'k = 5\nanonymizer = "mondrian"\n').replace(
    "l = 2\n", 'l = 2\nanonymizer = "mondrian"\n'
)


@contextmanager
def chromium_started():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class Visit:
    """One person's browser: what the console said, and which hosts were asked."""

    def __init__(self, chromium, address, session, **options):
        self.address, self.said, self.hosts, self.addresses, self.titles = address, [], set(), [], set()
        self.context = chromium.new_context(base_url=address, accept_downloads=True, **options)
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(f"/enter?token={session.new_token()}")
        self.page.wait_for_url(f"{address}/")

    def _asked(self, request):
        self.hosts.add(urlsplit(request.url).netloc)
        self.addresses.append(request.url)

    def press(self, name, role="button", **more):
        ready(self.page.get_by_role(role, name=name, **more).first).click()

    def done(self):
        """The journey is over: nothing was said, nobody else was asked."""
        assert [text for text in self.said if "409" not in text and "422" not in text] == []
        assert self.hosts == {urlsplit(self.address).netloc}
        self.context.close()


def ready(part):
    """Wait for a part of the page that somebody was led to, and for the scripts of that page: both may be late."""
    part.wait_for()
    part.page.wait_for_load_state("load")
    return part


def run_it(page):
    page.goto("/plans/plan.toml/run")
    page.get_by_role("button", name="Make the release").click()
    page.wait_for_url(re.compile("/runs/"), timeout=LONG)


def counted(part):
    """Wait for what is counted in another process: who is busy answers later, and the page asks again by itself."""
    expect(part.first).to_be_visible(timeout=LONG)
    return part.first


def pictured(page, name):
    """Take the picture of the documentation, once everything on it has been counted."""
    expect(page.locator("#standing")).not_to_contain_text(re.compile("Count now|Check now|Still"), timeout=LONG)
    expect(page.locator("main [data-again]")).to_have_count(0, timeout=LONG)
    if os.environ.get("SFUMATO_PICTURES"):  # the documentation's own, made anew
        page.screenshot(path=PICTURES / name)
