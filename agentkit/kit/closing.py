"""Tells at the end of a turn whether the task is over: by words, and by meaning in time."""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.kit.embedding import try_embed
from agentkit.kit.parts import Parts
from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.ports import Embedder
from agentkit.records import EndReason, Float32Array
from agentkit.store import offload
from agentkit.working import ClosingJudge, Turn, decide, open_to_meaning, parts_of

logger = logging.getLogger("agentkit")

FILE_NAME = "closing.npz"
# The bundled embedder takes 10 ms; a run does not wait longer to learn that its task is over.
LIMIT_S = 0.5


class Closing:
    """Decides whether a task ends with the turn that was answered.

    Embedding the examples of the policy takes a second or two, so it is done once, beside the
    caller, when a conversation first has use for it, and kept in a file; until then, and where
    there is no embedder, words decide alone.

    Attributes:
        is_wanted: Whether a message was left to the words for want of `prepare`.
    """

    def __init__(
        self, embedder: Embedder | None, *, policy: BoundariesPolicy, folder: Path | None
    ) -> None:
        """Read nothing yet.

        Args:
            embedder: Who embeds messages and examples, or None for words alone.
            policy: Words, examples and thresholds.
            folder: Where the vectors of the examples are kept, or None to keep none.
        """
        self._embedder = embedder
        self._policy = policy
        self._path = None if folder is None else folder / FILE_NAME
        self._judge: ClosingJudge | None = None
        self._looked = False
        self.is_wanted = False
        meaning = policy.done.meaning
        self._messages = [text for _, text in (*meaning.closing.each(), *meaning.going_on.each())]
        ending = sum(1 for _ in meaning.closing.each())
        self._sides = [at < ending for at in range(len(self._messages))]
        both = 0 < ending < len(self._messages)
        self._used = embedder is not None and policy.done.enabled and meaning.enabled and both

    @classmethod
    def of(cls, parts: Parts) -> "Closing":
        """Return the one of an open project."""
        return cls(parts.embedder, policy=parts.policy.boundaries, folder=parts.state_path)

    async def reason(self, turns: Sequence[Turn]) -> EndReason | None:
        """Return why the task ends after these turns, or None while it goes on.

        Args:
            turns: Turns of the open task, in order, the last one answered.
        """
        found = decide(turns, policy=self._policy, moment="turn_end")
        if found == "done" or not self._used:
            return found
        if not open_to_meaning(turns, rule=self._policy.done):
            return found
        if self._judge is None and not self._looked:
            self._looked = True
            await self._look()
        if self._judge is None:
            self.is_wanted = True
            return found
        try:
            async with asyncio.timeout(LIMIT_S):
                (margin,) = await self.margins([turns[-1].user])
        except TimeoutError:
            return found
        return decide(turns, policy=self._policy, moment="turn_end", margin=margin)

    async def prepare(self) -> None:
        """Embed the examples, unless that was done before for the same examples."""
        self.is_wanted = False
        if not self._used or self._judge is not None:
            return
        await self._look()
        if self._judge is not None:
            return
        vectors, problem = await try_embed(self._embedder, _parts(self._messages), kind="document")
        if vectors is None:
            logger.info("no closing by meaning: %s", problem)
            return
        key = await self._key()
        if self._path is not None and key:
            path = self._path
            await offload(lambda: _keep(path, vectors, key=key))
        self._judge = await offload(lambda: self._fit(vectors))

    async def margins(self, messages: Sequence[str]) -> list[float | None]:
        """Return how far messages are on the side of closing; None where it cannot be told.

        Args:
            messages: What users said.
        """
        judge = self._judge
        if judge is None or not messages:
            return [None] * len(messages)
        vectors, _ = await try_embed(self._embedder, _parts(messages), kind="document")
        if vectors is None:
            return [None] * len(messages)
        return [*judge.margins(messages, vectors=vectors)]

    async def _look(self) -> None:
        """Use the vectors that an earlier process kept, if they are of these examples."""
        path = self._path
        if path is None or not path.is_file():
            return
        key = await self._key()
        vectors = await offload(lambda: _read(path, key))
        if vectors is not None and len(vectors) == 2 * len(self._messages):
            self._judge = await offload(lambda: self._fit(vectors))

    def _fit(self, vectors: Float32Array) -> ClosingJudge:
        return ClosingJudge.fit(self._messages, vectors=vectors, closing=self._sides)

    async def _key(self) -> str:
        """What the kept vectors depend on; an embedder that cannot say what it is has none."""
        try:
            made_by = "" if self._embedder is None else (await self._embedder.identity())
        except EmbedderError as error:
            logger.info("no closing by meaning: %s", error)
            return ""
        name = made_by if isinstance(made_by, str) else made_by.fingerprint
        content = "\x1e".join([name, *_parts(self._messages)])
        return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _parts(messages: Sequence[str]) -> list[str]:
    return [part for message in messages for part in parts_of(message)]


def _read(path: Path, key: str) -> Float32Array | None:
    try:
        with np.load(path, allow_pickle=False) as held:
            if not key or str(held["key"]) != key:
                return None
            return held["vectors"].astype(np.float32)
    except (OSError, ValueError, KeyError) as error:
        logger.warning("closing examples cannot be read and are embedded again: %s", error)
        return None


def _keep(path: Path, vectors: Float32Array, *, key: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as out:
        np.savez(out, key=np.array(key), vectors=vectors)
    Path(out.name).replace(path)
