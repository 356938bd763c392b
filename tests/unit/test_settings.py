"""Settings: argument over environment over file over default."""

from pathlib import Path

import pytest

from agentkit.errors import ConfigError
from agentkit.settings import SETTINGS_FILE, Settings, load_settings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def write(root: Path, text: str) -> None:
    (root / SETTINGS_FILE).write_text(text, encoding="utf-8")


def test_without_a_file_the_defaults_stand(root: Path) -> None:
    assert load_settings(root) == load_settings(None) == Settings()


def test_an_argument_beats_the_environment_and_that_beats_the_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "model: from-file\nembedder: from-file\nindex: none\n")
    monkeypatch.setenv("AGENTKIT_EMBEDDER", "from-environment")
    monkeypatch.setenv("AGENTKIT_INDEX", "none")
    found = load_settings(root, index="chroma")
    assert found == Settings(model="from-file", embedder="from-environment", index="chroma")


def test_the_environment_can_take_a_model_away(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "model: from-file\n")
    monkeypatch.setenv("AGENTKIT_MODEL", "")
    assert load_settings(root).model == "from-file"
    monkeypatch.setenv("AGENTKIT_MODEL", "null")
    assert load_settings(root).model is None


def test_a_misspelt_key_is_refused_wherever_it_stands(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="did you mean 'worker'") as caught:
        load_settings(root, wroker="inline")
    assert caught.value.key == "wroker"
    write(root, "index: none\nmodle: x\n")
    with pytest.raises(ConfigError, match="did you mean 'model'") as caught:
        load_settings(root)
    assert caught.value.line == 2
    monkeypatch.setenv("AGENTKIT_MODLE", "x")
    with pytest.raises(ConfigError, match="did you mean 'AGENTKIT_MODEL'"):
        load_settings(None)


def test_a_wrong_value_names_its_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match="index: wants 'chroma', 'qdrant' or 'none', not 'chrome'"
    ):
        load_settings(root, index="chrome")
    monkeypatch.setenv("AGENTKIT_LANGUAGE", "fr")
    with pytest.raises(ConfigError, match="AGENTKIT_LANGUAGE: wants") as caught:
        load_settings(root)
    assert caught.value.file is None


def test_a_blank_value_is_refused(root: Path) -> None:
    write(root, "state_dir: ''\n")
    with pytest.raises(ConfigError, match="state_dir is blank"):
        load_settings(root)


def test_variables_of_other_things_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_SOMETHING_ELSE", "x")
    monkeypatch.setenv("OTHER_MODEL", "x")
    assert load_settings(None) == Settings()


def test_the_state_folder_is_in_the_project_unless_it_is_absolute(root: Path) -> None:
    assert Settings().state_path(root) == root / ".agentkit"
    elsewhere = root / "elsewhere"
    assert Settings(state_dir=str(elsewhere)).state_path(Path("project")) == elsewhere
