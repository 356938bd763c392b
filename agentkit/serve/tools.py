"""The three memory tools, bound to one user: what every transport calls."""

from collections.abc import Mapping
from typing import cast

from agentkit.errors import InputError, NotFoundError
from agentkit.kit import Kit
from agentkit.records import Scope
from agentkit.serve.documents import bounded_recall_document, write_document
from agentkit.serve.schemas import check_arguments, tool_spec

# A 66,000-character line was too long for a host; an answer travels twice, as text and structured.
# Hosts refuse single lines of more than some tens of thousands of characters.
ANSWER_LIMIT_CHARS = 20_000


class MemoryTools:
    """`memory_search`, `memory_write` and `memory_forget` of one user.

    The user is fixed when the door is opened and is never an argument of a call.
    """

    def __init__(self, kit: Kit, scope: Scope) -> None:
        """Bind the tools.

        Args:
            kit: Where the memory is.
            scope: Whose memory it is.
        """
        self._kit = kit
        self._scope = scope

    async def call(self, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """Call a tool and return its answer as a JSON document.

        Args:
            name: Name of the tool.
            arguments: Arguments as the client sent them, unchecked.

        Raises:
            InputError: If the tool or an argument is wrong, or the write is refused.
            NotFoundError: If there is nothing of that id to forget.
        """
        given = check_arguments(tool_spec(name), arguments)
        if name == "memory_search":
            return await self._search(given)
        if name == "memory_write":
            return await self._write(given)
        return await self._forget(given)

    async def _search(self, given: Mapping[str, object]) -> dict[str, object]:
        query = self._kit.query(
            cast("str", given["query"]),
            top_k=given["top_k"],
            memory_type=given.get("memory_type"),
            min_confidence=given["min_confidence"],
            least_similarity=given.get("least_similarity"),
            tags=given.get("tags"),
            match=given["match"],
            within=given.get("within"),
        )
        result = await self._kit.recall(query, scope=self._scope)
        return bounded_recall_document(result, query, limit_chars=ANSWER_LIMIT_CHARS)

    async def _write(self, given: Mapping[str, object]) -> dict[str, object]:
        lesson = self._kit.lesson(
            given["content"],
            memory_type=given["memory_type"],
            tags=given.get("tags"),
            confidence=given["confidence"],
            cues=given.get("cues"),
        )
        report = await self._kit.write(lesson, scope=self._scope)
        if report.memory is None:
            raise InputError(f"not remembered: {report.admission.reason}")
        return write_document(report)

    async def _forget(self, given: Mapping[str, object]) -> dict[str, object]:
        memory_id, reason = cast("str", given["memory_id"]), cast("str", given["reason"])
        done = await self._kit.forget([memory_id], scope=self._scope, reason=reason, actor="agent")
        if not done.forgotten:
            raise NotFoundError("memory", memory_id)
        return {"forgotten": list(done.forgotten), "not_found": list(done.not_found)}
