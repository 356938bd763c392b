"""The filter that every query on user rows carries."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Mapped

from agentkit.errors import InputError
from agentkit.records import Scope

Item = TypeVar("Item")

# SQLite takes 32,766 parameters in a statement.
MOST_PARAMETERS = 5_000


def in_scope(user: Mapped[str], agent: Mapped[str | None], *, scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a row is visible in a scope.

    Args:
        user: Column of the user.
        agent: Column of the agent.
        scope: Whose rows; without an agent, those of every agent of the user.
    """
    own = user == scope.user_id
    if scope.agent_id is None:
        return own
    return own & or_(agent.is_(None), agent == scope.agent_id)


def of_ids(user: Mapped[str], agent: Mapped[str | None], *, scope: Scope) -> ColumnElement[bool]:
    """Return the condition of `in_scope` for a query that names ids as well.

    SQLite keeps no statistics of ours and takes the index of the user before a handful of ids:
    it would read all memories of the user to return five. Adding nothing to the column's text
    keeps it to the ids.
    """
    return in_scope(cast("Mapped[str]", user.concat("")), agent, scope=scope)


def agent_key(scope: Scope) -> str:
    """Return what stands for the agent in a primary key."""
    return scope.agent_id or ""


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield the items in pieces that fit one statement."""
    for start in range(0, len(items), MOST_PARAMETERS):
        yield items[start : start + MOST_PARAMETERS]


def check_page(*, limit: int, offset: int) -> None:
    """Refuse a page that cannot be meant.

    Raises:
        InputError: If the limit is below 1 or the offset below 0.
    """
    if limit < 1:
        raise InputError(f"limit is {limit}; give at least 1")
    if offset < 0:
        raise InputError(f"offset is {offset}; give at least 0")
