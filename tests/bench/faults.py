"""Whether a killed process loses anything, and how fast four write at once.

`python -m tests.bench.faults` kills a process at every point of every workload, the first, the
middle and the last time that it gets there, and at other places of a long one; see `tests/faults`.
Then four processes write into one project while a fifth recalls. The figures go to
`evals/baselines/faults.json`. Takes about five minutes.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from agentkit.store import Point
from tests.bench.contention import contend
from tests.faults.nest import Nest
from tests.faults.proof import Course, Ground, Kill, Verdict
from tests.faults.scene import EVERYTHING, WORKLOADS

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = 20261130
# One kill in so many is followed by `agentkit doctor --consistency`.
COMMAND_EVERY = 10


def planned(name: str, course: Course) -> list[Kill]:
    """Return a kill for the first, the middle and the last arrival at each point."""
    kills: list[Kill] = []
    for point in Point:
        arrivals = course.arrivals(point)
        places = {1, (arrivals + 1) // 2, arrivals} if arrivals else set[int]()
        kills += [Kill(workload=name, point=point, arrival=place) for place in sorted(places)]
    return kills


def scattered(name: str, course: Course, number: int, *, random: Random) -> list[Kill]:
    """Return kills at so many places of a workload, each place once."""
    points = [line for line in course.trace if line in Point.__members__]
    kills: list[Kill] = []
    for place in sorted(random.sample(range(len(points)), min(number, len(points)))):
        point = Point[points[place]]
        arrival = points[: place + 1].count(point.name)
        kills.append(Kill(workload=name, point=point, arrival=arrival))
    return kills


def kill_all(ground: Ground, *, scattered_kills: int) -> list[Verdict]:
    """Kill a process at every place that is planned, one after the other."""
    random = Random(SEED)
    kills: list[Kill] = []
    for name in WORKLOADS:
        course = ground.course(name)
        kills += (
            scattered(name, course, scattered_kills, random=random)
            if name == EVERYTHING.name
            else planned(name, course)
        )
    verdicts: list[Verdict] = []
    for number, kill in enumerate(kills):
        verdict = ground.kill(kill, with_command=number % COMMAND_EVERY == 0)
        verdicts.append(verdict)
        if not verdict.ok:
            print(verdict)
    return verdicts


def summed(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how many records were lost, doubled and half, and what was unclean."""
    total: Counter[str] = Counter()
    for verdict in verdicts:
        total.update(
            kills=1,
            lost=len(verdict.lost),
            doubled=len(verdict.doubled),
            half=len(verdict.half),
            unclean=len(verdict.unclean),
        )
    return dict(total)


def fault_figures(folder: Path, *, scattered_kills: int) -> dict[str, object]:
    """Kill, and return the figures."""
    started = time.perf_counter()
    with Nest(ROOT) as nest:
        verdicts = kill_all(Ground(folder, nest), scattered_kills=scattered_kills)
    points = Counter(verdict.kill.point.name.lower() for verdict in verdicts)
    workloads = Counter(verdict.kill.workload for verdict in verdicts)
    return {
        **summed(verdicts),
        "with_doctor_command": -(-len(verdicts) // COMMAND_EVERY),
        "kills_by_point": {point.name.lower(): points[point.name.lower()] for point in Point},
        "kills_by_workload": {name: workloads[name] for name in WORKLOADS},
        "seconds": round(time.perf_counter() - started, 1),
    }


def write_faults(folder: Path, *, scattered_kills: int = 60) -> None:
    """Measure, and write the figures into a folder."""
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        figures = {
            "command": "python -m tests.bench.faults",
            "measured_at": str(datetime.now(UTC).date()),
            "faults": fault_figures(Path(scratch), scattered_kills=scattered_kills),
            "contention": contend(Path(scratch) / "contention", repository=ROOT),
        }
    (folder / "faults.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "evals" / "baselines")
    parser.add_argument("--scattered", type=int, default=60, help="kills within the long workload")
    given = parser.parse_args()
    write_faults(given.out, scattered_kills=given.scattered)


if __name__ == "__main__":
    main()
