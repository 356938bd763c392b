"""Processes that are killed lose nothing: real children, real SIGKILL."""

import subprocess
import sys
from pathlib import Path

from agentkit import Kit

AFTER_COMMIT = """\
import asyncio, os, signal, sys
from agentkit import Kit

async def main() -> None:
    kit = Kit.open(sys.argv[1])
    report = await kit.remember("The night build runs at 03:15.", scope=kit.scope("analyst"))
    print(report.memory.memory_id, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

IN_A_RUN = """\
import os, signal, sys
from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart
from agentkit import Hindsight, Kit
from agentkit.testing import scripted

kit = Kit.open(sys.argv[1])
agent = Agent(
    scripted(ToolCallPart("restart", {}), ToolCallPart("die", {}), "done"),
    capabilities=[Hindsight(kit, user_id="analyst")],
)

@agent.tool_plain
def restart() -> str:
    return "restarted"

@agent.tool_plain
async def die() -> str:
    await kit.background.join(lane="record")
    os.kill(os.getpid(), signal.SIGKILL)
    return ""

agent.run_sync("Restart the queue, then the worker.")
"""


def killed(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    return done.stdout.strip()


async def test_killed_between_the_commit_and_the_index_the_memory_is_recalled_and_indexed(
    tmp_path: Path,
) -> None:
    memory_id = killed(AFTER_COMMIT, tmp_path)
    async with Kit.open(tmp_path) as kit:
        found = await kit.recall("when is the nightly build?", scope=kit.scope("analyst"))
        assert [hit.memory.memory_id for hit in found.hits] == [memory_id]
        await kit.reflect()
        checks = {check.name: check for check in await kit.doctor()}
        assert checks["outbox"].ok
        assert checks["index"].ok
        assert checks["index"].detail.startswith("1 key")


async def test_killed_in_the_middle_of_a_run_the_task_is_sealed_with_the_steps_that_were_kept(
    tmp_path: Path,
) -> None:
    killed(IN_A_RUN, tmp_path)
    async with Kit.open(tmp_path) as kit:
        await kit.background.join()
        (episode,) = await kit.episodes(scope=kit.scope("analyst"))
        assert episode.end_reason == "recovered"
        steps = (await kit.trajectory(episode.episode_id, scope=kit.scope("analyst"))).steps
        kinds = [step.kind for step in steps]
        assert kinds == ["user", "tool_call", "tool_return", "tool_call"]
        assert episode.reflected_at is not None
