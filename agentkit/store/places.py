"""Where blobs are kept, as the settings name it."""

from importlib.util import find_spec
from pathlib import Path

from agentkit.errors import MissingExtraError
from agentkit.ports import BlobStore
from agentkit.store.blobs import FolderBlobs, safe_name

EXTRA = "s3"


def open_blobs(url: str | None, *, folder: Path, prefix: str = "") -> BlobStore:
    """Return the store of blobs that the settings name; nothing is made or contacted.

    Args:
        url: `s3://BUCKET/PREFIX`, or None for the folder.
        folder: Folder of the project's blobs on this machine, used without a `url`.
        prefix: What is kept apart under it, such as `user_folder` of a user, or "" for all.

    Raises:
        ConfigError: If the address is none, or the environment's AWS settings cannot be used.
        MissingExtraError: If it is a bucket and obstore is not installed.
    """
    part = safe_name(prefix) if prefix else ""
    if url is None:
        return FolderBlobs(folder / part)
    if find_spec("obstore") is None:
        raise MissingExtraError("blobs in a bucket", extra=EXTRA)
    from agentkit.store.s3 import S3Address, S3Blobs

    return S3Blobs(S3Address.parse(url).under(part))
