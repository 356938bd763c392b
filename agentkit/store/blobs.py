"""Immutable objects in a local folder."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from agentkit.errors import StoreError
from agentkit.store.points import Point, Reached, go_on

SCHEME = "blob:"
_SAFE = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,120}")
_TEMPORARY = ".tmp-"
# With its ending, a temporary name keeps within what `_SAFE` allows.
_TEMPORARY_CHARS = 100


class FolderBlobs:
    """Objects as files under one folder; what was written survives a crash of the machine."""

    def __init__(self, root: Path, *, reached: Reached = go_on) -> None:
        """Touch nothing yet.

        Args:
            root: The folder; it is made with the first object.
            reached: Told each point of a write.
        """
        self._root = root
        self._reached = reached

    def put(self, name: str, data: bytes) -> str:
        """Write an object durably and return its address; the same content again is harmless.

        Args:
            name: Path-like name; a part with anything but plain characters in it is hashed.
            data: The object.

        Raises:
            StoreError: If another object has this name, or the disk refuses.
        """
        address = safe_name(name)
        target = self._root / address
        try:
            if target.exists():
                return _same_or_refuse(target, data, address)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._write_durably(target, data)
        except FileExistsError:
            return _same_or_refuse(target, data, address)
        except OSError as error:
            raise StoreError(f"cannot write {target}: {error.strerror}", retryable=True) from error
        self._reached(Point.BLOB_STORED)
        return f"{SCHEME}{address}"

    def get(self, uri: str) -> bytes:
        """Return an object.

        Raises:
            StoreError: If it is missing or unreadable.
        """
        try:
            return self._path(uri).read_bytes()
        except FileNotFoundError as error:
            raise StoreError(f"{uri} is missing under {self._root}; restore it") from error
        except OSError as error:
            raise StoreError(f"{uri} cannot be read: {error.strerror}", retryable=True) from error

    def delete(self, uri: str) -> None:
        """Remove an object; a missing one is ignored."""
        self._path(uri).unlink(missing_ok=True)
        self._reached(Point.BLOB_DELETED)

    def uris(self) -> set[str]:
        """Return the addresses of all objects, and of those that a dead process never finished.

        The latter go by the name of what they were to become, so that whoever looks for orphans,
        or erases what a user left, finds them too.
        """
        return {
            f"{SCHEME}{path.relative_to(self._root).as_posix()}"
            for path in self._root.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        }

    def _write_durably(self, target: Path, data: bytes) -> None:
        """Write a temporary file, then give it its name; an object is whole or not there."""
        with tempfile.NamedTemporaryFile(
            dir=target.parent,
            prefix=f"{target.name[:_TEMPORARY_CHARS]}{_TEMPORARY}",
            delete=False,
        ) as temporary:
            path = Path(temporary.name)
            try:
                temporary.write(data)
                temporary.flush()
                os.fsync(temporary.fileno())
                self._reached(Point.BLOB_UNNAMED)
                # A link fails where the name is taken; a rename would overwrite.
                os.link(path, target)
                self._reached(Point.BLOB_NAMED)
            finally:
                path.unlink(missing_ok=True)
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _path(self, uri: str) -> Path:
        name = uri.removeprefix(SCHEME)
        if name == uri or safe_name(name) != name:
            raise StoreError(f"{uri!r} is no address of an object in a folder")
        return self._root / name


def safe_name(name: str) -> str:
    """Return a name that stays inside its folder and is the same on every file system.

    Args:
        name: Path-like name; each part that is not plain is replaced by its hash.
    """
    return "/".join(part if _SAFE.fullmatch(part) else _hash(part) for part in name.split("/"))


def user_folder(user_id: str) -> str:
    """Return the folder name of a user: the same for no two names, on any file system.

    Args:
        user_id: Any user name; `alice` and `Alice` get different folders everywhere.
    """
    return _hash(user_id)[:32]


def episode_of(uri: str) -> str:
    """Return the id of the episode whose trajectory an object is, out of its address."""
    return uri.rpartition("/")[2].partition(".")[0]


def _hash(part: str) -> str:
    return hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def _same_or_refuse(target: Path, data: bytes, address: str) -> str:
    if target.read_bytes() != data:
        raise StoreError(f"{SCHEME}{address} exists with other content; objects never change")
    return f"{SCHEME}{address}"
