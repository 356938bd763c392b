"""WM-02: a session killed in the middle of parallel tool calls goes on in the next process."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai import Agent

from agentkit import Kit
from agentkit.testing import HashEmbedder, Script, scripted_with

KILLED = """\
import asyncio, os, signal, sys
from pathlib import Path
from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart
from agentkit import Kit
from agentkit.testing import HashEmbedder, scripted

folder, returned = Path(sys.argv[1]), sys.argv[2] == "one"
kit = Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external")
first = [ToolCallPart("flight", {}, tool_call_id="c1")]
both = [*first, ToolCallPart("hotel", {}, tool_call_id="c2")]
later = [ToolCallPart("hotel", {}, tool_call_id="c2"), ToolCallPart("car", {}, tool_call_id="c3")]
agent = Agent(scripted(*([first, later] if returned else [both]), "Booked."))

def count(tool):
    with (folder / "calls.txt").open("a") as calls:
        calls.write(tool + "\\n")

async def die():
    await kit.background.join(lane="record")
    os.kill(os.getpid(), signal.SIGKILL)

@agent.tool_plain
async def flight() -> str:
    count("flight")
    if not returned:
        await die()
    return "seat 4A"

@agent.tool_plain
async def hotel() -> str:
    count("hotel")
    await asyncio.Event().wait()

@agent.tool_plain
async def car() -> str:
    count("car")
    await die()

async def main():
    async with kit.session(agent, user_id="ann", session_id="trip") as session:
        await session.run("Book the flight, the hotel and the car.")

asyncio.run(main())
"""


def killed(folder: Path, variant: str) -> list[str]:
    """Run the process until it kills itself, and return the tools that ran."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), variant],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    return sorted((folder / "calls.txt").read_text(encoding="utf-8").split())


async def go_on(folder: Path, prompt: str) -> tuple[str, list[str]]:
    """Say one thing in the session in a kit of its own: what the model was sent, what was sealed.

    A task of this run is left behind by the kit, as by a process that ends without a word.
    """
    script = Script(["I see where we were."])
    agent = Agent(scripted_with(script))

    @agent.tool_plain
    def flight() -> str:
        """Book the flight again, which must not happen."""
        with (folder / "calls.txt").open("a", encoding="utf-8") as calls:
            calls.write("flight\n")
        return "seat 5B"

    del flight
    async with Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external") as kit:
        session = kit.session(agent, user_id="ann", session_id="trip")
        result = await session.run(prompt)
        assert result.output == "I see where we were."
        await kit.background.join(lane="record")
        scope = kit.scope("ann")
        episode = (await kit.episodes(scope=scope))[-1]
        assert episode.end_reason == "recovered"
        steps = (await kit.trajectory(episode.episode_id, scope=scope)).steps
    return script.sent(0), [f"{step.kind} {step.call_id or ''}".strip() for step in steps]


@pytest.mark.parametrize(
    ("variant", "ran", "told", "kept"),
    [
        (
            "one",
            ["car", "flight", "hotel"],
            ["Call: flight, ok: seat 4A", "Call: hotel, interrupted", "Call: car, interrupted"],
            ["user", "tool_call c1", "tool_return c1", "tool_call c2", "tool_call c3"],
        ),
        (
            "none",
            ["flight", "hotel"],
            ["Call: flight, interrupted", "Call: hotel, interrupted"],
            ["user", "tool_call c1", "tool_call c2"],
        ),
    ],
)
async def test_a_session_killed_in_parallel_calls_is_sealed_and_gone_on_with_knowing_what_was_done(
    tmp_path: Path, variant: str, ran: list[str], told: list[str], kept: list[str]
) -> None:
    before = killed(tmp_path, variant)
    sent, steps = await go_on(tmp_path, "continue")
    assert set(before) <= set(ran)
    assert len(before) == len(set(before))
    assert "Asked: Book the flight, the hotel and the car.\nIt was interrupted." in sent
    assert [line for line in told if line not in sent] == []
    for prompt in ("and then?", "go on"):
        _, again = await go_on(tmp_path, prompt)
        assert again == steps
    assert steps == kept[: len(steps)]
    assert sorted((tmp_path / "calls.txt").read_text(encoding="utf-8").split()) == before
