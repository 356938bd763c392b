"""The wire and the transport: every request that was read is answered, whatever else comes in."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from agentkit.serve.stdio import serve_stdio
from agentkit.serve.wire import Wire

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _call(number: int, name: str = "echo") -> dict[str, object]:
    params = {"name": name, "arguments": {"text": f"say {number}"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _lines(*messages: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def _server(gate: asyncio.Event, started: asyncio.Event) -> Server[Any]:
    """A server whose `slow` tool answers only when the gate is open."""

    async def call_tool(
        _context: ServerRequestContext[Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        if params.name == "slow":
            started.set()
            await gate.wait()
        text = str((params.arguments or {}).get("text"))
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(text=text)])

    return Server("test", on_call_tool=call_tool)


class _Client:
    """Both ends of a wire, and a server that runs on it."""

    def __init__(self) -> None:
        server_in, self.to_server = os.pipe()
        self.from_server, server_out = os.pipe()
        self.wire = Wire(read_fd=server_in, write_fd=server_out)
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.done: asyncio.Task[None] = asyncio.create_task(
            serve_stdio(_server(self.gate, self.started), self.wire)
        )

    def send(self, data: bytes) -> None:
        os.write(self.to_server, data)

    def end(self) -> None:
        os.close(self.to_server)

    async def answers(self) -> dict[object, dict[str, Any]]:
        """Wait for the server to end, then return what it wrote, by request id."""
        await asyncio.wait_for(self.done, timeout=20)
        os.close(self.wire.write_fd)
        with os.fdopen(self.from_server, "rb") as stream:
            written = [json.loads(line) for line in stream]
        os.close(self.wire.read_fd)
        return {one["id"]: one for one in written}


async def test_requests_already_read_are_answered_before_the_end() -> None:
    client = _Client()
    client.send(_lines(INITIALIZE, INITIALIZED, *(_call(number) for number in range(1, 9))))
    client.end()
    answers = await client.answers()
    assert set(answers) == set(range(9))
    assert answers[8]["result"]["content"][0]["text"] == "say 8"


async def test_a_slow_answer_is_waited_for_after_the_input_ended() -> None:
    client = _Client()
    client.send(_lines(INITIALIZE, INITIALIZED, _call(1, "slow")))
    client.end()
    await client.started.wait()
    assert not client.done.done()
    client.gate.set()
    assert set(await client.answers()) == {0, 1}


async def test_a_cancelled_request_does_not_hold_the_end_up() -> None:
    client = _Client()
    client.send(_lines(INITIALIZE, INITIALIZED, _call(1, "slow")))
    await client.started.wait()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    client.send(_lines(cancel, _call(2)))
    client.end()
    answers = await client.answers()
    assert set(answers) == {0, 2}


async def test_an_input_that_ends_at_once_ends_the_server() -> None:
    client = _Client()
    client.end()
    assert await client.answers() == {}


async def test_lines_that_are_no_messages_cost_nobody_an_answer() -> None:
    client = _Client()
    bad = json.dumps(_call(2)).encode().replace(b"say 2", b"say \xff\xfe 2")
    client.send(_lines(INITIALIZE, INITIALIZED) + b'hello\n\n{"jsonrpc":"2.0"}\n' + bad + b"\n")
    client.send(_lines(_call(3)))
    client.end()
    answers = await client.answers()
    assert answers[2]["result"]["content"][0]["text"] == "say \ufffd\ufffd 2"
    assert answers[3]["result"]["content"][0]["text"] == "say 3"


async def test_a_last_line_without_an_end_is_a_line_and_long_lines_arrive_whole() -> None:
    client = _Client()
    long = _call(1)
    long["params"] = {"name": "echo", "arguments": {"text": "会议 " * 60_000}}
    data = _lines(INITIALIZE, INITIALIZED) + json.dumps(long, ensure_ascii=False).encode()
    writing = asyncio.create_task(asyncio.to_thread(os.write, client.to_server, data))
    reading = asyncio.create_task(asyncio.to_thread(_drain, client.from_server))
    assert await writing == len(data)
    client.end()
    await asyncio.wait_for(client.done, timeout=20)
    os.close(client.wire.write_fd)
    last = json.loads((await reading).splitlines()[-1])
    assert last["result"]["content"][0]["text"] == "会议 " * 60_000


async def test_a_client_that_stops_reading_ends_the_server() -> None:
    client = _Client()
    os.close(client.from_server)
    client.send(_lines(INITIALIZE, INITIALIZED, _call(1)))
    await asyncio.wait_for(client.done, timeout=20)
    assert client.done.done()


@pytest.mark.parametrize("size", [1, 65_536, 65_537, 200_000])
async def test_lines_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    read_fd, write_fd = os.pipe()
    wire = Wire(read_fd=read_fd, write_fd=-1)
    data = b"x" * size + b"\n\n" + b"y" * size
    writing = asyncio.create_task(asyncio.to_thread(_write_and_close, write_fd, data))
    lines = [line async for line in wire.lines()]
    await writing
    assert lines == ["x" * size, "", "y" * size]
    os.close(read_fd)


def test_whatever_prints_while_the_wire_is_taken_lands_on_stderr(repository: Path) -> None:
    code = """
import os, sys
from agentkit.serve.wire import taken_stdio
with taken_stdio() as wire:
    print("a stray print")
    os.system("echo a stray child; cat")
    os.write(wire.write_fd, b"a message\\n")
print("afterwards")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(repository)},
        input=b"not for the child",
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"a message\nafterwards\n"
    assert b"a stray print" in done.stderr
    assert b"a stray child" in done.stderr
    assert b"not for" not in done.stderr


def _drain(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def _write_and_close(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
