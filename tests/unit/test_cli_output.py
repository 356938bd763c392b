"""What commands print for a person."""

import io
import sys

import pytest
from rich.cells import cell_len

from agentkit.cli.output import WRAPPED_CHARS, print_table, print_wrapped


def test_a_long_text_is_wrapped_under_its_bullet(capsys: pytest.CaptureFixture[str]) -> None:
    print_wrapped("a word and another " * 20, lead="   * ")
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("   * a word")
    assert others
    assert all(line.startswith("     ") and not line.endswith(" ") for line in others)


def test_chinese_is_wrapped_by_its_width(capsys: pytest.CaptureFixture[str]) -> None:
    print_wrapped("打开客户的表格全是看不懂的字符怎么办" * 8, lead="   ? ")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2
    assert all(cell_len(line) <= WRAPPED_CHARS for line in lines)


def test_what_looks_like_markup_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_wrapped("give missing_marks=[bold] [/x] then :smile:", lead="[1] ")
    assert capsys.readouterr().out == "[1] give missing_marks=[bold] [/x] then :smile:\n"


class ClosedPipe(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_is_left_to_the_edge_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    with pytest.raises(BrokenPipeError):
        print_table(["a"], [["b"]])
