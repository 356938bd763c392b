"""`memories edit`, `memories restore` and `purge` at the shell."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.cli.edge import EXIT_USAGE, run


class Shell:
    """Runs commands in one project, as one user, and reads what they print."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._project = project
        self._capsys = capsys
        self.stderr = ""

    def __call__(self, *words: str, code: int = 0, user: str = "u1") -> str:
        """Run a command, check its exit code, and return its stdout."""
        found = run([*words, "--user", user, "--project", str(self._project)])
        captured = self._capsys.readouterr()
        self.stderr = captured.err
        assert found == code, captured.out + captured.err
        return captured.out

    def json(self, *words: str, code: int = 0, user: str = "u1") -> dict[str, Any]:
        """Run a command with `--json`; stdout must be one document."""
        return json.loads(self(*words, "--json", code=code, user=user))

    def remember(self, text: str, *, user: str = "u1") -> str:
        """Remember something and return its id."""
        return self.json("remember", text, user=user)["memory_id"]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return Shell(tmp_path, capsys)


def test_an_edit_is_found_by_its_new_words_and_told_by_the_history(shell: Shell) -> None:
    memory_id = shell.remember("Reports go out on Fridays")
    edited = shell.json(
        *("memories", "edit", memory_id, "--content", "Reports go out on Mondays"),
        *("--cue", "weekly numbers", "--add-tag", "data_form:csv", "--reason", "moved"),
    )
    assert (edited["content"], edited["cues"]) == ("Reports go out on Mondays", ["weekly numbers"])
    assert "data_form:csv" in edited["tags"]
    assert edited["edited_at"] is not None
    (hit,) = shell.json("recall", "mondays")["hits"]
    assert hit["memory_id"] == memory_id
    assert shell.json("recall", "fridays")["hits"] == []
    shown = shell("memories", "history", memory_id)
    assert "moved" in shown
    assert "->" in shown
    event = shell.json("memories", "history", memory_id)["events"][-1]
    assert event["old"]["content"] == "Reports go out on Fridays"


def test_a_removed_tag_no_longer_finds_the_memory(shell: Shell) -> None:
    memory_id = shell.remember("Reports go out on Fridays")
    shell("memories", "edit", memory_id, "--add-tag", "data_form:csv")
    assert len(shell.json("memories", "list", "--tag", "data_form:csv")["memories"]) == 1
    assert len(shell.json("recall", "reports", "--tag", "data_form:csv")["hits"]) == 1
    shell("memories", "edit", memory_id, "--remove-tag", "data_form:csv")
    assert shell.json("memories", "list", "--tag", "data_form:csv")["memories"] == []
    assert shell.json("recall", "reports", "--tag", "data_form:csv")["relaxations"] != []
    error = shell.json(
        "memories", "edit", memory_id, "--remove-tag", "data_form:csv", code=EXIT_USAGE
    )
    assert "does not carry data_form:csv" in error["error"]["message"]


def test_a_validity_is_set_and_taken_back(shell: Shell) -> None:
    memory_id = shell.remember("Parking is free")
    shell("memories", "edit", memory_id, "--valid-to", "2020-01-01T00:00:00+00:00")
    assert shell.json("memories", "list")["memories"] == []
    shell("memories", "show", memory_id, code=EXIT_USAGE)
    restored = shell.json("memories", "edit", memory_id, "--valid-to", "none")
    assert restored["valid_to"] is None
    assert len(shell.json("memories", "list")["memories"]) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "nothing is to be changed"),
        (("--valid-to", "soon"), "is no time"),
        (("--add-tag", "tool:unheard-of"), "unknown tags"),
        (("--content", " "), "blank"),
        (("--content", "x" * 5_000), "at most"),
    ],
)
def test_an_edit_that_cannot_be_meant_is_refused(
    shell: Shell, words: tuple[str, ...], why: str
) -> None:
    memory_id = shell.remember("Parking is free")
    error = shell.json("memories", "edit", memory_id, *words, code=EXIT_USAGE)
    assert why in error["error"]["message"]
    assert len(shell.json("memories", "history", memory_id)["events"]) == 1


def test_what_was_forgotten_is_restored(shell: Shell) -> None:
    memory_id = shell.remember("Parking is free")
    shell("forget", memory_id, "--reason", "no longer")
    assert "restored as" in shell("memories", "restore", memory_id, "--reason", "it is again")
    kinds = [one["kind"] for one in shell.json("memories", "history", memory_id)["events"]]
    assert kinds == ["created", "forgotten", "restored"]
    error = shell.json("memories", "restore", memory_id, code=EXIT_USAGE)
    assert "nothing to restore" in error["error"]["message"]


def test_purging_needs_to_be_confirmed_and_says_what_it_erased(shell: Shell) -> None:
    memory_id = shell.remember("The door code is blue-falcon")
    shell.remember("Parking is free", user="u2")
    plan = shell.json("purge", "--memory", memory_id, code=EXIT_USAGE)
    assert plan["purged"] is False
    assert plan["memory_ids"] == [memory_id]
    assert "nothing was erased" in shell.stderr
    assert "would be erased" in shell("purge", "--memory", memory_id, code=EXIT_USAGE)
    assert len(shell.json("memories", "list")["memories"]) == 1
    done = shell.json("purge", "--memory", memory_id, "--yes")
    assert (done["purged"], done["left"]) == (True, [])
    assert done["erased"] == plan["erased"]
    assert done["erased"]["memories"] == 1
    shell("purge", "--memory", memory_id, "--yes", code=EXIT_USAGE)
    assert shell.json("purge", "--yes")["erased"] == {}
    assert len(shell.json("memories", "list", user="u2")["memories"]) == 1


@pytest.mark.parametrize(
    "words",
    [("--memory", "a", "--episode", "b"), ("--keep-episode",), ("--episode", "ghost")],
)
def test_a_purge_that_cannot_be_meant_erases_nothing(shell: Shell, words: tuple[str, ...]) -> None:
    shell.remember("Parking is free")
    shell("purge", *words, "--yes", code=EXIT_USAGE)
    assert len(shell.json("memories", "list")["memories"]) == 1


@pytest.mark.parametrize("user", ["all", "*", ""])
def test_nobody_can_purge_everybody(shell: Shell, user: str) -> None:
    shell.remember("Parking is free")
    shell("purge", "--yes", code=EXIT_USAGE, user=user)
    assert len(shell.json("memories", "list")["memories"]) == 1
