"""How memories are found, scored and briefed: the content of `memory/recall.yaml`."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from agentkit.policy.model import PolicyModel


class LexicalPolicy(PolicyModel):
    """The words arm, BM25.

    Attributes:
        k1: Saturation of repeated words, dimensionless, at least 0.
        b: How much long texts are held back, in [0, 1].
    """

    k1: float = Field(default=1.5, ge=0, le=5)
    b: float = Field(default=0.75, ge=0, le=1)


class FusionPolicy(PolicyModel):
    """How the two arms share a query: `w_dense = 1 / (1 + exp(-x))`, `w_lexical = 1 - w_dense`.

    `x` is the sum of `bias` and each coefficient times the query's own signal of that name
    (`agentkit.records.QuerySignals`). All are dimensionless.

    Attributes:
        bias: Leaning towards meaning when all signals are 0.
        known: Of the share of the query's weight of words that the scope knows at all.
        matched: Of the share of it that the best match by words holds.
        dense_gap: Of how far the best by meaning is ahead of the tenth.
        lexical_gap: Of how far the best by words is ahead of the tenth.
        dense_peak: Of how far the best by meaning stands out of the whole scope.
        agreement: Of the share of the ten best that both arms name.
        length: Of the logarithm of the number of the query's terms.
        cjk: Of the share of Chinese, Japanese and Korean among the query's letters.
        unmatched: Share of the words' weight that meaning gets for a memory that holds none of
            the query's words, in [0, 1].

    Source:
        `tests/bench/fit_recall.py` on the fit halves of LoCoMo part a, CLINC150, MemDaily and
        XQuAD zh-zh, zh-en, en-zh with the `local` embedder; reported on the other halves in
        `evals/baselines/`.
    """

    bias: float = 1.92
    known: float = -0.62
    matched: float = -1.25
    dense_gap: float = 0.3
    lexical_gap: float = 0.18
    dense_peak: float = 2.4
    agreement: float = 0.39
    length: float = -0.73
    cjk: float = 0.17
    unmatched: float = Field(default=0.3, ge=0, le=1)


class TagPolicy(PolicyModel):
    """What tags of a query do.

    Attributes:
        caller_weight: Weight of the overlap with tags that the caller gave, beside filtering.
        alias_weight: Weight of the overlap with tags read off a phrase of the taxonomy.
        prototype_weight: Weight of a tag inferred from the nearest prototype, if nothing else
            could be meant; less by as much as something else could.
        least_cosine: Where "none of these is meant" stands among the cosines, in [-1, 1].
        softness_cosine: Lead in cosine that makes one value `e` times as likely as the next.
        least_share: Share of the likelihood below which a value is not inferred, in (0, 1].
        least_examples: Examples and memories that a value needs before it is inferred.
        relax_below: Tag filters are dropped facet by facet while fewer memories than this
            are left; 0 never drops one.

    Source:
        `tests/bench/fit_recall.py` on the fit half of CLINC150 for weight, softness and share of
        prototypes. With `least_cosine` a tag is inferred for 99 % of 600 questions of its
        validation part and for 35 of the 100 out-of-scope ones (`local` embedder). The weight of
        the caller's is a judgement; that of phrases is of the fit half of our own pairs, where it
        finds more than 0.3 (any-hit@5 0.57 against 0.46), and no other suite has such tags.
    """

    caller_weight: float = Field(default=0.1, ge=0, le=5)
    alias_weight: float = Field(default=0.6, ge=0, le=5)
    prototype_weight: float = Field(default=0.8, ge=0, le=5)
    least_cosine: float = Field(default=0.45, ge=-1, le=1)
    softness_cosine: float = Field(default=0.02, gt=0, le=2)
    least_share: float = Field(default=0.2, gt=0, le=1)
    least_examples: int = Field(default=3, ge=1)
    relax_below: int = Field(default=1, ge=0)


class NeighbourPolicy(PolicyModel):
    """How far episodic memories of one episode are found by what stands around them.

    A memory is searched as if its text held those shares of its neighbours' words, and as if
    its meaning were the weighted mean of theirs and its own.

    Attributes:
        next: Share of the memory just before and of the one just after; 0 for both switches
            this off.
        second: Share of the memories two before and two after.

    Source:
        Howard and Kahana, 2002 (temporal contiguity); values by `tests/bench/fit_recall.py`.
    """

    next: float = Field(default=0.5, ge=0, le=1)
    second: float = Field(default=0.5, ge=0, le=1)


class FloorPolicy(PolicyModel):
    """When nothing is near enough to a query to be returned.

    While no memory reaches the floor, only those are returned that carry a tag that the caller
    or a phrase of the query named, that hold enough of the query's words, or that have no vector.
    The others stay in the log and say so.

    Attributes:
        least_similarity: Least cosine by name of the embedder, in [-1, 1], for cosines of
            different embedders cannot be compared; one that is not named has no floor.
        least_matched: Share of the query's weight of words (idf) from which a memory that
            holds them needs no cosine, in (0, 1].
        least_memories: The floor judges only where this many memories pass the filter.

    Source:
        `python -m tests.bench.floor --fit`: the greatest cosine of those tried that costs no
        suite more than 0.001 of its headline on its fit half. It is low, for the best cosine
        tells well within one scope (AUROC on CLINC150: `evals/baselines/clinc150-oos.json`) but
        lies elsewhere in each: half of CLINC150's out-of-scope questions are nearer to some
        memory than half of the Chinese questions of XQuAD to English ones that answer them. The
        other two are a judgement.
    """

    least_similarity: Mapping[str, Annotated[float, Field(ge=-1, le=1)]] = {"local": 0.18}
    least_matched: float = Field(default=0.5, gt=0, le=1)
    least_memories: int = Field(default=20, ge=1)

    def least(self, embedder: str) -> float | None:
        """Return the least cosine for an embedder, or None for no floor.

        Args:
            embedder: Name of the embedder that made the query's vector.
        """
        return self.least_similarity.get(embedder)


class PlanPolicy(PolicyModel):
    """When a scope is too large to be scanned, and how many candidates are asked for then.

    Attributes:
        exact_up_to: Most memories of a user, of whatever status, that are scanned exactly.
        over_fetch: Keys that the vector index is asked for, as a multiple of the hits wanted or
            of `pool_final`, whichever is more; also the most memories that a filter may leave
            to be read straight from the database.
        most_keys: Keys that it is asked for in the end, where filters leave too little; beyond
            it, the nearest that pass are read from the database, piece by piece.

    Source:
        `exact_up_to` is where one scope takes up `cache_mb` (4.7 to 5.3 kB a memory, by
        `python -m tests.bench.plan`), and where its first recall takes `timeout_s`
        (`evals/baselines/recall-speed.json`: 2.03 s for 100,000, then 22 ms). `over_fetch`: with
        a pool of 50, 1,000 keys; of 3,000 memories of CLINC150 the ten best were 0.96 the same.
    """

    exact_up_to: int = Field(default=100_000, ge=1)
    over_fetch: int = Field(default=20, ge=1, le=1_000)
    most_keys: int = Field(default=16_000, ge=1)


class BriefingPolicy(PolicyModel):
    """What goes into the prompt.

    Attributes:
        budget_tokens: Most tokens of the rendered block, wrapper included.
        near_duplicate: Share of common terms from which two memories say the same, in (0, 1].
        diversity: Weight of being unlike what is already in, in [0, 1]; 0 is plain rank order.
        least_share: A memory type gets a line before another gets its second, if what it has
            scores at least this share of the best, in [0, 1]; 1 balances equals alone. A judgement.
    """

    budget_tokens: int = Field(default=800, ge=1)
    near_duplicate: float = Field(default=0.8, gt=0, le=1)
    diversity: float = Field(default=0.3, ge=0, le=1)
    least_share: float = Field(default=0.5, ge=0, le=1)


class LogPolicy(PolicyModel):
    """What the retrieval log keeps, and how long.

    Attributes:
        sample: Share of recalls that are kept with their whole pool, in [0, 1]; of the others
            what was returned is kept, so that each can be judged.
        keep_days: Days after which a record is deleted; 0 keeps them all. What an open task or
            one that waits for reflection recalled is kept longer.
    """

    sample: float = Field(default=1.0, ge=0, le=1)
    keep_days: int = Field(default=90, ge=0)


class RecallPolicy(PolicyModel):
    """The content of `memory/recall.yaml`.

    Attributes:
        lexical: The words arm.
        fusion: How words and meaning share a query.
        tags: What tags of a query do.
        neighbours: How far neighbours in an episode are found together.
        floor: How near a memory must be to be returned at all.
        plan: When a scope is too large to be scanned.
        briefing: What goes into the prompt.
        log: What the retrieval log keeps, and how long.
        least_cosine_span: Cosines closer together than this are not pulled apart to the whole
            range from 0 to 1, in (0, 2].
        confidence_exponent: `gamma` of `confidence ** gamma`, at least 0; 0 ignores confidence.
        demoted_weight: Factor of an episode whose lessons were extracted, in (0, 1].
        disputed_weight: Factor of a memory under dispute, in (0, 1].
        unused_weight: Least factor of a memory that is recalled often and hardly ever of use, in
            (0, 1]; 1 switches that off. `agentkit.recall.popularity` says how it sinks.
        focus_chars: Of a query of more characters the part that asks is searched with; all of
            it, up to three times as long, where nothing seems to be pasted into it.
        pool_final: How many of the best by final score are logged.
        pool_arm: How many of the best of each arm are logged beside.
        timeout_s: Hard limit of one recall, embedding included, in seconds.
        cache_mb: Most memory that scopes held for recall may take, in MB.
    """

    lexical: LexicalPolicy = LexicalPolicy()
    fusion: FusionPolicy = FusionPolicy()
    tags: TagPolicy = TagPolicy()
    neighbours: NeighbourPolicy = NeighbourPolicy()
    floor: FloorPolicy = FloorPolicy()
    plan: PlanPolicy = PlanPolicy()
    briefing: BriefingPolicy = BriefingPolicy()
    log: LogPolicy = LogPolicy()
    least_cosine_span: float = Field(default=0.2, gt=0, le=2)
    confidence_exponent: float = Field(default=0.5, ge=0, le=4)
    demoted_weight: float = Field(default=0.5, gt=0, le=1)
    disputed_weight: float = Field(default=0.5, gt=0, le=1)
    unused_weight: float = Field(default=0.5, gt=0, le=1)
    focus_chars: int = Field(default=600, ge=40)
    pool_final: int = Field(default=50, ge=1)
    pool_arm: int = Field(default=20, ge=0)
    timeout_s: float = Field(default=2.0, gt=0, le=60)
    cache_mb: int = Field(default=512, ge=1)
