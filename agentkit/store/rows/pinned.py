"""Which embedder's vectors a store holds."""

from datetime import datetime

from sqlmodel import Session, col, select

from agentkit.errors import EmbedderError
from agentkit.ports import EmbedderIdentity
from agentkit.store.tables import PinnedEmbedderRow

_ONLY = 1
_PINNED = select(col(PinnedEmbedderRow.name), col(PinnedEmbedderRow.dim)).where(
    col(PinnedEmbedderRow.id) == _ONLY
)


def get_pinned(session: Session) -> EmbedderIdentity | None:
    """Return the embedder that this store's vectors are of, or None while it has none."""
    row = session.get(PinnedEmbedderRow, _ONLY)
    return None if row is None else EmbedderIdentity(row.name, row.dim)


def read_pinned(session: Session) -> EmbedderIdentity | None:
    """Return what `get_pinned` does, in a session that writes nothing: every recall asks it."""
    row = session.connection().execute(_PINNED).first()
    return None if row is None else EmbedderIdentity(row.name, row.dim)


def pin(session: Session, identity: EmbedderIdentity, *, now: datetime) -> None:
    """Pin the store to an embedder with its first vector, or prove that it is that one.

    Raises:
        EmbedderError: If the store holds vectors of another.
    """
    pinned = get_pinned(session)
    if pinned is None:
        session.add(
            PinnedEmbedderRow(id=_ONLY, name=identity.name, dim=identity.dim, pinned_at=now)
        )
        return
    refuse_other(pinned, identity.name, dim=identity.dim)


def refuse_other(pinned: EmbedderIdentity, name: str, *, dim: int | None) -> None:
    """Refuse an embedder that is not the pinned one: their vectors cannot be compared.

    Args:
        pinned: The embedder that the store's vectors are of.
        name: Name of the one that is to be used.
        dim: Its dimension, or None while that is not known.

    Raises:
        EmbedderError: If it is another; nothing is written or lost.
    """
    if name == pinned.name and dim in (None, pinned.dim):
        return
    given = name if dim is None else f"{name} ({dim} dimensions)"
    raise EmbedderError(
        f"this store's vectors are of embedder {pinned.name} ({pinned.dim} dimensions), "
        f"and {given} is set now; nothing was written or lost: "
        f"set embedder to {pinned.name} (in agentkit.yaml or AGENTKIT_EMBEDDER), "
        f"or change over with `agentkit reindex --embedder {name} --switch`"
    )


def repin(
    session: Session, *, old: EmbedderIdentity | None, new: EmbedderIdentity, now: datetime
) -> None:
    """Put another embedder in the place of the pinned one.

    Args:
        session: Session that holds the write lock.
        old: The pinned one, as the caller knows it.
        new: The one that takes its place.
        now: Current time, UTC.

    Raises:
        EmbedderError: If another is pinned by now.
    """
    pinned = get_pinned(session)
    if pinned != old:
        found = "none" if pinned is None else pinned.fingerprint
        raise EmbedderError(
            f"another process changed the embedder to {found} meanwhile; nothing was switched: "
            "look with `agentkit doctor`, and try again",
            retryable=True,
        )
    row = session.get(PinnedEmbedderRow, _ONLY)
    if row is None:
        row = PinnedEmbedderRow(id=_ONLY, name=new.name, dim=new.dim, pinned_at=now)
        session.add(row)
    row.name, row.dim, row.pinned_at = new.name, new.dim, now
