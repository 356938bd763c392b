from pathlib import Path

import pytest

from agentkit.errors import InputError
from agentkit.policy.loader import load_yaml
from agentkit.policy.phrases import Phrases
from agentkit.policy.tags import parse_tag, parse_tags, unknown_tags
from agentkit.policy.taxonomy import Facet, TagValue, TaxonomyPolicy
from agentkit.records import Tag


def facet(**aliases: tuple[str, ...]) -> Facet:
    values = {
        name: TagValue(description="for the test", aliases=Phrases(en=phrases))
        for name, phrases in aliases.items()
    }
    return Facet(description="for the test", values=values)


TAXONOMY = TaxonomyPolicy(
    facets={
        "tool": facet(a=(), b=(), sql=("database",)),
        "domain": facet(sql=(), café=()),
    }
)
A, B = Tag("tool", "a"), Tag("tool", "b")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["a", "b"], (A, B)),
        ("a,b", (A, B)),
        ("b， a", (A, B)),
        ('["a","b"]', (A, B)),
        ("a", (A,)),
        ([" A ", "a", ""], (A,)),
        (("tool:b", "Tool : A"), (A, B)),
        ({"b", "a"}, (A, B)),
        (["工具：x"], (Tag("工具", "x"),)),
        ([], ()),
        ("[]", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_every_shape_in_which_clients_send_tags_gives_the_same_tags(
    raw: object, expected: tuple[Tag, ...]
) -> None:
    assert parse_tags(raw, TAXONOMY) == expected


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (["customer,priority"], "holds a comma"),
        (["x" * 6000], "6000 characters; at most 100"),
        ("x" * 6000, "6000 characters; at most 100"),
        ("[a, b]", "begin like a JSON list"),
        ({"a": 1}, "must be a list of texts, not dict"),
        (b"a", "must be a list of texts, not bytes"),
        (7, "must be a list of texts, not int"),
        (True, "must be a list of texts, not bool"),
        (["a", 1], "each tag must be a text, not int"),
        ([["a"]], "each tag must be a text, not list"),
        ("[1]", "each tag must be a text, not int"),
        (["tool:"], "lacks one side"),
        ([":a"], "lacks one side"),
        (["a\u202eb"], "control or invisible"),
        ([f"t{number}" for number in range(33)], "at most 32"),
        (["sql"], "could mean domain:sql, tool:sql"),
    ],
)
def test_what_cannot_be_a_tag_is_refused_with_what_to_do(raw: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_tags(raw, TAXONOMY)


def test_an_unknown_word_stays_visible_and_is_no_known_tag() -> None:
    assert parse_tags("nope, tool:nope", TAXONOMY) == (
        Tag("tool", "nope"),
        Tag("unfiled", "nope"),
    )


def test_an_alias_is_read_as_its_tag() -> None:
    assert parse_tag("Database", TAXONOMY) == Tag("tool", "sql")


def test_composed_and_decomposed_accents_are_one_tag() -> None:
    assert parse_tags(["cafe\u0301", "CAF\u00c9"], TAXONOMY) == (Tag("domain", "caf\u00e9"),)


def test_a_tag_that_the_taxonomy_lacks_is_told_with_the_likeliest_one(
    repository: Path,
) -> None:
    taxonomy = load_yaml(repository / "memory" / "taxonomy.yaml", TaxonomyPolicy)
    assert unknown_tags([Tag("data_form", "csv")], taxonomy) == ()
    assert unknown_tags([Tag("data_form", "cvs")], taxonomy) == (
        "no tag 'data_form:cvs' in memory/taxonomy.yaml; did you mean 'data_form:csv'?",
    )
