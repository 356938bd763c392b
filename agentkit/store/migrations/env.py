"""Alembic's entry: it is always handed a connection; there is no alembic.ini."""

from alembic import context

from agentkit.store.tables import Row

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    render_as_batch=True,
    # SQLite runs DDL inside a transaction, so a failed upgrade leaves the old schema.
    transactional_ddl=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
