"""Handles of large tool results, and the pages in which such a result is opened again."""

import hashlib
from base64 import b32encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.records import Step
from agentkit.text import split_tokens

# 50 bits: two of a million results share a handle with a chance of one in two thousand.
_HANDLE_CHARS = 10
# The line above a page, and what a message part costs beside its text.
PAGE_OVERHEAD_TOKENS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a large result.

    Attributes:
        handle: Handle of the whole.
        number: Number of the page, from 1.
        total: Number of pages, at least 1.
        text: What stands on it.
    """

    handle: str
    number: int
    total: int
    text: str

    def shown(self) -> str:
        """Return the page as the model reads it, with a line above that says where it is."""
        return f"[{self.handle}, page {self.number} of {self.total}]\n{self.text}"


def handle_of(*, tool: str | None, call_id: str | None, at: datetime | None) -> str:
    """Return the handle of a tool result: the same for the same call of the same run.

    It is made of what a message and the step made from it both hold, so that another process
    finds the step by the handle that this one has shown.

    Args:
        tool: Name of the tool.
        call_id: Id of the call; some providers use one again in a later response.
        at: When the result came; a time without a zone counts as UTC.
    """
    moment = "" if at is None else _utc(at).isoformat()
    named = "\x1f".join((tool or "", call_id or "", moment)).encode("utf-8", "replace")
    packed = b32encode(hashlib.blake2b(named, digest_size=10).digest()).decode("ascii")
    return f"r-{packed[:_HANDLE_CHARS].lower()}"


def find_result(steps: Iterable[Step], handle: str) -> Step | None:
    """Return the tool return that a handle names, the newest first, or None.

    Args:
        steps: Steps in order.
        handle: A handle as `handle_of` gives it.
    """
    returns = [step for step in steps if step.kind == "tool_return"]
    return next((step for step in reversed(returns) if handle_of_step(step) == handle), None)


def handle_of_step(step: Step) -> str:
    """Return the handle of a tool return that is kept as a step."""
    return handle_of(tool=step.tool, call_id=step.call_id, at=step.at)


def page_of(text: str, *, handle: str, number: int, policy: WorkingPolicy) -> Page:
    """Return a page of a large result.

    A page with its overhead is never itself a large result, so that opening one ends.

    Args:
        text: The whole result.
        handle: Its handle.
        number: Number of the page, from 1.
        policy: Size of a page.

    Raises:
        InputError: If there is no such page; says how many there are.
    """
    most = policy.large_result_tokens - PAGE_OVERHEAD_TOKENS
    pages = split_tokens(text, min(policy.page_tokens, most))
    if not 1 <= number <= len(pages):
        raise InputError(f"{handle} has no page {number}; give a page from 1 to {len(pages)}")
    return Page(handle=handle, number=number, total=len(pages), text=pages[number - 1])


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
