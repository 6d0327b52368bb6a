"""A real browser for tests: opens a page and tells what it became, what the console said and what was asked for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from urllib.parse import urlsplit

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
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
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
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
