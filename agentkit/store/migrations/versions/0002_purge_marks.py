"""Marks of what was erased for good, so that an older export does not bring it back."""

import sqlalchemy as sa
from alembic import op

from agentkit.store.keys import key

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "purge_mark",
        sa.Column("mark", key(64), nullable=False),
        sa.PrimaryKeyConstraint("mark", name="pk_purge_mark"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("purge_mark")
