"""The web app inside the process of the tests: a client that has come in, as the browser of its user has."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager

import uvicorn
from starlette.testclient import TestClient

from sfumato.webapp.guard import Session
from sfumato.webapp.project import Project
from sfumato.webapp.server import _sockets, configuration, make_app
from sfumato.workbench.asking import QUESTIONS
from sfumato.workbench.bench import Workbench

PORT = 4321
HOME = f"http://127.0.0.1:{PORT}"
PEOPLE = "name,age,town,illness\n" + "".join(
    f"Marker{n},{20 + n % 40},{'Bern' if n % 2 else 'Chur'},{('flu', 'asthma', 'cough')[n % 3]}\n" for n in range(60)
)
PLAN = """# Kept: a comment
[source]
path = "people.csv"

[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"   # kept beside it
hierarchy = { widths = [5, 10, 20] }
[columns.town]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"

[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "l-diversity"
sensitive = "illness"
l = 2
"""


class Browser(TestClient):
    """Sends what a browser sends with a form of the app: where it comes from, and the tokens of the page."""

    session: Session

    def fill(self, path, /, **fields):
        """Post a form as if its page had been filled in, and return the answer without going on."""
        fields = {key: value for key, value in fields.items() if value is not None}
        return self.post(
            path,
            data={"form_token": self.session.form_token, **fields},
            headers={"origin": HOME, "sec-fetch-site": "same-origin"},
            follow_redirects=False,
        )

    def text(self, path, status=200):
        """Return a page as text without tags."""
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


class Here:
    """Answers questions about a plan in the process of the tests."""

    def __init__(self, path):
        self.bench = Workbench(path)

    def ask(self, question, **details):
        return QUESTIONS[question](self.bench, **details)

    def close(self):
        pass

    abandon = close


@contextmanager
def visited(folder, **options):
    """Yield a browser that has entered the app of a project."""
    session = Session()
    app = make_app(Project.at(folder, options.pop("roots", ())), session, lambda: PORT, bench=Here, **options)
    with Browser(app, base_url=HOME, raise_server_exceptions=False) as browser:
        browser.session, browser.state = session, app.app.state
        assert browser.get(f"/enter?token={session.new_token()}").status_code == 200
        yield browser


@contextmanager
def served(folder, **options):
    """Yield the address of a server in a thread of the tests, and who may enter it."""
    sockets = _sockets(0)
    port = sockets[0].getsockname()[1]
    session = Session()
    app = make_app(Project.at(folder, options.pop("roots", ())), session, lambda: port, **options)
    server = uvicorn.Server(configuration(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}", session
    finally:
        server.should_exit = True
        thread.join(20)
