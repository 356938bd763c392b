"""A Chroma server for tests: on loopback, ended by its own process id."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

START_LIMIT_S = 60.0
POLL_S = 0.05


@contextmanager
def chroma_server(folder: Path) -> Generator[str]:
    """Run `chroma run` on a free port while the block runs, and give its address."""
    port = _free_port()
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder)]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
    try:
        _await_port(port, server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=START_LIMIT_S)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _await_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    pause = threading.Event()
    for _ in range(int(START_LIMIT_S / POLL_S)):
        assert server.poll() is None, "chroma run ended at once"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            pause.wait(POLL_S)
    raise AssertionError("chroma run did not listen")
