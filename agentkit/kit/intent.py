"""What a query is about: prototypes of the taxonomy's examples and of the user's memories."""

import hashlib
import logging
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.kit.embedding import try_embed
from agentkit.kit.parts import Parts
from agentkit.recall import AliasTable, Prototypes, ScopeIndex, TagExamples, infer_tags
from agentkit.records import Float32Array, IntentTag, Query, Scope
from agentkit.store import offload

logger = logging.getLogger("agentkit")

MOST_SCOPES = 64
FILE_NAME = "prototypes.npz"
_NONE = Prototypes()


class IntentFinder:
    """Finds the tags that a query is about; unsure means none.

    Embedding the taxonomy's examples takes a second or two, so it is done once, beside the
    caller, and kept in a file; until then phrases and the user's own memories speak alone.
    """

    def __init__(self, parts: Parts, *, aliases: AliasTable) -> None:
        """Read nothing yet."""
        self._parts = parts
        self._aliases = aliases
        self._examples: tuple[TagExamples, ...] | None = None
        self._scopes: OrderedDict[Scope, tuple[int, Prototypes]] = OrderedDict()
        # Recalls of several users look here from threads of their own.
        self._lock = threading.Lock()

    async def ready(self) -> None:
        """Read the vectors of the taxonomy's examples that an earlier process kept, once."""
        if self._examples is None:
            self._use(await self._kept())

    def find(
        self,
        query: Query,
        *,
        text: str,
        vector: Float32Array | None,
        scope: Scope,
        index: ScopeIndex,
        whole: bool = True,
    ) -> tuple[IntentTag, ...]:
        """Return the inferred tags of a query, on any thread.

        Args:
            query: What was asked; tags that it names itself are not added to.
            text: The part of it that is searched with.
            vector: Embedding of that part, or None.
            scope: Whose memories the prototypes are built from; never another's.
            index: Those memories.
            whole: Whether these are all of them, so that the prototypes serve the next query too.
        """
        if query.tags or not query.infer_tags:
            return ()
        return infer_tags(
            text,
            vector=vector,
            aliases=self._aliases,
            prototypes=_NONE if vector is None else self._prototypes(scope, index, keep=whole),
            policy=self._parts.policy.recall.tags,
        )

    async def prepare(self) -> None:
        """Embed the taxonomy's examples, unless that was done before for the same examples."""
        if self._examples:
            return
        if kept := await self._kept():
            # Another process may have written them after this one first looked.
            self._examples = kept
            self._scopes.clear()
            return
        examples = self._parts.policy.taxonomy.examples()
        vectors, problem = await try_embed(
            self._parts.embedder, [one.text for one in examples], kind="document"
        )
        if vectors is None:
            logger.info("no tag prototypes: %s", problem)
            return
        key = await self._key()
        await offload(lambda: self._keep(vectors, key=key))
        self._use(self._summed(vectors))

    def _use(self, examples: tuple[TagExamples, ...]) -> None:
        with self._lock:
            self._examples = examples
            self._scopes.clear()

    def drop(self, user_id: str) -> None:
        """Let go of what was made of a user's memories.

        Args:
            user_id: Whose.
        """
        with self._lock:
            for scope in [scope for scope in self._scopes if scope.user_id == user_id]:
                del self._scopes[scope]

    def _prototypes(self, scope: Scope, index: ScopeIndex, *, keep: bool) -> Prototypes:
        with self._lock:
            held = self._scopes.get(scope) if keep else None
            if held is not None and held[0] == index.revision:
                self._scopes.move_to_end(scope)
                return held[1]
            examples = self._examples or ()
        with index.lock:
            revision, own = index.revision, index.tag_examples(agent_id=scope.agent_id)
        made = Prototypes(
            [*examples, *own],
            least_examples=self._parts.policy.recall.tags.least_examples,
            earlier=None if held is None else held[1],
        )
        if not keep:
            return made
        with self._lock:
            self._scopes[scope] = (revision, made)
            self._scopes.move_to_end(scope)
            while len(self._scopes) > MOST_SCOPES:
                self._scopes.popitem(last=False)
        return made

    def _summed(self, vectors: Float32Array) -> tuple[TagExamples, ...]:
        examples = self._parts.policy.taxonomy.examples()
        numbered = sorted(range(len(examples)), key=lambda at: examples[at].tag)
        return tuple(
            TagExamples.of(tag, vectors[list(places)])
            for tag, places in groupby(numbered, key=lambda at: examples[at].tag)
        )

    @property
    def _path(self) -> Path:
        return self._parts.state_path / FILE_NAME

    async def _key(self) -> str:
        """What the kept vectors depend on; an embedder that cannot say what it is has none."""
        embedder = self._parts.embedder
        try:
            made_by = "" if embedder is None else (await embedder.identity()).fingerprint
        except EmbedderError as error:
            logger.info("no tag prototypes: %s", error)
            return ""
        texts: Sequence[str] = [
            f"{one.tag}\x1f{one.text}" for one in self._parts.policy.taxonomy.examples()
        ]
        content = "\x1e".join([made_by, *texts])
        return hashlib.sha256(content.encode("utf-8")).hexdigest()

    async def _kept(self) -> tuple[TagExamples, ...]:
        """The examples of an earlier process, if they are of this taxonomy and embedder."""
        if self._parts.embedder is None or not self._path.is_file():
            return ()
        key = await self._key()
        return await offload(lambda: self._read(key))

    def _read(self, key: str) -> tuple[TagExamples, ...]:
        try:
            with np.load(self._path, allow_pickle=False) as held:
                if not key or str(held["key"]) != key:
                    return ()
                return self._summed(held["vectors"].astype(np.float32))
        except (OSError, ValueError, KeyError) as error:
            logger.warning("tag prototypes cannot be read and are made again: %s", error)
            return ()

    def _keep(self, vectors: Float32Array, *, key: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._path.parent, suffix=".npz", delete=False) as out:
            np.savez(out, key=np.array(key), vectors=vectors)
        Path(out.name).replace(self._path)
