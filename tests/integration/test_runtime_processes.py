"""Processes as builders write them: threads, loops that end, forks, interrupts; all is kept."""

import subprocess
import sys
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.testing import HashEmbedder

OPENING = """\
import asyncio, multiprocessing, os, signal, sys, threading
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from agentkit import Hindsight, Kit
from agentkit.testing import HashEmbedder, scripted

kit = Kit.open(sys.argv[1], embedder=HashEmbedder(), index="none")
agent = Agent(scripted("Noted."), capabilities=[Hindsight(kit, user_id="analyst")])

"""

ONE_LOOP_A_RUN = """\
for number in range(3):
    asyncio.run(agent.run(f"Count the rows of table {number}."))
"""

THREADS = """\
def work(number):
    agent.run_sync(f"Count the rows of table {number}.")

for first in (0, 4):
    threads = [threading.Thread(target=work, args=(first + n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

SEVERAL_KITS = """\
for number in range(3):
    own = Kit.open(sys.argv[1], embedder=HashEmbedder(), index="none")
    other = Agent(scripted("Noted."), capabilities=[Hindsight(own, user_id="analyst")])
    other.run_sync(f"Count the rows of table {number}.")
"""

FORKS = """\
def work(number):
    agent.run_sync(f"Count the rows of table {number}.")

if __name__ == "__main__":
    work(0)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=(number,)) for number in (1, 2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    work(3)
"""

EXIT_CODE = """\
agent.run_sync("Count the rows of table 0.")
sys.exit(3)
"""

INTERRUPTED = """\
# Whoever starts the tests in the background has interrupts ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def hang(messages, info):
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()

hung = Agent(FunctionModel(hang), capabilities=[Hindsight(kit, user_id="analyst")])
try:
    asyncio.run(hung.run("Count the rows of table 0."))
except KeyboardInterrupt:
    sys.exit(130)
"""


def run(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPENING + body, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("body", "runs", "code"),
    [
        pytest.param(ONE_LOOP_A_RUN, 3, 0, id="a loop for each run"),
        pytest.param(THREADS, 8, 0, id="threads"),
        pytest.param(SEVERAL_KITS, 3, 0, id="several kits in one process"),
        pytest.param(FORKS, 4, 0, id="forked children"),
        pytest.param(EXIT_CODE, 1, 3, id="an exit code"),
        pytest.param(INTERRUPTED, 1, 130, id="an interrupt"),
    ],
)
async def test_every_run_is_one_episode_reflected_before_the_process_ends(
    tmp_path: Path, body: str, runs: int, code: int
) -> None:
    done = run(body, tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external") as kit:
        episodes = await kit.episodes(scope=kit.scope("analyst"))
        assert len({episode.goal for episode in episodes}) == runs
        assert len(episodes) == runs
        assert all(episode.reflected_at is not None for episode in episodes)
        assert await kit.jobs() == ()


async def test_two_processes_at_once_share_a_project(tmp_path: Path) -> None:
    body = "\n".join(
        f'agent.run_sync("Count the rows of table " + sys.argv[2] + "{number}.")'
        for number in range(3)
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING + body, str(tmp_path), name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("left", "right")
    ]
    for child in children:
        _, said = child.communicate(timeout=120)
        assert (child.returncode, said) == (0, "")
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external") as kit:
        episodes = await kit.episodes(scope=kit.scope("analyst"))
        assert len({episode.goal for episode in episodes}) == 6
        assert all(episode.reflected_at is not None for episode in episodes)
