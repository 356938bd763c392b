"""Trajectories in a bucket: what an S3 store may answer, and a whole project on one."""

import gzip
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest

from agentkit import Kit
from agentkit.errors import ConfigError, MissingExtraError, StoreError
from agentkit.evaluation.importers import read_recordings
from agentkit.records import Scope
from agentkit.store import open_blobs
from agentkit.store.s3 import S3Address, S3Blobs
from agentkit.testing import FixedClock, HashEmbedder
from tests.buckets import CREDENTIALS, Bucket

ALICE, BOB = Scope("alice"), Scope("bob")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
SHUTDOWN_POLL_S = 0.01
SESSIONS = Path("evals") / "sessions" / "office.openai.jsonl"


def refused(blobs: S3Blobs) -> list[StoreError]:
    """What each operation says where none can be done."""
    found: list[StoreError] = []
    for call in (
        lambda: blobs.put("a", b"1"),
        lambda: blobs.get("blob:a"),
        lambda: blobs.delete("blob:a"),
        blobs.uris,
    ):
        with pytest.raises(StoreError) as caught:
            call()
        found.append(caught.value)
    for error in found:
        assert "\n" not in str(error)
        assert len(str(error)) < 400
        assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in str(error)
    return found


class _Answer(BaseHTTPRequestHandler):
    """Answers everything with the status that the first part of the path names."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b"<?xml version='1.0'?><Error><Code>Said</Code></Error>"
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_DELETE = do_POST = _answer


@pytest.fixture
def answering() -> Iterator[str]:
    """Address of a server that answers with whatever status a path begins with."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    thread = threading.Thread(target=server.serve_forever, args=[SHUTDOWN_POLL_S])
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_bucket_that_is_not_there_is_named(bucket: Bucket) -> None:
    for error in refused(S3Blobs(S3Address.parse("s3://no-such-bucket/p"))):
        assert "s3://no-such-bucket/p at http://127.0.0.1:" in str(error)
        assert "no such bucket" in str(error)
        assert not error.retryable


@pytest.mark.usefixtures("aws_environment")
def test_denied_access_says_which_names_to_look_at(answering: str) -> None:
    for status in (401, 403):
        address = S3Address.parse(f"s3://bucket?endpoint={answering}/{status}")
        for error in refused(S3Blobs(address)):
            assert "denies access; see AWS_ACCESS_KEY_ID" in str(error)
            assert not error.retryable


@pytest.mark.usefixtures("aws_environment")
def test_a_server_that_fails_or_is_not_there_is_given_up_and_may_be_tried_again(
    answering: str,
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for endpoint in (f"{answering}/503", nobody):
        for error in refused(S3Blobs(S3Address.parse(f"s3://bucket?endpoint={endpoint}"))):
            assert "does not answer" in str(error)
            assert error.retryable


@pytest.mark.usefixtures("aws_environment")
def test_a_server_that_takes_the_call_and_says_nothing_is_given_up() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = S3Address.parse(
            f"s3://bucket?endpoint=http://127.0.0.1:{silent.getsockname()[1]}"
        )
        blobs = S3Blobs(address, request_timeout_s=0.1)
        for error in refused(blobs):
            assert "does not answer" in str(error)


def test_the_address_goes_before_the_environment(bucket: Bucket, answering: str) -> None:
    other = f"{bucket.url}/p?endpoint={bucket.server.endpoint}&region=eu-west-1"
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
            environment.setenv(name, f"{answering}/503")
        blobs = open_blobs(other, folder=Path("unused"))
        assert blobs.get(blobs.put("a", b"1")) == b"1"
    assert bucket.objects() == {"p/a": b"1"}


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///prefix",
        "bucket",
        "https://bucket.internal/prefix",
        "s3://bucket/a/../b",
        "s3://bucket/a//b",
        "s3://bucket/päth",
        "s3://bucket#part",
        "s3://bucket?endpoint=s3.internal",
        "s3://tester:hush-hush@bucket/p",
        "s3://bucket?secret_access_key=hush-hush",
        "s3://bucket?endpoint=https://tester:hush-hush@s3.internal",
        "s3://bucket?hush-hush",
        "s3://[hush-hush",
    ],
)
@pytest.mark.usefixtures("aws_environment")
def test_an_address_that_is_none_is_refused_and_its_secrets_are_not_told(url: str) -> None:
    with pytest.raises(ConfigError, match=r"blobs_url.*s3://BUCKET/PREFIX") as caught:
        open_blobs(url, folder=Path("unused"))
    assert "hush-hush" not in str(caught.value)


def test_what_goes_in_the_clear_must_be_meant(aws_environment: pytest.MonkeyPatch) -> None:
    aws_environment.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(ConfigError, match="AWS_ALLOW_HTTP=true"):
        open_blobs("s3://bucket?endpoint=http://127.0.0.1:1", folder=Path("unused"))


def test_without_the_extra_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match=r"agentkit-hindsight\[s3\]"):
        open_blobs("s3://bucket", folder=Path("unused"))


def test_a_fork_of_a_process_that_used_it_is_told_so_and_does_not_hang(bucket: Bucket) -> None:
    blobs = open_blobs(bucket.url, folder=Path("unused"))
    blobs.put("a", b"1")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            blobs.uris()
        except StoreError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as said:
        assert "forked" in said.read()


def open_kit(root: Path, url: str | None) -> Kit:
    return Kit.open(
        root,
        clock=FixedClock(NOW),
        embedder=HashEmbedder(),
        index="none",
        worker="external",
        blobs_url=url,
    )


async def test_a_project_works_on_a_bucket_from_the_run_to_the_purge(
    bucket: Bucket, tmp_path: Path, repository: Path
) -> None:
    url = f"{bucket.url}/acme"
    bucket.put("acme-corp/trajectories/x/other.jsonl.gz", b"of another project")
    file = tmp_path / "all.jsonl.gz"
    async with open_kit(tmp_path / "a", url) as kit:
        recordings = read_recordings(repository / SESSIONS).recordings
        await kit.import_recordings(recordings, scope=ALICE)
        await kit.import_recordings(recordings[:1], scope=BOB)
        episodes = await kit.episodes(scope=ALICE)
        steps = (await kit.trajectory(episodes[0].episode_id, scope=ALICE)).steps
        assert steps
        assert (await kit.reflect())[0].admitted
        assert all(check.ok for check in await kit.doctor())
        assert (await kit.prove()).ok
        await kit.export_to(file, scope=None)
        assert not (tmp_path / "a" / ".agentkit" / "trajectories").exists()
    held = bucket.objects()
    assert len(held) == len(episodes) + 2
    assert all(gzip.decompress(held[name]) for name in held if name.startswith("acme/"))

    async with open_kit(tmp_path / "b", f"{bucket.url}/restored") as other:
        report = await other.restore_from(file)
        assert report.added["episode"] == len(episodes) + 1
        assert (await other.trajectory(episodes[0].episode_id, scope=ALICE)).steps == steps
        await other.settle()
        assert (await other.prove()).ok
        await other.purge_user(scope=ALICE)
        await other.purge_user(scope=BOB)
    assert bucket.objects() == held


async def test_doctor_finds_what_a_bucket_lost_and_what_nobody_needs(
    bucket: Bucket, tmp_path: Path, repository: Path
) -> None:
    async with open_kit(tmp_path, bucket.url) as kit:
        recordings = read_recordings(repository / SESSIONS).recordings
        await kit.import_recordings(recordings, scope=ALICE)
        await kit.settle()
        names = sorted(bucket.objects())
        lost, changed, kept = names[0], names[1], names[2]
        bucket.delete(lost)
        bucket.put(changed, bucket.objects()[kept])
        yesterday_ms = int((NOW - timedelta(days=1)).timestamp() * 1_000)
        orphan = f"trajectories/x/{UUID(int=yesterday_ms << 80 | 0x7 << 76 | 0x2 << 62)}.jsonl.gz"
        bucket.put(orphan, b"left by a crash")
        found = await kit.prove()
        assert {item.kind: len(item.subjects) for item in found.disagreements} == {
            "blob missing": 1,
            "blob damaged": 1,
            "blob orphaned": 1,
        }
        checks = {check.name: check for check in await kit.doctor()}
        assert not checks["blobs"].ok
        damaged = next(item for item in found.disagreements if item.kind == "blob damaged")
        with pytest.raises(StoreError, match="its hash differs"):
            await kit.trajectory(damaged.subjects[0], scope=ALICE)
        await kit.mend(found)
        assert orphan not in bucket.objects()


async def test_doctor_tells_of_a_bucket_that_cannot_be_reached(
    aws_environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    aws_environment.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    async with open_kit(tmp_path, "s3://bucket") as kit:
        memory = (await kit.remember("Invoices are on floor three", scope=ALICE)).memory
        checks = {check.name: check for check in await kit.doctor()}
        assert "s3://bucket at http://127.0.0.1:1 does not answer" in checks["blobs"].detail
        assert "blobs_url" in checks["blobs"].fix
        hits = (await kit.recall("where are invoices?", scope=ALICE)).hits
        assert [hit.memory for hit in hits] == [memory]


async def test_a_trajectory_that_cannot_be_read_now_is_not_called_lost(
    tmp_path: Path, repository: Path
) -> None:
    async with open_kit(tmp_path, None) as kit:
        recordings = read_recordings(repository / SESSIONS).recordings
        await kit.import_recordings(recordings[:2], scope=ALICE)
        await kit.settle()
        first, _ = sorted((tmp_path / ".agentkit" / "trajectories").rglob("*.gz"))
        first.unlink()
        first.mkdir()
        (found,) = (await kit.prove()).disagreements
        assert (found.kind, len(found.subjects), found.mendable) == ("blob unread", 1, False)
