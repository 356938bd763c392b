"""The settings file is changed in one place, and its owner's comments stay."""

import stat
from pathlib import Path

import pytest

from agentkit.cli.rewriting import settle_embedder, with_embedder
from agentkit.settings import load_settings

NAME = "openai:text-embedding-3-small"
FILE = "agentkit.yaml"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# ours\nembedder: local  # small\nindex: none\n",
            f"# ours\nembedder: {NAME}  # small\nindex: none\n",
        ),
        ('index: none\nembedder: "minilm"', f"index: none\nembedder: {NAME}"),
        ("index: none", f"index: none\nembedder: {NAME}\n"),
        ("# embedder: local\n", f"# embedder: local\nembedder: {NAME}\n"),
        ("embedder:\t'local'\r\nindex: none\r\n", f"embedder: {NAME}\r\nindex: none\r\n"),
        ("", f"embedder: {NAME}\n"),
    ],
)
def test_only_the_embedder_changes(before: str, after: str) -> None:
    assert with_embedder(before, NAME) == after


@pytest.mark.parametrize(
    "text",
    ['"embedder": local\n', "embedder: local\nembedder: minilm\n"],
)
def test_what_is_not_plain_is_left_to_its_owner(text: str) -> None:
    assert with_embedder(text, NAME) is None


def test_the_file_is_changed_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text("# who embeds\nembedder: local\nindex: none\n", encoding="utf-8")
    file.chmod(0o640)
    assert settle_embedder(tmp_path, NAME) == ""
    assert file.read_text(encoding="utf-8") == f"# who embeds\nembedder: {NAME}\nindex: none\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_project_without_a_file_gets_one_unless_the_default_is_meant(tmp_path: Path) -> None:
    assert settle_embedder(tmp_path, "local") == ""
    assert not (tmp_path / FILE).exists()
    assert settle_embedder(tmp_path, NAME) == ""
    assert load_settings(tmp_path).embedder == NAME


@pytest.mark.parametrize("text", ["{embedder: local}\n", '"embedder": local\n'])
def test_a_file_of_another_form_is_left_and_its_owner_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / FILE
    file.write_text(text, encoding="utf-8")
    assert settle_embedder(tmp_path, NAME) == f"write `embedder: {NAME}` into {file}"
    assert file.read_text(encoding="utf-8") == text


def test_the_environment_wins_so_its_owner_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_EMBEDDER", "local")
    assert "AGENTKIT_EMBEDDER" in settle_embedder(tmp_path, NAME)
    monkeypatch.setenv("AGENTKIT_EMBEDDER", NAME)
    assert settle_embedder(tmp_path, NAME) == ""
