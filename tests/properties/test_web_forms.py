"""Whatever is sent to the web app, it answers, and shows no cell of a secret column."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.webapp.pages import ROUTES
from websites import HOME, PEOPLE, PLAN, visited

SECRETS = ("Marker7", "asthma")  # a name and an illness: an identifier and a sensitive value


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    with visited(folder) as found:
        found.state.jobs._start = lambda job: job  # forms are sent, commands are not started
        found.folder = folder
        yield found


PARTS = {"plan": st.sampled_from(["plan.toml", "none.toml"]), "column": st.sampled_from(["0", "1", "3", "99", "x"])}
ODD = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.sampled_from(
    [
        "digest",
        "do",
        "place",
        "model",
        "role",
        "kind",
        "column",
        "name",
        "role.0",
        "was.0",
        "k",
        "l",
        "t",
        "sensitive",
        "anonymizer",
        "hierarchy",
        "text",
        "path",
        "seed",
        "values.0",
        "cell",
        "root",
        "at",
        "separator",
        "builder",
        "page",
        "show",
        "like",
        "groups",
        "file",
        "label",
        "terms",
        "how",
        "widths",
        "levels",
    ]
)
WORDS = st.sampled_from(
    [
        "0",
        "-1",
        "2",
        "1e400",
        "nan",
        "save",
        "add",
        "remove",
        "up",
        "all",
        "sensitive",
        "quasi-identifier",
        "age",
        "illness",
        "k-anonymity",
        "l-diversity",
        "people.csv",
        "../../etc/passwd",
        "[1",
        "{",
        "widths",
        "flat",
        "yes",
        "[[a]]",
    ]
)
BODIES = st.dictionaries(NAMES, WORDS | ODD, max_size=7)


def address(path, draw):
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: draw(PARTS.get(found[1], st.just("a-1"))), path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_form_and_any_address_is_answered_and_shows_no_secret(browser, data):
    route = data.draw(st.sampled_from(ROUTES), label="route")
    path = address(route.path, data.draw)
    if path == "/quit":
        return
    body = data.draw(BODIES, label="body")
    if data.draw(st.booleans(), label="up to date"):
        body["digest"] = re.search(r'name="digest" value="(\w*)"', browser.get("/plans/plan.toml/promises").text)[1]
    if "POST" in route.methods:
        answer = browser.fill(path, **body)
    elif "PUT" in route.methods:
        answer = browser.put(path, content=b"x", headers={"origin": HOME, "sec-fetch-site": "same-origin"})
    elif path.endswith("/events"):
        return
    else:
        answer = browser.get(path, params={name: value for name, value in body.items() if name != "show"})
    (browser.folder / "plan.toml").write_text(PLAN, encoding="utf-8")

    assert answer.status_code < 500 or answer.status_code == 507, (path, body)
    if answer.headers.get("content-type", "").startswith("text/html"):
        assert not any(cell in answer.text for cell in SECRETS), (path, body)
    assert not any(cell in answer.headers.get("location", "") for cell in SECRETS)
