"""Calls the placement service: one request, one response, never an exception."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from .settings import Settings

# Longer than the longest wait_ms, which is 5 s.
TIMEOUT_S = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """A response of the service; our own `no_answer` if there was none."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Service:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def get(self, path: str) -> Answer:
        return self._call("GET", path)

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return self._call("POST", path, body)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        headers = {"Authorization": f"Bearer {self._settings.secret_key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._settings.base_url + path, data, headers, method=method)
        try:
            # urlopen raises for an error status; the exception can be read like a response.
            try:
                response = urlopen(request, timeout=TIMEOUT_S)
            except HTTPError as error:
                response = error
            with response:
                answer = Answer(response.status, json.loads(response.read()), response.headers)
            if not isinstance(answer.body, dict):
                raise ValueError("the response is not a JSON object")
            return answer
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            log.error("%s %s: %s", method, path, error)
            message = "The placement service sent no readable response."
            return Answer(502, {"error": "no_answer", "message": message, "retryable": True})
