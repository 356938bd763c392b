"""One behaviour for every blob store."""

from pathlib import Path

import pytest

from agentkit.errors import StoreError
from agentkit.ports import BlobStore
from agentkit.store import FolderBlobs, open_blobs
from agentkit.testing import MemoryBlobs
from tests.buckets import Bucket


@pytest.fixture(params=["folder", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "memory":
        return MemoryBlobs()
    url = None
    if request.param == "s3":
        bucket: Bucket = request.getfixturevalue("bucket")
        url = f"{bucket.url}/deep/blobs"
    return open_blobs(url, folder=tmp_path / "blobs")


def test_an_object_comes_back_as_it_was_written(blobs: BlobStore) -> None:
    uri = blobs.put("a/b.gz", b"\x00\xff")
    assert blobs.get(uri) == b"\x00\xff"
    assert blobs.uris() == {uri}


def test_writing_the_same_object_again_is_harmless(blobs: BlobStore) -> None:
    assert blobs.put("a", b"1") == blobs.put("a", b"1")


def test_an_object_never_changes(blobs: BlobStore) -> None:
    uri = blobs.put("a", b"1")
    with pytest.raises(StoreError, match="never change"):
        blobs.put("a", b"2")
    assert blobs.get(uri) == b"1"


def test_a_missing_object_is_said_to_be_missing(blobs: BlobStore) -> None:
    uri = blobs.put("a", b"1")
    blobs.delete(uri)
    blobs.delete(uri)
    with pytest.raises(StoreError, match="missing"):
        blobs.get(uri)
    assert blobs.uris() == set()


def test_every_object_is_listed_however_many_there_are(blobs: BlobStore) -> None:
    assert blobs.uris() == set()
    wanted = {blobs.put(f"t/{n % 7}/{n}", b"1") for n in range(40)}
    assert blobs.uris() == wanted


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_prefix_is_kept_apart_from_one_that_begins_like_it(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    url = request.getfixturevalue("bucket").url if kind == "s3" else None
    names = ("acme", "acme-corp", "Acme", "acme/eu", "ácme", "")
    stores = [open_blobs(url, folder=tmp_path, prefix=name) for name in names]
    uri = stores[1].put("a", b"1")
    assert [store.uris() for store in stores[:5]] == [set(), {uri}, set(), set(), set()]
    with pytest.raises(StoreError, match="missing"):
        stores[0].get(uri)
    stores[0].delete(uri)
    assert stores[1].get(uri) == b"1"


@pytest.mark.parametrize(
    "name", ["../../out", "/etc/out", "a/../../out", "álice/*", "..", "日本", ""]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "deep" / "blobs"
    uri = FolderBlobs(root).put(name, b"x")
    assert FolderBlobs(root).get(uri) == b"x"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].is_relative_to(root)


@pytest.mark.parametrize("uri", ["blob:../secret", "file:/etc/passwd", "blob:/etc/passwd", "a"])
def test_no_address_leads_out_of_the_folder(tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret").write_bytes(b"no")
    with pytest.raises(StoreError, match="no address"):
        FolderBlobs(tmp_path / "blobs").get(uri)


def test_a_half_written_object_is_not_there(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    uri = blobs.put("a/b", b"1")
    (tmp_path / "a" / ".tmp-left-by-a-crash").write_bytes(b"half")
    assert blobs.uris() == {uri}


def test_what_a_dead_process_never_finished_is_listed_and_can_be_deleted(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    uri = blobs.put(f"a/{'x' * 120}", b"1")
    unfinished = tmp_path / "a" / f"{'x' * 100}.tmp-1a2b3c4d"
    unfinished.write_bytes(b"half")
    (left,) = blobs.uris() - {uri}
    blobs.delete(left)
    assert not unfinished.exists()
    assert blobs.uris() == {uri}
