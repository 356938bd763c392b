"""The docs say what is true: blocks run; commands, settings, keys and variables are named."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentkit.policy import Policy
from agentkit.policy.model import PolicyModel
from agentkit.settings import Settings
from agentkit.templates import PROMPT_VARIABLES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AGENTKIT = str(Path(sys.executable).with_name("agentkit"))


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(README) if kind == language]


def run(argv: list[str], *, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=180, env=environment, check=False
    )
    assert done.returncode == 0, f"{argv} said:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert README.count("\n") < 150


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_readmes_python_runs_as_it_stands(number: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(blocks("python")[number], encoding="utf-8")
    first = run([sys.executable, "-W", "error", str(script)], folder=tmp_path)
    second = run([sys.executable, "-W", "error", str(script)], folder=tmp_path)
    assert first.strip()
    assert second.strip()


def test_the_readmes_shell_lines_run_in_order_as_they_stand(tmp_path: Path) -> None:
    folder = tmp_path
    ran = 0
    for line in "\n".join(blocks("bash")).splitlines():
        if line.startswith("cd "):
            folder = folder / line.removeprefix("cd ")
        elif line.startswith("agentkit "):
            bash = f"'{AGENTKIT}' {line.removeprefix('agentkit ')}"
            run(["bash", "-c", bash], folder=folder)
            ran += 1
        elif line.startswith("make "):
            target = line.removeprefix("make ")
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert ran >= 8


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("prompt", sorted(PROMPT_VARIABLES))
def test_every_template_variable_is_in_the_readme_of_the_prompts(prompt: str) -> None:
    text = (ROOT / "prompts" / "README.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{prompt}` "))
    for variable in PROMPT_VARIABLES[prompt]:
        assert re.search(rf"\b{variable}\b", row.split("|")[3]), f"{prompt}.{variable} is left out"


@pytest.mark.parametrize("part", ["decay", "recall", "boundaries", "working", "reflection"])
def test_every_policy_key_stands_in_its_file_with_a_comment(part: str) -> None:
    text = (ROOT / "memory" / f"{part}.yaml").read_text(encoding="utf-8")
    model: PolicyModel = getattr(Policy(), part)
    for key in type(model).model_fields:
        assert re.search(rf"^{key}:", text, re.MULTILINE), f"{part}.yaml leaves out {key}"
    assert text.lstrip().startswith("#")


@pytest.mark.parametrize("folder", ["prompts", "tools", "memory", "evals"])
def test_every_content_folder_says_in_twenty_lines_what_goes_there(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 20


def test_every_command_is_in_the_readme_or_its_help() -> None:
    shown = run([AGENTKIT, "--help"], folder=ROOT)
    for command in re.findall(r"`agentkit (\w+)", README):
        assert command in shown


def test_every_link_in_the_docs_leads_to_a_file() -> None:
    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (ROOT / target).exists(), f"{document} links to {target}"


def test_every_room_is_in_the_picture_of_the_house() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "agentkit").iterdir()):
        name = path.name.removesuffix(".py")
        if not name.startswith(("_", "py.typed")):
            assert f"`{name}" in text, f"ARCHITECTURE.md leaves out {name}"


def test_the_changelog_has_unreleased_first_and_short_lines() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("## ")]
    assert heads[0] == "## Unreleased"
    for line in lines:
        if line.startswith("- "):
            assert len(line.split()) <= 27, line


def test_the_figures_in_the_readme_are_those_that_were_measured() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| ([\w@]+) \| ([\d.]+) \| \*\*([\d.]+)\*\* \|$", README, re.M)
    assert len(rows) == 6
    for suite, metric, other, ours in rows:
        file = ROOT / "evals" / "baselines" / f"{suite}.json"
        arms: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))["arms"]
        best = max(row[metric] for arm, row in arms.items() if arm != "agentkit")
        assert (f"{best:.3f}", f"{arms['agentkit'][metric]:.3f}") == (other, ours), suite
