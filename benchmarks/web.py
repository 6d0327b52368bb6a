"""How the web app keeps its bars: `python benchmarks/web.py` (Linux; it writes a 2 GB file that is deleted again).

Bars: a page within 3 s of the command (warm); a running job gone within 6 s of Cancel, with nothing left; a 2 GB upload
keeps the server below 200 MB; 20 TB are refused before they are sent.
"""

from __future__ import annotations

import argparse
import http.client
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyarrow.csv import write_csv

from sfumato.generators import hospital
from sfumato.generators.requirements import plan_for
from sfumato.plan.writing import toml_of

BLOCK = b"0123456789abcde\n" * 4096
FORM = "application/x-www-form-urlencoded"


class Server:
    """`sfumato web` in a process of its own, entered."""

    def __init__(self, folder: Path) -> None:
        began = time.perf_counter()
        command = [sys.executable, "-m", "sfumato", "web", "--no-browser"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/enter\?token=\S+)", self.process.stdout.readline())
        self.port = int(found[1])
        _, headers, _ = self.ask("GET", found[2])
        self.cookie = headers["set-cookie"].split(";")[0]
        _, _, page = self.ask("GET", "/")
        self.seconds = time.perf_counter() - began
        self.token = re.search(r'name="form_token" value="([^"]+)"', page)[1]

    def ask(self, method: str, path: str, body=None, **headers: str):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers |= {"Cookie": getattr(self, "cookie", ""), "Origin": f"http://127.0.0.1:{self.port}"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()

    def post(self, path: str) -> str:
        return self.ask("POST", path, f"form_token={self.token}", **{"Content-Type": FORM})[1].get("location", "")

    def state(self, job: str) -> str:
        return re.search(r'data-state="(\w+)"', self.ask("GET", job)[2])[1]

    def most_memory(self) -> float:
        """Return the most megabytes that the server has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="of the run that is cancelled")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="of the upload")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(hospital(asked.rows), folder / "patients.csv")
        plan = plan_for({"k-anonymity": None, "l-diversity": None}, folder)
        (folder / "plan.toml").write_text(toml_of({"source": {"path": "patients.csv"}, **plan}), encoding="utf-8")
        Server(folder).end()  # once, so that files are warm
        server = Server(folder)
        print(f"first page after          {server.seconds:8.1f} s    (bar 3)")
        cancel(server, folder)
        upload(server, asked.gigabytes)
        server.end()


def cancel(server: Server, folder: Path) -> None:
    for wait in (1.0, 4.0, 12.0):  # while it reads, and while loops of machine code hold off signals
        job = server.post("/plans/plan.toml/run")
        while server.state(job) != "running":
            time.sleep(0.05)
        time.sleep(wait)
        if server.state(job) != "running":
            print(f"the run ended within {wait:.0f} s")
            continue
        began = time.perf_counter()
        server.post(f"{job}/cancel")
        while server.state(job) in ("running", "cancelling"):
            time.sleep(0.05)
        left = [path.name for path in (folder / "runs").iterdir()]
        print(
            f"gone after {wait:4.0f} s in work   {time.perf_counter() - began:8.1f} s    (bar 6), left behind: {left}"
        )


def upload(server: Server, gigabytes: float) -> None:
    count = int(gigabytes * 1e9 / len(BLOCK))
    headers = {"X-Name": "big.csv", "X-Form-Token": server.token}
    before, began = server.most_memory(), time.perf_counter()
    size = str(count * len(BLOCK))
    status, _, _ = server.ask(
        "PUT", "/uploads/a-1", (BLOCK for _ in range(count)), **headers, **{"Content-Length": size}
    )
    seconds = time.perf_counter() - began
    print(f"{gigabytes:g} GB came in ({status})       {seconds:8.1f} s")
    print(f"memory of the server      {server.most_memory():8.0f} MB   (bar 200; {before:.0f} before)")
    status, _, _ = server.ask("PUT", "/uploads/a-2", b"", **headers, **{"Content-Length": str(20 * 10**12)})
    print(f"20 TB are refused with    {status:8}      (413)")


if __name__ == "__main__":
    main()
