"""The chat of this project, on Python's own http.server: routes and sessions in the shape of a Flask app."""
import json
import os
import uuid
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8"}
ROUTES = {}


def route(method, path):
    """Registers a handler of (body, query, session). It returns what is sent as JSON, with a status if it is not 200."""
    return lambda handler: ROUTES.setdefault((method, path), handler)


@route("POST", "/api/chat")
def chat(body, query, session):
    return {"answer": f"You asked: {body['question']} Weigh it: 18 g in, 36 g out."}


class App(BaseHTTPRequestHandler):
    def do_GET(self):
        self.respond("GET")

    def do_POST(self):
        self.respond("POST")

    def respond(self, method):
        url = urlsplit(self.path)
        handler = ROUTES.get((method, url.path))
        if handler is None:
            return self.send_file(url.path if url.path != "/" else "/index.html")
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        cookie = SimpleCookie(self.headers.get("cookie")).get("session")
        session = cookie.value if cookie else str(uuid.uuid4())
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        answer = handler(body, query, session)
        answer, status = answer if isinstance(answer, tuple) else (answer, 200)
        self.send(status, "application/json", json.dumps(answer).encode(), session)

    def send_file(self, path):
        try:
            with open("public" + path.replace("..", ""), "rb") as file:
                self.send(200, TYPES.get(path.rsplit(".", 1)[-1], "text/plain"), file.read())
        except OSError:
            self.send(404, "text/plain", b"Not found")

    def send(self, status, kind, content, session=None):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        if session is not None:
            self.send_header("set-cookie", f"session={session}; HttpOnly; SameSite=Lax; Path=/")
        self.end_headers()
        self.wfile.write(content)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), App).serve_forever()
