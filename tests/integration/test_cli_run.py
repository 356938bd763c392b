"""`agentkit run` as a process, against a server on loopback that speaks OpenAI's protocol."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.openai_server import model_server

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def agentkit(tmp_path: Path, repository: Path) -> Command:
    """Runs commands in a project that recalls by words alone and reflects by rules."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    (tmp_path / "memory" / "reflection.yaml").write_text("mode: external\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTKIT_")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agentkit.cli", *words, "--user", "u1"],
            env={**kept, "PYTHONPATH": str(repository)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def test_a_task_is_answered_on_stdout_and_the_next_one_recalls_it(agentkit: Command) -> None:
    def reply(body: dict[str, Any]) -> str:
        return "In metric units." if "metric" in json.dumps(body) else "No units are known."

    with model_server(reply) as server:
        local = ("--model", "local", "--base-url", server.base_url)
        first = agentkit("run", "Clean orders.csv. I prefer reports in metric units.", *local)
        assert (first.returncode, first.stdout) == (0, "In metric units.\n"), first.stderr
        assert "learnt: " in first.stderr
        assert "recalled: " not in first.stderr
        second = agentkit("run", "Which units should my reports have?", *local, "--json")
        assert second.returncode == 0, second.stderr
        document = json.loads(second.stdout)
        assert document["answer"] == "In metric units."
        assert any("metric" in memory["content"] for memory in document["recalled"])
        assert document["reflected"] is True
        assert (document["tokens_in"], document["tokens_out"]) == (7, 3)
        # Two tasks, and the looks back on them: these ask the same server.
        assert len(server.requests) > 2
        assert any("<memories>" in server.asked(at) for at in range(len(server.requests)))


def test_a_run_that_fails_is_one_line_and_code_1(agentkit: Command) -> None:
    def refuse(body: dict[str, Any]) -> str:
        raise OSError("out of memory")

    with model_server(refuse) as server:
        done = agentkit("run", "Hello", "--model", "local", "--base-url", server.base_url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the run failed: ")
    assert "out of memory" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_empty_answer_is_one_line_and_code_1(agentkit: Command) -> None:
    with model_server(lambda body: "") as server:
        done = agentkit("run", "Hello", "--model", "local", "--base-url", server.base_url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")


def test_without_a_model_one_line_says_how_to_set_one(agentkit: Command) -> None:
    done = agentkit("run", "Hello", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)["error"]["message"]
    assert "--model" in said
    assert "--base-url http://127.0.0.1:11434/v1" in said


@pytest.mark.parametrize("words", [("run", "  "), ("run", "Hello", "--base-url", "nowhere")])
def test_a_wrong_call_is_one_line(agentkit: Command, words: tuple[str, ...]) -> None:
    done = agentkit(*words, "--model", "local")
    assert done.returncode in (1, 2)
    assert done.returncode == (2 if words[1].isspace() else 1)
    assert done.stderr.count("\n") == 1


def test_an_interrupted_run_leaves_without_a_traceback(
    agentkit: Command, tmp_path: Path, repository: Path
) -> None:
    asked, going_on = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> str:
        asked.set()
        going_on.wait(60)
        return "Too late."

    with model_server(slow) as server:
        local = ("--model", "local", "--base-url", server.base_url)
        process = subprocess.Popen(
            [sys.executable, "-m", "agentkit.cli", "run", "Hello", "--user", "u1", *local],
            env={**os.environ, "PYTHONPATH": str(repository)},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            going_on.set()
            said, told = process.communicate(timeout=60)
        finally:
            going_on.set()
            process.kill()
            process.wait()
    assert (process.returncode, said) == (130, "")
    assert "Traceback" not in told
