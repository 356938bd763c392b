"""The commands on a real project: real SQLite, the bundled embedder, the rule critic."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.cli.edge import EXIT_FAILED, EXIT_USAGE, run


class Shell:
    """Runs commands in one project and reads what they print."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run a command, check its exit code, and return its stdout."""
        found = run([*words, "--project", str(self.project)])
        captured = self._capsys.readouterr()
        assert found == code, captured.err
        return captured.out

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a command with `--json`; stdout must be one document."""
        return json.loads(self(*words, "--json", code=code))


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Commands in a project that recalls by words alone, with time enough on a busy machine."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return Shell(tmp_path, capsys)


@pytest.fixture
def local_shell(shell: Shell) -> Shell:
    """The same with the bundled embedder, which takes seconds to load for each command."""
    (shell.project / "agentkit.yaml").write_text("index: none\n", encoding="utf-8")
    return shell


def _message(role: str, content: str | None, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def _session(number: int, column: str) -> dict[str, object]:
    """A task in which a tool fails, is called again with one change, and works."""

    def call(name: str, strategy: str) -> dict[str, object]:
        arguments = json.dumps({"path": "sales.csv", "column": column, "strategy": strategy})
        return {
            "id": name,
            "type": "function",
            "function": {"name": "tables_fill_missing", "arguments": arguments},
        }

    error = f"Error: column '{column}' holds text, the mean needs numbers; use mode"
    return {
        "id": f"session {number}",
        "messages": [
            _message("user", f"Fill the missing values of the {column} column in sales.csv"),
            _message("assistant", None, tool_calls=[call("c1", "mean")]),
            _message("tool", error, tool_call_id="c1"),
            _message("assistant", None, tool_calls=[call("c2", "mode")]),
            _message("tool", "filled 7 cells", tool_call_id="c2"),
            _message("assistant", "The missing values are filled with the most frequent value."),
            _message("user", "Thanks, that's it."),
        ],
    }


def _write(file: Path, *lines: object) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_what_was_remembered_is_recalled_in_other_words_and_in_chinese(local_shell: Shell) -> None:
    written = local_shell.json(
        "remember", "The invoices are archived on the third floor", "--user", "u1"
    )
    assert written["status"] in ("pending", "active")
    for query in ("where do we keep old invoices?", "发票存放在哪里"):
        found = local_shell.json("recall", query, "--user", "u1")
        assert found["timed_out"] is False
        assert [hit["memory_id"] for hit in found["hits"]] == [written["memory_id"]]
    hit = found["hits"][0]
    assert {
        "memory_id",
        "content",
        "score",
        "similarity",
        "confidence",
        "memory_type",
        "tags",
        "explanation",
        "evidence",
    } <= set(hit)
    assert local_shell.json("recall", "invoices", "--user", "u2")["hits"] == []


def test_a_table_and_the_explanation_are_shown_to_a_person(shell: Shell) -> None:
    shell("remember", "Reports go to [finance] as PDF", "--user", "u1")
    shown = shell("recall", "how to send reports", "--user", "u1", "--explain")
    assert "Reports go to [finance] as PDF" in shown
    assert "score" in shown
    assert "retrieval " in shown
    assert shell("recall", "reports", "--user", "nobody yet").strip() == "nothing found"


def test_forgetting_tells_the_truth_about_what_it_did(shell: Shell) -> None:
    kept = shell.json("remember", "The door code is blue-falcon", "--user", "u1")["memory_id"]
    forget = ("forget", kept, "ghost", "--user", "u1", "--reason", "moved out")
    first = shell.json(*forget, code=EXIT_FAILED)
    assert first == {"forgotten": [kept], "not_found": ["ghost"]}
    again = shell.json(*forget, code=EXIT_FAILED)
    assert again == {"forgotten": [], "not_found": [kept, "ghost"]}
    assert shell.json("recall", "door code", "--user", "u1")["hits"] == []
    assert shell.json("memories", "list", "--user", "u1")["memories"] == []


def test_another_user_cannot_forget_nor_see_by_id(shell: Shell) -> None:
    kept = shell.json("remember", "The door code is blue-falcon", "--user", "u1")["memory_id"]
    words = ("forget", kept, "--user", "u2", "--reason", "x")
    assert shell.json(*words, code=EXIT_FAILED)["not_found"] == [kept]
    foreign = shell.json("memories", "show", kept, "--user", "u2", code=EXIT_USAGE)
    missing = shell.json("memories", "show", "ghost", "--user", "u2", code=EXIT_USAGE)
    assert foreign["error"]["kind"] == missing["error"]["kind"] == "NotFoundError"
    assert shell.json("recall", "door code", "--user", "u1")["hits"]


def test_recorded_sessions_become_lessons_that_cite_their_steps(
    shell: Shell, tmp_path: Path
) -> None:
    file = _write(tmp_path / "runs.jsonl", _session(1, "region"), _session(2, "city"))
    first = shell.json("import", str(file), "--user", "u1")
    assert (first["format"], first["imported"], first["known"]) == ("openai-chat", 2, 0)
    again = shell.json("import", str(file), "--user", "u1")
    assert (again["imported"], again["known"]) == (0, 2)
    learnt = shell.json("reflect", "--user", "u1")
    assert len(learnt["episodes"]) == 2
    assert learnt["added"] >= 1
    assert learnt["failed"] == 0
    hits = shell.json("recall", "fill the missing values of a text column", "--user", "u1")["hits"]
    lesson = next(hit for hit in hits if hit["evidence"])
    shown = shell("memories", "show", lesson["memory_id"], "--user", "u1")
    assert lesson["evidence"][0]["step_id"] in shown
    assert (
        shell.json("recall", "fill the missing values of a text column", "--user", "u2")["hits"]
        == []
    )
    assert shell("reflect", "--user", "u1").strip() == "nothing to reflect on"


def test_a_damaged_recording_gives_its_good_lines_and_names_the_others(
    shell: Shell, tmp_path: Path
) -> None:
    lines = [json.dumps(_session(number, f"column {number}")) for number in range(1, 8)]
    lines[3] = lines[3][:40]
    lines[4] = ""
    lines[5] = "\0\0\0"
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    first = shell.json("import", str(file), "--user", "u1")
    assert first["imported"] == 4
    assert [item["line"] for item in first["skipped"]] == [4, 5, 6]
    assert all(item["reason"] for item in first["skipped"])
    assert shell.json("import", str(file), "--user", "u1")["imported"] == 0
    with file.open("a", encoding="utf-8") as more:
        more.write(json.dumps(_session(8, "column 8")) + "\n")
    assert shell.json("import", str(file), "--user", "u1")["imported"] == 1
    strict = shell.json("import", str(file), "--user", "u1", "--strict", code=EXIT_FAILED)
    assert strict["error"]["kind"] == "RecordingError"
    assert ":4" in strict["error"]["message"]


def test_an_import_says_what_to_do_next(shell: Shell, tmp_path: Path) -> None:
    file = _write(tmp_path / "runs.jsonl", _session(1, "region"))
    shown = shell("import", str(file), "--user", "u1", "--format", "openai-chat")
    assert "imported 1, known 0, skipped 0" in shown
    assert "agentkit reflect --user u1" in shown
    assert shell("import", str(tmp_path / "none"), "--user", "u1", code=EXIT_FAILED) == ""
    wrong = shell.json("import", str(file), "--user", "u1", "--format", "carbon", code=EXIT_USAGE)
    assert "openai-chat" in wrong["error"]["message"]


def test_feedback_moves_confidence_and_is_kept_in_the_history(shell: Shell) -> None:
    memory_id = shell.json("remember", "Lunch is at noon", "--user", "u1")["memory_id"]
    found = shell.json("recall", "when is lunch", "--user", "u1")
    before = found["hits"][0]["confidence"]
    words = ("feedback", found["retrieval_id"], memory_id, "misleading", "--user", "u1")
    shell(*words, "--reason", "it moved to one")
    after = shell.json("memories", "show", memory_id, "--user", "u1")["confidence"]
    assert after < before
    events = shell.json("memories", "history", memory_id, "--user", "u1")["events"]
    assert events[0]["kind"] == "created"
    assert len(events) >= 2
    assert "created" in shell("memories", "history", memory_id, "--user", "u1")


def test_feedback_on_what_did_not_come_back_is_refused(shell: Shell) -> None:
    memory_id = shell.json("remember", "Lunch is at noon", "--user", "u1")["memory_id"]
    words = ("feedback", "no-such-recall", memory_id, "helpful", "--user", "u1")
    assert shell.json(*words, code=EXIT_USAGE)["error"]["kind"] == "NotFoundError"
    typo = ("feedback", "no-such-recall", memory_id, "helpfull", "--user", "u1")
    assert "did you mean 'helpful'" in shell.json(*typo, code=EXIT_USAGE)["error"]["message"]


@pytest.mark.parametrize("k", ["0", "-1", "1000000"])
def test_a_number_of_results_out_of_range_is_refused(shell: Shell, k: str) -> None:
    error = shell.json("recall", "x", "--user", "u1", "--k", k, code=EXIT_USAGE)["error"]
    assert "1 to 100" in error["message"]


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_is_refused(shell: Shell, query: str) -> None:
    assert shell.json("recall", query, "--user", "u1", code=EXIT_USAGE)["error"]


@pytest.mark.parametrize("query", ["%", "*", "refund " * 15_000])
def test_a_strange_or_very_long_query_is_answered(shell: Shell, query: str) -> None:
    shell("remember", "A refund takes five days", "--user", "u1")
    assert shell.json("recall", query, "--user", "u1")["timed_out"] is False


@pytest.mark.parametrize(
    ("given", "applied"),
    [
        (["--tag", "domain:a", "--tag", "domain:b"], ["domain:a", "domain:b"]),
        (["--tag", "domain:a,domain:b"], ["domain:a", "domain:b"]),
        (["--tag", '["domain:a","domain:b"]'], ["domain:a", "domain:b"]),
        (["--tag", " Domain:A "], ["domain:a"]),
        ([], []),
    ],
)
def test_tags_mean_the_same_in_every_shape(
    shell: Shell, given: list[str], applied: list[str]
) -> None:
    found = shell.json("recall", "x", "--user", "u1", *given, "--match", "any")
    assert found["applied"]["tags"] == applied
    assert found["applied"]["match"] == "any"


def test_memories_are_listed_newest_first_and_by_page(shell: Shell) -> None:
    for thing in ("tea", "coffee", "water"):
        shell("remember", f"The guest likes {thing}", "--user", "u1")
    listed = shell.json("memories", "list", "--user", "u1")["memories"]
    assert [one["content"].split()[-1] for one in listed] == ["water", "coffee", "tea"]
    page = shell.json("memories", "list", "--user", "u1", "--limit", "1", "--offset", "1")
    assert page["memories"] == listed[1:2]
    assert shell.json("memories", "list", "--user", "u1", "--type", "episodic")["memories"] == []
    assert "coffee" in shell("memories", "list", "--user", "u1")
    typo = shell.json("memories", "list", "--user", "u1", "--type", "semantics", code=EXIT_USAGE)
    assert "did you mean 'semantic'" in typo["error"]["message"]


def test_the_doctor_is_content_with_a_new_project(shell: Shell) -> None:
    document = shell.json("doctor")
    assert document["ok"] is True
    names = [check["name"] for check in document["checks"]]
    assert names[:5] == ["python", "project", "settings", "policy", "prompts"]
    assert len(names) > 6
    assert "fingerprint" in shell("doctor")


def test_the_doctor_names_a_broken_policy_in_one_line(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    (shell.project / "memory" / "recall.yaml").write_text("timout_s: 2\n", encoding="utf-8")
    assert run(["doctor", "--project", str(shell.project)]) == EXIT_FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: policy: ")
    assert "recall.yaml:1" in line
    assert shell.json("doctor", code=EXIT_FAILED)["ok"] is False


def test_a_session_suite_replays_without_touching_the_project(
    shell: Shell, repository: Path
) -> None:
    suite = repository / "evals" / "suites" / "demo.yaml"
    document = shell.json("eval", str(suite))
    assert document["suite"] == "demo"
    assert set(document["arms"]) == {"agentkit"}
    assert document["n_queries"] >= 3
    assert not (shell.project / ".agentkit").exists()


def test_a_retrieval_suite_compares_four_arms(local_shell: Shell, tmp_path: Path) -> None:
    corpus = {
        "train": [[f"how much is my {thing} bill", thing] for thing in ("water", "gas")] * 3,
        "test": [["what do I pay for water", "water"], ["what does gas cost me", "gas"]] * 4,
    }
    data = tmp_path / "clinc150.json"
    data.write_text(json.dumps(corpus), encoding="utf-8")
    out = tmp_path / "figures.json"
    words = ("eval", "clinc150", "--data", str(data), "--out", str(out))
    document = local_shell.json(*words, "--cache", str(tmp_path / "cache"))
    assert set(document["arms"]) == {"lexical", "dense", "fixed", "agentkit"}
    assert json.loads(out.read_text(encoding="utf-8")) == document
    assert "agentkit" in local_shell(*words)
    assert local_shell.json("eval", "clinc150", code=EXIT_USAGE)["error"]["message"].endswith(
        "give --data DIR"
    )
    assert (
        local_shell.json("eval", "no-such-suite", code=EXIT_USAGE)["error"]["kind"] == "InputError"
    )


def test_the_demo_never_clears_what_a_project_remembers(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = shell.json("remember", "Reports go out on Fridays.", "--user", "u1")["memory_id"]
    assert run(["demo", str(shell.project)]) == EXIT_USAGE
    assert "name another folder" in capsys.readouterr().err
    found = shell.json("memories", "list", "--user", "u1")["memories"]
    assert [memory["memory_id"] for memory in found] == [kept]


def test_a_tag_that_nobody_defined_is_named_with_the_likeliest_one(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell("remember", "Read the table with gbk.", "--user", "u1")
    words = ["recall", "table", "--user", "u1", "--tag", "data_form:cvs"]
    assert run([*words, "--project", str(shell.project)]) == 0
    assert "did you mean 'data_form:csv'?" in capsys.readouterr().err


def test_reflect_says_which_critic_looked_back_and_where_the_lessons_are(
    shell: Shell, tmp_path: Path
) -> None:
    sessions = tmp_path / "sessions.jsonl"
    sessions.write_text(json.dumps(_session(1, "amount")) + "\n", encoding="utf-8")
    shell("import", str(sessions), "--user", "u1")
    told = shell("reflect", "--user", "u1")
    assert "rules" in told
    assert "see them: agentkit memories list --user u1" in told


def test_sessions_are_listed_with_how_their_last_task_ended(shell: Shell, tmp_path: Path) -> None:
    file = _write(tmp_path / "runs.jsonl", _session(1, "region"))
    shell("import", str(file), "--user", "u1")
    (found,) = shell.json("sessions", "--user", "u1")["sessions"]
    assert found["open"] is False
    assert found["last_boundary"] == "imported"
    assert (found["tasks"], found["steps"]) == (1, 7)
    shown = shell("sessions", "--user", "u1")
    assert found["session_id"] in shown
    assert "imported: Fill the missing values" in shown
    assert shell("sessions", "--user", "u2").strip() == "no sessions"
