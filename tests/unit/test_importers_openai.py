import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.evaluation.importers import read_recordings
from agentkit.records import Recording

Message = dict[str, object]


def call(call_id: str | None, name: str, arguments: object) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def asks(*calls: dict[str, object], text: str | None = None) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def returns(call_id: str, text: object, **more: object) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


def read_one(tmp_path: Path, messages: list[Message], **fields: object) -> Recording:
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"messages": messages, **fields}) + "\n", encoding="utf-8")
    report = read_recordings(file, strict=True)
    assert report.format == "openai-chat"
    return report.recordings[0]


def test_a_conversation_becomes_numbered_steps_under_its_instructions(tmp_path: Path) -> None:
    recording = read_one(
        tmp_path,
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Profile a.csv"},
            asks(call("c1", "profile", '{"path":"a.csv"}'), text="I look."),
            returns("c1", "3 rows"),
            {"role": "assistant", "content": "It has 3 rows."},
        ],
        id=17,
        model="some-model",
    )
    trajectory = recording.trajectory
    assert trajectory.instructions == "Be brief."
    assert trajectory.model == "some-model"
    assert trajectory.goal == "Profile a.csv"
    assert [(step.step_id, step.kind, step.text) for step in trajectory.steps] == [
        ("s0001", "user", "Profile a.csv"),
        ("s0002", "model", "I look."),
        ("s0003", "tool_call", '{"path":"a.csv"}'),
        ("s0004", "tool_return", "3 rows"),
        ("s0005", "model", "It has 3 rows."),
    ]
    assert trajectory.steps[3].tool == "profile"
    assert trajectory.steps[3].outcome == "ok"
    assert (recording.source_id, recording.session_id) == ("17", "17")


def test_parallel_calls_keep_their_pairs_in_any_order_of_return(tmp_path: Path) -> None:
    recording = read_one(
        tmp_path,
        [
            {"role": "user", "content": "both"},
            asks(call("c1", "df", "{}"), call("c2", "uptime", "{}")),
            returns("c2", "12 days"),
            returns("c1", "91%"),
        ],
    )
    pairs = [(step.call_id, step.tool) for step in recording.trajectory.steps[1:]]
    assert pairs == [("c1", "df"), ("c2", "uptime"), ("c2", "uptime"), ("c1", "df")]


def test_a_call_id_used_twice_gives_two_pairs(tmp_path: Path) -> None:
    recording = read_one(
        tmp_path,
        [
            asks(call("c1", "direct", "{}")),
            returns("c1", "none"),
            asks(call("c1", "onestop", "{}")),
            returns("c1", "two"),
        ],
    )
    pairs = [(step.call_id, step.tool) for step in recording.trajectory.steps]
    assert pairs == [("c1", "direct"), ("c1", "direct"), ("c1~2", "onestop"), ("c1~2", "onestop")]


def test_the_older_function_call_shape_is_paired_by_name(tmp_path: Path) -> None:
    recording = read_one(
        tmp_path,
        [
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "now", "arguments": "{}"},
            },
            {"role": "function", "name": "now", "content": "noon"},
        ],
    )
    first, second = recording.trajectory.steps
    assert first.call_id == second.call_id is not None
    assert second.tool == "now"


@pytest.mark.parametrize(
    ("content", "more", "outcome"),
    [
        ("fine", {}, "ok"),
        ("Error: no such file", {}, "failed"),
        ("ValueError: mean needs numbers", {}, "failed"),
        ("Traceback (most recent call last):\n ...", {}, "failed"),
        ("错误：没有这个文件", {}, "failed"),
        ("部署失败：请先迁移", {}, "failed"),
        ('{"error": "refused"}', {}, "failed"),
        ('{"error": null, "rows": 3}', {}, "ok"),
        ('{"isError": true, "content": []}', {}, "failed"),
        ('{"ok": false}', {}, "failed"),
        ('{"status": "error"}', {}, "failed"),
        ('{"status": "failed", "job": 7}', {}, "ok"),
        ("An error-free run", {}, "ok"),
        ("0 errors found", {}, "ok"),
        ("done", {"is_error": True}, "failed"),
        ("1 validation error\n\nFix the errors and try again.", {}, "retried"),
        ('{"error": ' * 3000, {}, "ok"),
    ],
)
def test_the_outcome_of_a_tool_return_is_told_from_what_it_says(
    tmp_path: Path, content: str, more: dict[str, object], outcome: str
) -> None:
    recording = read_one(tmp_path, [asks(call("c1", "t", "{}")), returns("c1", content, **more)])
    assert recording.trajectory.steps[-1].outcome == outcome


def test_content_in_parts_becomes_text_with_other_parts_named(tmp_path: Path) -> None:
    parts: list[Message] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {}},
    ]
    recording = read_one(tmp_path, [{"role": "user", "content": parts}])
    assert recording.trajectory.steps[0].text == "What is this?\n[image_url]"


def test_arguments_that_are_an_object_become_json_text(tmp_path: Path) -> None:
    recording = read_one(tmp_path, [asks(call(None, "t", {"列": 1})), asks(call("c", "t", None))])
    assert [step.text for step in recording.trajectory.steps] == ['{"列": 1}', "{}"]


def test_blank_texts_are_no_steps(tmp_path: Path) -> None:
    recording = read_one(
        tmp_path, [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "  "}]
    )
    assert len(recording.trajectory.steps) == 1


@pytest.mark.parametrize(
    ("fields", "outcome", "reward"),
    [
        ({}, "unknown", None),
        ({"reward": 1}, "success", 1.0),
        ({"reward": True}, "success", 1.0),
        ({"reward": 0.0}, "failure", 0.0),
        ({"reward": 0.5}, "unknown", 0.5),
        ({"outcome": "failure"}, "failure", None),
        ({"outcome": "success", "reward": 0.5}, "success", 0.5),
    ],
)
def test_reward_and_outcome_are_taken_as_recorded(
    tmp_path: Path, fields: dict[str, object], outcome: str, reward: float | None
) -> None:
    recording = read_one(tmp_path, [{"role": "user", "content": "hi"}], **fields)
    assert (recording.outcome, recording.reward) == (outcome, reward)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reward": 7}, "reward 7 is not in"),
        ({"reward": "good"}, 'reward "good" is not in'),
        ({"outcome": "meh"}, "outcome 'meh' is not"),
    ],
)
def test_a_rating_that_means_nothing_is_reported_and_the_task_kept(
    tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    file = tmp_path / "chat.jsonl"
    line = {"messages": [{"role": "user", "content": "hi"}], **fields}
    file.write_text(json.dumps(line), encoding="utf-8")
    report = read_recordings(file)
    assert report.recordings[0].outcome == "unknown"
    assert [part.reason.startswith(reason) for part in report.skipped] == [True]


@pytest.mark.parametrize(
    "recorded",
    [
        "2026-11-15T08:00:00Z",
        "2026-11-15T16:00:00+08:00",
        1794729600,
        1794729600000,
        "1794729600",
        " 1794729600000 ",
    ],
)
def test_seconds_milliseconds_and_iso_text_are_one_instant(
    tmp_path: Path, recorded: object
) -> None:
    recording = read_one(tmp_path, [{"role": "user", "content": "hi"}], started_at=recorded)
    assert recording.started_at == datetime(2026, 11, 15, 8, tzinfo=UTC)


@pytest.mark.parametrize("recorded", ["soon", "", 0, -1, 99_999_999_999_999, True, [2026]])
def test_a_time_that_is_none_is_left_out_and_its_line_named(
    tmp_path: Path, recorded: object
) -> None:
    file = tmp_path / "chat.jsonl"
    said = {"role": "user", "content": "hi", "timestamp": recorded}
    before: Message = {"messages": [{"role": "user", "content": "before"}], "started_at": None}
    lines = [before, {"messages": [said], "started_at": recorded}]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = read_recordings(file)
    assert [one.started_at for one in report.recordings] == [None, None]
    assert [(part.line, part.reason) for part in report.skipped] == [
        (2, f"message 1: timestamp {json.dumps(recorded)} is no time; left out"),
        (2, f"started_at {json.dumps(recorded)} is no time; left out"),
    ]


def test_a_line_without_an_id_keeps_its_id_when_lines_before_it_change(tmp_path: Path) -> None:
    lines = [json.dumps({"messages": [{"role": "user", "content": text}]}) for text in "abc"]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    before = [recording.source_id for recording in read_recordings(file).recordings]
    file.write_text("\n".join(lines[1:]), encoding="utf-8")
    after = [recording.source_id for recording in read_recordings(file).recordings]
    assert after == before[1:]


def test_two_tasks_under_one_id_are_both_kept_and_the_same_task_once(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": "x", "messages": [{"role": "user", "content": text}]}) for text in "aba"
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    report = read_recordings(file)
    assert [recording.source_id for recording in report.recordings] == ["x", "x copy 2"]
    assert [(part.line, part.reason) for part in report.skipped] == [
        (3, "the same as an earlier record (x)")
    ]


def test_a_single_document_over_many_lines_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    document = {"messages": [{"role": "user", "content": "hi"}, {"role": "developer"}]}
    file.write_text(json.dumps(document, indent=2), encoding="utf-8")
    assert len(read_recordings(file, strict=True).recordings) == 1


def test_an_unusable_message_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    nameless: dict[str, object] = {"role": "assistant", "tool_calls": [{"id": "c"}]}
    messages = [{"role": "user", "content": "hi"}, 3, {"role": "alien"}, nameless]
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    report = read_recordings(file)
    assert len(report.recordings[0].trajectory.steps) == 1
    assert [part.reason for part in report.skipped] == [
        "message 2 is no object",
        "message 3: unknown role 'alien'",
        "message 4: 1 tool calls without a name",
    ]
