"""Opening a project: settings, policy, templates, store and embedder, in that order.

Nothing is opened or made before everything that a person wrote was read and found right.
"""

from collections.abc import Mapping
from pathlib import Path

from agentkit.errors import ConfigError
from agentkit.kit.parts import Parts, system_clock
from agentkit.policy import load_policy
from agentkit.ports import Clock, Embedder
from agentkit.project import Project, find_root
from agentkit.recall import AliasTable
from agentkit.settings import Settings, load_settings
from agentkit.store import Layout, Stores, open_embedder, open_stores
from agentkit.templates import Templates


def open_parts(
    path: Path | str | None,
    *,
    clock: Clock | None,
    embedder: Embedder | str | None,
    overrides: Mapping[str, object],
) -> Parts:
    """Open the rooms of a project.

    Args:
        path: Project folder, made if missing, or None to look for one.
        clock: Where the time comes from, or None for the system's.
        embedder: An embedder object, or a name, in place of the one that the settings name.
        overrides: Settings that beat the project's.

    Raises:
        ConfigError: If settings or policy hold something that cannot be used.
        StoreError: If the database cannot be opened.
    """
    root = _root(path)
    named = {"embedder": embedder} if isinstance(embedder, str) else {}
    settings = load_settings(root, **overrides, **named)
    project = Project(root)
    policy = load_policy(project.find)
    aliases = AliasTable(policy.taxonomy.aliases())
    state = settings.state_path(root)
    given = None if isinstance(embedder, str) else embedder
    used = given if given is not None else open_embedder(settings.embedder)
    clock = clock or system_clock
    return Parts(
        project=project,
        settings=settings,
        policy=policy,
        templates=Templates(project.content("prompts")),
        stores=_stores(settings, state, embedder=used, clock=clock),
        embedder=used,
        clock=clock,
        aliases=aliases,
        state_path=state,
    )


def _root(path: Path | str | None) -> Path:
    if path is None:
        return find_root(Path.cwd()) or Path.cwd()
    root = Path(path).expanduser()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be made: {error.strerror}", file=root) from error
    return root


def _stores(settings: Settings, state: Path, *, embedder: Embedder | None, clock: Clock) -> Stores:
    try:
        state.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be made: {error.strerror}", file=state) from error
    layout = Layout(
        state=state,
        database_url=settings.database_url,
        blobs_url=settings.blobs_url,
        index=settings.index,
        index_url=settings.index_url,
    )
    return open_stores(layout, settings.isolation, embedder=embedder, clock=clock)
