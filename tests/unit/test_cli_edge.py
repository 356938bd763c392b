"""The edge of the command line: exit codes, one line of text or one JSON document."""

import json
from pathlib import Path

import pytest

from agentkit.cli import edge
from agentkit.cli.edge import run, wants_json


def test_help_lists_every_command_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in (
        "init demo import reflect recall remember forget feedback memories eval mcp worker doctor "
        "tools policy"
    ).split():
        assert f"\n  {command} " in shown


def test_no_command_shows_the_help_on_stderr_and_exits_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([]) == edge.EXIT_USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: agentkit")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recal"], "No such command 'recal'"),
        (["recall", "--user", "u1"], "Missing argument 'QUERY'"),
        (["recall", "x"], "Missing option '--user'"),
        (["recall", "x", "--user", "u1", "--kk", "5"], "No such option: --kk"),
        (["recall", "x", "--user", "u1", "--k", "five"], "Invalid value for '--k'"),
        (["memories"], "Missing command; there are list, show, history"),
        (["eval"], "Missing argument 'SUITE'"),
    ],
)
def test_a_wrong_call_is_one_line_that_says_where_to_read_on(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == edge.EXIT_USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert said in captured.err
    assert "--help" in captured.err
    assert captured.err.count("\n") == 1


def test_a_wrong_call_with_json_is_one_document_on_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["recall", "--json"]) == edge.EXIT_USAGE
    captured = capsys.readouterr()
    assert captured.err == ""
    error = json.loads(captured.out)["error"]
    assert error["kind"] == "UsageError"
    assert "QUERY" in error["message"]


def test_a_name_that_means_everybody_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["recall", "x", "--user", "all", "--project", str(tmp_path), "--json"]
    assert run(words) == edge.EXIT_USAGE
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "InputError"


def test_json_is_wanted_only_as_an_option() -> None:
    assert wants_json(["recall", "x", "--json"])
    assert not wants_json(["recall", "--", "--json"])
    assert not wants_json(["recall", "x"])


def test_the_user_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTKIT_USER", "everybody")
    assert run(["recall", "x", "--project", str(tmp_path)]) == edge.EXIT_USAGE
    assert "everybody" in capsys.readouterr().err


def test_a_project_folder_with_a_broken_policy_stops_with_file_line_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "decay.yaml").write_text("half_lfie_days: 7\n", encoding="utf-8")
    words = ["recall", "x", "--user", "u1", "--project", str(tmp_path)]
    assert run(words) == edge.EXIT_FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "decay.yaml:1" in captured.err
    assert "half_lfie_days" in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / ".agentkit").exists()


def test_init_says_what_comes_next_and_refuses_to_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "myagent"
    assert run(["init", str(target)]) == 0
    assert "agentkit doctor" in capsys.readouterr().out
    assert (target / "memory" / "taxonomy.yaml").is_file()
    assert run(["init", str(target), "--json"]) == edge.EXIT_USAGE
    assert "--force" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert run(["init", str(target), "--force", "--json"]) == 0
    assert "agentkit.yaml" in json.loads(capsys.readouterr().out)["files"]


def test_policy_check_and_show_agree_on_the_fingerprint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "check", "--project", str(tmp_path), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert run(["policy", "show", "--project", str(tmp_path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert checked == {"ok": True, "fingerprint": shown["fingerprint"]}
    assert "decay" in shown
    assert run(["policy", "show", "--project", str(tmp_path)]) == 0
    assert shown["fingerprint"] in capsys.readouterr().out


def test_a_broken_tool_file_is_named_and_the_others_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "broken.py").write_text("def half(:\n", encoding="utf-8")
    assert run(["tools", "list", "--project", str(tmp_path), "--json"]) == edge.EXIT_FAILED
    document = json.loads(capsys.readouterr().out)
    assert "tables_profile_csv" in [tool["name"] for tool in document["tools"]]
    assert "broken.py" in document["problems"][0]
