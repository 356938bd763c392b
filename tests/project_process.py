"""A process of its own that works on a project and does what it is told."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ANSWER_LIMIT_S = 240.0
SCRIPT_LIMIT_S = 120.0

SCRIPT = """
import asyncio, json, sys, time
from agentkit.kit import Kit
from agentkit.testing import HashEmbedder

kit = Kit.open(sys.argv[1], embedder=HashEmbedder(), worker="external")
scope = kit.scope("alice")

async def write(prefix, number):
    for place in range(number):
        await kit.remember(f"{prefix} keeps entry {place} in drawer {place * 7}", scope=scope)
        if place % 10 == 9:
            await kit.settle()
    return number

async def time_writes(prefix, number):
    spent_ms = []
    for place in range(number):
        started = time.perf_counter()
        await kit.remember(f"{prefix} keeps entry {place} in drawer {place * 7}", scope=scope)
        spent_ms.append((time.perf_counter() - started) * 1_000)
    return spent_ms

async def do(order, words):
    if order == "time writes":
        return await time_writes(*words)
    if order == "write":
        return await write(*words)
    if order == "remember":
        return (await kit.remember(words[0], scope=scope)).memory.memory_id
    if order == "forget":
        report = await kit.forget(words, scope=scope, actor="test", reason="asked")
        return list(report.forgotten)
    if order == "recall":
        found = await kit.recall(words[0], scope=scope)
        return [hit.memory.content for hit in found.hits]
    report = await kit.settle()
    return [report.indexed, report.waiting, report.problem]

async def main():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order, *words = json.loads(line)
        print(json.dumps(await do(order, words)), flush=True)
    await kit.aclose()

asyncio.run(main())
"""


def run_script(
    script: str, *words: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in a new interpreter to its end, or until it kills itself.

    Args:
        script: Python source.
        words: Its arguments.
        folder: Folder to run it in, or None for the current one.
    """
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=SCRIPT_LIMIT_S,
    )


class ProjectProcess:
    """Opens a project in another process; orders go in and answers come out line by line."""

    def __init__(self, project: Path, *, repository: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SCRIPT, str(project)],
            cwd=repository,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def order(self, *words: str | int) -> None:
        """Tell it what to do, without waiting."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the answer to the oldest order."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        return json.loads(line)

    def ask(self, *words: str | int) -> Any:
        """Tell it what to do, and wait for the answer."""
        self.order(*words)
        return self.answer()

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._process.kill()
        self._process.communicate(timeout=ANSWER_LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is not None:
            return
        if kind is not None:
            self.kill()
            return
        _, said = self._process.communicate(timeout=ANSWER_LIMIT_S)
        assert (self._process.returncode, said) == (0, "")
