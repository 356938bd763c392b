"""`agentkit mcp`: the memory of one user for an MCP client."""

from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.cli.options import ProjectOption, UserOption

if TYPE_CHECKING:
    from agentkit.serve.wire import Wire

# A client takes a server for hung that is still there 5 s after its input was closed, and the
# process itself takes a second or two to end.
LAST_WORK_S = 2.0


def mcp(user: UserOption, project: ProjectOption = None) -> None:
    """Serve the memory tools to an MCP client.

    memory_search, memory_write and memory_forget, over standard input and output.
    """
    import asyncio

    from agentkit.serve.wire import taken_stdio

    with taken_stdio() as wire:
        asyncio.run(_serve(wire, user=user, project=project))


async def _serve(wire: "Wire", *, user: str, project: Path | None) -> None:
    from agentkit.cli.version import release
    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.serve.mcp import build_server
    from agentkit.serve.stdio import serve_stdio

    scope = Scope(user)
    kit = Kit.open(project)
    server = build_server(kit, scope, version=release())
    try:
        await kit.start()
        await serve_stdio(server, wire)
    finally:
        # What is cut short here is done at the next start.
        await kit.aclose(timeout_s=LAST_WORK_S)
