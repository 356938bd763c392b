"""`python -m tests.bench.pairs`: measures our own paraphrase pairs, which need no other data."""

import asyncio
import tempfile
from pathlib import Path

from agentkit.policy import load_policy
from agentkit.project import Project
from agentkit.store import open_embedder
from tests.bench.quality import Bench, write_pairs

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Measure the pairs with the embedder that ships."""
    embedder = open_embedder("local")
    assert embedder is not None
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        bench = Bench(
            root=ROOT,
            data=ROOT / "evals" / "pairs",
            cache=Path(scratch),
            embedder=embedder,
            policy=load_policy(Project(None).find),
        )
        asyncio.run(write_pairs(bench))


if __name__ == "__main__":
    main()
