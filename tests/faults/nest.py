"""Processes that die at a point: each is forked from one that has imported everything already.

Run as a script it reads orders, one JSON object a line, and answers each with an exit code.
"""

import asyncio
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from agentkit.cli.edge import run
from agentkit.errors import InputError, NotFoundError
from agentkit.kit import Kit
from agentkit.store import Point
from agentkit.testing import FixedClock
from tests.faults.scene import ACTED, ALICE, FIRST_NOTE, WORKLOADS, configure, kit_in
from tests.lived_in import NOW

ANSWER_LIMIT_S = 120.0
# Before the name of an operation, in the trace.
ACKNOWLEDGED = "done: "
TRACE = "trace"
SAID = "said"
OUTCOME = "outcome.json"
# When a lease of the scene has run out; and when nothing can be of a task just being sealed.
AFTER_LEASE, AFTER_GRACE_HOURS = timedelta(minutes=30), 4
# What a process of the kit imports only when it comes to it.
LAZY = (
    "chromadb",
    "chromadb.config",
    "chromadb.errors",
    "agentkit.store.chroma",
    "alembic.command",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a process is to do.

    Attributes:
        project: The scene that it works in, as text; its notes go there too.
        workload: One of `WORKLOADS`.
        task: `die` at a point; `live` and keep what each commit left; `recover` what is there;
            `doctor` has the command line prove it.
        point: Name of the point at which it dies, or "".
        arrival: How often it gets there within the workload before it dies, from 1.
        copies: Folder for what each commit left, or "".
    """

    project: str
    workload: str
    task: str
    point: str = ""
    arrival: int = 0
    copies: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the next process found and did.

    Attributes:
        disagreements: What the proof found after the reconciler ran.
        refused: Operations that were refused when they were done again: they were done already.
        disagreements_repeated: What the proof found after the workload was done again.
        disagreements_mended: What the proof found hours later, after mending.
    """

    disagreements: list[str]
    refused: list[str]
    disagreements_repeated: list[str]
    disagreements_mended: list[str]


class Nest:
    """A process that forks others; kept for many kills, ended with its block."""

    def __init__(self, repository: Path) -> None:
        """Start it; it takes seconds until it has imported everything."""
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.faults.nest"],
            cwd=repository,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A pool of threads would not survive the fork.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(repository)},
        )

    def run(self, order: Order) -> int:
        """Have an order done by a process of its own, and return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the nest has ended"
        return int(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=ANSWER_LIMIT_S)


class Witness:
    """Writes down each point that a workload gets to, and ends the process at one."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._project = Path(order.project)
        self._lock = threading.Lock()
        self._arrivals: Counter[str] = Counter()
        self._trace: IO[bytes] | None = None

    def begin(self) -> None:
        """From here on it is the workload."""
        self._keep_copy()
        self._trace = (self._project / TRACE).open("ab", buffering=0)

    def note(self, line: str) -> None:
        """Write a line that outlives the process."""
        assert self._trace is not None
        self._trace.write(f"{line}\n".encode())

    def __call__(self, point: Point) -> None:
        with self._lock:
            if self._trace is None:
                return
            self._arrivals[point.name] += 1
            self.note(point.name)
            if point is Point.ROWS_COMMITTED:
                self._keep_copy()
            dies = self._order.task == "die" and self._order.point == point.name
            if dies and self._arrivals[point.name] == self._order.arrival:
                os.kill(os.getpid(), signal.SIGKILL)

    def _keep_copy(self) -> None:
        if self._order.copies:
            number = self._arrivals[Point.ROWS_COMMITTED.name]
            # The index is no part of the truth, and its owner has it open.
            left_out = shutil.ignore_patterns("chroma", "other", "*.jsonl")
            shutil.copytree(self._project, Path(self._order.copies) / str(number), ignore=left_out)


async def work(order: Order) -> None:
    """Write a note, then do the workload; what was acknowledged is written down at once."""
    project = Path(order.project)
    witness = Witness(order)
    kit = kit_in(project, reached=witness)
    await kit.remember(FIRST_NOTE, scope=ALICE)
    witness.begin()
    for operation in WORKLOADS[order.workload].operations:
        await operation.run(kit, project)
        await kit.background.join()
        witness.note(f"{ACKNOWLEDGED}{operation.name}")
    await kit.aclose()


async def recover(order: Order) -> None:
    """Run the reconciler and prove; do the operation again and prove; mend hours later."""
    project, clock = Path(order.project), FixedClock(ACTED + AFTER_LEASE)
    kit = kit_in(project, clock=clock)
    await kit.settle()
    if order.workload.startswith("reindex"):
        await kit.reindex()
    first = await disagreements(kit)
    refused: list[str] = []
    for operation in WORKLOADS[order.workload].operations:
        if operation.repeatable:
            try:
                await operation.run(kit, project)
            except (InputError, NotFoundError):
                refused.append(operation.name)
    await kit.background.join()
    await kit.settle()
    second = await disagreements(kit)
    clock.advance(hours=AFTER_GRACE_HOURS)
    await kit.mend(await kit.prove())
    outcome = Outcome(
        disagreements=first,
        refused=refused,
        disagreements_repeated=second,
        disagreements_mended=await disagreements(kit),
    )
    await kit.aclose()
    (project / OUTCOME).write_text(json.dumps(asdict(outcome)), encoding="utf-8")


async def disagreements(kit: Kit) -> list[str]:
    """Return what a proof finds wrong, in words."""
    found = await kit.prove()
    return [f"{item.kind}: {', '.join(item.subjects)}" for item in found.disagreements]


def _in_child(order: Order, task: Callable[[Order], None]) -> None:
    """Do an order and end; what goes wrong is told in a file of the scene."""
    with (Path(order.project) / SAID).open("a", encoding="utf-8") as said:
        os.dup2(said.fileno(), sys.stderr.fileno())
        os.dup2(said.fileno(), sys.stdout.fileno())
        code = 1
        try:
            task(order)
            code = 0
        except BaseException:
            traceback.print_exc(file=said)
            said.flush()
            raise
        finally:
            # Nothing of the process that it was forked from is to be ended here.
            os._exit(code)


def _do(order: Order) -> None:
    if order.task == "doctor":
        code = run(["doctor", "--consistency", "--project", order.project])
        assert code == 0, f"agentkit doctor --consistency ended with {code}"
        return
    asyncio.run(recover(order) if order.task == "recover" else work(order))


async def _warm_up(project: Path) -> None:
    """Do once what is slow the first time, so that no child has to."""
    kit = kit_in(project, clock=FixedClock(NOW))
    await kit.remember(FIRST_NOTE, scope=ALICE)
    await kit.recall("where is the assembly point?", scope=ALICE)
    await kit.reflect(scope=ALICE)
    await kit.prove()
    await kit.aclose()


def main() -> None:
    """Fork a process for each order, and answer with its exit code."""
    for name in LAZY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="agentkit-nest-") as folder:
        configure(Path(folder), index="none")
        asyncio.run(_warm_up(Path(folder)))
    assert threading.active_count() == 1, threading.enumerate()
    for line in sys.stdin:
        order = Order(**json.loads(line))
        child = os.fork()
        if child == 0:
            _in_child(order, _do)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
