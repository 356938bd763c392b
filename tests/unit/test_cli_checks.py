"""What the doctor finds in a project before the store is opened."""

from pathlib import Path

from agentkit.cli.checks import Finding, content_findings
from agentkit.project import Project


def _look(root: Path) -> list[Finding]:
    return list(content_findings(Project(root), root=root))


def _wrong(root: Path) -> dict[str, str]:
    """Details of what is wrong, all of one name together."""
    details: dict[str, list[str]] = {}
    for found in _look(root):
        if not found.ok:
            details.setdefault(found.name, []).append(found.detail)
    return {name: "\n".join(found) for name, found in details.items()}


def test_a_folder_without_a_project_runs_on_the_packaged_defaults(tmp_path: Path) -> None:
    assert _wrong(tmp_path) == {}
    details = {found.name: found.detail for found in _look(tmp_path)}
    assert "packaged defaults" in details["project"]
    assert "fingerprint" in details["policy"]
    assert "tags" in details["policy"]


def test_a_finding_that_is_wrong_hides_none_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "agentkit.yaml").write_text("modle: x\n", encoding="utf-8")
    for folder in ("memory", "prompts", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "memory" / "decay.yaml").write_text("floor: much\n", encoding="utf-8")
    (tmp_path / "prompts" / "reflect.en.md.j2").write_text("{{ goal", encoding="utf-8")
    (tmp_path / "tools" / "bad.py").write_text("import nothing_of_the_kind\n", encoding="utf-8")
    wrong = _wrong(tmp_path)
    assert set(wrong) == {"settings", "policy", "prompts", "tools"}
    assert "agentkit.yaml:1" in wrong["settings"]
    assert "did you mean 'model'" in wrong["settings"]
    assert "decay.yaml:1" in wrong["policy"]
    assert "reflect.en.md.j2" in wrong["prompts"]
    assert "bad.py" in wrong["tools"]


def test_each_finding_that_is_wrong_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "agentkit.yaml").write_text("index: nowhere\n", encoding="utf-8")
    assert all(found.fix for found in _look(tmp_path) if not found.ok)


def test_a_policy_file_that_nothing_reads_is_named_with_the_likeliest_name(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "decy.yaml").write_text("floor: 0.1\n", encoding="utf-8")
    (tmp_path / "memory" / "recall.yml").write_text("timeout_s: 1.0\n", encoding="utf-8")
    wrong = _wrong(tmp_path)
    assert set(wrong) == {"policy"}
    first, second = wrong["policy"].splitlines()
    assert first.endswith("decy.yaml: nothing reads this file; did you mean 'decay.yaml'?")
    assert second.endswith("recall.yml: nothing reads this file; did you mean 'recall.yaml'?")


def test_a_model_that_cannot_be_asked_is_found_before_a_run_needs_it(tmp_path: Path) -> None:
    (tmp_path / "agentkit.yaml").write_text("model: gpt-of-nobody\n", encoding="utf-8")
    assert "gpt-of-nobody cannot be asked" in _wrong(tmp_path)["model"]
    (tmp_path / "agentkit.yaml").write_text("model: test\n", encoding="utf-8")
    assert _wrong(tmp_path) == {}
