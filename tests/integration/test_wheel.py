"""The built wheel, in a clean environment: what a user installs is what works."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(
    argv: list[str], *, folder: Path, wanted: int = 0, timeout_s: int = 600
) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("VIRTUAL_ENV", "PYTHONPATH") and not key.startswith("AGENTKIT_")
    }
    done = subprocess.run(
        argv,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=environment,
        check=False,
    )
    assert done.returncode == wanted, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the sdist, as an index would serve it."""
    repository = Path(__file__).resolve().parents[2]
    out = tmp_path_factory.mktemp("dist")
    run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(repository)],
        folder=out,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def agentkit(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command of a new environment that holds the locked libraries and the wheel."""
    repository = Path(__file__).resolve().parents[2]
    folder = tmp_path_factory.mktemp("clean")
    run([sys.executable, "-m", "venv", "env"], folder=folder)
    python = str(folder / "env" / "bin" / "python")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    lock = str(repository / "requirements.lock")
    run([*install, "--quiet", "--require-hashes", "-r", lock], folder=folder)
    run([*install, "--quiet", "--no-deps", str(wheel)], folder=folder)
    return str(folder / "env" / "bin" / "agentkit")


def test_the_wheel_holds_the_content_and_no_test(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for kept in ("prompts/reflect.en.md.j2", "memory/decay.yaml", "tools/tables.py"):
        assert f"agentkit/_defaults/{kept}" in names
    assert "agentkit/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "tools/", "memory/"))]


def test_a_project_made_from_the_wheel_is_healthy_and_what_is_edited_takes_effect(
    agentkit: str, tmp_path: Path
) -> None:
    run([agentkit, "init", "myagent"], folder=tmp_path)
    project = tmp_path / "myagent"
    assert "ok" in run([agentkit, "doctor"], folder=project).stdout

    before = run([agentkit, "policy", "show"], folder=project).stdout
    decay = project / "memory" / "decay.yaml"
    text = decay.read_text(encoding="utf-8")
    decay.write_text(text.replace("floor: 0.45", "floor: 0.25"), encoding="utf-8")
    after = run([agentkit, "policy", "show"], folder=project).stdout
    assert "floor: 0.45" in before
    assert "floor: 0.25" in after

    decay.write_text(text + "\nflor: 0.3\n", encoding="utf-8")
    line = text.count("\n") + 2
    told = run([agentkit, "doctor"], folder=project, wanted=1)
    wrong = (told.stdout + told.stderr).replace("\n", " ")
    assert f"decay.yaml:{line}" in wrong
    assert "did you mean 'floor'" in wrong
    assert "Traceback" not in wrong
    decay.write_text(text, encoding="utf-8")

    prompt = project / "prompts" / "briefing.en.md.j2"
    broken = prompt.read_text(encoding="utf-8") + "{{ nobody }}"
    prompt.write_text(broken, encoding="utf-8")
    told = run([agentkit, "doctor"], folder=project, wanted=1)
    assert "nobody" in told.stdout + told.stderr


def test_the_keyless_demo_runs_from_the_wheel(agentkit: str, tmp_path: Path) -> None:
    shown = run([agentkit, "demo"], folder=tmp_path).stdout
    assert "<memories>" in shown
    assert "any-hit" in shown
