"""A real agent process killed at random moments: what was acknowledged is kept, no tool repeats."""

import asyncio
import json
import random
import signal
import sys
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.records import Step
from agentkit.testing import HashEmbedder

KILLS = 20
SEED = 20_261_207
# A run of the agent below takes about this long once its process is up.
LONGEST_S = 1.5

AGENT = """\
import asyncio, sys, uuid
from pathlib import Path
from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart
from agentkit import Kit
from agentkit.testing import HashEmbedder, scripted

folder = Path(sys.argv[1])
kit = Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external")
def call(tool): return ToolCallPart(tool, {}, tool_call_id=uuid.uuid4().hex)
agent = Agent(scripted(*([call("load"), call("save")] for _ in range(40)), "Done."))

def ran(tool, call_id):
    with (folder / "calls.txt").open("a") as calls:
        calls.write(f"{tool} {call_id}\\n")

from pydantic_ai import RunContext

@agent.tool
async def load(ctx: RunContext[None]) -> str:
    ran("load", ctx.tool_call_id)
    await kit.background.join(lane="record")
    print(ctx.tool_call_id, flush=True)
    return "loaded"

@agent.tool
async def save(ctx: RunContext[None]) -> str:
    ran("save", ctx.tool_call_id)
    return "saved"

async def main():
    async with kit.session(agent, user_id="ann", session_id="load") as session:
        print("up", flush=True)
        await session.run("continue")

asyncio.run(main())
"""


async def killed(folder: Path, after_s: float) -> list[str]:
    """Run the agent, kill it some time after it is up; the call ids it acknowledged."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, str(folder), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert (await process.stdout.readline()).strip() == b"up"
    asyncio.get_running_loop().call_later(after_s, process.send_signal, signal.SIGKILL)
    rest = (await process.stdout.read()).decode()
    await process.wait()
    return rest.split()


async def kept(folder: Path) -> tuple[list[Step], set[str]]:
    """All steps of the sealed tasks once the next process has taken up what was left."""
    async with Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external") as kit:
        await kit.background.join()
        scope = kit.scope("ann")
        episodes = await kit.episodes(scope=scope, limit=100)
        trajectories = [await kit.trajectory(one.episode_id, scope=scope) for one in episodes]
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    return steps, {episode.end_reason for episode in episodes}


@pytest.mark.slow
async def test_twenty_random_kills_lose_no_acknowledged_step_and_repeat_no_tool(
    tmp_path: Path,
) -> None:
    moments = random.Random(SEED)
    acknowledged: list[str] = []
    for _ in range(KILLS):
        acknowledged += await killed(tmp_path, moments.uniform(0.0, LONGEST_S))
    steps, reasons = await kept(tmp_path)
    calls = [step.call_id for step in steps if step.kind == "tool_call"]
    assert acknowledged, json.dumps(sorted(reasons))
    assert set(acknowledged) <= set(calls)
    assert len(calls) == len(set(calls))
    assert reasons <= {"recovered", "closed"}
    assert "recovered" in reasons
    ran = (tmp_path / "calls.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(ran) == len(set(ran))
