"""What a query is about: tags by phrase, else by nearest prototype, else none."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from agentkit.policy.recall import TagPolicy
from agentkit.policy.taxonomy import TagAlias, tag_text
from agentkit.recall.columns import Float64Array
from agentkit.records import Float32Array, IntentTag, Tag
from agentkit.text import CJK_CHARS

# A word of a spaced script ends where a CJK character begins: "用csv文件" holds the word csv.
_WORD = re.compile(rf"[^\W{CJK_CHARS}]")
# 2^-30 is finer than float32 resolves, and leaves 22 of float64's 53 bits for the sum.
_STEP_BITS = 30
_IS_CJK = re.compile(rf"[{CJK_CHARS}]")


class AliasTable:
    """Phrases that mean a tag wherever they stand."""

    def __init__(self, aliases: Iterable[TagAlias] = ()) -> None:
        """Take in the aliases.

        Args:
            aliases: Phrases in tag form. Ends in a spaced script must meet the end of a word;
                ends in Chinese, Japanese or Korean need not.
        """
        self._tags: dict[str, set[Tag]] = {}
        for one in aliases:
            self._tags.setdefault(one.alias, set()).add(one.tag)
        # By their first two characters: of hundreds of phrases a text is compared with a few.
        self._starting: dict[str, list[str]] = {}
        for phrase in self._tags:
            self._starting.setdefault(phrase[:2], []).append(phrase)

    def find(self, text: str) -> tuple[Tag, ...]:
        """Return the tags whose phrases stand in a text, sorted.

        Of phrases that overlap only the longest counts.

        Args:
            text: Any text.
        """
        said = tag_text(text)
        taken = bytearray(len(said))
        found: set[Tag] = set()
        for size, phrase, start in sorted(self._places(said)):
            if not any(taken[start : start - size]):
                taken[start : start - size] = b"\x01" * -size
                found |= self._tags[phrase]
        return tuple(sorted(found))

    def _places(self, said: str) -> Iterator[tuple[int, str, int]]:
        """Length below zero, so that the longest sorts first, phrase, and where it stands."""
        for start in range(len(said)):
            for head in {said[start : start + 2], said[start]}:
                for phrase in self._starting.get(head, ()):
                    if said.startswith(phrase, start) and _is_whole(phrase, start, said):
                        yield -len(phrase), phrase, start


@dataclass(frozen=True, slots=True, eq=False)
class TagExamples:
    """Embedded texts to which a tag applies, summed up.

    Attributes:
        tag: The tag.
        total: shape (dim,), float64: sum of their L2-normalised vectors, each as `addable`.
        count: Number of texts, at least 1.
    """

    tag: Tag
    total: Float64Array
    count: int

    @classmethod
    def of(cls, tag: Tag, vectors: Float32Array) -> "TagExamples":
        """Sum up the vectors of some texts.

        Args:
            tag: The tag that applies to all of them.
            vectors: shape (n, dim), float32, L2-normalised, n at least 1.
        """
        return cls(tag, addable(vectors).sum(axis=0), len(vectors))


def addable(vectors: Float32Array) -> Float64Array:
    """Return vectors in such steps that sums of millions of them hold no rounding.

    So a sum depends on no order, and taking a forgotten memory out of it leaves no trace.

    Args:
        vectors: shape (..., dim), float32, L2-normalised.

    Returns:
        The same to within 2^-31 a number, float64: multiples of 2^-30, of which float64 adds
        four million unit vectors exactly.
    """
    return np.rint(np.ldexp(vectors.astype(np.float64), _STEP_BITS)) * 2.0**-_STEP_BITS


@dataclass(frozen=True, slots=True, eq=False)
class _Facet:
    """The values of one facet that can be inferred, with what each was made of."""

    parts: dict[Tag, tuple[TagExamples, ...]]
    directions: Float64Array


class Prototypes:
    """The mean direction of each tag, facet by facet.

    Attributes:
        computed: How many directions were computed; the others were taken over.
    """

    def __init__(
        self,
        examples: Iterable[TagExamples] = (),
        *,
        least_examples: int = 1,
        earlier: "Prototypes | None" = None,
    ) -> None:
        """Build one prototype a tag.

        Args:
            examples: Of the taxonomy, of the scope's memories, or both; several of one tag
                are added up. All of one length.
            least_examples: Tags with fewer texts than this get no prototype.
            earlier: Prototypes of the same scope from before some change: what rests on the very
                same examples is taken over from there.
        """
        by_tag: dict[Tag, list[TagExamples]] = {}
        for one in examples:
            by_tag.setdefault(one.tag, []).append(one)
        facets: dict[str, dict[Tag, tuple[TagExamples, ...]]] = {}
        for tag in sorted(by_tag):
            if sum(one.count for one in by_tag[tag]) >= least_examples:
                facets.setdefault(tag.facet, {})[tag] = tuple(by_tag[tag])
        known = {} if earlier is None else earlier._facets
        self.computed = 0
        self._facets = {name: self._facet(parts, known.get(name)) for name, parts in facets.items()}

    def _facet(self, parts: dict[Tag, tuple[TagExamples, ...]], earlier: _Facet | None) -> _Facet:
        # Examples compare by identity: whoever changes a sum puts a new one in its place.
        if earlier is not None and earlier.parts == parts and [*earlier.parts] == [*parts]:
            return earlier
        rows: dict[Tag, Float64Array] = {}
        if earlier is not None:
            rows = dict(zip(earlier.parts, earlier.directions, strict=True))
        found: list[Float64Array] = []
        for tag, summed in parts.items():
            held = (
                rows.get(tag) if earlier is not None and earlier.parts.get(tag) == summed else None
            )
            if held is None:
                self.computed += 1
                held = _normalised(np.sum([one.total for one in summed], axis=0))
            found.append(held)
        return _Facet(parts, np.stack(found))

    def find(self, vector: Float32Array, *, policy: TagPolicy) -> tuple[IntentTag, ...]:
        """Return the tags that a query is near enough to, with how surely it is meant.

        In each facet the values share one whole by `exp(cosine / softness_cosine)`; a value
        that nothing is meant by, standing at `least_cosine`, takes its share too. Values below
        `least_share` are not inferred, so a query between many values gets no tag.

        Args:
            vector: shape (dim,), float32, L2-normalised; all zero gives no tag.
            policy: Thresholds.

        Returns:
            Surest first, ties by tag; `strength` is the share.
        """
        found: list[IntentTag] = []
        for facet in self._facets.values():
            if facet.directions.shape[1:] != vector.shape:
                continue
            cosines = np.append(facet.directions @ vector.astype(np.float64), policy.least_cosine)
            shares = np.exp((cosines - cosines.max()) / policy.softness_cosine)
            shares /= shares.sum()
            found += [
                IntentTag(tag, "prototype", float(share))
                for tag, share in zip(facet.parts, shares, strict=False)
                if share >= policy.least_share
            ]
        return tuple(sorted(found, key=lambda one: (-one.strength, one.tag)))


def infer_tags(
    text: str,
    *,
    vector: Float32Array | None,
    aliases: AliasTable,
    prototypes: Prototypes,
    policy: TagPolicy,
) -> tuple[IntentTag, ...]:
    """Return what a query is about.

    A phrase of the taxonomy decides its facet; the nearest prototype speaks only for facets
    without one. Unsure means no tag.

    Args:
        text: The query.
        vector: Its embedding, or None: phrases alone.
        aliases: Phrases of the taxonomy.
        prototypes: Of the taxonomy and the scope; never of another user.
        policy: Thresholds.

    Returns:
        Tags by phrase first, then the others, surest first.
    """
    said = [IntentTag(tag, "alias") for tag in aliases.find(text)]
    if vector is None:
        return tuple(said)
    decided = {one.tag.facet for one in said}
    near = prototypes.find(vector, policy=policy)
    return (*said, *(one for one in near if one.tag.facet not in decided))


def _is_whole(phrase: str, start: int, text: str) -> bool:
    """Whether a phrase ends where words do, as far as its own ends are written with spaces."""
    end = start + len(phrase)
    begins = start == 0 or not _is_inside_word(text[start - 1], phrase[0])
    return begins and (end == len(text) or not _is_inside_word(text[end], phrase[-1]))


def _is_inside_word(beside: str, edge: str) -> bool:
    """Whether the end of a phrase and the character beside it belong to one word."""
    return _IS_CJK.match(edge) is None and _WORD.match(beside) is not None


def _normalised(vector: Float64Array) -> Float64Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else np.zeros_like(vector)
