"""Whether a record that is here already is the one in the file, the same or further on.

A store lives on after a restore: memories are recalled and judged, jobs are done, open tasks are
sealed. So what is here already in the same state, or in one that the file's state led to, is left
as it is; anything else is a conflict. What can be derived from the rest is not compared: revisions,
vectors, the address of a trajectory (its hash is).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from agentkit.errors import ArchiveError
from agentkit.store.transfer.codec import unpacked
from agentkit.store.transfer.kinds import Record, RecordName, Values
from agentkit.store.transfer.selecting import Named

# Counts that move without an event.
_COUNTED = frozenset({"revision", "recalled_count", "last_recalled_at", "demoted"})
# The state of a job; the rest of it never changes.
_WORKED = frozenset({"state", "attempts", "run_after", "lease_until", "last_error"})


class Conflicts:
    """Records that are here in another state than in a file, by whose they are."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._of_user: dict[str | None, Named] = {}

    def add(self, name: str, *, here: Record, given: Record) -> None:
        """Note one; where another user has the record, it is nobody's.

        Args:
            name: What it is and what differs.
            here: As the store has it.
            given: As the file has it.
        """
        user_id = here.user_id if here.user_id == given.user_id else None
        self._of_user.setdefault(user_id, Named()).add(name)

    def refuse(self, file: Path, *, besides: Collection[str]) -> None:
        """Refuse the file if there are any.

        Args:
            file: The export, for the message.
            besides: Users of whom something was purged since the file was written: that takes
                words out of what it leaves, so theirs stay as they are here.

        Raises:
            ArchiveError: Naming the first few.
        """
        told = [named for user_id, named in self._of_user.items() if user_id not in besides]
        if told:
            raise ArchiveError(
                f"{sum(named.count for named in told)} of its records are here in another state "
                f"({'; '.join(map(str, told))}); nothing was written: restore it into an empty "
                "project",
                file=file,
            )


def difference(held: Record, given: Record) -> str:
    """Return what differs between a record of the store and one of the file, or "".

    Args:
        held: As the store has it, with its parts.
        given: As the file has it.
    """
    if held.user_id != given.user_id:
        return "another user has it"
    return _COMPARED[given.kind.name](held, given)


def _other_field(held: Record, given: Record, *, besides: frozenset[str] = frozenset()) -> str:
    for name, value in given.values.items():
        if name not in besides and held.values.get(name) != value:
            return name
    return ""


def _memory(held: Record, given: Record) -> str:
    """Compare by history: a longer one that begins like the file's is the same memory, later."""
    before, after = _plain(given, "events"), _plain(held, "events")
    if not _begins(after, before):
        return "history"
    if len(after) > len(before) > 0:
        return ""
    for part in ("keys", "tags", "evidence"):
        if _plain(held, part) != _plain(given, part):
            return part
    return _other_field(held, given, besides=_COUNTED)


def _plain(record: Record, part: str) -> list[Values]:
    """Return the rows of a part without what the database gave them."""
    made = next(item.left_out for item in record.kind.parts if item.name == part)
    return [
        {name: value for name, value in row.items() if name not in made}
        for row in record.parts.get(part, ())
    ]


def _begins(whole: Sequence[object], beginning: Sequence[object]) -> bool:
    return list(whole[: len(beginning)]) == list(beginning)


def _session(held: Record, given: Record) -> str:
    steps, known = _plain(given, "steps"), _plain(held, "steps")
    sealed = not known and held.values["opened_at"] == given.values["opened_at"]
    return "" if sealed or _begins(known, steps) else "steps"


def _episode(held: Record, given: Record) -> str:
    later = {"trajectory_uri"}
    if given.values["reflected_at"] is None:
        later |= {"reflected_at", "reflection", "refused"}
    return _other_field(held, given, besides=frozenset(later))


def _link(held: Record, given: Record) -> str:
    resolved = given.values["status"] == "open" and held.values["status"] != "open"
    later = {"status", "rationale", "confidence"} if resolved else set[str]()
    return _other_field(held, given, besides=frozenset(later))


def _job(held: Record, given: Record) -> str:
    return _other_field(held, given, besides=_WORKED)


def _retrieval(held: Record, given: Record) -> str:
    later = {"packed", "verdicts"}
    if given.values["episode_id"] is None:
        later.add("episode_id")
    verdicts, known = str(given.values["verdicts"]), str(held.values["verdicts"])
    # JSON lists: a longer one that begins alike differs in the closing bracket.
    if not known.startswith(verdicts.removesuffix("]")):
        return "verdicts"
    # The late result of a recall that timed out takes the place of the empty one.
    late = bool(given.values["timed_out"])
    if not late and unpacked(held.values["packed"]) != unpacked(given.values["packed"]):
        return "recall"
    return _other_field(held, given, besides=frozenset(later))


def _policy_version(held: Record, given: Record) -> str:
    return _other_field(held, given, besides=frozenset({"first_used_at"}))


def _purge_mark(held: Record, given: Record) -> str:
    """A mark is nothing but its key."""
    del held, given
    return ""


def _scope(held: Record, given: Record) -> str:
    """A revision is a count of changes here: two of them never contradict each other."""
    del held, given
    return ""


_COMPARED: Mapping[RecordName, Callable[[Record, Record], str]] = {
    "policy_version": _policy_version,
    "session": _session,
    "episode": _episode,
    "memory": _memory,
    "link": _link,
    "job": _job,
    "retrieval": _retrieval,
    "purge_mark": _purge_mark,
    "scope": _scope,
}
