"""Whose store this is, where a project keeps one for each user."""

import sqlalchemy as sa
from alembic import op

from agentkit.store.keys import key

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "store_owner",
        sa.Column("owner", key(64), nullable=False),
        sa.PrimaryKeyConstraint("owner", name="pk_store_owner"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("store_owner")
