"""What a kit is put together from: settings, policy, content, store, embedder, clock."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentkit.policy import Policy
from agentkit.ports import Clock, Embedder
from agentkit.project import Project
from agentkit.recall import AliasTable
from agentkit.records import Scope, Tag
from agentkit.settings import Settings
from agentkit.store import Store, Stores
from agentkit.templates import Templates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """The rooms of one open project.

    Attributes:
        project: Where content is found.
        settings: Settings in force.
        policy: Policy in force.
        templates: Prompt templates.
        stores: The open stores.
        embedder: The embedder, or None for recall by words alone.
        clock: Where the time comes from.
        aliases: Phrases of the taxonomy.
        state_path: Folder of everything that is written.
    """

    project: Project
    settings: Settings
    policy: Policy
    templates: Templates
    stores: Stores
    embedder: Embedder | None
    clock: Clock
    aliases: AliasTable
    state_path: Path

    async def store(self, scope: Scope) -> Store:
        """Return the store that holds a user's memory.

        Raises:
            StoreError: If it cannot be opened.
        """
        return await self.stores.of(scope)

    async def seen(self, scope: Scope) -> Store:
        """Return a store to read a user's memory from, and nothing else: none is made for it.

        Raises:
            StoreError: If it cannot be opened.
        """
        return await self.stores.seen(scope)

    async def stores_of(self, scope: Scope | None) -> tuple[Store, ...]:
        """Return the store that holds a user's memory, or for None every store.

        Raises:
            StoreError: If one cannot be opened.
        """
        return await self.stores.all() if scope is None else (await self.stores.of(scope),)

    def find_tags(self, text: str) -> tuple[Tag, ...]:
        """Return the tags whose phrases stand in a text, sorted."""
        return self.aliases.find(text)


def system_clock() -> datetime:
    """Return the current time, UTC-aware."""
    return datetime.now(UTC)
