"""MCP over standard input and output.

The end of the input is held back from the server until every request already read is answered:
mcp cancels what is in flight when its input ends, and the last answers would be missing.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from agentkit.serve.wire import Wire

if TYPE_CHECKING:
    import mcp_types
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel.server import Server
    from mcp.shared.message import SessionMessage

logger = logging.getLogger("agentkit")

# Longest wait for answers after the input has ended. A recall takes 2 s at most and a write less;
# the rest is for loading the embedder on a slow machine.
LAST_ANSWERS_S = 30.0


async def serve_stdio(server: "Server[Any]", wire: Wire) -> None:
    """Serve one client until its input ends, it stops reading, or the process is told to end.

    Args:
        server: The MCP server.
        wire: Where messages come from and go to, one JSON document a line.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    pump = _Pump(wire, to_server=to_server, from_server=from_server)
    with _asked_to_end(pump.end_input):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump.read)
            tasks.start_soon(pump.write)
            await server.run(server_reads, server_writes, server.create_initialization_options())


class _Pump:
    """Carries messages between the wire and the server, and counts what is unanswered."""

    def __init__(
        self,
        wire: Wire,
        *,
        to_server: "MemoryObjectSendStream[SessionMessage | Exception]",
        from_server: "MemoryObjectReceiveStream[SessionMessage]",
    ) -> None:
        import anyio

        self._wire = wire
        self._to_server = to_server
        self._from_server = from_server
        self._unanswered: set[mcp_types.RequestId] = set()
        self._answered = anyio.Event()
        self._reading: anyio.CancelScope | None = None

    def end_input(self) -> None:
        """Act as if the input had ended here."""
        if self._reading is not None:
            self._reading.cancel()

    async def read(self) -> None:
        """Pass lines on to the server; at the end of the input wait for the last answers."""
        import anyio

        async with self._to_server:
            with anyio.CancelScope() as self._reading:
                async for line in self._wire.lines():
                    await self._pass_on(line)
            with anyio.move_on_after(LAST_ANSWERS_S) as waiting:
                while self._unanswered:
                    await self._answered.wait()
            if waiting.cancelled_caught:
                logger.warning("ended with %d requests unanswered", len(self._unanswered))

    async def write(self) -> None:
        """Pass the server's messages on to the wire; a client that is gone ends the input."""
        import mcp_types

        async with self._from_server:
            async for outgoing in self._from_server:
                message = outgoing.message
                line = message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await self._wire.send(line)
                except BrokenPipeError:
                    logger.debug("the client stopped reading")
                    self._unanswered.clear()
                    self.end_input()
                if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
                    self._settle(message.id)

    def _settle(self, request_id: "mcp_types.RequestId | None") -> None:
        """Note that a request needs no waiting for, and wake whoever waits."""
        import anyio

        if request_id is not None:
            self._unanswered.discard(request_id)
        self._answered.set()
        self._answered = anyio.Event()

    async def _pass_on(self, line: str) -> None:
        import mcp_types
        from mcp.shared.message import SessionMessage
        from pydantic import ValidationError

        if not line.strip():
            return
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            logger.warning("a line of the input is no JSON-RPC message and was skipped")
            await self._to_server.send(error)
            return
        if isinstance(message, mcp_types.JSONRPCRequest):
            self._unanswered.add(message.id)
        if isinstance(message, mcp_types.JSONRPCNotification):
            self._forget_cancelled(message)
        await self._to_server.send(SessionMessage(message))

    def _forget_cancelled(self, message: "mcp_types.JSONRPCNotification") -> None:
        """A request that the client cancels is never answered."""
        if message.method == "notifications/cancelled":
            self._unanswered.discard((message.params or {}).get("requestId", ""))


@contextlib.contextmanager
def _asked_to_end(end: Callable[[], None]) -> Generator[None, None, None]:
    """Call `end` when the process is told to terminate, while the block runs."""
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":  # event loops take no signals there; the process just ends
        yield
        return
    loop.add_signal_handler(signal.SIGTERM, end)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
