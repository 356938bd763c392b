"""`agentkit export` and `agentkit restore` on real projects."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.cli.edge import EXIT_FAILED, EXIT_USAGE, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    made(root)
    return root


def made(root: Path) -> None:
    """Make a project that recalls by words alone, with time enough on a machine that is busy."""
    (root / "memory").mkdir(parents=True)
    (root / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (root / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")


class Shell:
    """Runs commands and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, project: Path, *words: str, code: int = 0) -> str:
        found = run([*words, "--project", str(project)])
        captured = self._capsys.readouterr()
        self.err = captured.err
        assert found == code, captured.err
        return captured.out

    def json(self, project: Path, *words: str, code: int = 0) -> dict[str, Any]:
        return json.loads(self(project, *words, "--json", code=code))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_a_project_moves_to_another_folder(project: Path, tmp_path: Path, shell: Shell) -> None:
    kept = shell.json(project, "remember", "Invoices are on floor three", "--user", "u1")
    shell(project, "remember", "发票在三楼", "--user", "用户")
    file = str(tmp_path / "all.jsonl.gz")
    wrote = shell.json(project, "export", "--all", "-o", file)
    assert wrote["records"]["memory"] == 2
    assert wrote["size_bytes"] == Path(file).stat().st_size
    assert wrote["lost"] == []

    other = tmp_path / "other"
    made(other)
    restored = shell.json(other, "restore", file)
    assert (restored["added"]["memory"], restored["known"], restored["note"]) == (2, {}, "")
    hits = shell.json(other, "recall", "where are the invoices?", "--user", "u1")["hits"]
    assert [hit["memory_id"] for hit in hits] == [kept["memory_id"]]
    assert shell.json(other, "recall", "发票在哪里", "--user", "用户")["hits"]
    assert shell(other, "restore", file).splitlines() == [
        "restored nothing",
        "here already: 2 memories",
    ]
    assert "here already" not in shell.err


def test_one_user_moves_under_another_name(project: Path, tmp_path: Path, shell: Shell) -> None:
    shell(project, "remember", "The door code is blue-falcon", "--user", "alice")
    shell(project, "remember", "The road is closed", "--user", "bob")
    file = str(tmp_path / "alice.jsonl")
    assert "1 memory" in shell(project, "export", "--user", "alice", "-o", file)
    assert "bob" not in Path(file).read_text(encoding="utf-8")
    other = tmp_path / "other"
    made(other)
    assert shell(other, "restore", file, "--user", "alice", "--as", "carol").startswith(
        "restored 1 memory"
    )
    assert shell.json(other, "memories", "list", "--user", "alice")["memories"] == []
    assert len(shell.json(other, "memories", "list", "--user", "carol")["memories"]) == 1


def test_an_export_must_say_whose(project: Path, tmp_path: Path, shell: Shell) -> None:
    file = tmp_path / "x.jsonl"
    shell(project, "remember", "Something", "--user", "u1")
    for words in ((), ("--user", "u1", "--all"), ("--user", "all"), ("--user", "ghost")):
        shell(project, "export", *words, "-o", str(file), code=EXIT_USAGE)
        assert not file.exists()


def test_a_damaged_file_is_refused_with_its_line(
    project: Path, tmp_path: Path, shell: Shell
) -> None:
    shell(project, "remember", "Something", "--user", "u1")
    file = tmp_path / "x.jsonl"
    shell(project, "export", "--all", "-o", str(file))
    file.write_bytes(file.read_bytes()[:-200])
    other = tmp_path / "other"
    made(other)
    told = shell.json(other, "restore", str(file), code=EXIT_FAILED)["error"]
    assert told["kind"] == "ArchiveError"
    assert "x.jsonl:" in told["message"]
    shell(other, "restore", str(tmp_path / "nowhere"), code=EXIT_FAILED)
    assert "cannot be read" in shell.err


def test_what_was_purged_comes_back_only_where_that_is_asked_for(
    project: Path, tmp_path: Path, shell: Shell
) -> None:
    kept = shell.json(project, "remember", "Invoices are on floor three", "--user", "u1")
    shell(project, "remember", "The door code is blue-falcon", "--user", "u1")
    file = str(tmp_path / "old.jsonl")
    shell(project, "export", "--all", "-o", file)
    shell(project, "purge", "--memory", kept["memory_id"], "--user", "u1", "--yes")
    said = shell(project, "restore", file).splitlines()
    assert said[0] == "restored nothing"
    assert "purged here since, left out: 1 memory (see --with-purged)" in said
    assert shell.json(project, "restore", file)["purged"] == {"memory": 1}
    assert len(shell.json(project, "memories", "list", "--user", "u1")["memories"]) == 1
    assert "restored 1 memory" in shell(project, "restore", file, "--with-purged")
    assert len(shell.json(project, "memories", "list", "--user", "u1")["memories"]) == 2
    assert shell.json(project, "restore", file)["purged"] == {}
