"""The column type of names: compared and sorted byte for byte on every database."""

from sqlalchemy import String
from sqlalchemy.types import TypeEngine


def key(chars: int) -> TypeEngine[str]:
    """Return the type of a column that holds an id, a name, a tag or another short word.

    SQLite compares bytes by itself. A server sorts by the rules of a language unless it is told
    not to, and MySQL would even take `alice` and `Alice` for one.

    Args:
        chars: Most characters that it holds; MySQL wants a length where there is an index.
    """
    return (
        String(chars)
        .with_variant(String(chars, collation="C"), "postgresql")
        .with_variant(String(chars, collation="utf8mb4_bin"), "mysql", "mariadb")
    )
