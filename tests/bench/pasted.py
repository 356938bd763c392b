"""What a question loses that was pasted together with a system prompt or a huge log.

    python -m tests.bench.pasted --data ../shared/data --cache /tmp/vectors

Each question of the report halves is asked plain, and in every form of `FORMS`; what is searched
with is what `focus` leaves of it. The prompts in `system_prompts/` and the log are our own.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentkit.evaluation.arms import Material
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.intervals import Resamples, draw, interval
from agentkit.evaluation.recall_arm import rank_agentkit
from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy import Policy, load_policy
from agentkit.ports import Embedder
from agentkit.project import Project
from agentkit.recall import focus
from agentkit.store import open_embedder
from tests.bench.fit_recall import embed

Float64Array = npt.NDArray[np.float64]
Form = Callable[[str], str]

SUITES = ("locomo", "memdaily", "xquad-zh-zh", "xquad-zh-en", "xquad-en-zh")
PROMPTS = ("english", "chinese", "mixed", "handbook")
LEAST_PROMPT_CHARS = 4_000
LOG_LINES = 10_000
K = 10
MOST_LOSS = 0.05
TIMES = 7
BYTES_PER_MB = 1_000_000


def system_prompts() -> Mapping[str, str]:
    """Return our own system prompts by name."""
    folder = Path(__file__).resolve().parent / "system_prompts"
    found = {name: (folder / f"{name}.txt").read_text(encoding="utf-8").strip() for name in PROMPTS}
    assert all(len(text) >= LEAST_PROMPT_CHARS for text in found.values())
    return found


def log_lines(count: int) -> str:
    """Return a log as several programs write it, the same at each call.

    Args:
        count: Number of lines.
    """
    kinds: Sequence[Callable[[int], str]] = (
        lambda n: (
            f"2026-11-{n % 28 + 1:02d}T08:{n % 60:02d}:11.{n % 1000:03d}Z INFO  "
            f"[pool-{n % 7}] orders.intake - accepted batch {n} in {n % 400} ms"
        ),
        lambda n: (
            f'10.0.{n % 256}.{n % 199} - - [21/Nov/2026:08:{n % 60:02d}:12 +0000] "GET '
            f'/v1/items/{n} HTTP/1.1" 200 {n * 7 % 9000}'
        ),
        lambda n: f'{{"level":"warn","ts":{1_790_000_000 + n},"msg":"queue is full","depth":{n}}}',
        lambda n: f"[2026-11-21 08:{n % 60:02d}:13] WARNING 连接超时，正在重试 (第 {n % 5} 次)",
        lambda n: f"level=error ts={1_790_000_000 + n} caller=fetch.go:{n % 300} err=timeout",
        lambda n: f"    at intake.Worker.run(Worker.java:{n % 500})",
        lambda n: "Traceback (most recent call last):" if n % 2 else "Is the broker still alive?",
        lambda n: f'  File "/srv/intake/loop.py", line {n % 700}, in step',
        lambda n: "Retrying with the next host in the list",
        lambda n: f"Nov 21 08:{n % 60:02d}:14 node-{n % 9} kernel: eth0: link is down",
    )
    return "\n".join(kinds[n * 7 % 10](n) for n in range(count))


def forms() -> Mapping[str, Form]:
    """Return what can be pasted around a question, by name."""
    found: dict[str, Form] = {}
    for name, text in system_prompts().items():
        found |= _around(f"{name} prompt", text)
        found[f"{name} prompt, labelled"] = lambda asked, text=text: (
            f"System: {text}\n\nUser: {asked}\n\nAssistant:"
        )
        found[f"{name} prompt, chat markup"] = lambda asked, text=text: (
            f"<|im_start|>system\n{text}<|im_end|>\n<|im_start|>user\n{asked}<|im_end|>\n"
            "<|im_start|>assistant\n"
        )
    log = log_lines(LOG_LINES)
    found |= _around("log", log)
    found["fenced logs on both sides"] = lambda asked: (
        f"```\n{log}\n```\n\n{asked}\n\n```\n{log}\n```"
    )
    return found


def _around(what: str, text: str) -> dict[str, Form]:
    return {
        f"{what} before": lambda asked: f"{text}\n\n{asked}",
        f"{what} after": lambda asked: f"{asked}\n\n{text}",
        f"{what} on the line before": lambda asked: f"{text}\n{asked}",
        f"{what} on the line after": lambda asked: f"{asked}\n{text}",
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corpus:
    """One corpus, asked plain.

    Attributes:
        materials: Its groups.
        plain: One array a group, shape (questions,), float64: recall@10 of the plain questions.
        resamples: Drawn once, for all forms.
    """

    materials: tuple[Material, ...]
    plain: tuple[Float64Array, ...]
    resamples: Resamples

    @classmethod
    def of(cls, materials: tuple[Material, ...], *, policy: Policy) -> "Corpus":
        """Ask the plain questions."""
        users = [
            one.group.user_id for one in materials for query in one.group.queries if query.gold
        ]
        plain = tuple(found_at(one, policy=policy) for one in materials)
        return cls(materials=materials, plain=plain, resamples=draw(users))


def found_at(material: Material, *, policy: Policy) -> Float64Array:
    """Return recall@10 of each question of a group that has an answer, in order."""
    ranked = rank_agentkit(material, policy=policy, depth=K, ages="equal", tags=None).ranked
    found = [
        sum(doc_id in query.gold for doc_id in ids) / len(query.gold)
        for query, ids in zip(material.group.queries, ranked, strict=True)
        if query.gold
    ]
    return np.array(found, dtype=np.float64)


async def pasted(
    corpus: Corpus, form: Form, *, policy: Policy, embedder: Embedder, cache: VectorCache
) -> dict[str, Any]:
    """Ask every question in one form, and return what it loses."""
    limit_chars = policy.recall.focus_chars
    same = questions = 0
    found: list[Float64Array] = []
    for material, plain in zip(corpus.materials, corpus.plain, strict=True):
        asked = [query for query in material.group.queries if query.gold]
        texts = [focus(form(query.text), limit_chars=limit_chars) for query in asked]
        # Where what is searched with is the plain question to the letter, so is its answer.
        changed = [at for at, query in enumerate(asked) if texts[at] != query.text.strip()]
        same, questions = same + len(texts) - len(changed), questions + len(texts)
        values = plain.copy()
        if changed:
            vectors = await cache.embed(
                [texts[at] for at in changed],
                kind="query",
                embedder=embedder,
                progress=lambda done: None,
            )
            queries = tuple(replace(asked[at], text=texts[at]) for at in changed)
            group = replace(material.group, queries=queries)
            values[changed] = found_at(
                replace(material, group=group, query_vectors=vectors), policy=policy
            )
        found.append(values)
    everything = np.concatenate(found)
    loss = interval(np.concatenate(corpus.plain) - everything, resamples=corpus.resamples)
    return {
        "recall@10": round(float(everything.mean()), 4),
        "loss": round(loss.mean, 4),
        "interval": [round(loss.low, 4), round(loss.high, 4)],
        "left_as_asked": round(same / questions, 4),
    }


def speed(limit_chars: int) -> dict[str, Any]:
    """Return how long `focus` takes on texts of one megabyte, the median of some runs."""
    asked = "Which branch holds the atlas?"
    prompts = system_prompts()
    texts = {
        "log": log_lines(LOG_LINES),
        "English prose": prompts["handbook"],
        "Chinese prose": prompts["chinese"],
        "one line": "word " * 1_000,
        "empty lines": "\n" * 1_000,
        "spaces": " " * 1_000 + "x",
        "fences": "```\nx\n" * 100,
        "labels": "User: x\n" * 100,
    }
    found: dict[str, Any] = {}
    for name, text in texts.items():
        size = len(text.encode())
        long = text * (BYTES_PER_MB // size + 1) + "\n\n" + asked
        spent: list[float] = []
        for _ in range(TIMES):
            started = time.perf_counter()
            focus(long, limit_chars=limit_chars)
            spent.append((time.perf_counter() - started) * 1_000)
        found[name] = round(statistics.median(spent), 1)
    return found


async def write_pasted(
    suites: Sequence[RetrievalSuite],
    data: Path,
    *,
    policy: Policy,
    cache: Path,
    folder: Path,
) -> None:
    """Measure every form on every corpus, and write `pasted.json`.

    Args:
        suites: The suites that ship.
        data: Folder of the data sets.
        policy: The policy that is recalled by.
        cache: Folder for embeddings.
        folder: Where the figures go.
    """
    embedder = open_embedder("local")
    assert embedder is not None
    vectors = VectorCache(cache)
    rows: dict[str, Any] = {}
    for suite in suites:
        materials = await embed(suite, data, cache=vectors, half="report")
        corpus = Corpus.of(materials, policy=policy)
        asked: dict[str, Any] = {}
        for name, form in forms().items():
            asked[name] = await pasted(
                corpus, form, policy=policy, embedder=embedder, cache=vectors
            )
            print(f"{suite.name}: {name}: {asked[name]}")
        rows[suite.name] = {
            "questions": sum(map(len, corpus.plain)),
            "plain recall@10": round(float(np.concatenate(corpus.plain).mean()), 4),
            "forms": asked,
        }
    worst = max(
        (
            (row["loss"], f"{suite}: {name}")
            for suite, one in rows.items()
            for name, row in one["forms"].items()
        ),
    )
    figures = {
        "embedder": (await embedder.identity()).fingerprint,
        "focus_chars": policy.recall.focus_chars,
        "most_loss": MOST_LOSS,
        "worst": {"loss": worst[0], "row": worst[1]},
        "ms_for_1_MB": speed(policy.recall.focus_chars),
        "suites": rows,
    }
    print("worst:", figures["worst"], "ms:", figures["ms_for_1_MB"])
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (folder / "pasted.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("evals/baselines"))
    given = parser.parse_args()
    suites = [load_suite(Path(f"evals/suites/{name}.yaml")) for name in SUITES]
    asyncio.run(
        write_pasted(
            [suite for suite in suites if isinstance(suite, RetrievalSuite)],
            given.data,
            policy=load_policy(Project(None).find),
            cache=given.cache,
            folder=given.out,
        )
    )


if __name__ == "__main__":
    main()
