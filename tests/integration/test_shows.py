"""What issue by issue was promised to a person at the shell, on a public data set by path."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

AGENTKIT = str(Path(sys.executable).with_name("agentkit"))
QUESTION = "the customer wants to cancel and get a refund"


def run(*words: str, folder: Path) -> str:
    done = subprocess.run(
        [AGENTKIT, *words], cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hundred_recorded_runs_become_lessons_that_cite_real_steps_of_one_user(
    data: Path, tmp_path: Path
) -> None:
    recorded = data / "tau_bench" / "gpt-4o-airline_a.json"
    said = run(
        "import", str(recorded), "--user", "u1", "--format", "tau-bench", "--json", folder=tmp_path
    )
    assert json.loads(said)["imported"] == 100
    run("reflect", "--user", "u1", folder=tmp_path)
    mine: dict[str, Any] = json.loads(
        run("recall", QUESTION, "--user", "u1", "--json", folder=tmp_path)
    )
    assert mine["timed_out"] is False
    assert len(mine["hits"]) == 5
    steps = cited_steps(tmp_path)
    for hit in mine["hits"]:
        assert hit["evidence"], hit
        for cited in hit["evidence"]:
            text = steps[cited["episode_id"]][cited["step_id"]]
            assert squeezed(cited["quote"]) in squeezed(text)
    theirs = json.loads(run("recall", QUESTION, "--user", "u2", "--json", folder=tmp_path))
    assert theirs["hits"] == []


def cited_steps(folder: Path) -> dict[str, dict[str, str]]:
    script = (
        "import asyncio, json\n"
        "from agentkit import Kit\n"
        "async def main():\n"
        "    kit = Kit.open()\n"
        "    scope = kit.scope('u1')\n"
        "    found = {}\n"
        "    for episode in await kit.episodes(scope=scope, limit=200):\n"
        "        steps = (await kit.trajectory(episode.episode_id, scope=scope)).steps\n"
        "        found[episode.episode_id] = {step.step_id: step.text for step in steps}\n"
        "    print(json.dumps(found))\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
