import numpy as np

from agentkit.evaluation.arms import Material
from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.recall_arm import TagSource, build_index, rank_agentkit, tag_memories
from agentkit.policy.policy import Policy
from agentkit.policy.taxonomy import TagAlias
from agentkit.recall import AliasTable
from agentkit.records import Tag

DOCUMENTS = tuple(
    Document(
        doc_id=f"{name}{number}",
        text=f"{name} {number}",
        tags=(Tag("intent", name),),
    )
    for name in ("pay", "lock")
    for number in range(4)
)


def material(question: str, *, documents: tuple[Document, ...] = DOCUMENTS) -> Material:
    query = CorpusQuery(query_id="q", text=question, gold=frozenset())
    return Material(
        group=Group(user_id="u", documents=documents, queries=(query,)),
        document_vectors=None,
        query_vectors=None,
    )


def test_documents_become_active_memories_of_one_user() -> None:
    index = build_index(material("?"), ages="equal")
    assert len(index) == len(DOCUMENTS)
    assert {index.tags(slot) for slot in range(index.slots)} == {
        (Tag("intent", "pay"),),
        (Tag("intent", "lock"),),
    }
    assert np.ptp(index.columns.created_s) < 1.0


def test_a_tag_read_off_the_question_brings_its_memories_forward() -> None:
    alias = TagAlias(tag=Tag("intent", "lock"), alias="block my card", language="en")
    source = TagSource(aliases=AliasTable([alias]))
    asked = material("please block my card 0")
    with_tags = rank_agentkit(asked, policy=Policy(), depth=4, ages="equal", tags=source)
    without = rank_agentkit(asked, policy=Policy(), depth=4, ages="equal", tags=None)
    locks = [sum(name.startswith("lock") for name in one.ranked[0]) for one in (without, with_tags)]
    assert with_tags.ranked[0][0] == "lock0"
    assert locks[0] < locks[1]


def test_among_equals_the_later_document_comes_first_as_in_the_other_arms() -> None:
    documents = tuple(Document(doc_id=f"d{i}", text="the same words") for i in range(3))
    found = rank_agentkit(
        material("same words", documents=documents),
        policy=Policy(),
        depth=3,
        ages="equal",
        tags=None,
    )
    assert found.ranked == (("d2", "d1", "d0"),)


def test_a_memory_gets_the_tags_whose_phrases_stand_in_it_beside_its_own() -> None:
    alias = TagAlias(tag=Tag("data_form", "csv"), alias="csv", language="en")
    documents = (
        Document(doc_id="a", text="Read this CSV", tags=(Tag("intent", "read"),)),
        Document(doc_id="b", text="Read this page"),
    )
    group = Group(user_id="u", documents=documents, queries=())
    corpus = tag_memories(Corpus(name="c", groups=(group,)), aliases=AliasTable([alias]))
    (tagged,) = corpus.groups
    assert [one.tags for one in tagged.documents] == [
        (Tag("data_form", "csv"), Tag("intent", "read")),
        (),
    ]
