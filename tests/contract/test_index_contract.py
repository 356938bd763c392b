"""One behaviour for every vector index."""

import itertools
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from agentkit.errors import ConfigError, StoreError
from agentkit.ports import EmbedderIdentity, IndexItem, VectorIndex
from agentkit.records import Float32Array
from agentkit.store import index_slot
from agentkit.store.addresses import IndexAddress
from agentkit.testing import MemoryVectorIndex
from tests.index_servers import chroma_server

TABLE = EmbedderIdentity("table", 3)
_numbers = itertools.count()


@dataclass
class Backend:
    """A way to open the same index again and again.

    Attributes:
        open: Opens it for an embedder.
        kept: Whether what was written is there after closing and opening.
        shared: Whether two may be open at once.
    """

    open: Callable[[EmbedderIdentity], VectorIndex]
    kept: bool = True
    shared: bool = False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with chroma_server(tmp_path_factory.mktemp("chroma") / "data") as url:
        yield url


def _slow(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.slow)


BACKENDS = ["chroma", "memory", *map(_slow, ("chroma server", "qdrant memory", "qdrant path"))]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    kind = str(request.param)
    if kind == "memory":
        return Backend(lambda _identity: MemoryVectorIndex(), kept=False)
    if kind == "chroma":
        from agentkit.store.chroma import ChromaIndex

        return Backend(lambda identity: ChromaIndex(tmp_path / "index", identity=identity))
    if kind == "chroma server":
        from agentkit.store.chroma import ChromaServerIndex

        url = f"{request.getfixturevalue('server')}/contract-{next(_numbers)}"
        address = IndexAddress.parse(url)
        return Backend(lambda identity: ChromaServerIndex(address, identity=identity), shared=True)
    from agentkit.store.qdrant import QdrantIndex

    if kind == "qdrant memory":
        return Backend(lambda identity: QdrantIndex(None, identity=identity), kept=False)
    return Backend(lambda identity: QdrantIndex(tmp_path / "index", identity=identity))


@pytest.fixture
def index(backend: Backend) -> Generator[VectorIndex]:
    opened = backend.open(TABLE)
    yield opened
    opened.close()


def vector(*numbers: float) -> Float32Array:
    raw = np.array(numbers, dtype=np.float32)
    length = float(np.linalg.norm(raw))
    return raw / np.float32(length) if length else raw


def item(key_id: str, held: Float32Array, *, user_id: str = "u1") -> IndexItem:
    return IndexItem(
        key_id=key_id,
        user_id=user_id,
        agent_id=None,
        memory_id=key_id.partition(":")[0],
        memory_type="semantic",
        vector=held,
    )


def names(index: VectorIndex, *, user_id: str = "u1", key_ids: list[str] | None = None) -> set[str]:
    found = index.query(vector(1, 0, 0), user_id=user_id, limit=50, key_ids=key_ids)
    return {key for key, _ in found}


def test_the_most_similar_key_comes_first(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0)), item("b:0", vector(1, 1, 0))])
    found = index.query(vector(1, 0.1, 0), user_id="u1", limit=5)
    assert [key for key, _ in found] == ["a:0", "b:0"]
    assert found[0][1] == pytest.approx(0.995, abs=1e-3)


def test_similarity_rises_with_closeness_from_minus_one_to_one(index: VectorIndex) -> None:
    sides = {"near:0": vector(1, 0, 0), "far:0": vector(0, 1, 0), "anti:0": vector(-1, 0, 0)}
    index.upsert([item(key, held) for key, held in sides.items()])
    found = dict(index.query(vector(1, 0, 0), user_id="u1", limit=3))
    assert found == pytest.approx({"near:0": 1.0, "far:0": 0.0, "anti:0": -1.0}, abs=1e-5)


def test_more_is_asked_than_there_is(index: VectorIndex) -> None:
    index.upsert([item(f"{name}:0", vector(1, 0, 0)) for name in "abc"])
    assert len(index.query(vector(1, 0, 0), user_id="u1", limit=50)) == 3


def test_an_empty_index_answers_with_nothing(index: VectorIndex) -> None:
    assert index.query(vector(1, 0, 0), user_id="u1", limit=5) == []
    assert index.query(vector(1, 0, 0), user_id="u1", limit=5, key_ids=["a:0"]) == []
    assert index.get(["a:0"]) == []
    assert index.get([]) == []
    assert index.ids() == set()
    index.clear()
    assert index.ids() == set()


def test_another_users_keys_never_come_back(index: VectorIndex) -> None:
    near = vector(1, 0, 0)
    users = ["acme", "acme-corp", "Acme", "Ácme", "ac%", "分析"]
    index.upsert([item(f"{n}:0", near, user_id=user) for n, user in enumerate(users)])
    for number, user in enumerate(users):
        assert names(index, user_id=user) == {f"{number}:0"}
        assert index.ids(user_id=user) == {f"{number}:0"}
    assert names(index, user_id="acme", key_ids=["1:0", "2:0"]) == set()
    assert names(index, user_id="ac") == set()
    assert len(index.ids()) == len(users)


def test_a_crowded_neighbour_never_starves_a_user(index: VectorIndex) -> None:
    crowd = [item(f"c{n}:0", vector(1, 0, n / 1_000), user_id="crowd") for n in range(600)]
    index.upsert([*crowd, item("mine:0", vector(0, 1, 0))])
    assert names(index) == {"mine:0"}


def test_writing_a_key_again_overwrites_vector_and_fields(index: VectorIndex) -> None:
    index.upsert([replace(item("a:0", vector(1, 0, 0)), agent_id="helper")])
    index.upsert([item("a:0", vector(0, 1, 0), user_id="u2")])
    assert names(index) == set()
    found = index.query(vector(0, 1, 0), user_id="u2", limit=5)
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    (held,) = index.get(["a:0"])
    assert (held.agent_id, held.user_id) == (None, "u2")
    assert index.ids() == {"a:0"}


def test_what_was_written_is_read_back(index: VectorIndex) -> None:
    written = replace(
        item("m1:2", vector(1, 2, 3)), agent_id="helper", memory_id="m1", memory_type="procedural"
    )
    index.upsert([written, item("m2:0", vector(0, 1, 0))])
    (held,) = index.get(["m1:2", "ghost:0"])
    assert np.allclose(held.vector, written.vector, atol=1e-6)
    assert replace(held, vector=written.vector).memory_type == "procedural"
    assert (held.key_id, held.user_id, held.agent_id, held.memory_id) == (
        "m1:2",
        "u1",
        "helper",
        "m1",
    )


def test_deleting_tolerates_unknown_keys_and_none_at_all(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0)), item("b:0", vector(0, 1, 0))])
    index.delete(["a:0", "ghost:0"])
    index.delete([])
    index.upsert([])
    assert index.ids() == {"b:0"}
    assert names(index) == {"b:0"}
    assert index.get(["a:0"]) == []


def test_unknown_ids_in_a_filter_never_break_a_query(index: VectorIndex) -> None:
    index.upsert([item(f"{name}:0", vector(1, 0, 0)) for name in ("m1", "m3", "m4")])
    assert names(index, key_ids=["m1:0", "m2:0", "m3:0"]) == {"m1:0", "m3:0"}
    assert names(index, key_ids=["ghost:0"]) == set()
    assert names(index, key_ids=[]) == set()


def test_a_filter_may_name_forty_thousand_ids(index: VectorIndex) -> None:
    index.upsert([item("m7:0", vector(1, 0, 0)), item("other:0", vector(1, 0, 0))])
    assert names(index, key_ids=[f"m{number}:0" for number in range(40_000)]) == {"m7:0"}


def test_a_vector_of_another_length_is_refused_and_nothing_is_written(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0))])
    wrong = vector(1, 0, 0, 0)
    with pytest.raises(StoreError, match=r"3 dimensions.*has 4"):
        index.upsert([item("b:0", vector(0, 1, 0)), item("c:0", wrong)])
    with pytest.raises(StoreError, match="3 dimensions"):
        index.query(wrong, user_id="u1", limit=5)
    assert index.ids() == {"a:0"}
    assert names(index) == {"a:0"}


def test_a_zero_vector_is_similar_to_nothing(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(0, 0, 0)), item("b:0", vector(1, 0, 0))])
    assert index.query(vector(1, 0, 0), user_id="u1", limit=5)[0][0] == "b:0"


def test_clearing_leaves_an_index_that_works(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0))])
    index.set_building(True)
    index.clear()
    assert index.ids() == set()
    assert not index.is_building()
    index.upsert([item("b:0", vector(1, 0, 0))])
    assert index.ids() == {"b:0"}


def test_the_mark_of_a_rebuild_is_kept_with_the_index(backend: Backend) -> None:
    index = backend.open(TABLE)
    assert not index.is_building()
    index.set_building(True)
    assert index.is_building()
    if backend.kept:
        index.close()
        index = backend.open(TABLE)
        assert index.is_building()
    index.upsert([item("a:0", vector(1, 0, 0))])
    index.set_building(False)
    assert not index.is_building()
    assert names(index) == {"a:0"}
    index.close()


def test_a_second_reader_sees_what_was_written_and_deleted(backend: Backend) -> None:
    if not backend.kept:
        pytest.skip("lives in one process")
    first = backend.open(TABLE)
    first.upsert([item("m1:0", vector(1, 0, 0))])
    assert names(first) == {"m1:0"}
    if not backend.shared:
        first.close()
    second = backend.open(TABLE)
    second.upsert([item("m2:0", vector(1, 0.1, 0))])
    second.delete(["m1:0"])
    if not backend.shared:
        second.close()
        first = backend.open(TABLE)
    assert names(first) == {"m2:0"}
    assert {held.key_id for held in first.get(["m1:0", "m2:0"])} == {"m2:0"}
    if backend.shared:
        second.clear()
        assert names(first) == set()
        first.upsert([item("m3:0", vector(1, 0, 0))])
        assert names(second) == {"m3:0"}
        second.close()
    first.close()


def test_two_embedders_never_share_a_collection(backend: Backend) -> None:
    first = backend.open(EmbedderIdentity("one", 3))
    first.upsert([item("a:0", vector(1, 0, 0))])
    first.close()
    second = backend.open(EmbedderIdentity("other", 3))
    assert second.ids() == set()
    second.close()


def test_an_index_keeps_more_keys_than_one_call_takes(index: VectorIndex) -> None:
    wanted = {f"m{number}:0" for number in range(5_600)}
    index.upsert([item(key, vector(1, len(key), int(key[1:-2]))) for key in sorted(wanted)])
    assert index.ids() == wanted
    assert len(index.get(sorted(wanted))) == len(wanted)
    index.delete(sorted(wanted))
    assert index.ids() == set()


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/name",
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/a/b",
        "http://127.0.0.1:x/name",
        "ftp://127.0.0.1/name",
        "http://person:secret@127.0.0.1/name",
        "http://127.0.0.1/name?x=1",
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError, match="index_url") as caught:
        IndexAddress.parse(url)
    assert "secret" not in str(caught.value)


def test_an_address_is_read_as_it_is_written() -> None:
    address = IndexAddress.parse("https://[::1]:9/my-project/")
    assert (address.host, address.port, address.tls, address.name) == ("::1", 9, True, "my-project")
    assert IndexAddress.parse(address.url) == address


def test_an_unknown_index_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'chrome' is unknown.*chroma, qdrant or none"):
        index_slot("chrome", state=tmp_path, url=None)


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
def test_a_server_that_is_down_is_a_typed_error_that_may_pass(tmp_path: Path, kind: str) -> None:
    slot = index_slot(kind, state=tmp_path, url="http://127.0.0.1:9/project")
    with pytest.raises(StoreError, match="9/project refused") as caught:
        slot.owned(TABLE)
    assert caught.value.retryable
    slot.close()


@pytest.mark.slow
def test_a_server_that_goes_down_later_is_a_typed_error(tmp_path: Path) -> None:
    from agentkit.store.chroma import ChromaServerIndex

    with chroma_server(tmp_path / "data") as url:
        held = ChromaServerIndex(IndexAddress.parse(f"{url}/project"), identity=TABLE)
        held.upsert([item("a:0", vector(1, 0, 0))])
    with pytest.raises(StoreError):
        held.upsert([item("b:0", vector(1, 0, 0))])
    held.close()


@pytest.mark.slow
def test_two_projects_on_one_server_never_touch_each_other(server: str) -> None:
    from agentkit.store.chroma import ChromaServerIndex

    first, second = (
        ChromaServerIndex(IndexAddress.parse(f"{server}/{name}"), identity=TABLE)
        for name in ("one", "two")
    )
    first.upsert([item("a:0", vector(1, 0, 0))])
    assert second.ids() == set()
    second.clear()
    assert first.ids() == {"a:0"}
    first.close()
    second.close()
