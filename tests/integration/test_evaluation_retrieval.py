import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from agentkit.errors import EmbedderError, InputError
from agentkit.evaluation.embedding import VectorCache, vector_key
from agentkit.evaluation.report import EvalReport
from agentkit.evaluation.retrieval import Progress, evaluate
from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.policy import Policy
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.text import terms

CHILD = """\
import asyncio, json, sys
from pathlib import Path
from agentkit.evaluation import evaluate, load_suite
from agentkit.policy.policy import Policy
suite, data = map(Path, sys.argv[1:])
report = asyncio.run(evaluate(load_suite(suite), data, embedder=None, policy=Policy()))
print(json.dumps(report.to_json()))
"""
TOPICS = ("river", "kiln", "harbour", "orchard", "quarry")


@dataclass
class WordEmbedder:
    """Gives every word of a text its own direction, and counts what it was asked."""

    name: str = "words"
    dim: int = 128
    asked: list[str] = field(default_factory=list[str])

    async def load(self) -> None:
        """Nothing is to be loaded."""

    async def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity(self.name, self.dim)

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> npt.NDArray[np.float32]:
        self.asked.extend(texts)
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                vectors[row, sum(term.encode()) % self.dim] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class BrokenEmbedder(WordEmbedder):
    """Fails like a provider that is down."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> npt.NDArray[np.float32]:
        raise EmbedderError("the provider is down; try again later")


def turn(number: int, *, session: int) -> dict[str, str]:
    topic = TOPICS[number % len(TOPICS)]
    text = f"The {topic} report number {number} is filed under shelf {session}{number}."
    return {"speaker": "Clerk", "dia_id": f"D{session}:{number}", "text": text}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two dialogs of two sessions, with questions that name the turn they want, and one more."""
    samples: list[dict[str, object]] = []
    for name in ("conv-1", "conv-2"):
        conversation: dict[str, object] = {}
        for session in (1, 2):
            conversation[f"session_{session}_date_time"] = f"9:00 am on {session} May, 2023"
            conversation[f"session_{session}"] = [turn(n, session=session) for n in range(8)]
        questions: list[dict[str, object]] = [
            {
                "question": f"Where is {TOPICS[n % 5]} report {n} on shelf {session}{n}?",
                "evidence": [f"D{session}:{n}"],
                "category": 4 - n % 2,
            }
            for n in range(8)
            for session in (1, 2)
        ]
        questions.append({"question": "Who is on leave?", "evidence": [], "category": 3})
        samples.append({"sample_id": name, "conversation": conversation, "qa": questions})
    file = tmp_path / "data" / "locomo" / "locomo_t.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(samples), encoding="utf-8")
    return tmp_path / "data"


@pytest.fixture
def suite(repository: Path) -> RetrievalSuite:
    """The suite that ships, with every question asked."""
    found = load_suite(repository / "evals" / "suites" / "locomo.yaml")
    assert isinstance(found, RetrievalSuite)
    return found.model_copy(update={"half": "all"})


def as_bytes(report: EvalReport) -> bytes:
    return json.dumps(report.to_json()).encode()


async def test_all_four_arms_are_measured_on_the_same_questions(
    suite: RetrievalSuite, corpus: Path
) -> None:
    report = await evaluate(suite, corpus, embedder=WordEmbedder(), policy=Policy())
    assert [row.arm for row in report.arms] == ["lexical", "dense", "fixed", "agentkit"]
    assert (report.n_queries, report.undefined, report.n_memories, report.n_groups) == (
        32,
        2,
        32,
        2,
    )
    assert report.arm("lexical").metrics["recall@5"].mean == 1.0
    assert report.arm("agentkit").metrics["recall@5"].mean >= 0.9
    assert {gain.arm for gain in report.gains} == {"agentkit"}
    assert report.embedder == "words@128"
    assert report.policy_fingerprint == Policy().fingerprint


async def test_a_warm_cache_a_cold_cache_and_no_cache_give_the_same_bytes(
    suite: RetrievalSuite, corpus: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    without = await evaluate(suite, corpus, embedder=WordEmbedder(), policy=Policy())
    cold = await evaluate(suite, corpus, embedder=WordEmbedder(), policy=Policy(), cache=cache)
    warm_embedder = WordEmbedder()
    warm = await evaluate(suite, corpus, embedder=warm_embedder, policy=Policy(), cache=cache)
    assert as_bytes(without) == as_bytes(cold) == as_bytes(warm)
    assert warm_embedder.asked == []


def test_two_processes_with_other_hash_seeds_find_the_same(
    repository: Path, corpus: Path, tmp_path: Path
) -> None:
    script = tmp_path / "measure.py"
    script.write_text(CHILD, encoding="utf-8")
    suite_file = repository / "evals" / "suites" / "locomo.yaml"
    found = [
        subprocess.run(
            [sys.executable, str(script), str(suite_file), str(corpus)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(repository)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert json.loads(found[0])["arms"]["agentkit"]


async def test_another_embedder_or_another_text_is_never_served_an_old_vector(
    tmp_path: Path,
) -> None:
    first, other = WordEmbedder(), WordEmbedder(name="other words")
    for embedder, texts in ((first, ["a b", "c d"]), (other, ["a b"]), (first, ["a b", "e f"])):
        cache = VectorCache(tmp_path)
        vectors = await cache.embed(
            texts, kind="document", embedder=embedder, progress=lambda done: None
        )
        expected = await WordEmbedder().embed(texts, kind="document")
        assert np.array_equal(vectors, expected)
    assert first.asked == ["a b", "c d", "e f"]
    assert other.asked == ["a b"]
    identity = await first.identity()
    kinds: tuple[EmbedKind, ...] = ("query", "document")
    assert len({vector_key("a", kind=kind, identity=identity) for kind in kinds}) == 2


async def test_what_was_embedded_before_a_failure_is_kept(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    await cache.embed(["a"], kind="query", embedder=WordEmbedder(), progress=lambda done: None)
    with pytest.raises(EmbedderError, match="provider is down"):
        await VectorCache(tmp_path).embed(
            ["a", "b"], kind="query", embedder=BrokenEmbedder(), progress=lambda done: None
        )
    kept = await VectorCache(tmp_path).embed(
        ["a"], kind="query", embedder=BrokenEmbedder(), progress=lambda done: None
    )
    assert kept.shape == (1, 128)


async def test_a_damaged_cache_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "words@128-0.npz").write_bytes(b"not a zip file")
    with pytest.raises(InputError, match=r"words@128-0\.npz: no vector cache .* delete it"):
        await VectorCache(tmp_path).embed(
            ["a"], kind="query", embedder=WordEmbedder(), progress=lambda done: None
        )


async def test_without_an_embedder_the_words_alone_are_measured(
    suite: RetrievalSuite, corpus: Path
) -> None:
    report = await evaluate(suite, corpus, embedder=None, policy=Policy())
    assert [row.arm for row in report.arms] == ["lexical", "agentkit"]
    assert report.arm("agentkit").metrics["recall@5"].mean >= 0.9
    assert report.embedder == "none"


async def test_a_limit_asks_fewer_questions_of_the_same_memories(
    suite: RetrievalSuite, corpus: Path
) -> None:
    report = await evaluate(suite, corpus, embedder=None, policy=Policy(), limit=6)
    assert (report.n_queries + report.undefined, report.n_memories) == (6, 32)


async def test_the_policy_given_is_the_one_that_ranks(suite: RetrievalSuite, corpus: Path) -> None:
    recorded = suite.model_copy(update={"ages": "recorded"})
    brief = Policy(decay=DecayPolicy(floor=0.0, types={"episodic": 0.02}))
    fading = await evaluate(recorded, corpus, embedder=None, policy=brief)
    lasting = await evaluate(recorded, corpus, embedder=None, policy=Policy())
    gained = lasting.arm("agentkit").metrics["recall@5"].mean
    assert fading.arm("agentkit").metrics["recall@5"].mean < gained
    assert fading.arm("lexical") == lasting.arm("lexical")
    assert fading.policy_fingerprint != lasting.policy_fingerprint


async def test_a_depth_that_covers_the_whole_store_is_flagged(
    suite: RetrievalSuite, corpus: Path
) -> None:
    deep = suite.model_copy(update={"metrics": ("recall@5", "recall@50")})
    report = await evaluate(deep, corpus, embedder=None, policy=Policy())
    assert len(report.flags) == 1
    assert "k >= store size: at k = 50 the whole store fits for 34 of 34" in report.flags[0]


async def test_progress_ends_at_the_end_of_each_stage(suite: RetrievalSuite, corpus: Path) -> None:
    told: list[Progress] = []
    await evaluate(suite, corpus, embedder=WordEmbedder(), policy=Policy(), progress=told.append)
    last = {one.stage: one for one in told}
    assert last["embedding"].done == last["embedding"].total == 32 + 34
    assert last["ranking"].done == last["ranking"].total == 34


async def test_a_half_without_a_question_is_said(suite: RetrievalSuite, corpus: Path) -> None:
    none = suite.model_copy(update={"corpus": suite.corpus.model_copy(update={"categories": (2,)})})
    with pytest.raises(InputError, match="no question left"):
        await evaluate(none, corpus, embedder=None, policy=Policy())


async def test_each_kind_of_question_is_scored_as_if_no_other_had_been_asked(
    suite: RetrievalSuite, corpus: Path
) -> None:
    split = suite.model_copy(update={"by_label": True})
    report = await evaluate(split, corpus, embedder=None, policy=Policy())
    assert len(report.labels) > 1
    assert sum(one.n_queries for one in report.labels) == report.n_queries
    for place, row in enumerate(report.arms):
        parts = [one.n_queries * one.arms[place].metrics["recall@5"].mean for one in report.labels]
        assert sum(parts) / report.n_queries == pytest.approx(row.metrics["recall@5"].mean)


async def test_words_alone_hardly_ever_find_a_pair_that_ships(
    repository: Path,
) -> None:
    folder = repository / "evals" / "suites"
    pairs = load_suite(folder / "pairs.yaml")
    assert isinstance(pairs, RetrievalSuite)
    data = pairs.data(None, folder=folder)
    every = pairs.model_copy(update={"half": "all"})
    report = await evaluate(every, data, embedder=None, policy=Policy())
    assert (report.n_queries, report.n_memories) == (56, 1056)
    assert [one.label for one in report.labels] == ["en-en", "en-zh", "zh-en", "zh-zh"]
    assert report.arm("lexical").metrics["any-hit@5"].mean < 0.1


@pytest.mark.data
async def test_the_committed_lexical_figures_come_out_again(repository: Path, data: Path) -> None:
    for name in ("locomo", "xquad-zh-zh"):
        found = load_suite(repository / "evals" / "suites" / f"{name}.yaml")
        assert isinstance(found, RetrievalSuite)
        report = await evaluate(found, data, embedder=None, policy=Policy())
        committed = json.loads((repository / "evals" / "baselines" / f"{name}.json").read_text())
        row = json.loads(as_bytes(report))["arms"]["lexical"]
        assert row == committed["arms"]["lexical"]
