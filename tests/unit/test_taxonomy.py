from pathlib import Path

import pytest
from pydantic import ValidationError

from agentkit.errors import ConfigError
from agentkit.policy.loader import load_yaml
from agentkit.policy.phrases import Phrases
from agentkit.policy.taxonomy import Facet, TagAlias, TagValue, TaxonomyPolicy, tag_text
from agentkit.records import Tag

SHIPPED = Path(__file__).parents[2] / "memory" / "taxonomy.yaml"
# Values whose description carries no meaning that a sentence could show.
BY_NAME_ONLY = {"outcome"}


@pytest.fixture(scope="module")
def shipped() -> TaxonomyPolicy:
    return load_yaml(SHIPPED, TaxonomyPolicy)


def facet(**values: TagValue) -> Facet:
    return Facet(description="for the test", values=values)


def value(*, en: tuple[str, ...] = (), zh: tuple[str, ...] = ()) -> TagValue:
    return TagValue(description="for the test", aliases=Phrases(en=en, zh=zh))


def test_the_shipped_taxonomy_has_the_five_facets(shipped: TaxonomyPolicy) -> None:
    assert list(shipped.facets) == ["task_type", "tool", "data_form", "domain", "outcome"]


def test_every_shipped_value_of_a_facet_of_meaning_has_aliases_in_both_languages(
    shipped: TaxonomyPolicy,
) -> None:
    lacking = [
        f"{facet_name}:{name}"
        for facet_name, facet_ in shipped.facets.items()
        if facet_name not in BY_NAME_ONLY
        for name, value_ in facet_.values.items()
        if not value_.aliases.en or not value_.aliases.zh
    ]
    assert lacking == []


@pytest.mark.parametrize("facet_name", ["task_type", "domain"])
def test_every_shipped_value_where_meaning_matters_has_three_examples_a_language(
    shipped: TaxonomyPolicy, facet_name: str
) -> None:
    lacking = [
        name
        for name, value_ in shipped.facets[facet_name].values.items()
        if len(value_.examples.en) < 3 or len(value_.examples.zh) < 3
    ]
    assert lacking == []


def test_no_shipped_phrase_stands_for_two_tags(shipped: TaxonomyPolicy) -> None:
    aliases = [alias.alias for alias in shipped.aliases()]
    assert len(aliases) == len(set(aliases))
    values = [tag.value for tag in shipped.tags()]
    assert len(values) == len(set(values))


def test_tags_come_sorted_and_aliases_in_tag_form() -> None:
    taxonomy = TaxonomyPolicy(
        facets={"tool": facet(sql=value(en=("SQL  Query",)), csv=value(zh=("表格",)))}
    )
    assert taxonomy.tags() == (Tag("tool", "csv"), Tag("tool", "sql"))
    assert taxonomy.aliases() == (
        TagAlias(Tag("tool", "sql"), "sql query", "en"),
        TagAlias(Tag("tool", "csv"), "表格", "zh"),
    )


def test_a_value_wins_over_an_alias_of_another_value() -> None:
    taxonomy = TaxonomyPolicy(
        facets={
            "tool": facet(sql=value()),
            "task_type": facet(querying=value(en=("sql", "ask"))),
        }
    )
    assert taxonomy.lookup("SQL") == (Tag("tool", "sql"),)
    assert taxonomy.lookup("Ask") == (Tag("task_type", "querying"),)
    assert taxonomy.lookup("unheard of") == ()


def test_a_value_written_decomposed_is_the_composed_one() -> None:
    taxonomy = TaxonomyPolicy(facets={"domain": facet(**{"cafe\u0301": value()})})
    assert taxonomy.tags() == (Tag("domain", "caf\u00e9"),)
    assert taxonomy.lookup("Cafe\u0301") == taxonomy.lookup("caf\u00e9") != ()


def test_one_phrase_for_two_values_of_a_facet_is_refused() -> None:
    with pytest.raises(ValidationError, match="stands for both 'a' and 'b'"):
        facet(a=value(en=("Order",)), b=value(en=("order",)))


@pytest.mark.parametrize("name", ["", " ", "a,b", "a:b", "x" * 101])
def test_a_value_that_no_caller_could_write_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="must have 1 to 100 characters"):
        facet(**{name: value()})


def test_two_spellings_of_one_value_are_refused() -> None:
    with pytest.raises(ValidationError, match="stands twice"):
        facet(CSV=value(), csv=value())


def test_the_facet_of_unknown_tags_cannot_be_taken() -> None:
    with pytest.raises(ValidationError, match="kept for unknown tags"):
        TaxonomyPolicy(facets={"unfiled": facet(a=value())})


def test_a_blank_phrase_is_refused() -> None:
    with pytest.raises(ValidationError, match="a phrase is blank"):
        Phrases(en=("good", " "))


def test_no_file_content_means_no_facets() -> None:
    assert TaxonomyPolicy().tags() == ()


def test_a_yaml_word_that_is_no_text_is_refused_and_quoting_helps(tmp_path: Path) -> None:
    file = tmp_path / "taxonomy.yaml"
    text = "facets:\n  domain:\n    description: countries\n    values:\n      {}: "
    body = "{description: Norway, aliases: {en: [norway]}}\n"
    file.write_text(text.format("no") + body, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"taxonomy\.yaml:5:.*quote this"):
        load_yaml(file, TaxonomyPolicy)
    file.write_text(text.format('"no"') + body, encoding="utf-8")
    assert load_yaml(file, TaxonomyPolicy).tags() == (Tag("domain", "no"),)


def test_a_misspelt_key_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "taxonomy.yaml"
    file.write_text(
        "facets:\n  domain:\n    description: d\n    values:\n      a: {descripton: x}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match=r":5:.*"):
        load_yaml(file, TaxonomyPolicy)


def test_tag_text_folds_case_space_and_accents() -> None:
    assert tag_text("  Data\t Cleaning ") == "data cleaning"
    assert tag_text("Cafe\u0301") == "caf\u00e9"
