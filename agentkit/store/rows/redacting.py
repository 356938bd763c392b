"""Taking what was erased out of the rows of one user that stay."""

import json
import zlib
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import func, select, update
from sqlmodel import Session, col
from sqlmodel import select as select_rows

from agentkit.records import Scope
from agentkit.store.erasing import ERASED, Eraser
from agentkit.store.identity import quote_hash
from agentkit.store.purges import PurgeTarget
from agentkit.store.rows.change import Change
from agentkit.store.rows.editing import take_out
from agentkit.store.rows.retrievals import LEVEL
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import (
    EpisodeRow,
    JobRow,
    MemoryEventRow,
    MemoryEvidenceRow,
    MemoryLinkRow,
    MemoryRow,
    RetrievalRow,
    SessionRow,
    TaskStepRow,
)

Fields = dict[str, Any]


def redact_others(
    change: Change, scope: Scope, eraser: Eraser, *, rationales: frozenset[str]
) -> Mapping[str, int]:
    """Take texts and ids of what was erased out of the other rows of a user.

    Args:
        change: The transaction, in which the rows themselves were erased already.
        scope: Whose.
        eraser: What was erased.
        rationales: What judges said when they compared an erased memory with another; events
            that give it as their reason lose it.

    Returns:
        Number of rows changed, by kind; kinds without any are left out.
    """
    session = change.session
    counts = {
        "memories": _memories(change, scope, eraser),
        "evidence": _evidence(session, scope, eraser),
        "events": _events(session, scope, eraser, rationales),
        "links": _plain(session, MemoryLinkRow, scope, eraser, ("rationale",)),
        "episodes": _episodes(session, scope, eraser),
        "jobs": _plain(session, JobRow, scope, eraser, ("last_error",), ("payload",)),
        "steps": _plain(session, TaskStepRow, scope, eraser, (), ("payload",)),
        "sessions": _plain(session, SessionRow, scope, eraser, ("instructions",)),
        "retrievals": _retrievals(session, scope, eraser),
    }
    return {kind: number for kind, number in counts.items() if number}


def rationales_of(session: Session, scope: Scope, target: PurgeTarget) -> frozenset[str]:
    """Return what judges said of the memories of a target beside others."""
    found: set[str] = set()
    for chunk in chunks(target.memory_ids):
        either = col(MemoryLinkRow.from_id).in_(chunk) | col(MemoryLinkRow.to_id).in_(chunk)
        query = select(col(MemoryLinkRow.rationale)).where(
            col(MemoryLinkRow.user_id) == scope.user_id, either
        )
        found.update(session.connection().execute(query).scalars())
    return frozenset(found - {""})


def _events(session: Session, scope: Scope, eraser: Eraser, rationales: frozenset[str]) -> int:
    own = col(MemoryEventRow.user_id) == scope.user_id
    number = 0
    for chunk in chunks(sorted(rationales)):
        said = own & col(MemoryEventRow.reason).in_(chunk)
        counted = select(func.count()).select_from(MemoryEventRow).where(said)
        number += session.connection().execute(counted).scalar_one()
        session.connection().execute(update(MemoryEventRow).where(said).values(reason=ERASED))
    return number + _plain(session, MemoryEventRow, scope, eraser, ("reason",), ("old", "new"))


def _plain(
    session: Session,
    table: type[Any],
    scope: Scope,
    eraser: Eraser,
    texts: tuple[str, ...],
    documents: tuple[str, ...] = (),
) -> int:
    """Treat columns of plain text and of JSON text, and return how many rows changed."""
    keys = [column.name for column in table.__table__.primary_key]
    columns = [getattr(table, name) for name in (*keys, *texts, *documents)]
    number = 0
    query = select(*columns).where(col(table.user_id) == scope.user_id)
    for row in session.connection().execute(query).mappings().all():
        before = cast("Fields", dict(row))
        after = {name: eraser.text(before[name]) for name in texts if before[name] is not None}
        after |= {name: eraser.json(before[name]) for name in documents if before[name] is not None}
        fresh = {name: value for name, value in after.items() if value != before[name]}
        if fresh:
            number += 1
            which = [getattr(table, name) == before[name] for name in keys]
            session.connection().execute(update(table).where(*which).values(**fresh))
    return number


def _memories(change: Change, scope: Scope, eraser: Eraser) -> int:
    """Treat what other memories say and are found by."""
    rows = change.session.exec(select_rows(MemoryRow).where(MemoryRow.user_id == scope.user_id))
    return sum(take_out(change, row, erase=eraser.text) for row in rows.all())


def _evidence(session: Session, scope: Scope, eraser: Eraser) -> int:
    rows = session.exec(
        select_rows(MemoryEvidenceRow).where(MemoryEvidenceRow.user_id == scope.user_id)
    )
    number = 0
    for row in rows.all():
        quote = eraser.text(row.quote)
        if quote != row.quote:
            row.quote, row.quote_hash = quote, quote_hash(quote)
            number += 1
    return number


def _episodes(session: Session, scope: Scope, eraser: Eraser) -> int:
    """Treat goals and instructions, and drop the lessons that said what was erased."""
    rows = session.exec(select_rows(EpisodeRow).where(EpisodeRow.user_id == scope.user_id)).all()
    number = 0
    for row in rows:
        before = (row.goal, row.instructions, row.reflection, row.refused)
        row.goal, row.instructions = eraser.text(row.goal), eraser.text(row.instructions)
        if row.reflection is not None:
            row.reflection = _reflection(row.reflection, eraser)
        if row.refused is not None:
            row.refused = _without(row.refused, eraser)
        number += before != (row.goal, row.instructions, row.reflection, row.refused)
    return number


def _reflection(text: str, eraser: Eraser) -> str:
    held = cast("Fields", json.loads(text))
    kept = [one for one in held["lessons"] if eraser.text(one["content"]) == one["content"]]
    judged = [one for one in held["verdicts"] if one["memory_id"] not in eraser.ids]
    after = eraser.value({**held, "lessons": kept, "verdicts": judged})
    return text if after == held else json.dumps(after)


def _without(text: str, eraser: Eraser) -> str:
    """Return a list of what admission refused, without what was erased."""
    held = json.loads(text)
    if not isinstance(held, list):
        return eraser.json(text)
    after = [one for one in cast("list[object]", held) if eraser.value(one) == one]
    return text if after == held else json.dumps(after, ensure_ascii=False)


def _retrievals(session: Session, scope: Scope, eraser: Eraser) -> int:
    columns = (
        col(RetrievalRow.id),
        col(RetrievalRow.packed),
        col(RetrievalRow.returned),
        col(RetrievalRow.verdicts),
    )
    query = select(*columns).where(col(RetrievalRow.user_id) == scope.user_id)
    number = 0
    for retrieval_id, packed, returned, verdicts in session.connection().execute(query).all():
        values: Fields = {}
        content = zlib.decompress(packed).decode("utf-8")
        # Most rows hold nothing of it: looking is cheaper than parsing.
        if eraser.text(content) != content:
            held = cast("Fields", json.loads(content))
            pool = held["result"]["pool"]
            held["result"]["pool"] = [one for one in pool if one["memory_id"] not in eraser.ids]
            fresh = json.dumps(eraser.value(held), ensure_ascii=False)
            values["packed"] = zlib.compress(fresh.encode("utf-8"), LEVEL)
        ids = [one for one in json.loads(returned) if one not in eraser.ids]
        if ids != json.loads(returned):
            values["returned"] = json.dumps(ids)
        if eraser.text(verdicts) != verdicts:
            said = [one for one in json.loads(verdicts) if one["memory_id"] not in eraser.ids]
            values["verdicts"] = json.dumps(eraser.value(said), ensure_ascii=False)
        if values:
            number += 1
            which = col(RetrievalRow.id) == retrieval_id
            session.connection().execute(update(RetrievalRow).where(which).values(**values))
    return number
