"""The same kills with the rows in PostgreSQL: one a point at which it has a part."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.store import Point
from tests.databases import PostgresServer
from tests.faults.nest import Nest
from tests.faults.proof import Ground, Kill
from tests.faults.scene import ARCHIVE, NOTES, configure, kit_in

PLAN: dict[Point, str] = {
    Point.BLOB_UNNAMED: "run",
    Point.BLOB_NAMED: "import",
    Point.BLOB_STORED: "run",
    Point.BLOB_DELETED: "purge memory",
    Point.ROWS_BEGUN: "edit",
    Point.ROWS_PARTLY: "run",
    Point.ROWS_WRITTEN: "write",
    Point.ROWS_COMMITTED: "reflect",
    Point.VECTORS_MADE: "settle",
    Point.OUTBOX_CLEARED: "settle",
    Point.PURGE_CLEANED: "purge memory",
    Point.PURGE_ERASED: "purge user",
    Point.PURGE_SWEPT: "purge memory",
    Point.RESTORE_CHECKED: "restore",
    Point.RESTORE_STORED: "restore",
}


class PostgresCopies:
    """Databases made from one that holds the scene."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self._server = server
        self._origin = folder / "origin"
        self._template = ""

    def copy(self, scene: Path, project: Path) -> None:
        """Make a project whose rows are in a database of its own."""
        if not self._template:
            self._template = self._server.create()
            asyncio.run(self._fill(scene))
        shutil.copytree(self._origin, project)
        database = self._server.create(template=self._template)
        configure(project, index="none", database_url=self._server.address(database))

    async def _fill(self, scene: Path) -> None:
        kit = kit_in(scene)
        self._origin.mkdir()
        await kit.export_to(self._origin / "scene.jsonl", scope=None)
        await kit.aclose()
        for name in (NOTES, ARCHIVE):
            shutil.copy(scene / name, self._origin)
        address = self._server.address(self._template)
        configure(self._origin, index="none", database_url=address)
        kit = kit_in(self._origin)
        await kit.restore_from(self._origin / "scene.jsonl")
        await kit.aclose()


@pytest.fixture(scope="module")
def ground(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ground]:
    repository = Path(__file__).resolve().parent.parent.parent
    folder = tmp_path_factory.mktemp("faults")
    with Nest(repository) as nest:
        yield Ground(folder, nest, databases=PostgresCopies(postgres_server, folder))


@pytest.mark.slow
@pytest.mark.parametrize("point", PLAN, ids=lambda point: point.name.lower())
def test_what_was_committed_to_a_server_survives_a_kill(ground: Ground, point: Point) -> None:
    name = PLAN[point]
    arrival = ground.course(name).arrivals(point)
    verdict = ground.kill(Kill(workload=name, point=point, arrival=arrival))
    assert verdict.ok, verdict
