"""From an embedder string to an embedder."""

from agentkit.errors import EmbedderError
from agentkit.ports import Embedder

LOCAL = "local"
MINILM = "minilm"
NONE = "none"


def open_embedder(name: str) -> Embedder | None:
    """Return the embedder of a name; its model is loaded at the first use.

    Args:
        name: `local` (bundled, multilingual), `minilm` (English, if its files are in Chroma's
            cache), `none` (recall goes by words alone), or an embedder string of pydantic-ai
            such as `openai:text-embedding-3-small`.

    Returns:
        The embedder, or None for `none`.

    Raises:
        EmbedderError: If the name is none of these.
    """
    if name == NONE:
        return None
    if name == LOCAL:
        from agentkit.store.embedders.local import LocalEmbedder

        return LocalEmbedder()
    if name == MINILM:
        from agentkit.store.embedders.minilm import MiniLmEmbedder

        return MiniLmEmbedder()
    if ":" in name:
        from agentkit.store.embedders.provider import ProviderEmbedder

        return ProviderEmbedder(name)
    raise EmbedderError(
        f"embedder {name!r} is unknown; use local, minilm, none, or provider:model "
        "such as openai:text-embedding-3-small"
    )
