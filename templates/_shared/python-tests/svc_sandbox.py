"""A pytest fixture: a sandbox of the placement service for your tests. One file, without packages but pytest.

Copy it beside your conftest.py, which makes both fixtures known:

    from svc_sandbox import svc_sandbox, svc_sandbox_session  # noqa: F401

A test asks for `svc_sandbox`, which is reset before each test, or for `svc_sandbox_session`, which is not:

    def test_no_ad_is_no_error(svc_sandbox, monkeypatch):
        monkeypatch.setenv("SVC_BASE_URL", svc_sandbox.url)
        svc_sandbox.force_no_fill()
        assert my_app.answer("Which grinder?").ad is None
        assert svc_sandbox.placements()[0]["fill"] is False
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

START_TIMEOUT_S = 60
END_TIMEOUT_S = 10
PAGE_SIZE = 1_000

# A proxy of the environment cannot reach loopback.
_opener = build_opener(ProxyHandler({}))


@pytest.fixture(scope="session")
def svc_sandbox_session() -> Iterator[SvcSandbox]:
    """The sandbox of all tests of this process, started at the first one and ended after the last."""
    with tempfile.TemporaryFile("w+") as log:
        process = _start(log)
        try:
            yield SvcSandbox(_read_first_line(process, log))
        finally:
            process.terminate()
            try:
                process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def svc_sandbox(svc_sandbox_session: SvcSandbox) -> SvcSandbox:
    """The same sandbox, without what earlier tests did to it: requests, placements, consent, scenarios, faults, clock."""
    svc_sandbox_session.reset()
    return svc_sandbox_session


class SvcSandbox:
    """A running sandbox with its keys, and what it received."""

    def __init__(self, started: dict[str, Any]) -> None:
        project = started["projects"][0]
        self.url: str = started["url"]
        self.client_id: str = project["client_id"]
        self.secret_key: str = project["secret_key"]
        self.publishable_key: str = project["publishable_key"]
        #: The variables by which an app finds this sandbox.
        self.env = {
            "SVC_BASE_URL": self.url,
            "SVC_CLIENT_ID": self.client_id,
            "SVC_SECRET_KEY": self.secret_key,
            "SVC_PUBLISHABLE_KEY": self.publishable_key,
        }

    def placements(self, **filters: str) -> list[dict[str, Any]]:
        """The placements that were requested, newest first; `session_id="s1"` selects."""
        return self._list("placements", filters)

    def beacons(self, event: str | None = None, verdict: str | None = "accepted", **filters: str) -> list[dict[str, Any]]:
        """The accepted beacons, newest first; with verdict "rejected" the others, with None all. `slot_id="..."` selects."""
        return [
            beacon
            for beacon in self._list("beacons", filters)
            if event in (None, beacon["event"]) and verdict in (None, beacon["verdict"])
        ]

    def wait_for_beacon(self, event: str, timeout_s: float = 5, **filters: str) -> dict[str, Any]:
        """The newest accepted beacon of this event, as soon as there is one. AssertionError says what came instead."""
        end = time.monotonic() + timeout_s
        while not (found := self.beacons(event, **filters)):
            if time.monotonic() > end:
                came = [f"{beacon['event']} {beacon['verdict']}" for beacon in self.beacons(None, None, **filters)]
                raise AssertionError(f"No {event} beacon was accepted in {timeout_s} s. Beacons: {', '.join(came) or 'none'}.")
            time.sleep(0.03)
        return found[0]

    def requests(self, **filters: str) -> list[dict[str, Any]]:
        """The requests that the sandbox received, newest first; `path="/v1/placements"` selects."""
        return self._list("requests", filters)

    def force_no_fill(self) -> None:
        """Decides no-fill for every placement, until the next reset."""
        self.use_scenario("no_fill")

    def use_scenario(self, name: str) -> None:
        """Changes what the sandbox does, by its catalogue (`svc sandbox scenario list`), until the next reset."""
        self.control("POST", f"scenarios/{name}")

    def fail(self, path: str, status: int, **rule: Any) -> None:
        """Refuses requests of a path: `fail("/v1/placements", 429, retry_after_s=1, times=1)`."""
        self.control("POST", "faults", {"path": path, "status": status, **rule})

    def reset(self) -> None:
        """Returns everything to its state after the start."""
        self.control("POST", "reset")

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """Calls the control plane, `/_sandbox/...`; returns its JSON. AssertionError has the reason of a refusal."""
        data = None if method == "GET" else json.dumps({} if body is None else body).encode()
        request = Request(f"{self.url}/_sandbox/{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with _opener.open(request, timeout=10) as response:
                content = response.read()
                return json.loads(content) if content else None
        except HTTPError as error:
            raise AssertionError(f"{method} /_sandbox/{path}: {error.code} {error.read().decode()}") from None

    def _list(self, path: str, filters: dict[str, str]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        query = {**filters, "limit": str(PAGE_SIZE)}
        while True:
            page = self.control("GET", f"{path}?{urlencode(query)}")
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            query["cursor"] = page["next_cursor"]


def _start(log: Any) -> subprocess.Popen[str]:
    command = [*_find_svc(), "start", "--ephemeral", "--port", "0", "-o", "json"]
    # Settings of another sandbox, or of another start, are not for this one: SVC_BASE_URL, SVC_PLAYBACK, SVC_HOST.
    kept = ("SVC_HOME", "SVC_COMMAND")
    env = {name: value for name, value in os.environ.items() if not name.startswith("SVC_") or name in kept}
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, env=env)
    except OSError as error:
        pytest.fail(f"svc could not be started: {' '.join(command)}: {error}", pytrace=False)


def _find_svc() -> list[str]:
    """The command of svc: that of SVC_COMMAND, of the nearest node_modules, or of the PATH."""
    if command := os.environ.get("SVC_COMMAND"):
        return [command]
    for folder in (Path.cwd(), *Path.cwd().parents):
        script = folder / "node_modules/svc-sandbox/bin/svc.js"
        if script.is_file():
            node = shutil.which("node")
            if node is None:
                pytest.fail("svc needs Node 22.19 or later, and there is none on the PATH: https://nodejs.org", pytrace=False)
            return [node, str(script)]
    found = shutil.which("svc-sandbox") or shutil.which("svc")
    if found is None:
        pytest.fail(
            "svc is not installed: neither svc-sandbox in a node_modules here or above, nor svc on the PATH.\n"
            "Install it beside your tests (npm install --save-dev PATH/svc-sandbox-VERSION.tgz), or name it: SVC_COMMAND=/path/to/svc",
            pytrace=False,
        )
    return [found]


def _read_first_line(process: subprocess.Popen[str], log: Any) -> dict[str, Any]:
    """What a start prints when it is ready. Fails with what it said when it ends or takes too long."""
    timer = threading.Timer(START_TIMEOUT_S, process.kill)
    timer.start()
    try:
        line = process.stdout.readline() if process.stdout else ""
    finally:
        timer.cancel()
    if line.startswith("{"):
        return json.loads(line)
    code = process.wait()
    log.seek(0)
    pytest.fail(f"svc start ended with exit code {code}, or was not ready in {START_TIMEOUT_S} s:\n{log.read()}", pytrace=False)
