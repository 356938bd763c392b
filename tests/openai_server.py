"""A small server on loopback that speaks OpenAI's chat completions, streamed and whole."""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[dict[str, Any]], str]


@dataclass
class ModelServer:
    """A server that runs, and what it was asked.

    Attributes:
        base_url: Address for `--base-url`.
        requests: Bodies of the requests, in order.
    """

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def asked(self, request: int = -1) -> str:
        """Return everything that a request sent, as JSON text."""
        return json.dumps(self.requests[request], ensure_ascii=False)


@contextmanager
def model_server(reply: Reply) -> Generator[ModelServer]:
    """Serve while the block runs.

    Args:
        reply: Gives the answer to a request body; an `OSError` becomes status 500.
    """
    server = ModelServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            body: dict[str, Any] = json.loads(self.rfile.read(size))
            server.requests.append(body)
            try:
                text = reply(body)
            except OSError as error:
                self._send(500, "application/json", json.dumps({"error": {"message": str(error)}}))
                return
            if body.get("stream"):
                self._send(200, "text/event-stream", "".join(_chunks(text)))
            else:
                self._send(200, "application/json", json.dumps(_whole(text)))

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.base_url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _head(kind: str) -> dict[str, Any]:
    return {"id": "c1", "object": kind, "created": 1_790_000_000, "model": "local"}


def _whole(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {**_head("chat.completion"), "choices": [choice], "usage": usage}


def _chunks(text: str) -> Iterator[str]:
    for word in text.split(" "):
        delta = {"role": "assistant", "content": word + " "}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield _event({**_head("chat.completion.chunk"), "choices": [choice]})
    last: dict[str, object] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    yield _event({**_head("chat.completion.chunk"), "choices": [last]})
    yield "data: [DONE]\n\n"


def _event(document: dict[str, Any]) -> str:
    return f"data: {json.dumps(document)}\n\n"
