"""A query and its answer: candidates with features, hits, the briefing, the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentkit.records.memory import Memory, MemoryStatus, MemoryType, Tag
from agentkit.records.scope import Scope
from agentkit.records.time_range import TimeRange

VerdictKind = Literal["helpful", "unused", "misleading", "outdated"]
VerdictSource = Literal["reflection", "rules", "person"]
TagOrigin = Literal["caller", "alias", "prototype"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of the memory.

    Attributes:
        text: The question in words; may be long, it is cut before it is embedded.
        memory_types: Types wanted, or empty for all.
        top_k: Number of hits wanted, 1 to 100.
        min_confidence: Memories below are left out, in [0, 1].
        least_similarity: Memories whose cosine to the text is below are not returned, in
            [-1, 1]; None leaves it to the policy's floor. One without a vector may come back.
        tags: Tags the caller asks for; they filter.
        match: Whether a memory must carry `all` of `tags` or `any` of them.
        include_archived: Whether archived memories may come back.
        infer_tags: Whether tags may be inferred from the text when none are given.
        within: Only what was learnt or happened (`created_at`) in this time, or None; it filters.
        as_of: Instant whose memories are asked, as they stood then, or None for now; such a
            recall changes no memory.
        infer_time: Whether a time phrase in the text counts when `within` is not given.
    """

    text: str
    memory_types: tuple[MemoryType, ...] = ()
    top_k: int = 5
    min_confidence: float = 0.0
    least_similarity: float | None = None
    tags: tuple[Tag, ...] = ()
    match: Literal["all", "any"] = "all"
    include_archived: bool = False
    infer_tags: bool = True
    within: TimeRange | None = None
    infer_time: bool = True
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class IntentTag:
    """A tag that a query is about, and how that is known.

    Attributes:
        tag: The tag.
        origin: `caller`, `alias` (a phrase of the taxonomy) or `prototype` (nearest centroid).
        strength: How sure, in (0, 1]: 1.0 for caller and alias; for a prototype its lead over
            the next value of the facet, as a share of the lead that counts as sure.
    """

    tag: Tag
    origin: TagOrigin
    strength: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Everything about one candidate that a policy may weigh, as of the time of the recall.

    Attributes:
        cosine: Best cosine over the memory's keys, in [-1, 1]; 0.0 without a vector.
        bm25: Best BM25 over the memory's keys, at least 0.
        tag_overlap: Share of the intent tags that the memory carries, in [0, 1].
        context_cosine: The same together with the neighbours in its episode, which is what is
            weighed; None where it stands alone.
        context_bm25: The same for the words; None where it stands alone.
        age_days: Days since created, used or verified, whichever is last; at least 0.
        used_count: Confirmed uses.
        recalled_count: Recalls so far.
        confidence: In (0, 1).
        trust: In (0, 1].
        memory_type: Type of the memory.
        status: Status of the memory.
        permanent: No decay.
        demoted: Lessons were extracted from it.
        tags: Tags of the memory, sorted.
        episode_id: Episode it belongs to, or None.
        has_vector: False when no embedding was there.
        matched: Share of the query's weight of words that its best key holds, in [0, 1].
    """

    cosine: float
    bm25: float
    tag_overlap: float
    age_days: float
    used_count: int
    recalled_count: int
    confidence: float
    trust: float
    memory_type: MemoryType
    status: MemoryStatus
    permanent: bool
    demoted: bool
    tags: tuple[Tag, ...] = ()
    episode_id: str | None = None
    has_vector: bool = True
    context_cosine: float | None = None
    context_bm25: float | None = None
    matched: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """How a score came about: `score = (dense + lexical + tag + lent) * ...` of the factors.

    Attributes:
        dense: Weighted, normalised cosine.
        lexical: Weighted, normalised BM25.
        tag: Weighted tag overlap.
        lent: What the neighbours in its episode add to both; below 0 where they speak against it.
        decay: Factor in (0, 1].
        trust: Factor in (0, 1].
        confidence: Factor `confidence ** gamma`, in (0, 1].
        demoted: Factor, 1.0 when not demoted.
        disputed: Factor, 1.0 when not disputed.
        half_life_days: Half-life used, or None for a permanent memory.
        unused: Factor, 1.0 unless it is recalled often and was of use too seldom.
    """

    dense: float
    lexical: float
    tag: float
    lent: float
    decay: float
    trust: float
    confidence: float
    demoted: float
    disputed: float
    half_life_days: float | None = None
    unused: float = 1.0

    @property
    def base(self) -> float:
        """Sum of the weighted arms, before the factors."""
        return self.dense + self.lexical + self.tag + self.lent

    @property
    def score(self) -> float:
        """The final score: base times every factor."""
        held = self.trust * self.confidence * self.demoted * self.disputed
        return self.base * self.decay * held * self.unused


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A member of the pool of one recall.

    Attributes:
        memory_id: The memory.
        rank: Position by final score in the whole filtered scope, from 1.
        features: What was known of it.
        factors: How the score came about.
        returned: Whether the caller got it.
        why_not: One line saying why it was not returned, or "" when it was.
    """

    memory_id: str
    rank: int
    features: Features
    factors: Factors
    returned: bool
    why_not: str = ""

    @property
    def score(self) -> float:
        """The final score."""
        return self.factors.score


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySignals:
    """What a query's own two score lists say about which arm to trust; all dimensionless.

    Attributes:
        known: Share of the query's idf mass whose terms occur in the scope at all, in [0, 1].
        matched: Share of it held by the best match by words, in [0, 1].
        dense_gap: Normalised cosine of the best minus that of the tenth, in [0, 1].
        lexical_gap: Normalised BM25 of the best minus that of the tenth, in [0, 1].
        dense_peak: Standard deviations of the best cosine above the mean, a tenth of them.
        agreement: Share of the ten best that both arms name, in [0, 1].
        length: Natural logarithm of 1 + the number of distinct terms of the query.
        cjk: Share of Chinese, Japanese and Korean among the query's letters, in [0, 1].
    """

    known: float = 0.0
    matched: float = 0.0
    dense_gap: float = 0.0
    lexical_gap: float = 0.0
    dense_peak: float = 0.0
    agreement: float = 0.0
    length: float = 0.0
    cjk: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalisers:
    """What arm scores were divided by, and the weights in force for this query.

    Attributes:
        signals: What the weights were derived from, so that another policy can be replayed.
        cosine_low: Cosine mapped to 0.
        cosine_high: Cosine mapped to 1.
        bm25_low: BM25 mapped to 0.
        bm25_high: BM25 mapped to 1.
        w_dense: Weight of the dense arm for this query.
        w_lexical: Weight of the lexical arm for this query.
        w_tag: Weight of tag overlap.
        used_share: Confirmed uses a recall over all memories that the asker may see, in [0, 1];
            0.0 while no use was ever confirmed.
    """

    signals: QuerySignals = field(default_factory=QuerySignals)
    cosine_low: float = 0.0
    cosine_high: float = 1.0
    bm25_low: float = 0.0
    bm25_high: float = 1.0
    w_dense: float = 0.0
    w_lexical: float = 0.0
    w_tag: float = 0.0
    used_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that came back.

    Attributes:
        memory: The memory as it stands in SQL.
        score: Final score.
        similarity: Cosine between the query and the memory's best key, in [-1, 1].
        factors: How the score came about.
        explanation: One readable line.
        note: A warning for the reader, such as that it is disputed, or "".
    """

    memory: Memory
    score: float
    similarity: float
    factors: Factors
    explanation: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """How the candidates of a recall were found where its scope is too large to scan.

    Attributes:
        candidates: Memories that were ranked; words and ranges are those of these alone.
        overlap: Share of the exact ten best that this plan found when that was last measured, in
            [0, 1], or None if it never was.
        measured_at: When it was measured, UTC, or None.
    """

    candidates: int
    overlap: float | None = None
    measured_at: datetime | None = None

    def __str__(self) -> str:
        """Say it in one line."""
        found = "the overlap with the exact scan was never measured"
        if self.overlap is not None and self.measured_at is not None:
            found = f"{self.overlap:.0%} of the exact ten best on {self.measured_at:%Y-%m-%d}"
        return (
            f"{self.candidates} candidates out of the vector index, their words compared among "
            f"themselves; {found}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer to one query.

    Attributes:
        retrieval_id: uuid7 as text; feedback names it.
        hits: Best first; ties by newest, then id.
        pool: The logged candidates, best first; includes those not returned.
        intent: Tags the query was taken to be about.
        relaxations: Filters that were dropped because too little was left, in order.
        normalisers: What arm scores were divided by.
        latency_ms: Milliseconds per stage.
        timed_out: True when the hard limit was hit; hits are then empty.
        approximate: How the candidates came out of the vector index, or None: the scan was exact.
        degraded: Why an arm was missing (such as "no embedder: ..."), or "".
        within: The time that filtered, the caller's or the one that the text spoke of, or None.
        whole: False where the log kept of the pool what was returned alone.
    """

    retrieval_id: str
    hits: tuple[Hit, ...] = ()
    pool: Sequence[Candidate] = ()
    intent: tuple[IntentTag, ...] = ()
    relaxations: tuple[str, ...] = ()
    normalisers: Normalisers = field(default_factory=Normalisers)
    latency_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    timed_out: bool = False
    approximate: Approximation | None = None
    degraded: str = ""
    within: TimeRange | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is said of a recalled memory afterwards.

    Attributes:
        memory_id: The memory.
        kind: `helpful`, `unused`, `misleading` or `outdated`.
        source: Who says so.
        reason: Why, in words, or "".
    """

    memory_id: str
    kind: VerdictKind
    source: VerdictSource
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One record of the retrieval log.

    Attributes:
        retrieval_id: uuid7 as text.
        scope: Whose recall it was.
        session_id: Session it served, or None.
        query: What was asked.
        asked_at: When, UTC.
        policy_fingerprint: Fingerprint of the policy in force.
        result: The answer with its pool; `hits` are not kept, the pool says what was returned.
        verdicts: Labels, by whom, as they came in.
        episode_id: Episode it served, once sealed, or None.
    """

    retrieval_id: str
    scope: Scope
    session_id: str | None
    query: Query
    asked_at: datetime
    policy_fingerprint: str
    result: RecallResult
    verdicts: tuple[Verdict, ...] = ()
    episode_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingEntry:
    """One candidate for the briefing and what became of it.

    Attributes:
        memory_id: The memory.
        included: Whether it is in the rendered text.
        why_not: Why it was left out, or "".
    """

    memory_id: str
    included: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The recalled memories that fit a token budget, rendered for the model.

    Attributes:
        text: Rendered text, wrapper included, or "" when nothing fits.
        tokens: Estimated tokens of `text`.
        entries: One per hit, in rank order.
        retrieval_id: The recall it came from.
    """

    text: str
    tokens: int
    entries: tuple[BriefingEntry, ...]
    retrieval_id: str

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """Ids of the memories in the text, in order."""
        return tuple(entry.memory_id for entry in self.entries if entry.included)
