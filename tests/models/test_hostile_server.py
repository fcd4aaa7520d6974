"""A server that drips, floods, nests and echoes: every request ends in time, within memory, without the key."""

from __future__ import annotations

import json
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from cuecard.models.answers import AnswerCache, Question
from cuecard.models.endpoint import MAXIMUM_BODY, Endpoint, EndpointError
from pace import PATIENCE

pytest.importorskip("httpx", reason="the extra llm is not installed")

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
KEY = "sk-secret/0123456789"


@contextmanager
def server(answer: Callable[[socket.socket, bytes], None], connections: int = 6) -> Iterator[str]:
    """Answer a limited number of connections with raw bytes, and give the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)
    threads: list[threading.Thread] = []

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(60)
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            length = int(
                next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split()[1]
            )
            while len(body) < length:  # a connection closed before it is read to its end is reset
                body += connection.recv(65536)
            answer(connection, request)

    def accept() -> None:
        for _ in range(connections):
            with suppress(OSError):
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)


def asked(url: str, **options: object) -> str:
    """Return how asking one question ends."""
    settings = {"timeout": PATIENCE, "pause": 0.01, "attempts": 2, "key_variable": "HOSTILE_KEY"} | options
    with pytest.raises(EndpointError) as ended:
        Endpoint(url, "tiny", **settings).ask([Question("q")])  # type: ignore[arg-type]
    message = str(ended.value)
    assert message.isprintable()
    assert len(message) < 700
    return message


def drip(data: bytes, pause: float = 0.05, times: int = 4000) -> Callable[[socket.socket, bytes], None]:
    """Send a head at once, then a byte at a time."""

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(data)
        for _ in range(times):
            time.sleep(pause)
            connection.sendall(b" ")

    return answer


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> Callable[[socket.socket, bytes], None]:
    head = b"\r\n".join(
        [b"HTTP/1.1 " + status, b"Connection: close", *headers, b"Content-Length: %d" % len(body)]
    )

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head + b"\r\n\r\n" + body)

    return answer


@pytest.mark.parametrize("head", [HEAD + b"\r\n", HEAD + b"X-Slow: ", b"H"], ids=["body", "header", "status"])
def test_a_response_that_drips_ends_at_the_deadline(head):
    with server(drip(head)) as url:
        start = time.monotonic()
        assert "no complete answer within 0.5 s" in asked(url, timeout=0.5)
        assert time.monotonic() - start < 100  # what the server sends lasts longer, on any machine


def flood(connection: socket.socket, request: bytes) -> None:
    connection.sendall(HEAD + b"\r\n")
    for _ in range(400):  # 100 MB
        connection.sendall(b"x" * 262_144)


def bomb(connection: socket.socket, request: bytes) -> None:
    packing = zlib.compressobj(1, wbits=31)
    packed = b"".join([packing.compress(b" " * 1_000_000) for _ in range(200)]) + packing.flush()
    whole(packed, b"Content-Encoding: gzip")(connection, request)


@pytest.mark.parametrize("answer", [flood, bomb])
def test_a_body_is_limited_before_and_after_decompression(answer):
    with server(answer, connections=1) as url:
        tracemalloc.start()
        try:
            assert "larger than 8 MB" in asked(url, attempts=1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 4 * MAXIMUM_BODY


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"choices": [{"message": {"content": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}]}",
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": [3]}}]}',
        b'{"choices": {"0": null}}',
        b'{"choices": [' + b"9" * 5_000 + b"]}",
        b"\xff\xfe",
        b"",
    ],
    ids=["open", "deep", "number", "parts", "object", "digits", "bytes", "empty"],
)
def test_what_is_no_completion_is_said(body):
    with server(whole(body)) as url:
        assert "failed 2 times; last: the response is not a chat completion in JSON." in asked(url)


@pytest.mark.parametrize("encoding", [b"br", b"gzip, gzip", b"gzip"])
def test_a_compression_that_is_damaged_or_unknown_is_said(encoding):
    with server(whole(b"not compressed", b"Content-Encoding: " + encoding)) as url:
        assert "compressed" in asked(url)


def echo(connection: socket.socket, request: bytes) -> None:
    """Repeat the request's header in an answer."""
    sent = next(line for line in request.decode().split("\r\n") if line.lower().startswith("authorization"))
    said = {"choices": [{"message": {"content": f"You sent {sent}"}}]}
    whole(json.dumps(said).encode())(connection, request)


def test_the_key_is_masked_in_answers_and_in_the_file_that_keeps_them(monkeypatch, tmp_path):
    monkeypatch.setenv("HOSTILE_KEY", KEY)
    with server(echo, connections=1) as url:
        cache = AnswerCache(tmp_path / "answers.jsonl")
        (reply,) = Endpoint(url, "tiny", key_variable="HOSTILE_KEY", timeout=PATIENCE).ask(
            [Question("q")], cache
        )
    assert reply.text.lower() == "you sent authorization: bearer …"
    assert "secret" not in (tmp_path / "answers.jsonl").read_text()


@pytest.mark.parametrize("form", [KEY, KEY.replace("/", r"\/"), KEY.replace("/", "%2F")])
def test_the_key_and_escape_sequences_are_kept_out_of_errors(monkeypatch, form):
    monkeypatch.setenv("HOSTILE_KEY", KEY)
    body = f"\x1b[2J\x1b]0;x\x07 no: {form} {'y' * 26_000}".encode()
    for status in (b"400 Bad", b"500 Oh"):
        with server(whole(body, status=status)) as url:
            message = asked(url)
            assert "secret" not in message
            assert r"\x1b[2J" in message
            assert f"status {status[:3].decode()}" in message


def test_a_short_key_of_a_local_server_stays_a_word(monkeypatch):
    monkeypatch.setenv("HOSTILE_KEY", "no")
    body = json.dumps({"choices": [{"message": {"content": "no"}}]}).encode()
    with server(whole(body), connections=1) as url:
        (reply,) = Endpoint(url, "tiny", key_variable="HOSTILE_KEY", timeout=PATIENCE).ask([Question("q")])
    assert reply.text == "no"


def test_when_the_budget_ends_the_reason_of_the_failures_is_kept():
    with server(whole(b"quota of project p is used up", status=b"503 Busy")) as url:
        message = asked(url, attempts=5, max_requests=2)
    assert "The limit of 2 requests is reached" in message
    assert "status 503: quota of project p is used up" in message


@pytest.mark.parametrize("wait", [b"nan", b"inf", b"-5", b"1e999", b"soon"])
def test_a_server_cannot_ask_for_an_impossible_wait(wait):
    with server(whole(b"later", b"Retry-After: " + wait, status=b"429 Slow")) as url:
        assert "status 429" in asked(url, attempts=1)


def test_a_key_that_no_header_can_have_is_refused(monkeypatch):
    from cuecard.errors import UsageError

    monkeypatch.setenv("HOSTILE_KEY", "sk-secret\nX: y")
    with pytest.raises(UsageError, match="HOSTILE_KEY has a line break") as refused:
        Endpoint("http://127.0.0.1:9/v1", "tiny", key_variable="HOSTILE_KEY").ask([Question("q")])
    assert "secret" not in str(refused.value)
