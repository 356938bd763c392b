"""The end of a disagreement between two memories."""

from agentkit.errors import NotFoundError
from agentkit.records import Relation, Scope
from agentkit.store.rows.change import Change
from agentkit.store.rows.memories import find_row
from agentkit.store.tables import MemoryLinkRow


def resolve_link(
    change: Change,
    scope: Scope,
    from_id: str,
    to_id: str,
    *,
    relation: Relation,
    actor: str,
    reason: str,
) -> bool:
    """Mark a link as resolved, and tell it in the history of both memories.

    Returns:
        False when it was resolved already; then nothing is changed.

    Raises:
        NotFoundError: If one of them is not in this scope, or they are not linked so.
    """
    ends = (find_row(change.session, scope, from_id), find_row(change.session, scope, to_id))
    pair = (ends[0].id, ends[1].id)
    found = [change.session.get(MemoryLinkRow, (*ids, relation)) for ids in (pair, pair[::-1])]
    link = found[0] or found[1]
    if link is None:
        raise NotFoundError(f"{relation} link of {from_id!r} to", to_id)
    if link.status == "resolved":
        return False
    old, new = {"link": link.status}, {"link": "resolved"}
    link.status = "resolved"
    for row in ends:
        # Without the other's id: a purge of one leaves no trace in the history of the other.
        change.record(row, "resolved", actor=actor, reason=reason, old=old, new=new)
    return True
