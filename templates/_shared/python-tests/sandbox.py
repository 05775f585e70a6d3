"""The sandbox that `svc exec` started, and a visitor of this server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from app.settings import read_settings

settings = read_settings()


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str]


class Visitor:
    """A browser with its own cookie."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._cookie = ""

    def get(self, path: str) -> Answer:
        return self._call("GET", path, None)

    def post(self, path: str, body: Any) -> Answer:
        return self._call("POST", path, body)

    def _call(self, method: str, path: str, body: Any) -> Answer:
        answer = call(method, self._url + path, body, {"Cookie": self._cookie})
        self._cookie = answer.headers.get("Set-Cookie", self._cookie).split(";")[0]
        return answer


def control(method: str, path: str, body: Any = None) -> Any:
    """The control plane of the sandbox: the requests it received, and the faults to inject."""
    return call(method, f"{settings.base_url}/_sandbox/{path}", {} if method != "GET" and body is None else body).body


def call(method: str, url: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    data = None if body is None else json.dumps(body).encode()
    json_type = {} if body is None else {"Content-Type": "application/json"}
    request = Request(url, data, {**(headers or {}), **json_type}, method=method)
    try:
        response = urlopen(request, timeout=15)
    except HTTPError as error:
        response = error
    with response:
        return Answer(response.status, json.loads(response.read()), response.headers)
