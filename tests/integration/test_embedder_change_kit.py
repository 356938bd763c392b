"""Going over to another embedder as an owner does it: kits, processes, a server, the shell."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from agentkit import Kit
from agentkit.cli.edge import EXIT_FAILED, EXIT_USAGE, run
from agentkit.errors import EmbedderError
from agentkit.kit.succession import other_embedder
from agentkit.ports import EmbedderIdentity
from agentkit.records import Scope, Verdict
from agentkit.store.collection_names import collection_name
from agentkit.store.embedders.minilm import FILES, cache_folder
from agentkit.testing import FixedClock, HashEmbedder
from agentkit.text import term_hash, terms
from tests.index_servers import chroma_server
from tests.project_process import ProjectProcess

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
NOTES = (
    "The invoices are archived on the third floor",
    "Reports go out on Fridays before noon",
    "The printer by the window eats thick paper",
    "Parking is free after six in the evening",
    "The door code changes every first of the month",
    "Coffee beans are ordered from the shop next door",
    "The fiscal year starts in April",
    "Visitors sign in at the desk downstairs",
    "Backups run at two in the night",
    "The lift is slow when it rains",
    "Meeting rooms are booked by the assistant",
    "Keys for the cellar hang in the kitchen",
)


def open_kit(folder: Path, embedder: HashEmbedder | str, **settings: object) -> Kit:
    return Kit.open(folder, embedder=embedder, clock=FixedClock(NOW), worker="external", **settings)


async def remembered(kit: Kit, *notes: str) -> list[str]:
    ids: list[str] = []
    for note in notes:
        report = await kit.remember(note, scope=ALICE)
        assert report.memory is not None
        ids.append(report.memory.memory_id)
    assert (await kit.settle()).problem == ""
    return ids


async def found(kit: Kit, question: str) -> list[str]:
    answer = await kit.recall(question, scope=ALICE)
    assert answer.degraded == ""
    return [hit.memory.content for hit in answer.hits]


async def test_another_embedder_is_noticed_at_start_and_the_command_named_makes_it_right(
    tmp_path: Path,
) -> None:
    async with open_kit(tmp_path, HashEmbedder(4)) as kit:
        await remembered(kit, *NOTES[:3])
    for held, wanted in (
        (HashEmbedder(4), HashEmbedder(8)),
        (HashEmbedder(8), HashEmbedder(4, name="other")),
    ):
        with pytest.raises(EmbedderError) as refused:
            open_kit(tmp_path, wanted)
        told = str(refused.value)
        assert f"{held.name} ({held.dim} dimensions)" in told
        assert f"{wanted.name} ({wanted.dim} dimensions)" in told
        assert f"agentkit reindex --embedder {wanted.name} --switch" in told
        async with open_kit(tmp_path, "none") as kit:
            report = await kit.switch_embedder(wanted)
            assert (report.embedded, report.index.problem) == (3, "")
        async with open_kit(tmp_path, wanted) as kit:
            for note in NOTES[:3]:
                assert note in await found(kit, note)
            assert (await kit.prove()).ok


async def test_the_log_says_how_far_two_embedders_agree(tmp_path: Path) -> None:
    async with open_kit(tmp_path, HashEmbedder()) as kit:
        ids = await remembered(kit, *NOTES)
        answer = await kit.recall("When do the reports go out?", scope=ALICE)
        await kit.feedback(
            answer.retrieval_id,
            [Verdict(memory_id=ids[1], kind="helpful", source="person")],
            scope=ALICE,
        )
        await kit.recall("打印机在哪里？ printer", scope=ALICE)
        await kit.background.join(lane="log")
        twin, worse = HashEmbedder(name="twin"), HashEmbedder(2, name="worse")
        for new in (twin, worse):
            await kit.fill_embedder(new)
        same = await kit.compare_embedders(twin)
        assert same is not None
        assert (same.logged, same.overall.queries, same.overall.telling) == (2, 2, 2)
        assert (same.overall.overlap, same.overall.helpful) == (1.0, 1)
        assert same.overall.old_rank is not None
        assert same.overall.old_rank == same.overall.new_rank
        assert list(same.languages) == ["en", "zh"]
        other = await kit.compare_embedders(worse, queries=1)
        assert other is not None
        assert (other.logged, other.overall.queries) == (1, 1)
        other = await kit.compare_embedders(worse)
        assert other is not None
        assert other.overall.overlap is not None
        assert other.overall.overlap < 1.0
        assert other.overall.new_mrr is not None
        assert other.overall.new_mrr <= 1.0
        assert await kit.compare_embedders(HashEmbedder()) is None


async def test_a_process_that_runs_on_goes_by_words_and_loses_nothing(
    tmp_path: Path, repository: Path
) -> None:
    with ProjectProcess(tmp_path, repository=repository) as running:
        running.ask("remember", NOTES[0])
        running.ask("settle")
        assert running.ask("recall", "invoices") == [NOTES[0]]
        async with open_kit(tmp_path, "none") as operator:
            assert (await operator.switch_embedder(HashEmbedder(32, name="new"))).embedded == 1
        assert running.ask("recall", "invoices") == [NOTES[0]]
        running.ask("remember", NOTES[1])
        indexed, _waiting, problem = running.ask("settle")
        assert "set embedder to new" in problem
        assert indexed == 1
        assert NOTES[1] in running.ask("recall", "reports Fridays")
        # Its warnings stand in its standard error.
        running.kill()
    async with open_kit(tmp_path, HashEmbedder(32, name="new")) as kit:
        assert (await kit.settle()).embedded == 1
        assert NOTES[1] in await found(kit, "reports Fridays")
        assert (await kit.prove()).ok


async def test_a_stale_kit_says_in_its_answers_that_it_went_by_words(tmp_path: Path) -> None:
    """Vectors of the same length too: cosines between two embedders mean nothing."""
    for number, new in enumerate((HashEmbedder(64, name="new"), HashEmbedder(16, name="hash"))):
        folder = tmp_path / str(number)
        async with open_kit(folder, HashEmbedder()) as stale:
            await remembered(stale, *NOTES)
            await found(stale, "door code")
            await stale.switch_embedder(new)
            answer = await stale.recall("door code", scope=ALICE)
            assert "words alone were searched" in answer.degraded
            assert [hit.similarity for hit in answer.hits] == [0.0] * len(answer.hits)
            assert answer.hits[0].memory.content == NOTES[4]
            assert (await stale.remember("Lunch is at noon", scope=ALICE)).memory is not None


def test_a_server_keeps_the_collection_of_the_embedder_in_use_alone(tmp_path: Path) -> None:
    old, new = HashEmbedder(), HashEmbedder(32, name="new")
    with chroma_server(tmp_path / "server") as address:
        settings: dict[str, object] = {"index_url": f"{address}/ours"}

        async def change() -> None:
            async with open_kit(tmp_path, old, **settings) as running:
                await remembered(running, *NOTES[:3])
                async with open_kit(tmp_path, "none", **settings) as operator:
                    assert (await operator.switch_embedder(new)).index.problem == ""
                await running.remember(NOTES[3], scope=ALICE)
                await running.settle()
            async with open_kit(tmp_path, new, **settings) as kit:
                await kit.settle()
                assert (await kit.prove()).indexed == 4

        asyncio.run(change())
        with urlopen(f"{address}{COLLECTIONS}", timeout=30) as answer:
            names = [one["name"] for one in json.load(answer)]
        assert names == [collection_name(EmbedderIdentity("new", 32), prefix="ours")]


class Provider(BaseHTTPRequestHandler):
    """Answers as an embedding provider does, with hashed words."""

    def do_POST(self) -> None:
        """Return one vector a text."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [
            {"object": "embedding", "index": place, "embedding": _vector(text)}
            for place, text in enumerate(asked["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = {"object": "list", "data": rows, "model": asked["model"], "usage": usage}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _vector(text: str) -> list[float]:
    vector = np.full(48, 0.01)
    for term in terms(text):
        vector[term_hash(term) % 48] += 1.0
    return [float(number) for number in vector]


@contextmanager
def provider() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def shell(*words: str, folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment = passed | {"HOME": str(folder), "OPENAI_API_KEY": "x"}
    return subprocess.run(
        [sys.executable, "-m", "agentkit.cli", *words],
        cwd=folder,
        env=environment | {"OPENAI_BASE_URL": url},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_an_owner_changes_over_to_a_provider_from_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "openai:small"
    file = tmp_path / "agentkit.yaml"
    file.write_text("# ours\nembedder: local  # bundled\nindex: chroma\n", encoding="utf-8")

    def here(*words: str) -> str:
        assert run([*words, "--project", str(tmp_path)]) == 0
        return capsys.readouterr().out

    for note in NOTES[:2]:
        here("remember", note, "--user", "alice")
    here("recall", "when do reports go out?", "--user", "alice")
    with provider() as url:

        def there(*words: str) -> str:
            done = shell(*words, folder=tmp_path, url=url)
            assert (done.returncode, done.stderr) == (0, ""), (words, done.stdout, done.stderr)
            return done.stdout

        tried = json.loads(there("reindex", "--embedder", name, "--json"))
        assert tried["filled"] == {"embedder": f"{name}@48", "embedded": 2, "keys": 2}
        assert tried["comparison"]["overall"]["queries"] == 1
        shown = there("reindex", "--embedder", name, "--queries", "5")
        assert "0 keys embedded" in shown
        assert "overlap@10" in shown
        assert "1 logged queries were looked at, 1 could be ranked" in shown
        switched = there("reindex", "--embedder", name, "--switch")
        assert f"recall goes by {name}@48 now; 0 keys were embedded for it" in switched
        assert "2 keys written to the index, 0 waiting" in switched
        assert file.read_text(encoding="utf-8") == (
            f"# ours\nembedder: {name}  # bundled\nindex: chroma\n"
        )
    assert "2 vectors of local@512 removed" in here("reindex", "--embedder", "local", "--drop")
    assert "nothing was removed" in here("reindex", "--embedder", "local", "--drop")


def test_without_a_logged_query_the_command_says_so_and_switching_twice_is_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def begin() -> None:
        async with open_kit(tmp_path, HashEmbedder()) as kit:
            await remembered(kit, *NOTES[:3])

    asyncio.run(begin())
    file = tmp_path / "agentkit.yaml"
    file.write_text("embedder: minilm  # English\n", encoding="utf-8")
    words = ["reindex", "--project", str(tmp_path), "--embedder", "local"]
    assert run(words) == EXIT_FAILED
    # The embedder of this test has no name that the settings know, so nothing can rank with it.
    assert "'hash' is unknown" in capsys.readouterr().err
    assert run([*words, "--switch"]) == 0
    assert "the vectors of hash@64 are kept" in capsys.readouterr().out
    assert file.read_text(encoding="utf-8") == "embedder: local  # English\n"
    assert run(words) == 0
    assert "nothing to compare with" in capsys.readouterr().out
    assert run([*words, "--switch", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["old"], report["embedded"]) == (True, "local@512", 0)
    assert run(["doctor", "--project", str(tmp_path)]) == 0
    assert "3 of hash@64 are kept (768 bytes)" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--embedder", "local", "--switch", "--drop"], EXIT_USAGE, "exclude each other"),
        (["--switch"], EXIT_USAGE, "need --embedder NAME"),
        (["--embedder", "none", "--switch"], EXIT_USAGE, "makes no vectors"),
        (["--embedder", "locall"], EXIT_FAILED, "unknown; use local"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    assert run(["reindex", *words, "--project", str(tmp_path)]) == code
    assert said in capsys.readouterr().err


async def test_vectors_in_use_are_not_dropped_from_the_shell(tmp_path: Path) -> None:
    async with open_kit(tmp_path, HashEmbedder()) as kit:
        await remembered(kit, NOTES[0])
    assert await _dropped(tmp_path) == EXIT_USAGE


async def _dropped(folder: Path) -> int:
    words = ["reindex", "--embedder", "hash", "--drop", "--project", str(folder)]
    return await asyncio.to_thread(run, words)


@pytest.mark.slow
@pytest.mark.skipif(
    not all((cache_folder() / name).is_file() for name in FILES),
    reason="the files of minilm are not on this machine",
)
async def test_the_bundled_embedder_gives_way_to_minilm(tmp_path: Path) -> None:
    async with open_kit(tmp_path, "local") as kit:
        await remembered(kit, *NOTES)
        for note in NOTES:
            await kit.recall(f"Tell me: {note[8:30]}?", scope=ALICE)
        await kit.background.join(lane="log")
        new = other_embedder("minilm")
        await kit.fill_embedder(new)
        compared = await kit.compare_embedders(new)
        assert compared is not None
        print(compared.overall)
        assert compared.overall.overlap is not None
        assert compared.overall.overlap > 0.5
        await kit.switch_embedder(new)
    async with open_kit(tmp_path, "minilm") as kit:
        assert NOTES[6] in await found(kit, "When does the fiscal year begin?")
