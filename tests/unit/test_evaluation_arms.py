import numpy as np
import pytest

from agentkit.evaluation.arms import Material, minmax, rank_baselines
from agentkit.evaluation.corpora.corpus import CorpusQuery, Document, Group
from agentkit.evaluation.lexical import Bm25


def material(texts: list[str], questions: list[str], *, vectors: bool = True) -> Material:
    group = Group(
        user_id="u",
        documents=tuple(Document(doc_id=f"d{i}", text=text) for i, text in enumerate(texts)),
        queries=tuple(
            CorpusQuery(query_id=f"q{i}", text=text, gold=frozenset())
            for i, text in enumerate(questions)
        ),
    )
    basis = np.eye(max(len(texts), 2), dtype=np.float32)
    return Material(
        group=group,
        document_vectors=basis[: len(texts)] if vectors else None,
        query_vectors=basis[:1].repeat(len(questions), axis=0) if vectors else None,
    )


def test_the_rarer_word_decides_the_lexical_arm() -> None:
    texts = ["the report is late", "the report is red", "the weather is fine"]
    (lexical, *_) = rank_baselines(material(texts, ["where is the red report"]), depth=3)
    assert lexical.ranked == (("d1", "d0", "d2"),)


def test_endings_and_question_words_do_not_hide_a_match() -> None:
    texts = ["What a day, what a day", "She painted the fences"]
    scores = Bm25(texts).scores("what did she use for painting the fence").tolist()
    assert scores[0] == 0.0
    assert scores[1] > 0.0


def test_chinese_is_found_by_its_characters() -> None:
    scores = Bm25(["会议在北京", "午饭在广州"]).scores("北京的会议").tolist()
    assert scores[0] > scores[1]


def test_a_repeated_word_counts_more_but_never_without_end() -> None:
    once, twice, often = Bm25(["a1 b", "a1 a1", "a1 " * 50]).scores("a1").tolist()
    assert once < twice < often < 2.5 * once


def test_bm25_agrees_with_the_formula_worked_by_hand() -> None:
    scores = Bm25(["red sky", "blue sky sky"]).scores("red")
    idf = np.log(1.0 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 2.5))
    assert scores.tolist() == pytest.approx([expected, 0.0])


def test_the_fixed_arm_is_half_words_and_half_meaning() -> None:
    texts = ["near in meaning", "named by word", "neither"]
    lexical, dense, fixed = rank_baselines(material(texts, ["named"]), depth=3)
    assert (lexical.arm, dense.arm, fixed.arm) == ("lexical", "dense", "fixed")
    assert lexical.ranked[0][0] == "d1"
    assert dense.ranked[0][0] == "d0"
    assert set(fixed.ranked[0][:2]) == {"d0", "d1"}


def test_without_vectors_there_is_the_lexical_arm_alone() -> None:
    arms = rank_baselines(material(["a"], ["a"], vectors=False), depth=1)
    assert [arm.arm for arm in arms] == ["lexical"]


def test_among_equals_the_later_document_comes_first() -> None:
    lexical, dense, _ = rank_baselines(material(["x", "x", "x"], ["y"]), depth=2)
    assert lexical.ranked == (("d2", "d1"),)
    assert dense.ranked == (("d0", "d2"),)


def test_scores_that_are_all_alike_stretch_to_zero() -> None:
    assert minmax(np.full(3, 0.7)).tolist() == [0.0, 0.0, 0.0]
    assert minmax(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.5]
    assert minmax(np.zeros(0)).tolist() == []


def test_a_user_without_documents_gets_empty_rankings() -> None:
    arms = rank_baselines(material([], ["a"]), depth=3)
    assert [arm.ranked for arm in arms] == [((),), ((),), ((),)]
