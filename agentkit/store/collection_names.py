"""What the collections of an index are called: one for each project and embedder."""

import hashlib
import re
from collections.abc import Iterable

from agentkit.ports import EmbedderIdentity

# In a folder of the project's own; on a server, the project's name stands in its place.
PREFIX = "agentkit-keys"


def collection_name(identity: EmbedderIdentity, *, prefix: str = PREFIX) -> str:
    """Return the name of the collection that holds the vectors of an embedder.

    Args:
        identity: The embedder; its fingerprint is hashed, for Chroma takes plain names only.
        prefix: Beginning of the name, plain characters.
    """
    digest = hashlib.sha256(identity.fingerprint.encode("utf-8")).hexdigest()
    return f"{prefix}-{digest[:32]}"


def others(names: Iterable[str], *, own: str) -> list[str]:
    """Return the collections of the same project that are of other embedders.

    Args:
        names: Names of all collections in one place; other projects may have some there.
        own: Name of the project's collection for the embedder in use.
    """
    prefix = own.rpartition("-")[0]
    return [
        name
        for name in names
        if name != own and re.fullmatch(f"{re.escape(prefix)}-[0-9a-f]{{32}}", name)
    ]
