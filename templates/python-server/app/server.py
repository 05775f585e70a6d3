"""The routes. The service's responses go to the page unchanged, as render.js expects of its endpoint."""

import json
import mimetypes
import time
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .beacons import forward_beacon, read_beacon
from .placement_request import JOB_TYPES, placement_request
from .service import Answer, Service
from .sessions import Session, Sessions
from .settings import Settings

PUBLIC = Path(__file__).parent.parent / "public"
WAIT_MS = 1500
LONGEST_WAIT_MS = 5000
LARGEST_BODY = 64 * 1024
DECISIONS = ("granted", "denied", "withdrawn")
# The service's response headers that the page needs: when to retry, and the service's time.
PASSED_HEADERS = ("Retry-After", "Date", "X-Request-Id")


class RequestError(Exception):
    """The caller's mistake."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, settings: Settings, port: int | None = None) -> None:
        super().__init__(("127.0.0.1", settings.port if port is None else port), Handler)
        self.settings = settings
        self.service = Service(settings)
        self.sessions = Sessions()


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    _cookie: str | None = None

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/api/placement":
            self._answer(self._poll)
        elif path == "/api/config":
            self._answer(self._config)
        else:
            self._send_file(path)

    def do_POST(self) -> None:
        routes = {"/api/placement": self._place, "/api/consent": self._consent, "/api/beacons": self._beacon}
        route = routes.get(urlsplit(self.path).path)
        self._answer(route or self._not_found)

    def _config(self) -> Answer:
        return Answer(200, {"script_url": f"{self.server.settings.base_url}/v1/render.js", "job_types": JOB_TYPES})

    def _place(self) -> Answer:
        body, session = self._body(), self._session()
        consent = session.granted_consent(time.time() * 1000)
        if consent is None:
            return Answer(200, no_fill("consent_not_granted"))
        request = placement_request(body, self.server.settings.client_id, session.id, consent["purposes"])
        if request is None:
            raise RequestError(400, f"job_type is one of {', '.join(JOB_TYPES)}.")
        answer = self.server.service.post(f"/v1/placements?wait_ms={WAIT_MS}", request)
        if "slot_id" in answer.body:
            session.slot_ids.add(answer.body["slot_id"])
        return answer

    def _poll(self) -> Answer:
        """Pending is not no-fill: render.js polls here until it is decided."""
        query = parse_qs(urlsplit(self.path).query)
        slot_id = query.get("slot_id", [""])[0]
        if slot_id not in self._session().slot_ids:
            raise RequestError(404, "No slot of this session.")
        wait = query.get("wait_ms", ["0"])[0]
        wait_ms = min(int(wait), LONGEST_WAIT_MS) if wait.isdecimal() else 0
        return self.server.service.get(f"/v1/decisions/{slot_id}?wait_ms={wait_ms}")

    def _consent(self) -> Answer:
        body, session = self._body(), self._session()
        decision = body.get("decision")
        if decision not in DECISIONS:
            raise RequestError(400, f"decision is one of {', '.join(DECISIONS)}.")
        # Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
        session.consent = None
        names = ("semantic_targeting", "prompt_shared")
        purposes = {name: decision == "granted" and body.get(name) is True for name in names}
        ids = {"client_id": self.server.settings.client_id, "session_id": session.id}
        answer = self.server.service.post("/v1/consent", {**ids, "decision": decision, "purposes": purposes})
        if answer.status == 200:
            session.consent = answer.body["authoritative_consent"]
        return answer

    def _beacon(self) -> Answer:
        return forward_beacon(self.server.service, read_beacon(self._body()))

    def _not_found(self) -> Answer:
        raise RequestError(404, "There is no such route.")

    def _answer(self, route: Any) -> None:
        try:
            answer = route()
        except RequestError as error:
            answer = Answer(error.status, {"error": "validation_error", "message": str(error), "retryable": False})
        passed = {name: answer.headers[name] for name in PASSED_HEADERS if name in answer.headers}
        self._send(answer.status, json.dumps(answer.body).encode(), "application/json", passed)

    def _body(self) -> dict[str, Any]:
        """The JSON object of this request."""
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            self.close_connection = True
            raise RequestError(413, f"A body has at most {LARGEST_BODY} bytes.")
        content = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            raise RequestError(415, "Send JSON, with Content-Type: application/json.")
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise RequestError(400, "The body is not JSON, or nests too deeply.") from error
        if not isinstance(body, dict):
            raise RequestError(400, "The body is not a JSON object.")
        return body

    def _session(self) -> Session:
        """The session of this request's cookie, or a new one."""
        try:
            morsel = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        except CookieError:
            morsel = None
        session = self.server.sessions.find(morsel.value if morsel else None)
        if session is None:
            session = self.server.sessions.begin()
            # Behind HTTPS, add Secure.
            self._cookie = f"session={session.id}; Path=/; HttpOnly; SameSite=Lax"
        return session

    def _send_file(self, path: str) -> None:
        name = "index.html" if path == "/" else path.removeprefix("/")
        files = {file.name: file for file in PUBLIC.iterdir()}
        if name not in files:
            self._answer(self._not_found)
            return
        self._send(200, files[name].read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream", {})

    def _send(self, status: int, content: bytes, content_type: str, headers: dict[str, str]) -> None:
        # Not send_response: it would add this server's Date to the service's.
        self.send_response_only(status)
        for name, value in {"Date": self.date_time_string(), **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        if self._cookie is not None:
            self.send_header("Set-Cookie", self._cookie)
            self._cookie = None
        self.end_headers()
        self.wfile.write(content)


def no_fill(no_fill_reason: str) -> dict[str, Any]:
    """This server's own decision, in the shape of the service's."""
    decision = {"fill": False, "no_fill_reason": no_fill_reason}
    return {"slot_id": None, "status": "ready", "placement": None, "decision": decision}
