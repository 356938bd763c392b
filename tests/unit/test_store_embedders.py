"""Embedders: what they take, what they refuse, what they say."""

from pathlib import Path

import numpy as np
import pytest
from pydantic_ai.embeddings import TestEmbeddingModel

from agentkit.errors import EmbedderError
from agentkit.ports import Embedder
from agentkit.store import open_embedder
from agentkit.store.embedders.local import LocalEmbedder
from agentkit.store.embedders.minilm import MiniLmEmbedder
from agentkit.store.embedders.provider import ProviderEmbedder
from agentkit.store.embedders.texts import clean
from agentkit.testing import HashEmbedder, TableEmbedder

AWKWARD = ["", " \n", "half \ud83d pair", "nul\x00", "绿茶", "word " * 30_000]


def test_none_is_no_embedder() -> None:
    assert open_embedder("none") is None


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(EmbedderError, match="local, minilm, none"):
        open_embedder("locl")


async def test_names_are_known_without_loading_anything() -> None:
    assert isinstance(open_embedder("local"), LocalEmbedder)
    assert isinstance(open_embedder("minilm"), MiniLmEmbedder)
    provider = open_embedder("openai:text-embedding-3-small")
    assert isinstance(provider, ProviderEmbedder)
    assert provider.name == "openai:text-embedding-3-small"
    assert (await LocalEmbedder().identity()).fingerprint == "local@512"


async def test_a_provider_without_key_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="API key"):
        await ProviderEmbedder("openai:text-embedding-3-small").identity()
    with pytest.raises(EmbedderError, match="check its name"):
        await ProviderEmbedder("nobody:at-all").identity()


async def test_minilm_never_downloads(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="never downloads"):
        await MiniLmEmbedder(folder=tmp_path / "onnx").embed(["x"], kind="query")


async def test_a_provider_embedder_is_asked_in_batches_and_its_rows_are_unit_long() -> None:
    embedder = ProviderEmbedder("test:three", model=TestEmbeddingModel(dimensions=3))
    assert (await embedder.identity()).dim == 3
    vectors = await embedder.embed([*AWKWARD, *["x"] * 200], kind="document")
    assert vectors.shape == (206, 3)
    assert not vectors[:2].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[2:], axis=1), 1, atol=1e-6)
    assert (await embedder.embed([], kind="document")).shape == (0, 3)


@pytest.mark.parametrize("embedder", [HashEmbedder(), LocalEmbedder()], ids=["hash", "local"])
async def test_any_text_has_a_vector_and_a_blank_one_has_none(embedder: Embedder) -> None:
    dim = (await embedder.identity()).dim
    vectors = await embedder.embed(AWKWARD, kind="document")
    assert (vectors.shape, vectors.dtype) == ((len(AWKWARD), dim), np.float32)
    assert not vectors[:2].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[2:], axis=1), 1, atol=1e-5)
    assert (await embedder.embed([], kind="query")).shape == (0, dim)
    query = await embedder.embed(["green tea"], kind="query")
    np.testing.assert_array_equal(query, await embedder.embed(["green tea"], kind="query"))


async def test_a_caller_that_writes_into_a_vector_does_not_spoil_the_next_answer() -> None:
    embedder = LocalEmbedder()
    first = await embedder.embed(["green tea"], kind="query")
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(await embedder.embed(["green tea"], kind="query"), kept)


async def test_the_local_embedder_brings_languages_together() -> None:
    vectors = await LocalEmbedder().embed(
        ["fill missing values with the median", "用中位数填补缺失值", "book a flight to Paris"],
        kind="document",
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


async def test_texts_that_share_words_are_near_under_hashing() -> None:
    vectors = await HashEmbedder().embed(
        ["fill gaps with the median", "the median fills gaps", "book a flight"], kind="query"
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


async def test_a_table_embedder_knows_its_table_only() -> None:
    embedder = TableEmbedder({"a": (3, 4), "b": (0, 0)})
    vectors = await embedder.embed(["a", "b"], kind="query")
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 0]], atol=1e-6)
    with pytest.raises(EmbedderError, match="no vector for 'c'"):
        await embedder.embed(["c"], kind="query")
    with pytest.raises(ValueError, match="one length"):
        TableEmbedder({"a": (1,), "b": (1, 2)})


def test_long_texts_are_cut_where_the_embedder_would_stall() -> None:
    cleaned = clean(["x" * 100_000, " "])
    assert (len(cleaned.texts[0]), cleaned.places, cleaned.total) == (2_000, [0], 2)
