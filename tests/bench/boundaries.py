"""How often the rules that end a task are right, on cases that nothing was fitted on."""

import asyncio
import json
from pathlib import Path

from agentkit.evaluation import load_suite
from agentkit.evaluation.boundaries import evaluate_boundaries
from agentkit.evaluation.suites import BoundariesSuite
from agentkit.policy import Policy, load_policy
from agentkit.ports import Embedder
from agentkit.project import Project
from agentkit.store import open_embedder

ROOT = Path(__file__).resolve().parent.parent.parent


async def write_boundaries(root: Path, *, embedder: Embedder, policy: Policy) -> None:
    """Measure the `report` half of the labelled boundaries, and write the figures.

    Args:
        root: The checkout.
        embedder: Who judges `topic`, and what the words of `done` leave open.
        policy: The policy.
    """
    suite = load_suite(root / "evals" / "suites" / "boundaries.yaml")
    assert isinstance(suite, BoundariesSuite)
    assert suite.half == "report"
    data = root / "evals" / "boundaries"
    report = await evaluate_boundaries(suite, data, embedder=embedder, policy=policy)
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=2)
    file = root / "evals" / "baselines" / "boundaries.json"
    file.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure with the default policy and the bundled embedder."""
    embedder = open_embedder("local")
    assert embedder is not None
    asyncio.run(write_boundaries(ROOT, embedder=embedder, policy=load_policy(Project(None).find)))


if __name__ == "__main__":
    main()
