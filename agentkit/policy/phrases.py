"""Lists of phrases by language, as rules look for them and as the taxonomy names them."""

from collections.abc import Iterator

from pydantic import field_validator

from agentkit.policy.model import PolicyModel
from agentkit.records import Language
from agentkit.text import normalise


class Phrases(PolicyModel):
    """Phrases in the shipped languages.

    Attributes:
        en: English phrases; matched as whole words, without regard to case.
        zh: Chinese phrases; matched wherever they stand.
    """

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()

    @field_validator("en", "zh")
    @classmethod
    def _no_blank(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if any(not phrase.strip() for phrase in given):
            raise ValueError("a phrase is blank; remove it")
        return tuple(normalise(phrase.strip()) for phrase in given)

    def each(self) -> Iterator[tuple[Language, str]]:
        """Give each phrase with its language, English first."""
        for phrase in self.en:
            yield "en", phrase
        for phrase in self.zh:
            yield "zh", phrase


def phrases(*, en: str, zh: str) -> Phrases:
    """Return phrases written in one string each, with ` | ` between them.

    Args:
        en: English phrases.
        zh: Chinese phrases.
    """
    return Phrases(en=tuple(en.split(" | ")), zh=tuple(zh.split(" | ")))
