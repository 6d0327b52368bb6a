"""The report as a reader opens it: in a real browser, without network."""

import functools
import json
import re
from pathlib import Path

import pytest

import sfumato as sf
from browsing import BROWSER, opened
from sfumato.report.page import PARTS, render

RUN = Path(__file__).parents[1] / "unit" / "report" / "run.json"

pytestmark = [
    pytest.mark.more,
    pytest.mark.skipif(
        BROWSER is None,
        reason="needs a browser to open the report in: install chromium, or put google-chrome on the PATH",
    ),
]


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


def headings_of(dom):
    return [words for words in re.findall(r"<h2[^>]*>(.*?)</h2>", dom) if "warning" not in words]


def test_a_run_with_everything_shows_every_section(tmp_path):
    plan = sf.Plan.load(Path(__file__).parents[2] / "examples" / "hospital" / "plan.toml")
    sf.run(plan, tmp_path / "run")

    dom, console, _ = opened(tmp_path / "run" / "private" / "report.html", tmp_path, "--dump-dom")

    assert headings_of(dom) == [part.TITLE for part in PARTS.values()]
    assert "could not be shown" not in dom
    assert console == []


def test_all_sections_are_in_the_page_as_the_browser_has_it(page):
    dom, _, _ = shown(page)

    facts = json.loads(RUN.read_text(encoding="utf-8"))
    assert headings_of(dom) == [part.TITLE for part in PARTS.values() if part.content(facts)]
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
