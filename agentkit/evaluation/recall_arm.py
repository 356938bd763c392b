"""The arm that is judged: the recall room itself, over memories built from a corpus."""

from dataclasses import dataclass, replace

from agentkit.evaluation.arms import ArmRankings, Material
from agentkit.evaluation.corpora.corpus import Corpus, Document
from agentkit.evaluation.suites import Ages
from agentkit.policy.policy import Policy
from agentkit.recall import RankQuery, ScopeIndex, rank
from agentkit.recall.intent import AliasTable, Prototypes, TagExamples, infer_tags
from agentkit.records import Float32Array, IntentTag, KeyEntry, MemoryEntry, ScopeChanges
from agentkit.text import term_counts

# Ten million seconds after 1970: any fixed moment will do, for only differences count.
_NOW_S = 1e7
# Later documents are newer by this much, so that ties break as in the other arms.
_TICK_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSource:
    """What is known of tags before any memory is there.

    Attributes:
        aliases: Phrases of the taxonomy.
        examples: Embedded examples of the taxonomy.
    """

    aliases: AliasTable
    examples: tuple[TagExamples, ...] = ()


def tag_memories(corpus: Corpus, *, aliases: AliasTable) -> Corpus:
    """Return the corpus with the tags that its memories would get when they are written. Pure.

    Args:
        corpus: The corpus; tags that it gives itself stay.
        aliases: Phrases of the taxonomy; a memory carries the tags whose phrases stand in it.
    """

    def tagged(document: Document) -> Document:
        tags = {*document.tags, *aliases.find(document.text)}
        return replace(document, tags=tuple(sorted(tags)))

    groups = (
        replace(group, documents=tuple(map(tagged, group.documents))) for group in corpus.groups
    )
    return replace(corpus, groups=tuple(groups))


def build_index(material: Material, *, ages: Ages) -> ScopeIndex:
    """Return the documents of a group as the memories of one user.

    Args:
        material: Documents with their vectors, if any.
        ages: `equal` or `recorded`, as in the suite.

    Returns:
        Memory ids are the document ids; all memories are active and equally trusted.
    """
    documents = material.group.documents
    vectors = material.document_vectors
    entries = tuple(
        _entry(
            document,
            vector=None if vectors is None else vectors[place],
            created_s=_created_s(document, place=place, count=len(documents), ages=ages),
        )
        for place, document in enumerate(documents)
    )
    index = ScopeIndex()
    index.apply(ScopeChanges(revision=1, complete=True, entries=entries))
    return index


def rank_agentkit(
    material: Material,
    *,
    policy: Policy,
    depth: int,
    ages: Ages,
    tags: TagSource | None,
    floor: float | None = None,
) -> ArmRankings:
    """Return what agentkit recalls for the questions of one group.

    Args:
        material: Documents and questions, with their vectors, if any.
        policy: The policy to follow.
        depth: Length of the rankings, at least 1.
        ages: `equal` or `recorded`, as in the suite.
        tags: Where tags of the questions are inferred from, besides the memories that carry
            them; None infers none.
        floor: Least cosine that the policy names for the embedder, or None.
    """
    index = build_index(material, ages=ages)
    now_s = max(index.columns.created_s.tolist(), default=_NOW_S)
    prototypes = Prototypes(
        () if tags is None else [*tags.examples, *index.tag_examples()],
        least_examples=policy.recall.tags.least_examples,
    )
    # What is logged is of no use here; what is returned does not hang on it.
    lean = policy.recall.model_copy(update={"pool_final": 1, "pool_arm": 0})
    vectors = material.query_vectors
    ranked: list[tuple[str, ...]] = []
    for place, query in enumerate(material.group.queries):
        vector = None if vectors is None else vectors[place]
        intent: tuple[IntentTag, ...] = ()
        if tags is not None:
            intent = infer_tags(
                query.text,
                vector=vector,
                aliases=tags.aliases,
                prototypes=prototypes,
                policy=lean.tags,
            )
        asked = RankQuery(text=query.text, vector=vector, top_k=depth, intent=intent, floor=floor)
        found = rank(index, asked, policy=lean, decay=policy.decay, now_s=now_s)
        ranked.append(found.memory_ids)
    return ArmRankings(arm="agentkit", ranked=tuple(ranked))


def _created_s(document: Document, *, place: int, count: int, ages: Ages) -> float:
    if ages == "recorded" and document.at is not None:
        return document.at.timestamp()
    return _NOW_S - _TICK_S * (count - 1 - place)


def _entry(document: Document, *, vector: Float32Array | None, created_s: float) -> MemoryEntry:
    return MemoryEntry(
        memory_id=document.doc_id,
        memory_type=document.memory_type,
        tags=document.tags,
        confidence=0.8,
        trust=1.0,
        created_s=created_s,
        episode_id=document.episode_id,
        position=document.position,
        keys=(
            KeyEntry(
                key_id=f"{document.doc_id}:0",
                kind="content",
                terms=term_counts(document.text),
                vector=vector,
            ),
        ),
    )
