"""The builder's first script: two processes, no worker, the second knows what the first learnt."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """\
import sys
from pydantic_ai import Agent
from agentkit import Hindsight, Kit
from agentkit.testing import Script, scripted_with
script = Script(["Noted."])
agent = Agent(scripted_with(script), capabilities=[Hindsight(Kit.open("home"), user_id="u1")])
agent.run_sync(sys.argv[1])
print(script.sent())
"""


def run(folder: Path, prompt: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, prompt],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_the_second_process_is_sent_what_the_first_one_learnt(tmp_path: Path) -> None:
    first = run(tmp_path, "Summarise the sales. I prefer reports in metric units.")
    assert first.stderr == ""
    assert "metric" not in first.stdout.replace("I prefer reports in metric units.", "")
    second = run(tmp_path, "Write up the shipping weights, please.")
    assert second.stderr == ""
    assert "metric units" in second.stdout
