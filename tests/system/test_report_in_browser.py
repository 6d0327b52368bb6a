"""The report as a reader opens it: in a real browser, without network."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sfumato.report.page import PARTS, render

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
RUN = Path(__file__).parents[1] / "unit" / "report" / "run.json"

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs a browser to open the report in: install chromium, or put google-chrome on the PATH"
)

SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--disable-sync"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-default-apps"),
    *("--disable-background-networking", "--disable-component-update", "--disable-domain-reliability"),
    *("--enable-logging=stderr", "--v=0", "--proxy-server=127.0.0.1:9"),  # nobody listens there: nothing gets out
)


def opened(path, folder, *switches):
    """Open a page and return its DOM, what the console said, and the hosts that the page asked for."""
    log = folder / "net.json"
    command = [
        BROWSER,
        *SWITCHES,
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        *switches,
        path.as_uri(),
    ]
    # A group of its own, so that a browser that hangs goes with all its processes and nothing else does.
    browser = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
    )
    try:
        dom, said = browser.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.communicate()
        pytest.fail("the browser did not come back within a minute")
    assert browser.returncode == 0, said
    console = [line for line in said.splitlines() if ":CONSOLE" in line]
    return dom, console, asked_for(log.read_text(encoding="utf-8", errors="replace"))


def asked_for(log):
    """Return the hosts of all http(s) addresses in a net log that were asked for on behalf of a page.

    What the browser asks its maker is none of the page's business: it has no initiator, or a chrome one.
    """
    events = json.loads(log)["events"]
    requests = [event["params"] for event in events if "url" in event.get("params", {})]
    from_page = [params for params in requests if params.get("initiator", "not an origin") != "not an origin"]
    hosts = {urlsplit(params["url"]) for params in from_page if params["url"].startswith(("http:", "https:", "ws"))}
    return sorted({host.hostname for host in hosts if host.hostname})


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    facts = json.loads(RUN.read_text(encoding="utf-8"))
    facts["warnings"].append("<script>console.error('a label ran')</script><img src=http://outside.invalid/x.png>")
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(facts), encoding="utf-8")
    return path


@functools.cache
def shown(page):
    return opened(page, page.parent, "--dump-dom")


def test_all_sections_are_in_the_page_as_the_browser_has_it(page):
    dom, _, _ = shown(page)

    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", dom)
    assert [title for title, _ in PARTS.values()] == [words for words in headings if "warning" not in words]
    assert re.search(r"<h1[^>]*>Every one of 3 requirements holds: 392 rows may leave the house.</h1>", dom)


def test_the_browser_reads_the_page_as_it_was_written(page):
    dom, _, _ = shown(page)

    written = page.read_text(encoding="utf-8")
    for tag in ("section", "figure", "table", "svg", "rect", "details"):
        assert len(re.findall(rf"<{tag}[\s>]", dom)) == len(re.findall(rf"<{tag}[\s>]", written))


def test_the_console_stays_silent(page):
    _, console, _ = shown(page)

    assert console == []


def test_nothing_outside_is_asked_for(page):
    _, _, hosts = shown(page)

    assert hosts == []


def test_an_outside_request_would_have_been_seen(tmp_path):
    path = tmp_path / "control.html"
    path.write_text('<!DOCTYPE html><title>c</title><img src="http://outside.invalid/x.png">', encoding="utf-8")

    _, _, hosts = opened(path, tmp_path, "--dump-dom")

    assert hosts == ["outside.invalid"]


def test_nothing_sticks_out_of_a_narrow_window(tmp_path):
    facts = json.loads(
        RUN.read_text(encoding="utf-8").replace('"job"', f'"{"job_" * 60}"').replace('"cook', '"coo' + "k" * 300)
    )
    # The page runs no script; this copy of it may, to say how wide it came out.
    allowed = re.sub(r"<meta http-equiv[^>]*>", "", render(facts))
    script = "document.title = document.documentElement.scrollWidth <= window.innerWidth ? 'fits' : 'too wide'"
    path = tmp_path / "wide.html"
    path.write_text(allowed.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")

    dom, _, _ = opened(path, tmp_path, "--dump-dom", "--window-size=400,900")

    assert "<title>fits</title>" in dom


def test_it_prints_from_a_dark_screen(page, tmp_path):
    printed = tmp_path / "report.pdf"
    dark = "--blink-settings=preferredColorScheme=0"

    _, console, _ = opened(page, tmp_path, dark, f"--print-to-pdf={printed}", "--no-pdf-header-footer")

    assert console == []
    assert printed.read_bytes().startswith(b"%PDF")
