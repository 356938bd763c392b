"""MiniLM as Chroma ships it, where its files are on this machine already."""

from pathlib import Path

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.records import Float32Array
from agentkit.store.embedders.threaded import Encode, ThreadedEmbedder

NAME = "minilm"
DIM = 384
FILES = (
    "config.json",
    "model.onnx",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


class MiniLmEmbedder(ThreadedEmbedder):
    """all-MiniLM-L6-v2 through ONNX; English. It never downloads anything."""

    def __init__(self, *, folder: Path | None = None) -> None:
        """Load nothing yet.

        Args:
            folder: Folder with the model's files, or None for Chroma's own cache.
        """
        super().__init__(name=NAME, dim=DIM, load=lambda: _load(folder or cache_folder()))


def cache_folder() -> Path:
    """Return the folder where Chroma keeps the model's files."""
    return Path.home() / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"


def _load(folder: Path) -> Encode:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise EmbedderError(
            f"embedder {NAME!r} needs {', '.join(missing)} in {folder}; agentkit never downloads "
            "a model: unpack the model there, or set embedder to local"
        )
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    class FromFolder(ONNXMiniLM_L6_V2):
        """The same model, read from the folder that was checked."""

        DOWNLOAD_PATH = folder.parent
        EXTRACTED_FOLDER_NAME = folder.name

    model = FromFolder(preferred_providers=["CPUExecutionProvider"])

    def encode(texts: list[str]) -> Float32Array:
        return np.stack([np.asarray(row, dtype=np.float32) for row in model(texts)])

    return encode
