"""Whose memory it is. Every door is opened by a `Scope`."""

import unicodedata
from dataclasses import dataclass

from agentkit.errors import InputError

MAX_ID_CHARS = 255
RESERVED = frozenset({"all", "any", "everyone", "everybody", "*", "%", "null", "none"})


@dataclass(frozen=True, slots=True)
class Scope:
    """The user, and optionally the agent, that a call is about.

    Names are compared byte for byte: `alice`, `Alice` and `álice` are three users, and
    `acme/eu` is no child of `acme`.

    Attributes:
        user_id: Name of the user, 1 to 255 characters, no control characters.
        agent_id: Name of the agent, or None for what every agent of the user sees.

    Raises:
        InputError: If a name is blank, too long, or one of the names that mean "all".
    """

    user_id: str
    agent_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse names that could not be told apart, or that mean everybody."""
        check_name(self.user_id, what="user_id")
        if self.agent_id is not None:
            check_name(self.agent_id, what="agent_id")

    def sees(self, agent_id: str | None) -> bool:
        """Whether a memory of `agent_id` is visible here.

        What belongs to no agent is seen by every agent of the user; what belongs to one is seen
        by that one alone, and not by a scope without an agent.
        """
        return agent_id is None or agent_id == self.agent_id


def check_name(name: str, *, what: str) -> None:
    """Refuse a user or agent name that cannot be a scope.

    Args:
        name: The name as given.
        what: Which argument it is, for the message.

    Raises:
        InputError: If the name is blank, padded, too long, reserved, or unprintable.
    """
    if not name.strip():
        raise InputError(f"{what} is blank; give the name of one {what.removesuffix('_id')}")
    if name != name.strip():
        raise InputError(f"{what} {name!r} begins or ends with white space; remove it")
    if len(name) > MAX_ID_CHARS:
        raise InputError(f"{what} has {len(name)} characters; at most {MAX_ID_CHARS} are kept")
    if name.casefold() in RESERVED:
        raise InputError(f"{what} {name!r} is a name that means everybody; choose another")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        raise InputError(f"{what} {name!r} holds a control character or half a surrogate pair")
