"""Recall quality on the labelled corpora: one JSON file a suite, and the table of all of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from agentkit.evaluation import RetrievalSuite, evaluate, load_suite
from agentkit.policy import Policy
from agentkit.ports import Embedder

SUITES = (
    "locomo",
    "clinc150",
    "memdaily",
    "xquad-zh-zh",
    "xquad-zh-en",
    "xquad-en-zh",
    "xquad-zh-mixed",
    "xquad-en-mixed",
)
OWN = "pairs"
DATED = "locomo"
DATED_METRIC = "recall@10"

HEAD = """\
# evals/baselines/: figures of the suites that ship

One JSON file a suite, and this table, written by `make bench` (DATA names the folder of the data
sets); one suite alone by `agentkit eval evals/suites/SUITE.yaml --data DIR --out FILE`. Measured on
{date} with the default policy (fingerprint `{policy}`) and the embedder `{embedder}`.

Only questions of the `report` half were asked: everything that was fitted
(`tests/bench/fit_recall.py`) was fitted on the other half. LoCoMo is part `locomo_a` (5 of 10
conversations), MemDaily the 13 files of types 01, 03 and 05. None of the data is in this project.

`lexical` is BM25 (English stemmed, function words of the question dropped), `dense` is cosine,
`fixed` half of each after min-max; gain is `agentkit` minus the best other row, paired question by
question, with its 95 % bootstrap interval (over users in MemDaily, over questions elsewhere).

| suite | questions | metric | lexical | dense | fixed | agentkit | gain |
|---|---|---|---|---|---|---|---|
"""
TAIL = """
What to know when reading them:

* Where a `k` covers all memories of a user nothing can be missed. MemDaily users have 4 to 15
  messages: see `flags` in its JSON; recall@3 tells more there than recall@10.
* CLINC150 indexes 20 requests an intent, spread evenly over the 100 of the training part; the
  first 20 of each are near paraphrases, and with them every row is lower (ours 0.85 P@5).
* On CLINC150 the inferred tag is worth twelve points of P@5; where it is wrong it costs: any-hit@5
  is below `dense`.
* Ages are equal in all suites, so that the forgetting curve is out of the picture. With the dates
  of LoCoMo (`ages: recorded`, asked at the last of them) and the shipped decay, recall@10 of
  `agentkit` is {dated:.3f} instead of {equal:.3f}: its questions ask about any month alike, while
  decay bets on the recent ones.
* In `xquad-zh-mixed` and `xquad-en-mixed` every other paragraph is Chinese, the others English.
  Words speak for the memories in the question's language only. `fusion.unmatched` gives meaning
  some of their weight elsewhere (zh-mixed, fit half: 0.592 without, 0.662 with); meaning alone is
  still better for Chinese questions.
* `locomo-loco.json` holds all questions of LoCoMo, the fusion fitted on every conversation but
  the one asked about, beside the best fixed weight chosen with the answers in hand
  (`python -m tests.bench.locomo`).
* `clinc150-oos.json` (`python -m tests.bench.floor`) asks CLINC150's out-of-scope requests as well:
  how well the best similarity tells them from the others (AUROC), what each floor refuses of both
  and leaves of P@5, and what the default floor costs each suite. The default refuses none of
  them: what is near enough in one suite is far in another.
* `pasted.json` (`python -m tests.bench.pasted`) says what a question loses of recall@10 that was
  pasted together with one of four own system prompts or a log, and how long `focus` takes for 1 MB.
* `index.json` (`python -m tests.bench.index`) says how well and how fast Chroma finds, and how many
  rows a second `agentkit reindex` writes: `reindex_keys_per_s`.
* `faults.json` (`python -m tests.bench.faults`, part of `make bench`) counts processes killed at
  each named point of the write path, and what was lost, doubled or half then; and how long a write
  takes while four processes write into one SQLite project and a fifth recalls.
* `recall-speed.json` (`python -m tests.bench.recall`) sets one recall and one write beside raw
  Chroma and brute force in numpy, in one process: what counts are the ratios.
* `recall-users.json` (`python -m tests.bench.users`) holds a thousand users in one process: bytes
  of the cache, recalls of users who are held and who are not, and one user beside eight others.
* `pairs.json` holds the `report` half of our own paraphrase pairs, `pairs-all.json` both halves, by
  direction (`python -m tests.bench.pairs`); they name the policy they were measured with. The aim,
  any-hit@5 of 0.8, is not reached.
* `boundaries.json` (`python -m tests.bench.boundaries`, part of `make bench`) holds precision and
  recall of the rules that end a task, on the half of `evals/boundaries/` that nothing was fitted
  on, with Wilson intervals; `done` by words alone (`rules`) and with what they leave open
  (`meaning`). The aim for `done`, precision 0.95 and recall 0.85, is not reached:
  English has 0.87 and 0.72, Chinese 0.87 and 0.56.
* `startup.json` says how long `agentkit --help` takes beside `import typer`.
* The fingerprint changes with any policy file, also those that recall does not read.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the figures are measured with.

    Attributes:
        root: The checkout.
        data: Folder of the data sets.
        cache: Folder for embeddings.
        embedder: The embedder.
        policy: The policy.
    """

    root: Path
    data: Path
    cache: Path
    embedder: Embedder
    policy: Policy

    @property
    def folder(self) -> Path:
        """Where the figures go."""
        return self.root / "evals" / "baselines"

    def suite(self, name: str) -> RetrievalSuite:
        """Load a suite that ships."""
        suite = load_suite(self.root / "evals" / "suites" / f"{name}.yaml")
        assert isinstance(suite, RetrievalSuite)
        return suite

    async def measure(self, suite: RetrievalSuite) -> dict[str, Any]:
        """Run a suite, and return its figures as `agentkit eval --json` prints them."""
        report = await evaluate(
            suite, self.data, embedder=self.embedder, policy=self.policy, cache=self.cache
        )
        return cast("dict[str, Any]", report.to_json())


async def write_pairs(bench: Bench) -> None:
    """Measure our own pairs, the half that nothing was fitted on and all, and write the figures."""
    suite = bench.suite(OWN)
    data = suite.data(None, folder=bench.root / "evals" / "suites")
    for name, half in ((OWN, suite.half), (f"{OWN}-all", "all")):
        asked = suite.model_copy(update={"half": half})
        report = await evaluate(
            asked, data, embedder=bench.embedder, policy=bench.policy, cache=bench.cache
        )
        found = report.to_json()
        found["data"] = data.relative_to(bench.root).as_posix()
        text = json.dumps(found, ensure_ascii=False, indent=2)
        (bench.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


async def write_quality(bench: Bench) -> None:
    """Run every suite, and write its figures and the table of all."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in SUITES:
        found[name] = await bench.measure(bench.suite(name))
        text = json.dumps(found[name], ensure_ascii=False, indent=2)
        (bench.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, found[name]["arms"]["agentkit"])
    dated_suite = bench.suite(DATED).model_copy(update={"ages": "recorded"})
    dated = (await bench.measure(dated_suite))["arms"]["agentkit"][DATED_METRIC]
    table = [row for name in SUITES for row in _rows(found[name], bench.suite(name).metrics)]
    first = found[SUITES[0]]
    head = HEAD.format(
        date=datetime.now(UTC).date(), policy=first["policy"], embedder=first["embedder"]
    )
    equal = found[DATED]["arms"]["agentkit"][DATED_METRIC]
    text = head + "\n".join(table) + "\n" + TAIL.format(dated=dated, equal=equal)
    (bench.folder / "README.md").write_text(text, encoding="utf-8")


def _rows(found: Mapping[str, Any], metrics: Sequence[str]) -> list[str]:
    """One line a metric; the best value is bold, the suite is named once."""
    rows: list[str] = []
    for place, metric in enumerate(metrics):
        values = [f"{row[metric]:.3f}" for row in found["arms"].values()]
        cells = [f"**{value}**" if value == max(values) else value for value in values]
        gain = found["gains"][metric]
        low, high = gain["difference_ci"]
        said = f"{gain['difference']:+.3f} [{low:+.3f}, {high:+.3f}] on {gain['against']}"
        name, count = (found["suite"], found["n_queries"]) if place == 0 else ("", "")
        rows.append(f"| {name} | {count} | {metric} | {' | '.join(cells)} | {said} |")
    return rows
