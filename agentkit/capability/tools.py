"""The three memory tools as the model of a running agent sees them.

A wrong argument is told to the model, as often as it takes: a memory that cannot be found must not
use up the retries of a run and end it. Any other trouble of the memory is
logged and told as "not available", and the run goes on.
"""

import json
from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.toolsets import FunctionToolset

from agentkit.capability.boundary import boundary
from agentkit.errors import InputError
from agentkit.kit import Kit
from agentkit.kit.presenting import hit_fields
from agentkit.records import Scope

TOOLSET_ID = "agentkit_memory"
# Tries at arguments that do not even have the right form.
ARGUMENT_RETRIES = 5
UNAVAILABLE = "the memory is not available just now; go on without it"
NOTED = "noted; it is judged with the rest of this task when the task ends"

MemoryTypeName = Literal["episodic", "semantic", "procedural"]


class Bound(Protocol):
    """Whose run it is, and in which session."""

    @property
    def scope(self) -> Scope:
        """The user and agent."""
        ...

    @property
    def session_id(self) -> str:
        """The session."""
        ...


class MemoryTools:
    """The tools, bound to a kit and to whoever's run it is."""

    def __init__(self, kit: Kit, bound: Callable[[RunContext[Any]], Bound]) -> None:
        """Bind the tools.

        Args:
            kit: Where the memory is.
            bound: Says whose run a context is; the user is never an argument of a tool.
        """
        self._kit = kit
        self._bound = bound

    def toolset(self) -> FunctionToolset[Any]:
        """Return the three tools as one toolset."""
        tools = [self.memory_search, self.memory_write, self.memory_forget]
        return FunctionToolset(tools, id=TOOLSET_ID, max_retries=ARGUMENT_RETRIES)

    async def memory_search(
        self,
        ctx: RunContext[Any],
        query: str,
        memory_type: MemoryTypeName | None = None,
        top_k: int = 5,
        min_confidence: float = 0.6,
        tags: list[str] | None = None,
        within: str | None = None,
    ) -> str:
        """Search what was learnt in earlier tasks.

        Args:
            ctx: The run.
            query: What you want to know, in words.
            memory_type: Only memories of this type.
            top_k: Number of results wanted, 1 to 100.
            min_confidence: Leave out memories we are less sure of, 0 to 1.
            tags: Only memories with these tags, each written facet:value.
            within: Only memories of that time: a phrase such as "last week" or "上周", or FROM/TO
                in ISO 8601, with .. for an open end.
        """
        try:
            asked = self._kit.query(
                query,
                top_k=top_k,
                memory_type=memory_type,
                min_confidence=min_confidence,
                tags=tags,
                within=within,
            )
        except InputError as error:
            raise ToolFailed(str(error)) from error
        with boundary("searching"):
            who = self._bound(ctx)
            result = await self._kit.recall(asked, scope=who.scope, session_id=who.session_id)
            found = [hit_fields(hit) for hit in result.hits]
            answer = {"results": found, "timed_out": result.timed_out}
            return json.dumps(answer, ensure_ascii=False)
        return UNAVAILABLE

    async def memory_write(
        self,
        ctx: RunContext[Any],
        content: str,
        memory_type: MemoryTypeName,
        tags: list[str] | None = None,
        confidence: float = 0.8,
        cues: list[str] | None = None,
    ) -> str:
        """Propose something worth remembering; it is judged when the task ends.

        Args:
            ctx: The run.
            content: One thing to remember, in one or two sentences.
            memory_type: episodic for what happened, semantic for facts, procedural for how-to.
            tags: Tags, each written facet:value.
            confidence: How sure you are, 0.05 to 0.95.
            cues: Short phrases saying when it is useful.
        """
        try:
            self._kit.lesson(
                content, memory_type=memory_type, tags=tags, confidence=confidence, cues=cues
            )
        except InputError as error:
            raise ToolFailed(str(error)) from error
        return NOTED

    async def memory_forget(self, ctx: RunContext[Any], memory_id: str, reason: str) -> str:
        """Stop using a memory that turned out to be wrong.

        Args:
            ctx: The run.
            memory_id: Id as given by memory_search.
            reason: Why it is wrong.
        """
        problem = ""
        with boundary("forgetting"):
            try:
                done = await self._kit.forget(
                    [memory_id], scope=self._bound(ctx).scope, reason=reason, actor="agent"
                )
            except InputError as error:
                problem = str(error)
            else:
                if done.forgotten:
                    return f"forgotten: {memory_id}"
                problem = f"no memory {memory_id!r} here; give an id from memory_search"
        if problem:
            raise ToolFailed(problem)
        return UNAVAILABLE
