"""Vectors of the texts of a corpus, embedded once and kept on disk."""

import hashlib
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from agentkit.errors import InputError
from agentkit.ports import Embedder, EmbedderIdentity, EmbedKind
from agentkit.records import Float32Array

# Small enough for a progress bar that moves, large enough that numpy is busy.
BATCH_TEXTS = 128
# A run that is stopped loses at most this many vectors.
TEXTS_PER_FILE = 4096
_UNSAFE = re.compile(r"[^A-Za-z0-9.@-]+")


class VectorCache:
    """Embeds texts, and reads what was embedded before from a folder.

    A vector is kept under a hash of the embedder's fingerprint, the kind and the text, so another
    embedder, or a changed text, is never served an old vector. Files are only ever added: several
    processes may share the folder.
    """

    def __init__(self, folder: Path | None) -> None:
        """Read nothing yet.

        Args:
            folder: Where vectors are kept, or None to keep them for this run only.
        """
        self._folder = folder
        self._held: dict[bytes, Float32Array] = {}
        self._fresh: list[bytes] = []
        self._read: set[Path] = set()

    async def embed(
        self,
        texts: Sequence[str],
        *,
        kind: EmbedKind,
        embedder: Embedder,
        progress: Callable[[int], None],
    ) -> Float32Array:
        """Return one vector a text.

        Args:
            texts: Texts, with repeats or without.
            kind: Whether they are queries or documents.
            embedder: Who embeds what is not held.
            progress: Told the number of texts done, whenever it grew.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised.

        Raises:
            EmbedderError: If the embedder fails.
            InputError: If a file of the folder cannot be read.
        """
        identity = await embedder.identity()
        self._load(identity)
        keys = [vector_key(text, kind=kind, identity=identity) for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._held
        }
        wanted = list(missing)
        for start in range(0, len(wanted), BATCH_TEXTS):
            progress(len(texts) - len(wanted) + start)
            batch = wanted[start : start + BATCH_TEXTS]
            vectors = await embedder.embed([missing[key] for key in batch], kind=kind)
            self._held.update(zip(batch, vectors, strict=True))
            self._fresh.extend(batch)
            if len(self._fresh) >= TEXTS_PER_FILE:
                self._save(identity)
        self._save(identity)
        progress(len(texts))
        if not keys:
            return np.zeros((0, identity.dim), dtype=np.float32)
        return np.stack([self._held[key] for key in keys])

    def _load(self, identity: EmbedderIdentity) -> None:
        """Read the files of this embedder that were not read yet."""
        if self._folder is None:
            return
        for file in sorted(self._folder.glob(f"{_slug(identity)}-*.npz")):
            if file in self._read:
                continue
            try:
                with np.load(file, allow_pickle=False) as held:
                    keys, vectors = held["keys"], held["vectors"]
            except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
                raise InputError(
                    f"{file}: no vector cache ({error}); delete it and run again"
                ) from error
            self._held.update(zip((key.tobytes() for key in keys), vectors, strict=True))
            self._read.add(file)

    def _save(self, identity: EmbedderIdentity) -> None:
        """Write what is new into a file of its own, whole or not at all."""
        if self._folder is None or not self._fresh:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(b"".join(self._fresh)).hexdigest()[:16]
        file = self._folder / f"{_slug(identity)}-{name}.npz"
        half_written = file.with_suffix(".part")
        keys = np.frombuffer(b"".join(self._fresh), dtype=np.uint8)
        with half_written.open("wb") as target:
            np.savez(
                target,
                keys=keys.reshape(len(self._fresh), -1),
                vectors=np.stack([self._held[key] for key in self._fresh]),
            )
        half_written.replace(file)
        self._read.add(file)
        self._fresh.clear()


def vector_key(text: str, *, kind: EmbedKind, identity: EmbedderIdentity) -> bytes:
    """Return the 32 bytes under which the vector of a text is kept.

    Args:
        text: The text.
        kind: Whether it is a query or a document.
        identity: Who embeds it.
    """
    parts = (identity.fingerprint, kind, text)
    joined = b"\x00".join(part.encode("utf-8", "replace") for part in parts)
    return hashlib.sha256(joined).digest()


def _slug(identity: EmbedderIdentity) -> str:
    return _UNSAFE.sub("_", identity.fingerprint)
