"""Projects: whose file is found, and how a new project is made."""

from pathlib import Path

import pytest

from agentkit.errors import ConfigError, InputError
from agentkit.policy.policy import Policy, load_policy
from agentkit.project import Project, find_root, init_project
from agentkit.settings import SETTINGS_FILE, Settings, load_settings


def test_without_a_project_the_packaged_files_are_found(repository: Path) -> None:
    project = Project(None)
    assert project.find("memory/boundaries.yaml") == repository / "memory" / "boundaries.yaml"
    assert project.content("memory") == (repository / "memory",)
    assert project.find("memory/nothing.yaml") is None


def test_a_file_of_the_user_comes_before_the_packaged_one(tmp_path: Path, repository: Path) -> None:
    mine = tmp_path / "memory" / "working.yaml"
    mine.parent.mkdir()
    mine.write_text("budget_tokens: 999\n", encoding="utf-8")
    project = Project(tmp_path)
    assert project.content("memory") == (tmp_path / "memory", repository / "memory")
    assert project.find("memory/working.yaml") == mine
    assert project.find("memory/boundaries.yaml") == repository / "memory" / "boundaries.yaml"
    assert load_policy(project.find).working.budget_tokens == 999


def test_the_checkout_as_a_project_is_listed_once(repository: Path) -> None:
    assert Project(repository).content("memory") == (repository / "memory",)


@pytest.mark.parametrize("name", ["memory/../pyproject.toml", "secrets/x", "memory", "memory//etc"])
def test_names_outside_the_content_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="is no content"):
        Project(None).find(name)


def test_a_project_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="agentkit init"):
        Project(tmp_path / "nowhere")


def test_the_root_is_found_from_below(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_root(below) is None
    (tmp_path / SETTINGS_FILE).touch()
    assert find_root(below) == tmp_path.resolve()


def test_a_new_project_holds_the_content_and_works_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "myagent"
    written = init_project(target)
    assert Path(SETTINGS_FILE) in written
    assert Path("memory/boundaries.yaml") in written
    assert all((target / name).is_file() for name in written)
    assert not any(name.is_relative_to("evals/baselines") for name in written)
    assert load_settings(target) == Settings()
    assert load_policy(Project(target).find).boundaries == Policy().boundaries
    assert list(target.parent.iterdir()) == [target]


def test_the_settings_file_of_a_new_project_names_every_key(tmp_path: Path) -> None:
    init_project(tmp_path / "p")
    text = (tmp_path / "p" / SETTINGS_FILE).read_text(encoding="utf-8")
    for key in Settings.model_fields:
        assert f"\n{key}:" in text, key


def test_nothing_of_the_user_is_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "memory" / "boundaries.yaml"
    mine.parent.mkdir()
    mine.write_text("quiet: {turns: 9}\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("keep", encoding="utf-8")
    with pytest.raises(InputError, match="would be overwritten"):
        init_project(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory", "notes.txt"]
    assert mine.read_text(encoding="utf-8") == "quiet: {turns: 9}\n"
    init_project(tmp_path, force=True)
    assert mine.read_text(encoding="utf-8") != "quiet: {turns: 9}\n"
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "keep"


def test_a_failure_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "p"
    target.mkdir()
    (target / "tools").write_text("a file where a folder is wanted", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        init_project(target, force=True)
    assert [path.name for path in target.rglob("*") if path.is_file()] == ["tools"]
    with pytest.raises(InputError, match="is a file"):
        init_project(target / "tools")
