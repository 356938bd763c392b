"""Where the parts of a store lie: all users in one, or a store for each."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agentkit.errors import ConfigError, StoreError
from agentkit.ports import BlobStore
from agentkit.store import postgres
from agentkit.store.addresses import IndexAddress
from agentkit.store.engine import database_address, database_file
from agentkit.store.ownership import IndexSlot, index_slot
from agentkit.store.places import open_blobs

Isolation = Literal["logical", "physical"]

DATABASE_FILE = "agentkit.db"
BLOBS_FOLDER = "trajectories"
USERS_FOLDER = "users"
# Schemas of a physical project in PostgreSQL; the rest of the name is that of the user's folder.
SCHEMA_PREFIX = "agentkit_"
# Has a row for each user who ever wrote anything.
_USED = "scope_revision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a project keeps things, as its settings say.

    A part that belongs to one user goes by `user_folder`, a hash: no two names share one, on any
    file system, and none leads out of the state folder.

    Attributes:
        state: The state folder.
        database_url: Address of the database, or None for a SQLite file in the state folder.
        blobs_url: Address of a bucket, or None for a folder.
        index: `chroma`, `qdrant` or `none`.
        index_url: Address of an index server, or None for an embedded one.
    """

    state: Path
    database_url: str | None
    blobs_url: str | None
    index: str
    index_url: str | None

    def database(self, part: str | None) -> str:
        """Return the address of a database.

        Args:
            part: Folder name of a user, or None for the shared one.
        """
        if self.database_url is None:
            folder = self._folder(part)
            return f"sqlite:///{(folder / DATABASE_FILE).resolve()}"
        if part is None:
            return self.database_url
        return postgres.in_schema(self.database_url, _schema(part))

    def blobs(self, part: str | None) -> BlobStore:
        """Return the blobs of one user, or the shared ones; nothing is made or contacted.

        Args:
            part: Folder name of the user, or None.

        Raises:
            ConfigError: If the address is none.
            MissingExtraError: If the library of a bucket is not installed.
        """
        folder = self._folder(part) / BLOBS_FOLDER
        prefix = part if part is not None and self.blobs_url is not None else ""
        return open_blobs(self.blobs_url, folder=folder, prefix=prefix)

    def slot(self, part: str | None) -> IndexSlot:
        """Return the slot of the index of one user, or of the shared one; nothing is opened.

        Args:
            part: Folder name of the user, or None.

        Raises:
            ConfigError: If the address of the server is none.
            MissingExtraError: If the library of the index is not installed.
        """
        url = self.index_url
        if url is not None and part is not None:
            address = IndexAddress.parse(url)
            url = replace(address, name=f"{address.name}-{part}").url
        return index_slot(self.index, state=self._folder(part), url=url)

    def prepare(self, part: str) -> None:
        """Make room for the store of a user; having it already is harmless.

        Args:
            part: Folder name of the user.

        Raises:
            StoreError: If the folder or the schema cannot be made.
        """
        folder = self._folder(part)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder} cannot be made: {error.strerror}") from error
        if self.database_url is not None:
            postgres.make_schema(self.database_url, _schema(part))

    def parts(self) -> tuple[str, ...]:
        """Return the folder names of all users who have a store of their own, sorted.

        Raises:
            StoreError: If the server cannot be asked.
        """
        if self.database_url is None:
            found = (self.state / USERS_FOLDER).glob(f"*/{DATABASE_FILE}")
            return tuple(sorted(path.parent.name for path in found))
        if database_file(database_address(self.database_url)) is not None:
            return ()
        schemas = postgres.list_schemas(self.database_url, prefix=SCHEMA_PREFIX)
        return tuple(sorted(name.removeprefix(SCHEMA_PREFIX) for name in schemas))

    def has(self, part: str) -> bool:
        """Whether a user has a store of his own.

        Args:
            part: Folder name of the user.

        Raises:
            StoreError: If the server cannot be asked.
        """
        if self.database_url is None:
            return (self._folder(part) / DATABASE_FILE).exists()
        return part in self.parts()

    def refuse_other(self, isolation: Isolation) -> None:
        """Refuse to open a project in a mode in which what it holds would not be seen.

        Args:
            isolation: The mode that the settings ask for.

        Raises:
            ConfigError: If the project was written in the other mode, or the mode cannot be had.
            StoreError: If the server cannot be asked.
        """
        if isolation == "logical":
            if self.parts():
                raise ConfigError(
                    "this project keeps a store for each user (isolation: physical); write that, "
                    "or export each user, open an empty project and restore",
                    key="isolation",
                )
            return
        if self.database_url is not None:
            url = database_address(self.database_url)
            if url.get_backend_name() == "sqlite":
                raise ConfigError(
                    "isolation: physical keeps a SQLite file for each user in the state folder; "
                    "leave database_url out, or name a PostgreSQL server",
                    key="database_url",
                )
        if self._is_shared():
            raise ConfigError(
                "this project keeps all users in one store (isolation: logical); to go over, "
                "`agentkit export` it, set isolation: physical with another state_dir, and "
                "`agentkit restore` there",
                key="isolation",
            )

    def _is_shared(self) -> bool:
        if self.database_url is None:
            file = self.state / DATABASE_FILE
            return file.exists() and _holds_anything(file)
        return postgres.has_table(self.database_url, _USED) and postgres.has_rows(
            self.database_url, _USED
        )

    def _folder(self, part: str | None) -> Path:
        return self.state if part is None else self.state / USERS_FOLDER / part


def _holds_anything(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
            if connection.execute(known, (_USED,)).fetchone() is None:
                return False
            return connection.execute(f"SELECT 1 FROM {_USED} LIMIT 1").fetchone() is not None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file} cannot be read as a database: {error}") from error


def _schema(part: str) -> str:
    return f"{SCHEMA_PREFIX}{part}"
