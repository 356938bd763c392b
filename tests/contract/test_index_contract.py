"""One behaviour for every vector index."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from agentkit.ports import EmbedderIdentity, IndexItem, VectorIndex
from agentkit.records import Float32Array
from agentkit.testing import MemoryVectorIndex


@pytest.fixture(params=["chroma", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    if request.param == "memory":
        yield MemoryVectorIndex()
        return
    from agentkit.store.chroma import ChromaIndex

    chroma = ChromaIndex(tmp_path / "index", identity=EmbedderIdentity("table", 3))
    yield chroma
    chroma.close()


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


def test_the_most_similar_key_comes_first(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0)), item("b:0", vector(1, 1, 0))])
    found = index.query(vector(1, 0.1, 0), user_id="u1", limit=5)
    assert [key for key, _ in found] == ["a:0", "b:0"]
    assert found[0][1] == pytest.approx(0.995, abs=1e-3)


def test_more_is_asked_than_there_is(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0))])
    assert len(index.query(vector(1, 0, 0), user_id="u1", limit=50)) == 1


def test_an_empty_index_answers_with_nothing(index: VectorIndex) -> None:
    assert index.query(vector(1, 0, 0), user_id="u1", limit=5) == []
    assert index.ids() == set()


def test_another_users_keys_never_come_back(index: VectorIndex) -> None:
    near = vector(1, 0, 0)
    index.upsert([item("a:0", near, user_id="acme"), item("b:0", near, user_id="acme-corp")])
    assert [key for key, _ in index.query(near, user_id="acme", limit=5)] == ["a:0"]
    assert index.ids(user_id="acme") == {"a:0"}
    assert index.ids() == {"a:0", "b:0"}


def test_writing_a_key_again_overwrites_it(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0))])
    index.upsert([item("a:0", vector(0, 1, 0))])
    assert index.query(vector(0, 1, 0), user_id="u1", limit=5)[0][1] == pytest.approx(1.0, abs=1e-5)
    assert index.ids() == {"a:0"}


def test_deleting_tolerates_unknown_keys_and_none_at_all(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0)), item("b:0", vector(0, 1, 0))])
    index.delete(["a:0", "ghost:0"])
    index.delete([])
    index.upsert([])
    assert index.ids() == {"b:0"}


def test_a_zero_vector_is_similar_to_nothing(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(0, 0, 0)), item("b:0", vector(1, 0, 0))])
    assert index.query(vector(1, 0, 0), user_id="u1", limit=5)[0][0] == "b:0"


def test_clearing_leaves_an_index_that_works(index: VectorIndex) -> None:
    index.upsert([item("a:0", vector(1, 0, 0))])
    index.clear()
    assert index.ids() == set()
    index.upsert([item("b:0", vector(1, 0, 0))])
    assert index.ids() == {"b:0"}


def test_chroma_keeps_more_keys_than_one_of_its_calls_takes(tmp_path: Path) -> None:
    from agentkit.store.chroma import ChromaIndex

    chroma = ChromaIndex(tmp_path, identity=EmbedderIdentity("table", 3))
    wanted = {f"m{number}:0" for number in range(5_600)}
    chroma.upsert([item(key, vector(1, len(key), int(key[1:-2]))) for key in sorted(wanted)])
    assert chroma.ids() == wanted
    chroma.delete(sorted(wanted))
    assert chroma.ids() == set()
    chroma.close()


def test_two_embedders_never_share_a_collection(tmp_path: Path) -> None:
    from agentkit.store.chroma import ChromaIndex

    first = ChromaIndex(tmp_path, identity=EmbedderIdentity("one", 3))
    first.upsert([item("a:0", vector(1, 0, 0))])
    first.close()
    second = ChromaIndex(tmp_path, identity=EmbedderIdentity("other", 3))
    assert second.ids() == set()
    second.close()
