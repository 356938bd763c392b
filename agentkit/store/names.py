"""Names that come from outside, in the form in which every database can hold them."""

from agentkit.errors import InputError
from agentkit.store.tables import NAME_CHARS
from agentkit.text import normalise


def stored_name(name: str, *, what: str, most_chars: int = NAME_CHARS) -> str:
    """Return a name as it is stored: in normal form, without NUL bytes.

    SQLite would take any length; a server cuts or refuses, so here it is refused for both.

    Args:
        name: The name as given.
        what: Which argument it is, for the message.
        most_chars: Most characters that its column holds.

    Raises:
        InputError: If it is too long.
    """
    plain = normalise(name)
    if len(plain) > most_chars:
        raise InputError(f"{what} has {len(plain)} characters; at most {most_chars} are kept")
    return plain
