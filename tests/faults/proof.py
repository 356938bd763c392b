"""What a killed process left, held against what one that lived left at the same commit."""

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from agentkit.store import Point
from agentkit.store.locks import locked
from agentkit.store.transfer.kinds import KIND_BY_NAME
from tests.faults.nest import (
    OUTCOME,
    SAID,
    TRACE,
    Nest,
    Order,
    Outcome,
)
from tests.faults.scene import ARCHIVE, WORKLOADS, kit_in, make_scene

KILLED = -9
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# Times that were measured, and the process that did it.
_NEVER_THE_SAME = frozenset({"latency_ms", "owner"})
# What differs when the same is done later, or on the second try.
_LATER = frozenset(
    {"at", "revision", "purged_revision", "attempts", "run_after", "lease_until", "last_error"}
)

Records = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Where a process dies.

    Attributes:
        workload: During which workload.
        point: At which point.
        arrival: How often it got there, from 1.
    """

    workload: str
    point: Point
    arrival: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a kill did to the store.

    Attributes:
        kill: The kill.
        lost: Records that were committed, and are not there.
        doubled: Records that are there once too often.
        half: Records that are not as they were committed.
        unclean: What did not agree after the reconciler, or was left lying about.
    """

    kill: Kill
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    half: list[str] = field(default_factory=list[str])
    unclean: list[str] = field(default_factory=list[str])

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return not (self.lost or self.doubled or self.half or self.unclean)

    def compare(self, found: Records, expected: Records) -> None:
        """Note how what is there differs from what must be."""
        self.lost.extend(expected.keys() - found.keys())
        self.doubled.extend(found.keys() - expected.keys())
        self.half.extend(
            f"{key}: {_difference(found[key], expected[key])}"
            for key in found.keys() & expected.keys()
            if found[key] != expected[key]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a workload goes when nobody kills it.

    Attributes:
        trace: The points in the order in which it got to them, and what it acknowledged.
        commits: What was there before the first commit, and after each.
        settled: What was there in the end, after the reconciler ran.
    """

    trace: tuple[str, ...]
    commits: tuple[Records, ...]
    settled: Records

    def arrivals(self, point: Point) -> int:
        """How often it gets to a point."""
        return self.trace.count(point.name)

    def committed_at(self, kill: Kill) -> Records:
        """Return what must be there after a kill."""
        return self.commits[self.until(kill).count(Point.ROWS_COMMITTED.name)]

    def until(self, kill: Kill) -> tuple[str, ...]:
        """Return the trace of a process that is killed there."""
        places = [place for place, name in enumerate(self.trace) if name == kill.point.name]
        return self.trace[: places[kill.arrival - 1] + 1]


class Databases(Protocol):
    """Copies of a scene in another database."""

    def copy(self, scene: Path, project: Path) -> None:
        """Make a project that holds what a scene holds.

        Args:
            scene: The scene, which stays as it is.
            project: Folder to be made.
        """
        ...


class Ground:
    """A folder with the scenes, in which processes live and die."""

    def __init__(
        self,
        folder: Path,
        nest: Nest,
        *,
        scenes: Path | None = None,
        databases: Databases | None = None,
    ) -> None:
        """Make nothing yet.

        Args:
            folder: An empty folder.
            nest: Where the processes come from.
            scenes: Folder in which scenes are shared with other grounds, or None for `folder`.
            databases: Where the processes that die keep their rows, or None for SQLite; what must
                be there is always found out on SQLite.
        """
        self._folder = folder
        self._nest = nest
        self._scenes = scenes or folder
        self._databases = databases
        self._courses: dict[str, Course] = {}
        self._number = 0

    def scene(self, workload: str) -> Path:
        """Return the scene that a workload needs; it is copied, never changed."""
        index = WORKLOADS[workload].index
        project = self._scenes / f"scene-{index}"
        with locked(self._scenes / f"scene-{index}.lock"):
            if not (project / ARCHIVE).exists():
                asyncio.run(make_scene(project, index=index))
        return project

    def course(self, workload: str) -> Course:
        """Return how a workload goes, which is found out once."""
        if workload not in self._courses:
            project = self._copy(workload)
            copies = project.with_name(f"{project.name}-copies")
            live = Order(project=str(project), workload=workload, task="live", copies=str(copies))
            self._run(live)
            self._run(Order(project=str(project), workload="settle", task="recover"))
            places = sorted(copies.iterdir(), key=lambda path: int(path.name))
            self._courses[workload] = Course(
                trace=trace_of(project),
                commits=tuple(records_of(place) for place in places),
                settled=timeless(records_of(project)),
            )
            shutil.rmtree(copies)
            shutil.rmtree(project)
        return self._courses[workload]

    def kill(self, kill: Kill, *, with_command: bool = False) -> Verdict:
        """Let a process die and return what came of it.

        Args:
            kill: Where.
            with_command: Whether `agentkit doctor --consistency` has to agree as well.
        """
        course, project = self.course(kill.workload), self._copy(kill.workload, dies=True)
        order = Order(
            project=str(project),
            workload=kill.workload,
            task="die",
            point=kill.point.name,
            arrival=kill.arrival,
        )
        code = self._nest.run(order)
        assert code == KILLED, (code, kill, (project / SAID).read_text(encoding="utf-8"))
        # So far it did, and acknowledged, the same as the one that lived.
        assert trace_of(project) == course.until(kill), (kill, trace_of(project))
        verdict = Verdict(kill=kill)
        verdict.compare(records_of(project), course.committed_at(kill))
        self._recover(project, verdict, course)
        if with_command:
            # A purge leaves the index to the next process.
            self._run(Order(project=str(project), workload="settle", task="recover"))
            self._run(Order(project=str(project), workload="settle", task="doctor"))
        shutil.rmtree(project)
        return verdict

    def _recover(self, project: Path, verdict: Verdict, course: Course) -> None:
        name = verdict.kill.workload
        self._run(Order(project=str(project), workload=name, task="recover"))
        told: dict[str, Any] = json.loads((project / OUTCOME).read_text(encoding="utf-8"))
        outcome = Outcome(**told)
        verdict.unclean.extend(outcome.disagreements)
        verdict.unclean.extend(outcome.disagreements_repeated)
        verdict.unclean.extend(outcome.disagreements_mended)
        verdict.unclean.extend(
            str(path) for path in (project / ".agentkit").rglob("*") if ".tmp-" in path.name
        )
        if WORKLOADS[name].repeatable:
            verdict.compare(timeless(records_of(project)), course.settled)

    def _copy(self, workload: str, *, dies: bool = False) -> Path:
        self._number += 1
        project = self._folder / f"run-{self._number}"
        if dies and self._databases is not None:
            self._databases.copy(self.scene(workload), project)
        else:
            left_out = shutil.ignore_patterns("other")
            shutil.copytree(self.scene(workload), project, ignore=left_out)
        return project

    def _run(self, order: Order) -> None:
        code = self._nest.run(order)
        assert code == 0, (code, order, (Path(order.project) / SAID).read_text(encoding="utf-8"))


def records_of(project: Path) -> Records:
    """Return everything in a store by its names; what is new is named in the order of its making.

    Args:
        project: A scene, or a copy of its state.
    """
    with tempfile.TemporaryDirectory(prefix="agentkit-proof-") as folder:
        file = Path(folder) / "all.jsonl"
        asyncio.run(_export(project, file))
        lines = file.read_text(encoding="utf-8").splitlines()[1:-1]
    names = {found: f"id-{place}" for place, found in enumerate(sorted(_ids(lines)))}
    records: dict[str, Any] = {}
    for line in lines:
        record = _without(
            json.loads(_UUID.sub(lambda match: names[match.group()], line)), _NEVER_THE_SAME
        )
        key = KIND_BY_NAME[record["record"]].key
        records[" ".join([record["record"], *(str(record[part]) for part in key)])] = record
    return records


def trace_of(project: Path) -> tuple[str, ...]:
    """Return what a process wrote down, up to its end."""
    return tuple((project / TRACE).read_text(encoding="utf-8").splitlines())


def timeless(records: Records) -> Records:
    """Return records without what differs when the same is done later."""
    return {key: _without(record, _LATER) for key, record in records.items()}


async def _export(project: Path, file: Path) -> None:
    kit = kit_in(project)
    await kit.export_to(file, scope=None)
    await kit.aclose()


def _ids(lines: Iterable[str]) -> set[str]:
    return {match for line in lines for match in _UUID.findall(line)}


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            name: _without(item, names)
            for name, item in cast("dict[str, Any]", value).items()
            if name not in names and not (names is _LATER and name.endswith("_at"))
        }
    if isinstance(value, list):
        return [_without(item, names) for item in cast("list[Any]", value)]
    return value


def _difference(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    names = [name for name in expected if found.get(name) != expected[name]]
    return "; ".join(f"{name} {found.get(name)!r} for {expected[name]!r}"[:160] for name in names)
