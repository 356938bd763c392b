"""How long the command line takes to answer, beside the library that it is built on."""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
COMMANDS = {
    "import typer": [sys.executable, "-c", "import typer"],
    "agentkit --help": [str(Path(sys.executable).with_name("agentkit")), "--help"],
}


def write_startup(folder: Path) -> None:
    """Run both commands in turn, and write the medians and their ratio."""
    spent_s: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS + 1):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            spent_s[name].append(time.perf_counter() - started)
    # The first run of each warms the file cache and does not count.
    medians = {name: statistics.median(times[1:]) for name, times in spent_s.items()}
    ratios = [
        ours / theirs
        for ours, theirs in zip(
            spent_s["agentkit --help"][1:], spent_s["import typer"][1:], strict=True
        )
    ]
    figures = {
        "command": "python -m tests.bench",
        "runs": RUNS,
        "median_ms": {name: round(median_s * 1_000, 1) for name, median_s in medians.items()},
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_min": round(min(ratios), 2),
        "ratio_max": round(max(ratios), 2),
    }
    (folder / "startup.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("startup", figures)
