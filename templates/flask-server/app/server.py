"""The routes, in Flask. The service's responses go to the page unchanged, as render.js expects of its endpoint."""

import json
import time
from typing import Any

from flask import Flask, Response, abort, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import ThreadedWSGIServer

from .beacons import forward_beacon, read_beacon
from .placement_request import JOB_TYPES, placement_request
from .service import Answer, Service
from .sessions import Session, Sessions
from .settings import Settings

WAIT_MS = 1500
LONGEST_WAIT_MS = 5000
LARGEST_BODY = 64 * 1024
DECISIONS = ("granted", "denied", "withdrawn")
# The service's response headers that the page needs: when to retry, and the service's time.
PASSED_HEADERS = ("Retry-After", "Date", "X-Request-Id")


class Server(ThreadedWSGIServer):
    """Flask's server for development. In production, give `create_app(read_settings())` to another WSGI server."""

    def __init__(self, settings: Settings, port: int | None = None) -> None:
        super().__init__("127.0.0.1", settings.port if port is None else port, create_app(settings))


def create_app(settings: Settings) -> Flask:
    app = Flask(__name__, static_folder="../public", static_url_path="")
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    service, sessions = Service(settings), Sessions()

    def current_session() -> Session:
        """The session of this request's cookie, or a new one."""
        session = sessions.find(request.cookies.get("session"))
        if session is None:
            session = g.new_session = sessions.begin()
        return session

    @app.after_request
    def keep_session(response: Response) -> Response:
        if "new_session" in g:
            # Behind HTTPS, add secure=True.
            response.set_cookie("session", g.new_session.id, httponly=True, samesite="Lax")
        return response

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> Response:
        body = {"error": "validation_error", "message": error.description, "retryable": False}
        return send(Answer(error.code or 500, body))

    @app.get("/")
    def page() -> Response:
        return app.send_static_file("index.html")

    @app.get("/api/config")
    def config() -> Response:
        return send(Answer(200, {"script_url": f"{settings.base_url}/v1/render.js", "job_types": JOB_TYPES}))

    @app.post("/api/placement")
    def place() -> Response:
        body, session = read_body(), current_session()
        consent = session.granted_consent(time.time() * 1000)
        if consent is None:
            return send(Answer(200, no_fill("consent_not_granted")))
        wanted = placement_request(body, settings.client_id, session.id, consent["purposes"])
        if wanted is None:
            abort(400, f"job_type is one of {', '.join(JOB_TYPES)}.")
        answer = service.post(f"/v1/placements?wait_ms={WAIT_MS}", wanted)
        if "slot_id" in answer.body:
            session.slot_ids.add(answer.body["slot_id"])
        return send(answer)

    @app.get("/api/placement")
    def poll() -> Response:
        """Pending is not no-fill: render.js polls here until it is decided."""
        slot_id = request.args.get("slot_id", "")
        if slot_id not in current_session().slot_ids:
            abort(404, "No slot of this session.")
        wait_ms = min(request.args.get("wait_ms", 0, type=int), LONGEST_WAIT_MS)
        return send(service.get(f"/v1/decisions/{slot_id}?wait_ms={max(0, wait_ms)}"))

    @app.post("/api/consent")
    def consent() -> Response:
        body, session = read_body(), current_session()
        decision = body.get("decision")
        if decision not in DECISIONS:
            abort(400, f"decision is one of {', '.join(DECISIONS)}.")
        # Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
        session.consent = None
        names = ("semantic_targeting", "prompt_shared")
        purposes = {name: decision == "granted" and body.get(name) is True for name in names}
        ids = {"client_id": settings.client_id, "session_id": session.id}
        answer = service.post("/v1/consent", {**ids, "decision": decision, "purposes": purposes})
        if answer.status == 200:
            session.consent = answer.body["authoritative_consent"]
        return send(answer)

    @app.post("/api/beacons")
    def beacon() -> Response:
        return send(forward_beacon(service, read_beacon(read_body())))

    return app


def read_body() -> dict[str, Any]:
    """The JSON object of this request. Flask refuses what is too large, of another type, or not JSON."""
    try:
        body = request.get_json()
    except RecursionError:
        abort(400, "The body nests too deeply.")
    if not isinstance(body, dict):
        abort(400, "The body is not a JSON object.")
    return body


def send(answer: Answer) -> Response:
    passed = {name: answer.headers[name] for name in PASSED_HEADERS if name in answer.headers}
    return Response(json.dumps(answer.body), answer.status, passed, content_type="application/json")


def no_fill(no_fill_reason: str) -> dict[str, Any]:
    """This server's own decision, in the shape of the service's."""
    decision = {"fill": False, "no_fill_reason": no_fill_reason}
    return {"slot_id": None, "status": "ready", "placement": None, "decision": decision}
