"""Embedding on the kit's behalf: nothing is lost when it cannot be done now."""

import asyncio
import logging
from collections.abc import Sequence

from agentkit.errors import EmbedderError
from agentkit.ports import Embedder, EmbedKind
from agentkit.records import Float32Array

logger = logging.getLogger("agentkit")


async def try_embed(
    embedder: Embedder | None, texts: Sequence[str], *, kind: EmbedKind
) -> tuple[Float32Array | None, str]:
    """Return vectors, or None with the reason why there are none.

    Args:
        embedder: The embedder, or None where the project has none.
        texts: What to embed.
        kind: Whether they are queries or documents.

    Returns:
        Vectors of shape (len(texts), dim) and "", or None and one line saying why: recall then
        goes by words alone, and memories are embedded later.
    """
    if embedder is None:
        return None, "no embedder is set; words alone were searched"
    try:
        return await embedder.embed(texts, kind=kind), ""
    except EmbedderError as error:
        logger.warning("embedding failed, going on without: %s", error)
        return None, f"no vectors: {error}"


async def warm(embedder: Embedder | None, *, limit_s: float) -> bool:
    """Wait until an embedder is loaded, so that loading does not count against a recall.

    One that cannot be loaded is told by whoever embeds next.

    Args:
        embedder: The embedder, or None where the project has none.
        limit_s: Longest wait in seconds; it goes on loading after that.

    Returns:
        Whether it is loaded, so that there is nothing to wait for the next time.
    """
    if embedder is None:
        return True
    loading = asyncio.ensure_future(embedder.load())
    done, _ = await asyncio.wait({loading}, timeout=limit_s)
    if not done:
        logger.warning("the embedder is still loading after %.0f s", limit_s)
        return False
    error = loading.exception()
    if error is not None and not isinstance(error, EmbedderError):
        raise error
    return error is None
