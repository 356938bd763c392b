"""`agentkit mcp` as a client sees it: the official client, and bytes on a pipe."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CallToolResult, TextContent, TextResourceContents

from agentkit.serve.schemas import FORGET_SCHEMA, SEARCH_SCHEMA, WRITE_SCHEMA

LEAVES_WITHIN_S = 5.0
HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that recalls by words alone, with time enough on a machine that is busy."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment(repository: Path) -> dict[str, str]:
    """Environment in which the sources of this checkout are found, with no setting of agentkit."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("AGENTKIT_")}
    return {**kept, "PYTHONPATH": str(repository)}


def _words(project: Path, *more: str, user: str = "u1") -> list[str]:
    return ["-m", "agentkit.cli", "mcp", "--user", user, "--project", str(project), *more]


@asynccontextmanager
async def _client(
    project: Path, environment: Mapping[str, str], *, user: str = "u1"
) -> AsyncGenerator[Client, None]:
    parameters = StdioServerParameters(
        command=sys.executable, args=_words(project, user=user), env=dict(environment)
    )
    async with Client(parameters) as client:
        yield client


def _text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def _answer(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool that must succeed; its text and its structured content say the same."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, _text(result)
    assert json.loads(_text(result)) == result.structured_content
    return dict(result.structured_content)


async def _refusal(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool that must fail; return the one clear message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content["error"]["message"] == _text(result)
    assert "\n" not in _text(result)
    return _text(result)


async def test_the_three_tools_are_listed_with_their_schemas(
    project: Path, environment: Mapping[str, str]
) -> None:
    async with _client(project, environment) as client:
        listed = await client.list_tools()
    assert {tool.name: tool.input_schema for tool in listed.tools} == {
        "memory_search": SEARCH_SCHEMA,
        "memory_write": WRITE_SCHEMA,
        "memory_forget": FORGET_SCHEMA,
    }
    assert all(tool.description for tool in listed.tools)


async def test_what_is_written_is_found_with_defaults_and_forgotten_for_all(
    project: Path, environment: Mapping[str, str]
) -> None:
    content = "The staging database is rebuilt every night at two"
    async with _client(project, environment) as client:
        written = await _answer(
            client, "memory_write", content=content, memory_type="semantic", tags=["domain:finance"]
        )
        assert written["status"] in ("pending", "active")
        assert written["duplicate"] is False
        found = await _answer(client, "memory_search", query="when is staging rebuilt?")
        assert found["timed_out"] is False
        (hit,) = found["hits"]
        assert hit["memory_id"] == written["memory_id"]
        assert hit["content"] == content
        assert hit["memory_type"] == "semantic"
        assert hit["tags"] == ["domain:finance"]
        assert {"confidence", "score", "similarity", "explanation"} <= set(hit)
        gone = await _answer(
            client, "memory_forget", memory_id=written["memory_id"], reason="no longer rebuilt"
        )
        assert gone == {"forgotten": [written["memory_id"]], "not_found": []}
        assert (await _answer(client, "memory_search", query="staging"))["hits"] == []
        again = await _refusal(
            client, "memory_forget", memory_id=written["memory_id"], reason="again"
        )
        assert written["memory_id"] in again


async def test_the_user_is_fixed_and_other_users_see_nothing(
    project: Path, environment: Mapping[str, str]
) -> None:
    async with _client(project, environment) as client:
        written = await _answer(
            client, "memory_write", content="The safe is behind the map", memory_type="semantic"
        )
        assert "user_id" in await _refusal(client, "memory_search", query="safe", user_id="u2")
    async with _client(project, environment, user="u2") as other:
        assert (await _answer(other, "memory_search", query="where is the safe"))["hits"] == []
        refused = await _refusal(other, "memory_forget", memory_id=written["memory_id"], reason="x")
        missing = await _refusal(other, "memory_forget", memory_id="ghost", reason="x")
        assert refused.replace(written["memory_id"], "ID") == missing.replace("ghost", "ID")


async def test_wrong_calls_are_refused_and_change_nothing(
    project: Path, environment: Mapping[str, str]
) -> None:
    async with _client(project, environment) as client:
        for number in range(5):
            await _answer(
                client, "memory_write", content=f"Shelf {number} holds tea", memory_type="semantic"
            )
        wrong_calls: list[dict[str, object]] = [
            {},
            {"filter": {}},
            {"ids": []},
            {"tags": []},
            {"reason": "all of them"},
        ]
        for wrong in wrong_calls:
            await _refusal(client, "memory_forget", **wrong)
        for limit in (0, -1, 1_000_000, 2.5, None, True):
            assert "top_k" in await _refusal(client, "memory_search", query="tea", top_k=limit)
        for query in ("", "   "):
            await _refusal(client, "memory_search", query=query)
        misspelt = await _refusal(
            client, "memory_write", content="x", memory_type="semantic", tgas=["a"]
        )
        assert "did you mean 'tags'" in misspelt
        assert len((await _answer(client, "memory_search", query="tea", top_k=10))["hits"]) == 5


async def test_an_unknown_tool_is_a_protocol_error(
    project: Path, environment: Mapping[str, str]
) -> None:
    async with _client(project, environment) as client:
        with pytest.raises(MCPError, match="memory_purge"):
            await client.call_tool("memory_purge", {})


async def test_tags_mean_the_same_in_every_shape(
    project: Path, environment: Mapping[str, str]
) -> None:
    shapes: list[object] = [
        ["domain:a", "domain:b"],
        "domain:a,domain:b",
        '["domain:a","domain:b"]',
    ]
    async with _client(project, environment) as client:
        for shape in shapes:
            found = await _answer(client, "memory_search", query="x", tags=shape)
            assert found["applied"]["tags"] == ["domain:a", "domain:b"]
        nothings: list[list[str] | None] = [[], None]
        for nothing in nothings:
            found = await _answer(client, "memory_search", query="x", tags=nothing)
            assert found["applied"]["tags"] == []
        assert "comma" in await _refusal(
            client, "memory_search", query="x", tags=["customer,priority"]
        )
        await _refusal(client, "memory_search", query="x", tags=["t" * 6_000])


async def test_an_answer_has_a_bound_and_the_whole_text_is_a_resource(
    project: Path, environment: Mapping[str, str]
) -> None:
    async with _client(project, environment) as client:
        ids: list[str] = []
        for number in range(10):
            words = " ".join(f"entry{number}x{place}" for place in range(110))
            written = await _answer(
                client, "memory_write", content=f"Ledger: {words}", memory_type="semantic"
            )
            ids.append(written["memory_id"])
        result = await client.call_tool("memory_search", {"query": "ledger", "top_k": 10})
        assert len(_text(result)) <= 20_000
        found = dict(result.structured_content)
        assert {hit["memory_id"] for hit in found["hits"]} <= set(ids)
        assert len(found["hits"]) + found.get("omitted", 0) == 10
        whole = await client.read_resource(f"agentkit://memory/{ids[0]}")
        (content,) = whole.contents
        assert isinstance(content, TextResourceContents)
        assert json.loads(content.text)["content"].endswith("entry0x109")
        with pytest.raises(MCPError, match="ghost"):
            await client.read_resource("agentkit://memory/ghost")


async def test_what_the_user_said_is_forgotten_by_the_user_alone(
    project: Path, environment: Mapping[str, str]
) -> None:
    remember = ["-m", "agentkit.cli", "remember", "Call me by my first name", "--user", "u1"]
    said = subprocess.run(
        [sys.executable, *remember, "--project", str(project), "--json"],
        env=dict(environment),
        capture_output=True,
        check=True,
    )
    memory_id = json.loads(said.stdout)["memory_id"]
    async with _client(project, environment) as client:
        refused = await _refusal(client, "memory_forget", memory_id=memory_id, reason="wrong")
        assert "user" in refused
        assert (await _answer(client, "memory_search", query="first name"))["hits"]


def _call(number: int, tool: str, **arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _lines(*messages: object) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in messages)


def _serve(
    project: Path, environment: Mapping[str, str], data: bytes, *debug: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentkit.cli", *debug, *_words(project)[2:]],
        input=data,
        env=dict(environment),
        capture_output=True,
        check=False,
        timeout=60,
    )


def _answers(done: subprocess.CompletedProcess[bytes]) -> dict[object, dict[str, Any]]:
    """Every line of stdout by id; a line that is not JSON-RPC fails the test."""
    found = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in found)
    return {one["id"]: one for one in found}


def test_everything_read_from_a_file_is_answered_before_the_exit(
    project: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    calls = [
        _call(1, "memory_write", content="The tea is on shelf four", memory_type="semantic"),
        _call(2, "memory_search", query="where is the tea"),
        _call(3, "memory_search", query="on which shelf is it"),
    ]
    file = tmp_path / "input.jsonl"
    file.write_bytes(_lines(*HANDSHAKE, *calls))
    with file.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, *_words(project)],
            stdin=stdin,
            env=dict(environment),
            capture_output=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr.decode()
    answers = _answers(done)
    assert set(answers) == {0, 1, 2, 3}
    for number in (2, 3):
        (hit,) = answers[number]["result"]["structuredContent"]["hits"]
        assert hit["content"] == "The tea is on shelf four"


def test_stdout_holds_nothing_but_messages_whatever_else_is_printed(
    project: Path, environment: Mapping[str, str]
) -> None:
    (project / "agentkit.yaml").write_text("index: chroma\nembedder: local\n", encoding="utf-8")
    noisy = {**environment, "PYTHONWARNINGS": "always", "PYTHONIOENCODING": "cp1252"}
    written = _call(1, "memory_write", content="✓ 会议在三楼", memory_type="semantic")
    data = _lines(*HANDSHAKE, written, _call(2, "memory_search", query="会议"))
    done = _serve(project, noisy, data, "--debug")
    assert done.returncode == 0, done.stderr.decode()
    (hit,) = _answers(done)[2]["result"]["structuredContent"]["hits"]
    assert hit["content"] == "✓ 会议在三楼"


def test_bytes_and_lines_that_are_no_messages_do_not_stop_the_server(
    project: Path, environment: Mapping[str, str]
) -> None:
    bad = _lines(_call(1, "memory_write", content="Code QQ here", memory_type="semantic"))
    data = (
        _lines(*HANDSHAKE)
        + bad.replace(b"QQ", b"\xff\xfe")
        + b'hello\n{"jsonrpc":"2.0"}\n'
        + _lines(_call(2, "memory_search", query="code here"))
    )
    done = _serve(project, environment, data)
    assert done.returncode == 0
    answers = _answers(done)
    (hit,) = answers[2]["result"]["structuredContent"]["hits"]
    assert hit["content"] == "Code \ufffd\ufffd here"


def test_a_broken_configuration_leaves_stdout_empty(
    project: Path, environment: Mapping[str, str]
) -> None:
    (project / "agentkit.yaml").write_text("indx: none\n", encoding="utf-8")
    done = _serve(project, environment, _lines(*HANDSHAKE))
    assert done.returncode != 0
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("error: ")
    assert "agentkit.yaml:1" in line


def test_a_server_without_a_user_is_refused(project: Path, environment: Mapping[str, str]) -> None:
    words = ["-m", "agentkit.cli", "mcp", "--project", str(project)]
    done = subprocess.run(
        [sys.executable, *words], env=dict(environment), capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"--user" in done.stderr


@pytest.mark.parametrize("how", ["close", "terminate"])
def test_the_server_leaves_soon_after_its_client(
    project: Path, environment: Mapping[str, str], how: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, *_words(project)],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(_lines(*HANDSHAKE))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 0
    started = time.monotonic()
    if how == "close":
        process.stdin.close()
    else:
        process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    assert time.monotonic() - started < LEAVES_WITHIN_S
    if how == "terminate":
        process.stdin.close()
    process.stdout.close()
