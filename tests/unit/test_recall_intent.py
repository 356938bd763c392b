"""What a query is about: phrases of the taxonomy, then prototypes, then nothing."""

import numpy as np
import pytest

from agentkit.policy.recall import TagPolicy
from agentkit.policy.taxonomy import TagAlias
from agentkit.recall import AliasTable, Prototypes, TagExamples, infer_tags
from agentkit.records import Float32Array, IntentTag, Tag

CSV, JSON = Tag("tool", "csv"), Tag("tool", "json")
MISSING, CLEAN = Tag("task_type", "fill_missing"), Tag("task_type", "clean")
REFUND = Tag("domain", "refund")
ALIASES = AliasTable(
    [
        TagAlias(CSV, "csv", "en"),
        TagAlias(JSON, "json", "en"),
        TagAlias(CLEAN, "missing", "en"),
        TagAlias(MISSING, "missing values", "en"),
        TagAlias(MISSING, "缺失", "zh"),
        TagAlias(CLEAN, "数据有缺失", "zh"),
        TagAlias(MISSING, "null值", "zh"),
    ]
)


def unit(*numbers: float) -> Float32Array:
    vector = np.array(numbers, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def test_a_phrase_in_latin_letters_is_found_as_a_whole_word_only() -> None:
    assert ALIASES.find("Read the CSV, please") == (CSV,)
    assert ALIASES.find("用csv文件") == (CSV,)
    assert ALIASES.find("ＣＳＶ or acsv or csvs or c_csv_x") == ()
    assert ALIASES.find("csv and json") == (CSV, JSON)


def test_a_chinese_phrase_is_found_inside_a_run_of_characters() -> None:
    assert ALIASES.find("这列缺失很多") == (MISSING,)
    assert ALIASES.find("填补null值吧") == (MISSING,)
    assert ALIASES.find("填补nonnull值吧") == ()


def test_of_overlapping_phrases_the_longest_wins() -> None:
    assert ALIASES.find("fill the missing values") == (MISSING,)
    assert ALIASES.find("the missing file") == (CLEAN,)
    assert ALIASES.find("这份数据有缺失，你看着办") == (CLEAN,)
    assert ALIASES.find("missing values, then another missing one") == (CLEAN, MISSING)


def test_no_phrase_gives_no_tag() -> None:
    assert ALIASES.find("") == ()
    assert ALIASES.find("hello there") == ()
    assert AliasTable().find("csv") == ()


def examples(tag: Tag, *vectors: Float32Array) -> TagExamples:
    return TagExamples.of(tag, np.stack(vectors))


PROTOTYPES = Prototypes(
    [
        examples(CSV, unit(1, 0, 0), unit(1, 0.1, 0)),
        examples(JSON, unit(0, 1, 0), unit(0.1, 1, 0)),
        examples(JSON, unit(0, 1, 0.1)),
        examples(REFUND, unit(0, 0, 1)),
    ],
    least_examples=2,
)


def test_the_nearest_prototype_gives_the_tag_and_how_surely() -> None:
    (found,) = PROTOTYPES.find(unit(1, 0.1, 0.1), policy=TagPolicy())
    assert found.tag == CSV
    assert found.origin == "prototype"
    assert 0.99 < found.strength <= 1.0


def test_a_query_between_two_values_gives_both_half_as_surely_and_one_between_many_none() -> None:
    both = PROTOTYPES.find(unit(1, 1, 0), policy=TagPolicy(least_share=0.3))
    assert {one.tag for one in both} == {CSV, JSON}
    assert sum(one.strength for one in both) <= 1.0
    assert PROTOTYPES.find(unit(1, 1, 0), policy=TagPolicy(least_share=0.7)) == ()


def test_a_query_far_from_all_prototypes_gets_no_tag() -> None:
    assert PROTOTYPES.find(unit(0.2, 0, -1), policy=TagPolicy()) == ()
    assert PROTOTYPES.find(np.zeros(3, dtype=np.float32), policy=TagPolicy()) == ()
    assert Prototypes().find(unit(1, 0, 0), policy=TagPolicy()) == ()


def test_a_value_with_too_few_examples_is_never_inferred() -> None:
    assert PROTOTYPES.find(unit(0, 0, 1), policy=TagPolicy()) == ()
    lone = Prototypes([examples(REFUND, unit(0, 0, 1))], least_examples=1)
    assert [one.tag for one in lone.find(unit(0, 0, 1), policy=TagPolicy())] == [REFUND]


def test_a_vector_of_another_embedder_infers_nothing() -> None:
    assert PROTOTYPES.find(unit(1, 0), policy=TagPolicy()) == ()


@pytest.mark.parametrize("vector", [None, unit(0, 1, 0)])
def test_a_phrase_decides_its_facet_whatever_the_prototypes_say(
    vector: Float32Array | None,
) -> None:
    found = infer_tags(
        "the csv", vector=vector, aliases=ALIASES, prototypes=PROTOTYPES, policy=TagPolicy()
    )
    assert found == (IntentTag(CSV, "alias"),)


def test_prototypes_speak_for_facets_without_a_phrase() -> None:
    prototypes = Prototypes([examples(REFUND, unit(0, 0, 1))])
    found = infer_tags(
        "the csv of it",
        vector=unit(0, 0, 1),
        aliases=ALIASES,
        prototypes=prototypes,
        policy=TagPolicy(),
    )
    assert [one.tag for one in found] == [CSV, REFUND]
