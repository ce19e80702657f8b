"""A web server for one page, which nobody but this machine's own user can ask.

It listens on 127.0.0.1 alone. Every address begins with a random token, which only those who have
read the printed address know; it is compared in constant time. A request must name this server as
its host: a web page elsewhere whose name is made to lead here (DNS rebinding) names its own. No
part of a request is ever taken as the name of a file.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from netsim.errors import ScenarioError

LOOPBACK = "127.0.0.1"
_SILENCE_S = 20.0
"""So long may a request take to come; a connection that says nothing ends then."""
_MOST_AT_ONCE = 32
"""Requests that are answered at a time; more are turned away."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address has the token in it
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Answer(NamedTuple):
    """Answer of the server.

    Attributes
    ----------
    body : bytes
    kind : str
        Its media type.
    tag : str
        Tells whether it has changed; empty: it is sent always.
    """

    body: bytes
    kind: str
    tag: str = ""


Answers = Mapping[str, Callable[[], Answer]]
"""By the part of the address behind the token: what is sent."""


class Server:
    """A server on a daemon thread, from its making to `close`.

    Parameters
    ----------
    answers : mapping of str to callable
    port : int
        0: one that is free.

    Attributes
    ----------
    address : str
        With the token.

    Raises
    ------
    ScenarioError
        If the port is taken.
    """

    def __init__(self, answers: Answers, port: int = 0) -> None:
        token = secrets.token_urlsafe(24)
        try:
            self._http = _Http((LOOPBACK, port), token, answers)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise ScenarioError(f"--watch-port {port}: can't be listened on: {why}") from None
        self.address = f"http://{LOOPBACK}:{self._http.server_port}/{token}/"
        self._thread = threading.Thread(target=self._serve, name="netsim-watch", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._http.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End; what is being answered is left alone."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=2.0)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, where: tuple[str, int], token: str, answers: Answers) -> None:
        super().__init__(where, _Handler)
        self.token, self.answers = token.encode("ascii"), answers
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}
        self._free = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that went away is no matter of the run's."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _SILENCE_S
    server_version, sys_version = "netsim", ""
    server: _Http

    def do_GET(self) -> None:
        """Answer, or refuse."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._refuse(403, "this server answers to its own address only")
            return
        _, given, *rest = [*self.path.split("/", 2), "", ""]
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.server.token):
            self._refuse(403, "the address lacks the token that netsim printed")
            return
        answer = self.server.answers.get(rest[0])
        if answer is None or self.path.count("/") < 2:
            self._refuse(404, "nothing here")
            return
        self._send(answer())

    do_HEAD = do_GET  # noqa: N815

    def _send(self, answer: Answer) -> None:
        tag = f'"{answer.tag}"' if answer.tag else ""
        if tag and self.headers.get("If-None-Match") == tag:
            self._begin(304, {"ETag": tag})
            return
        about = {"Content-Type": answer.kind, "Content-Length": str(len(answer.body))}
        self._begin(200, about | ({"ETag": tag} if tag else {}))
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def _refuse(self, code: int, why: str) -> None:
        body = f"{why}\n".encode()
        self._begin(code, {"Content-Type": "text/plain", "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in (*_HEADERS.items(), *headers.items()):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing: the terminal is the run's."""
