"""`make bench`: measures quality and speed, and writes the figures to `evals/baselines/`."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from agentkit.evaluation.embedding import VectorCache
from agentkit.policy import load_policy
from agentkit.project import Project
from agentkit.store import open_embedder
from tests.bench.boundaries import write_boundaries
from tests.bench.faults import write_faults
from tests.bench.floor import write_floor
from tests.bench.locomo import write_locomo
from tests.bench.pasted import SUITES, write_pasted
from tests.bench.quality import Bench, write_pairs, write_quality
from tests.bench.recall import write_recall_speed
from tests.bench.startup import write_startup
from tests.bench.users import write_recall_users

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labelled data sets")
    parser.add_argument("--cache", type=Path, help="keep embeddings there between runs")
    given = parser.parse_args()
    if not given.data.is_dir():
        parser.error(f"no folder {given.data}; make bench DATA=FOLDER names the data sets")
    write_startup(ROOT / "evals" / "baselines")
    write_faults(ROOT / "evals" / "baselines")
    asyncio.run(write_recall_speed(ROOT / "evals" / "baselines"))
    asyncio.run(write_recall_users(ROOT / "evals" / "baselines"))
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        embedder = open_embedder("local")
        assert embedder is not None
        bench = Bench(
            root=ROOT,
            data=given.data,
            cache=given.cache or Path(scratch),
            embedder=embedder,
            policy=load_policy(Project(None).find),
        )
        asyncio.run(write_quality(bench))
        asyncio.run(write_pairs(bench))
        asyncio.run(write_boundaries(ROOT, embedder=embedder, policy=bench.policy))
        suite = bench.suite("locomo")
        asyncio.run(write_locomo(suite, given.data, cache=bench.cache, folder=bench.folder))
        vectors = VectorCache(bench.cache)
        asyncio.run(
            write_floor(given.data, cache=vectors, policy=bench.policy, folder=bench.folder)
        )
        asked = [bench.suite(name) for name in SUITES]
        asyncio.run(
            write_pasted(
                asked, given.data, policy=bench.policy, cache=bench.cache, folder=bench.folder
            )
        )


if __name__ == "__main__":
    main()
