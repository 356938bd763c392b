import json
from pathlib import Path

import pytest

from agentkit.errors import InputError, RecordingError
from agentkit.evaluation.importers import read_recordings


def line(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()


def goals(file: Path) -> list[str]:
    return [recording.trajectory.goal for recording in read_recordings(file).recordings]


DAMAGED = [line("1"), line("2"), line("3"), line("4")[:-8], b"", line("6") + b"\x00\x00", line("7")]


def damaged_file(tmp_path: Path) -> Path:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"\n".join(DAMAGED) + b"\n")
    return file


def test_good_lines_before_and_after_damage_are_kept(tmp_path: Path) -> None:
    report = read_recordings(damaged_file(tmp_path))
    assert [recording.trajectory.goal for recording in report.recordings] == ["1", "2", "3", "7"]
    assert [(part.line, part.reason) for part in report.skipped] == [
        (4, "JSON cut short"),
        (5, "empty line"),
        (6, "holds zero bytes"),
    ]


def test_reading_again_after_a_line_was_appended_gives_the_old_ids_and_one_more(
    tmp_path: Path,
) -> None:
    file = damaged_file(tmp_path)
    before = [recording.source_id for recording in read_recordings(file).recordings]
    with file.open("ab") as stream:
        stream.write(line("8") + b"\n")
    after = [recording.source_id for recording in read_recordings(file).recordings]
    assert after[:-1] == before
    assert len(set(after)) == 5


def test_strict_refuses_the_file_at_its_first_damage(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"session\.jsonl:4: JSON cut short") as caught:
        read_recordings(damaged_file(tmp_path), strict=True)
    assert caught.value.line == 4


def test_damage_in_the_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(line("1")[:-3] + b"\n" + line("2") + b"\n" + line("3"))
    assert goals(file) == ["2", "3"]


def test_bytes_that_are_not_utf8_cost_their_line_only(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(line("1") + b"\n" + line("2").replace(b"2", b"\xff\xfe") + b"\n" + line("3"))
    report = read_recordings(file)
    assert [recording.trajectory.goal for recording in report.recordings] == ["1", "3"]
    assert report.skipped[0].reason == "holds bytes that are not UTF-8"


def test_a_byte_order_mark_and_windows_line_ends_make_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + line("1") + b"\r\n" + line("2") + b"\r\n")
    assert goals(file) == ["1", "2"]


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    text = json.dumps(
        {"messages": [{"role": "user", "content": "one\u2028two"}]}, ensure_ascii=False
    )
    file.write_text(f"{text}\n{text.replace('one', 'three')}", encoding="utf-8")
    assert goals(file) == ["one\u2028two", "three\u2028two"]


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b'{"messages": [{"role": "user", "content": "a\\ud800b\\u0000"}]}')
    assert goals(file) == ["a?b"]


@pytest.mark.parametrize(
    "hostile", [b"[" * 200_000, b'{"messages": ' * 100_000, b'{"id": ' + b"9" * 10_000 + b"}"]
)
def test_deep_or_huge_json_costs_its_line_only(tmp_path: Path, hostile: bytes) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(line("1") + b"\n" + hostile + b"\n" + line("3"))
    report = read_recordings(file)
    assert [recording.trajectory.goal for recording in report.recordings] == ["1", "3"]
    assert [part.line for part in report.skipped] == [2]


def test_damage_inside_of_a_list_costs_only_the_item_that_has_it(tmp_path: Path) -> None:
    runs = [
        json.dumps(
            {
                "task_id": number,
                "trial": 0,
                "reward": 1.0,
                "traj": [{"role": "user", "content": f"run {number}"}],
            },
            indent=1,
        )
        for number in range(4)
    ]
    runs[1] = runs[1].replace('"role"', '"role')
    file = tmp_path / "runs.json"
    file.write_text("[\n" + ",\n".join(runs) + "\n]\n", encoding="utf-8")
    report = read_recordings(file)
    assert [recording.source_id for recording in report.recordings] == [
        "task 0 trial 0",
        "task 2 trial 0",
        "task 3 trial 0",
    ]
    (skipped,) = report.skipped
    assert skipped.line == 13
    assert skipped.reason.startswith("not JSON")


def test_a_list_that_was_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    runs = [
        {"task_id": number, "trial": 0, "reward": 1.0, "traj": [{"role": "user", "content": "x"}]}
        for number in range(3)
    ]
    text = json.dumps(runs)
    file = tmp_path / "runs.json"
    file.write_text(text[:-30], encoding="utf-8")
    report = read_recordings(file)
    assert len(report.recordings) == 2
    assert len(report.skipped) == 1
    file.write_text(text[:-1], encoding="utf-8")
    report = read_recordings(file)
    assert len(report.recordings) == 3
    assert report.skipped[0].reason == "the list is not closed: the file was cut short"


@pytest.mark.parametrize("content", [b"", b"  \n\n", b"\xef\xbb\xbf", b"[]", b"[\n]\n"])
def test_an_empty_file_is_named_as_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_bytes(content)
    with pytest.raises(RecordingError, match=r"the (file|list) is empty"):
        read_recordings(file)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read: No such file"):
        read_recordings(tmp_path / "missing.json")
    with pytest.raises(RecordingError, match="cannot be read: Is a directory"):
        read_recordings(tmp_path)


@pytest.mark.parametrize("content", ["hello\nworld", "3\n4\n", '{"a": 1}', "[1, 2]", "null"])
def test_a_file_of_no_known_format_gives_one_error_naming_what_is_known(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "other.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(RecordingError, match=r"no known format|no record can be read"):
        read_recordings(file)


def test_the_wrong_format_is_refused_naming_what_was_expected_and_what_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_bytes(line("1"))
    with pytest.raises(RecordingError, match=r"format tau-bench: .*traj.*looks like openai-chat"):
        read_recordings(file, format="tau-bench")


def test_an_unknown_format_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="known are openai-chat, pydantic-ai, tau-bench"):
        read_recordings(tmp_path / "any.json", format="tau")


def test_a_line_of_another_form_is_reported_and_the_others_kept(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(line("1") + b'\n{"messages": []}\n[]\nnull\n' + line("5"))
    report = read_recordings(file)
    assert len(report.recordings) == 2
    assert [part.line for part in report.skipped] == [2, 3, 4]
    assert "not of the format openai-chat" in report.skipped[0].reason
