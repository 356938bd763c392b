"""`agentkit chat` as a process: in a real terminal, and behind a pipe."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.openai_server import ModelServer, model_server

LIMIT_S = 90.0


class Tty:
    """A chat in a pseudo terminal."""

    def __init__(self, command: list[str], *, cwd: Path, env: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""

    def type(self, line: str) -> None:
        """Type a line and press enter."""
        os.write(self._master, f"{line}\n".encode())

    def read_until(self, mark: str) -> str:
        """Return what is shown up to a mark, and look for the next mark behind it."""
        end_s = time.monotonic() + LIMIT_S
        while mark not in self.shown:
            ready, _, _ = select.select([self._master], [], [], end_s - time.monotonic())
            assert ready, f"{mark!r} was not shown, but {self.shown!r}"
            self.shown += self._chunk()
        before, _, self.shown = self.shown.partition(mark)
        return before

    def rest(self) -> str:
        """Return what is shown until the process leaves."""
        while chunk := self._chunk():
            self.shown += chunk
        self.process.wait(LIMIT_S)
        return self.shown

    def close(self) -> None:
        """End the process if the test did not get that far."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def _chunk(self) -> str:
        try:
            return os.read(self._master, 65_536).decode("utf-8", "replace")
        except OSError:
            return ""


def command(server: ModelServer) -> list[str]:
    chat = [sys.executable, "-m", "agentkit.cli", "chat", "--user", "u1", "--model", "local"]
    return [*chat, "--base-url", server.base_url]


@pytest.fixture
def env(tmp_path: Path, repository: Path) -> dict[str, str]:
    """A project that recalls by words alone; the environment in which the sources are found."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    (tmp_path / "memory" / "reflection.yaml").write_text("mode: external\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTKIT_")}
    return {**kept, "PYTHONPATH": str(repository), "LC_ALL": "C"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(lambda body: "Very well then.") as running:
        yield running


def test_the_second_task_shows_what_the_first_one_taught(
    server: ModelServer, env: dict[str, str], tmp_path: Path
) -> None:
    tty = Tty(command(server), cwd=tmp_path, env=env)
    try:
        tty.read_until("\n> ")
        tty.type("Clean orders.csv. I prefer reports in metric units.")
        first = tty.read_until("\n> ")
        assert "Very well then." in first
        assert "recalled: " not in first
        tty.type("/done success")
        ended = tty.read_until("\n> ")
        assert "task ended (success)" in ended
        assert "metric units" in ended.split("learnt: ")[1]
        tty.type("Which units should my reports have? 用中文也行。")
        second = tty.read_until("\n> ")
        assert "metric units" in second.split("recalled: ")[1]
        assert second.index("recalled: ") < second.index("Very well then.")
        assert "用中文也行" in server.asked()
        tty.type("/quit")
        assert "task ended" in tty.rest()
        assert tty.process.returncode == 0
    finally:
        tty.close()
    assert any(request.get("stream") for request in server.requests)


def test_ctrl_c_stops_the_answer_and_a_second_one_leaves(
    env: dict[str, str], tmp_path: Path
) -> None:
    asked, going_on = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> str:
        asked.set()
        going_on.wait(LIMIT_S)
        return "Too late."

    with model_server(slow) as server:
        tty = Tty(command(server), cwd=tmp_path, env=env)
        try:
            tty.read_until("\n> ")
            tty.type("Count to a million.")
            assert asked.wait(LIMIT_S)
            os.kill(tty.process.pid, signal.SIGINT)
            tty.read_until("stopped")
            tty.read_until("> ")
            going_on.set()
            os.kill(tty.process.pid, signal.SIGINT)
            assert "Traceback" not in tty.rest()
            assert tty.process.returncode == 0
        finally:
            going_on.set()
            tty.close()


def test_behind_a_pipe_each_line_is_answered_and_the_end_seals(
    server: ModelServer, env: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [*command(server), "--session", "daily"],
        cwd=tmp_path,
        env=env,
        input="Good morning.\nSort the orders.",
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert [line.strip() for line in done.stdout.splitlines()] == ["Very well then."] * 2
    assert "session daily of u1" in done.stderr
    assert "task ended (unknown)" in done.stderr


def test_a_failed_answer_behind_a_pipe_is_told_by_the_exit_code(
    env: dict[str, str], tmp_path: Path
) -> None:
    with model_server(lambda body: "") as server:
        done = subprocess.run(
            command(server),
            cwd=tmp_path,
            env=env,
            input="Good morning.\n",
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=LIMIT_S,
        )
    assert (done.returncode, done.stdout.strip()) == (1, "")
    assert "error: the model gave an empty answer" in done.stderr
    assert "Traceback" not in done.stderr
