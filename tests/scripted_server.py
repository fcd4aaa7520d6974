"""A chat endpoint on loopback that fails as it is told to, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Script:
    """What the server does: `answer` gives the text for a prompt, `faults` a list of faults per prompt."""

    answer: Callable[[str], str] = lambda prompt: "neutral"
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    first_tokens: Callable[[str], list[tuple[str, float]]] | None = None
    odd_logprobs: object = None
    finish_reason: str = "stop"
    usage: dict[str, int] | None = None
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, object]] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    """Serve a script on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][0]["content"]
            with script.lock:
                script.asked[prompt] += 1
                script.headers.append(dict(self.headers))
                script.bodies.append(body)
                fault = script.faults[prompt].pop(0) if script.faults.get(prompt) else ""
            if fault == "timeout":
                while self.rfile.read(1):  # until the client gives up
                    pass
                self.close_connection = True
                return
            if fault == "cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices": [{"mess')
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if fault.isdigit():
                self.reply(int(fault), {"error": f"asked to fail, key {self.headers.get('Authorization')}"})
                return
            if fault == "broken":
                self.reply(200, b'{"choices": [')
                return
            with script.lock:  # an answer may count what was asked
                said = script.answer(prompt)
            choice = {"message": {"content": said}, "finish_reason": script.finish_reason}
            if body.get("logprobs") and script.first_tokens is not None:
                tokens = [{"token": t, "logprob": p} for t, p in script.first_tokens(prompt)]
                choice["logprobs"] = {"content": [{**tokens[0], "top_logprobs": tokens}]}
            if script.odd_logprobs is not None:
                choice["logprobs"] = script.odd_logprobs
            with script.lock:
                script.answered[prompt] += 1
            self.reply(200, {"choices": [choice]} | ({"usage": script.usage} if script.usage else {}))

        def reply(self, status: int, content: object) -> None:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
