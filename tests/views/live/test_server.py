"""The live page's server: who may ask it what."""

import http.client
import re
import socket
import threading

import pytest

from netsim.errors import ScenarioError
from netsim.views.live.server import Answer, Server

ANSWERS = {
    "": lambda: Answer(b"page", "text/html"),
    "content": lambda: Answer(b"numbers", "application/json", "v1"),
}


@pytest.fixture
def server():
    made = Server(ANSWERS)
    yield made
    made.close()


def place(server: Server) -> tuple[int, str]:
    """Port and token."""
    port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", server.address).groups()
    return int(port), token


def ask(server: Server, path: str, host: str | None = None, method: str = "GET", **headers: str):
    """The status, the body and the headers of an answer."""
    port, _ = place(server)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found


def test_the_token_opens_the_page(server):
    port, token = place(server)
    status, body, headers = ask(server, f"/{token}/")
    assert (status, body) == (200, b"page")
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Python" not in headers["Server"]
    assert ask(server, f"/{token}/", host=f"localhost:{port}")[0] == 200
    assert ask(server, f"/{token}/content", method="HEAD")[:2] == (200, b"")


def test_every_server_has_a_token_of_its_own(server):
    other = Server(ANSWERS)
    try:
        assert place(other)[1] != place(server)[1]
        assert ask(other, f"/{place(server)[1]}/")[0] == 403
        assert ask(other, f"/{place(other)[1]}/")[0] == 200
    finally:
        other.close()


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "path",
    ["/", "/content", "/x/content", "//", "/{wrong}/", "/{cut}/content", "/%c3%a9/", "/{token}x/",
     "*", "/../{token}/", "/?{token}/", "http://127.0.0.1/{token}/content"],
)  # fmt: skip
def test_without_the_token_nothing_is_told(server, path):
    token = place(server)[1]
    asked = path.format(token=token, wrong="A" * len(token), cut=token[:-1])
    status, body, _ = ask(server, asked)
    assert status == 403
    assert token.encode() not in body


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "path", ["nothing", "../etc/passwd", "..%2f..%2fetc/passwd", "/etc/passwd", "content/..", "?x"]
)
def test_no_path_leads_to_a_file(server, path):
    assert ask(server, f"/{place(server)[1]}/{path}")[0] == 404


def test_the_token_alone_has_no_page_that_relative_addresses_would_leave(server):
    assert ask(server, f"/{place(server)[1]}")[0] == 404


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost",
             "localhost:{port}.evil.example", "[::1]:{port}", "0.0.0.0:{port}"]
)  # fmt: skip
def test_other_hosts_are_refused(server, host):
    """A page elsewhere whose name leads here (DNS rebinding) has its own name as host."""
    port, token = place(server)
    assert ask(server, f"/{token}/content", host=host.format(port=port))[0] == 403


def test_a_request_without_a_host_or_with_two_is_refused(server):
    port, token = place(server)
    for hosts in ("", f"Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
            link.sendall(f"GET /{token}/content HTTP/1.0\r\n{hosts}\r\n".encode())
            assert b" 403 " in link.makefile("rb").readline()


def test_a_token_of_strange_bytes_is_refused(server):
    port, _ = place(server)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.sendall(b"GET /\xc3\xa9\xff/ HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        assert b" 403 " in link.makefile("rb").readline()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_done_but_looking(server, method):
    assert ask(server, f"/{place(server)[1]}/content", method=method)[0] == 501


def test_what_has_not_changed_is_not_sent_again(server):
    path = f"/{place(server)[1]}/content"
    status, _, headers = ask(server, path)
    assert (status, headers["ETag"]) == (200, '"v1"')
    assert ask(server, path, If_None_Match='"v1"')[:2] == (304, b"")
    assert ask(server, path, If_None_Match='"v0"')[0] == 200


def test_it_listens_on_loopback_alone(server):
    port, _ = place(server)
    assert server._http.socket.getsockname() == ("127.0.0.1", port)
    others = {a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError):  # noqa: PT011
            socket.create_connection((address, port), timeout=2).close()


def test_a_port_can_be_chosen_and_is_free_again_afterwards():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ScenarioError, match=rf"--watch-port {port}: can't be listened on"):
            Server(ANSWERS, port)
    for _ in range(2):
        made = Server(ANSWERS, port)
        assert place(made)[0] == port
        made.close()


def test_it_ends_and_leaves_no_thread_that_keeps_the_process():
    made = Server(ANSWERS)
    port, _ = place(made)
    assert all(t.daemon for t in threading.enumerate() if t.name == "netsim-watch")
    made.close()
    assert [t for t in threading.enumerate() if t.name == "netsim-watch"] == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
