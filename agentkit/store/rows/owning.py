"""Whose store this is, where a project keeps one for each user."""

from sqlmodel import Session, select

from agentkit.errors import StoreError
from agentkit.store.tables import StoreOwnerRow


def get_owner(session: Session) -> str | None:
    """Return the folder name of the user whose store this is, or None where all users share it."""
    row = session.exec(select(StoreOwnerRow)).first()
    return None if row is None else row.owner


def own(session: Session, owner: str) -> None:
    """Take a new store for a user; one that is his already is left as it is.

    Args:
        session: Holds the write lock.
        owner: Folder name of the user.

    Raises:
        StoreError: If it is another user's.
    """
    refuse_other_owner(get_owner(session), owner)
    if get_owner(session) is None:
        session.add(StoreOwnerRow(owner=owner))


def refuse_other_owner(found: str | None, owner: str | None) -> None:
    """Refuse a store that belongs to another user than the one it is opened for.

    Args:
        found: Owner that the store names, or None for none.
        owner: Folder name of the user it is opened for, or None for all users.

    Raises:
        StoreError: If they differ; a store that names nobody fits everybody.
    """
    if found is not None and found != owner:
        raise StoreError(
            f"this store belongs to the user of folder {found}, and was moved: put it back there; "
            "nothing of it is shown to anybody else"
        )
