"""The taxonomy: facets, their values, and the words and examples by which each is known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from pydantic import Field, field_validator, model_validator

from agentkit.policy.model import PolicyModel
from agentkit.policy.phrases import Phrases
from agentkit.records import Language, Tag
from agentkit.text import normalise

T = TypeVar("T")

# Longer than any tag a person would write; `memory_tag` keys must fit MySQL's index (3,072 bytes).
MAX_TAG_CHARS = 100
# Where a bare word goes that no facet knows: kept visible, and never mistaken for a known tag.
UNFILED_FACET = "unfiled"


@dataclass(frozen=True, slots=True)
class TagAlias:
    """A phrase that means a tag.

    Attributes:
        tag: The tag.
        alias: The phrase in tag form: NFC, case-folded, single spaces.
        language: Language of the phrase; tells how it is matched (whole words, or characters).
    """

    tag: Tag
    alias: str
    language: Language


@dataclass(frozen=True, slots=True)
class TagExample:
    """A sentence to which a tag applies.

    Attributes:
        tag: The tag.
        text: The sentence.
        language: Language of the sentence.
    """

    tag: Tag
    text: str
    language: Language


class TagValue(PolicyModel):
    """One value of a facet.

    Attributes:
        description: What it means, for people and for a model critic.
        aliases: Phrases that mean this value wherever they stand in a query. Give only
            phrases that hardly ever mean something else.
        examples: Sentences to which the value applies; their mean vector finds queries that
            use none of the aliases. Three or more a language work well.
    """

    description: str = Field(min_length=1)
    aliases: Phrases = Phrases()
    examples: Phrases = Phrases()


class Facet(PolicyModel):
    """One axis of the taxonomy.

    Attributes:
        description: What the axis says of a memory.
        values: Its values by name, at least one.
    """

    description: str = Field(min_length=1)
    values: Mapping[str, TagValue] = Field(min_length=1)

    @field_validator("values")
    @classmethod
    def _value_names(cls, values: Mapping[str, TagValue]) -> Mapping[str, TagValue]:
        return _in_tag_form(values, what="value")

    @model_validator(mode="after")
    def _one_value_an_alias(self) -> Self:
        owners = {name: name for name in self.values}
        for name, value in self.values.items():
            for _, alias in value.aliases.each():
                owner = owners.setdefault(tag_text(alias), name)
                if owner != name:
                    raise ValueError(
                        f"alias {alias!r} stands for both {owner!r} and {name!r}; keep one"
                    )
        return self


class TaxonomyPolicy(PolicyModel):
    """The content of `memory/taxonomy.yaml`.

    Attributes:
        version: Form of the file; 1 is the only one so far.
        facets: Axes by name.
    """

    version: int = Field(default=1, ge=1, le=1)
    facets: Mapping[str, Facet] = {}

    @field_validator("facets")
    @classmethod
    def _facet_names(cls, facets: Mapping[str, Facet]) -> Mapping[str, Facet]:
        named = _in_tag_form(facets, what="facet")
        if UNFILED_FACET in named:
            raise ValueError(f"facet {UNFILED_FACET!r} is kept for unknown tags; rename it")
        return named

    def tags(self) -> tuple[Tag, ...]:
        """Return every tag, sorted."""
        return tuple(sorted(tag for tag, _ in self._each()))

    def aliases(self) -> tuple[TagAlias, ...]:
        """Return every alias in tag form, in the order of the file."""
        return tuple(
            TagAlias(tag, tag_text(alias), language)
            for tag, value in self._each()
            for language, alias in value.aliases.each()
        )

    def examples(self) -> tuple[TagExample, ...]:
        """Return every example sentence, in the order of the file."""
        return tuple(
            TagExample(tag, text, language)
            for tag, value in self._each()
            for language, text in value.examples.each()
        )

    def lookup(self, word: str) -> tuple[Tag, ...]:
        """Return the tags whose value is this word, or if there are none, whose alias is.

        Args:
            word: A bare word in any case or accent form.

        Returns:
            Sorted; more than one if several facets know the word.
        """
        key = tag_text(word)
        return self._by_value.get(key) or self._by_alias.get(key) or ()

    @cached_property
    def _by_value(self) -> Mapping[str, tuple[Tag, ...]]:
        return _group((tag.value, tag) for tag, _ in self._each())

    @cached_property
    def _by_alias(self) -> Mapping[str, tuple[Tag, ...]]:
        return _group((alias.alias, alias.tag) for alias in self.aliases())

    def _each(self) -> Iterator[tuple[Tag, TagValue]]:
        for facet_name, facet in self.facets.items():
            for value_name, value in facet.values.items():
                yield Tag(facet_name, value_name), value


def tag_text(text: str) -> str:
    """Return the normal form of a facet or value: NFC, case-folded, trimmed, single spaces.

    Args:
        text: Text as a person or a client wrote it.
    """
    return normalise(" ".join(normalise(text).casefold().split()))


def _in_tag_form(named: Mapping[str, T], *, what: str) -> Mapping[str, T]:
    """Return the mapping with its keys in tag form, refusing what no caller could write."""
    result: dict[str, T] = {}
    for name, item in named.items():
        key = tag_text(name)
        if not key or len(key) > MAX_TAG_CHARS or any(char in key for char in ",，:："):
            raise ValueError(
                f"{what} {name!r} must have 1 to {MAX_TAG_CHARS} characters, no comma, no colon"
            )
        if key in result:
            raise ValueError(f"{what} {name!r} stands twice in other letters; keep one of them")
        result[key] = item
    return result


def _group(pairs: Iterator[tuple[str, Tag]]) -> Mapping[str, tuple[Tag, ...]]:
    grouped: dict[str, set[Tag]] = {}
    for key, tag in pairs:
        grouped.setdefault(key, set()).add(tag)
    return {key: tuple(sorted(tags)) for key, tags in grouped.items()}
