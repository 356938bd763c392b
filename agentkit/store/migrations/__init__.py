"""The revisions of the schema, oldest first. Alembic reads the files; this names their order."""

from pathlib import Path

LOCATION = Path(__file__).parent
REVISIONS: tuple[str, ...] = ("0001", "0002", "0003")
