"""A process that dies at any named point of the write path loses, doubles and halves nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.store import Point
from tests.faults.nest import Nest
from tests.faults.proof import Ground, Kill

# Which workload dies the first time that it gets to a point, and which the last time.
PLAN: dict[Point, tuple[str, str]] = {
    Point.BLOB_UNNAMED: ("import", "purge memory"),
    Point.BLOB_NAMED: ("run", "restore"),
    Point.BLOB_STORED: ("run", "purge memory"),
    Point.BLOB_DELETED: ("purge memory", "purge user"),
    Point.ROWS_BEGUN: ("write", "run"),
    Point.ROWS_PARTLY: ("import", "run"),
    Point.ROWS_WRITTEN: ("edit", "reflect"),
    Point.ROWS_COMMITTED: ("write", "run"),
    Point.VECTORS_MADE: ("settle", "settle (chroma)"),
    Point.INDEX_DELETED: ("settle (chroma)", "reindex (chroma)"),
    Point.INDEX_WRITTEN: ("settle (chroma)", "reindex (chroma)"),
    Point.OUTBOX_CLEARED: ("settle", "settle (chroma)"),
    Point.INDEX_RETIRED: ("purge memory (chroma)", "purge memory (chroma)"),
    Point.INDEX_CLEARED: ("reindex (chroma)", "reindex (chroma)"),
    Point.REBUILD_MARKED: ("reindex (chroma)", "reindex (chroma)"),
    Point.REBUILD_FILLED: ("reindex (chroma)", "reindex (chroma)"),
    Point.PURGE_CLEANED: ("purge memory", "purge user"),
    Point.PURGE_ERASED: ("purge memory", "purge user"),
    Point.PURGE_SWEPT: ("purge memory", "purge user"),
    Point.DATABASE_COMPACTED: ("purge memory", "purge user"),
    Point.EXPORT_WRITTEN: ("export", "export"),
    Point.RESTORE_CHECKED: ("restore", "restore"),
    Point.RESTORE_STORED: ("restore", "restore"),
}
# Those after which `agentkit doctor --consistency` is run too.
WITH_COMMAND = (Point.BLOB_STORED, Point.ROWS_COMMITTED, Point.INDEX_WRITTEN)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    repository = Path(__file__).resolve().parent.parent.parent
    folder = tmp_path_factory.mktemp("faults")
    # Processes that run these tests at once share what it takes seconds to make.
    scenes = tmp_path_factory.getbasetemp().parent / "scenes"
    scenes.mkdir(exist_ok=True)
    with Nest(repository) as nest:
        yield Ground(folder, nest, scenes=scenes)


def test_every_named_point_is_killed_at() -> None:
    assert PLAN.keys() == set(Point)


@pytest.mark.parametrize("point", PLAN, ids=lambda point: point.name.lower())
def test_what_was_acknowledged_survives_a_kill_once_and_whole(ground: Ground, point: Point) -> None:
    first, last = PLAN[point]
    verdicts = [
        ground.kill(
            Kill(workload=first, point=point, arrival=1), with_command=point in WITH_COMMAND
        ),
        ground.kill(Kill(workload=last, point=point, arrival=ground.course(last).arrivals(point))),
    ]
    assert [verdict for verdict in verdicts if not verdict.ok] == []
