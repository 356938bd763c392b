"""Tags out of every shape in which callers send them."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import cast

from agentkit.errors import InputError
from agentkit.policy.loader import nearest
from agentkit.policy.taxonomy import MAX_TAG_CHARS, UNFILED_FACET, TaxonomyPolicy, tag_text
from agentkit.records import Tag
from agentkit.text import one_line

MAX_TAGS = 32
_SHOWN_CHARS = 40


def parse_tag(text: str, taxonomy: TaxonomyPolicy) -> Tag:
    """Return the tag that a text means: `facet:value`, or a bare value or alias.

    A bare word that no facet knows comes back on the facet `unfiled`, so that a filter by it
    finds nothing instead of everything, and admission can say that it is unknown.

    Args:
        text: One tag.
        taxonomy: Which words mean a tag.

    Raises:
        InputError: If the text is too long, holds a comma or control character, lacks one side
            of its colon, or is a value of several facets.
    """
    word = tag_text(text).replace("：", ":")
    _check(word, given=text)
    if ":" in word:
        facet, value = (part.strip() for part in word.split(":", maxsplit=1))
        if not facet or not value:
            raise InputError(f"tag {word!r} lacks one side of its colon; write facet:value")
        return Tag(facet, value)
    found = taxonomy.lookup(word)
    if len(found) > 1:
        choices = ", ".join(map(str, found))
        raise InputError(f"tag {word!r} could mean {choices}; write one of these")
    return found[0] if found else Tag(UNFILED_FACET, word)


def parse_tags(raw: object, taxonomy: TaxonomyPolicy) -> tuple[Tag, ...]:
    """Return the tags out of whatever a client sent.

    Accepted are a list of texts, a JSON list in a text, texts joined by commas, one text, and
    None. Case, white space around, and composed or decomposed accents make no difference;
    blank entries and repeats are dropped.

    Args:
        raw: The value as it came.
        taxonomy: Which words mean a tag.

    Returns:
        Distinct tags, sorted; empty for None, "" and an empty list.

    Raises:
        InputError: If it is of another form, an entry is no text, a tag is not usable, or
            there are more than 32.
    """
    texts = [text for text in _texts(raw) if text.strip()]
    if len(texts) > MAX_TAGS:
        raise InputError(f"{len(texts)} tags were given; at most {MAX_TAGS} are taken")
    return tuple(sorted({parse_tag(text, taxonomy) for text in texts}))


def unknown_tags(tags: Iterable[Tag], taxonomy: TaxonomyPolicy) -> tuple[str, ...]:
    """Return a warning for each tag that the taxonomy does not have, with the likeliest one.

    Args:
        tags: Tags of a query.
        taxonomy: Which tags there are.
    """
    known = [str(tag) for tag in taxonomy.tags()]
    return tuple(
        f"no tag {str(tag)!r} in memory/taxonomy.yaml{nearest(str(tag), known)}"
        for tag in tags
        if str(tag) not in known
    )


def _texts(raw: object) -> list[str]:
    """Return the single texts of any accepted shape, not yet checked."""
    if raw is None:
        return []
    if isinstance(raw, str):
        return _from_text(raw)
    if isinstance(raw, Sequence | set | frozenset) and not isinstance(raw, bytes | bytearray):
        return _entries(cast("Iterable[object]", raw))
    raise InputError(f"tags must be a list of texts, not {type(raw).__name__}")


def _from_text(raw: str) -> list[str]:
    if raw.lstrip().startswith("["):
        try:
            listed: object = json.loads(raw)
        except (ValueError, RecursionError) as error:
            shown = one_line(raw, limit_chars=_SHOWN_CHARS)
            raise InputError(f"tags {shown!r} begin like a JSON list but are none") from error
        return _entries(cast("list[object]", listed))
    return raw.replace("，", ",").split(",")


def _entries(items: Iterable[object]) -> list[str]:
    texts: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise InputError(f"each tag must be a text, not {type(item).__name__}: {item!r:.40}")
        texts.append(item)
    return texts


def _check(word: str, *, given: str) -> None:
    if len(word) > MAX_TAG_CHARS:
        shown = one_line(given, limit_chars=_SHOWN_CHARS)
        raise InputError(
            f"tag {shown!r} has {len(word)} characters; at most {MAX_TAG_CHARS} are kept"
        )
    if "," in word or "，" in word:
        raise InputError(f"tag {word!r} holds a comma; send the parts as separate tags")
    if any(unicodedata.category(char) in ("Cc", "Cf") for char in word):
        raise InputError(f"tag {word!r} holds a control or invisible character; remove it")
