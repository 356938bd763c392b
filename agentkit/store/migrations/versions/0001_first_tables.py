"""The first tables.

Each step is skipped where it is done already, so a file that lost its version stamp is repaired.
"""

import sqlalchemy as sa
from alembic import op

from agentkit.store.keys import key

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_episode()
    _create_job()
    _create_memory()
    _create_outbox()
    _create_pinned_embedder()
    _create_policy_version()
    _create_retrieval()
    _create_scope_revision()
    _create_session()
    _create_task_step()
    _create_embedding()
    _create_memory_event()
    _create_memory_evidence()
    _create_memory_key()
    _create_memory_link()
    _create_memory_tag()


def downgrade() -> None:
    for table in (
        "memory_tag",
        "memory_link",
        "memory_key",
        "memory_evidence",
        "memory_event",
        "embedding",
        "task_step",
        "session",
        "scope_revision",
        "retrieval",
        "policy_version",
        "pinned_embedder",
        "outbox",
        "memory",
        "job",
        "episode",
    ):
        op.drop_table(table)


def _create_episode() -> None:
    op.create_table(
        "episode",
        sa.Column("id", key(36), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_id", key(255), nullable=True),
        sa.Column("session_id", key(255), nullable=False),
        sa.Column("source_id", key(255), nullable=True),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("outcome", key(32), nullable=False),
        sa.Column("outcome_source", key(32), nullable=True),
        sa.Column("end_reason", key(32), nullable=False),
        sa.Column("trajectory_uri", key(255), nullable=False),
        sa.Column("trajectory_sha256", key(64), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("model", key(255), nullable=True),
        sa.Column("step_count", sa.Integer(), nullable=False),
        sa.Column("tokens_in", sa.Integer(), nullable=False),
        sa.Column("tokens_out", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reflected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reflection", sa.Text(), nullable=True),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_episode"),
        if_not_exists=True,
    )
    op.create_index("ix_episode_user_ended", "episode", ["user_id", "ended_at"], if_not_exists=True)
    op.create_index(
        "ix_episode_user_source", "episode", ["user_id", "source_id"], if_not_exists=True
    )


def _create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", key(36), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_id", key(255), nullable=True),
        sa.Column("kind", key(32), nullable=False),
        sa.Column("subject_id", key(36), nullable=False),
        sa.Column("state", key(32), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        if_not_exists=True,
    )
    op.create_index("ix_job_state_run_after", "job", ["state", "run_after"], if_not_exists=True)
    op.create_index("ix_job_user_subject", "job", ["user_id", "subject_id"], if_not_exists=True)


def _create_memory() -> None:
    op.create_table(
        "memory",
        sa.Column("id", key(36), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_id", key(255), nullable=True),
        sa.Column("type", key(32), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("identity", key(64), nullable=False),
        sa.Column("operation_id", key(255), nullable=True),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("status", key(32), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("beta", sa.Float(), nullable=False),
        sa.Column("permanent", sa.Boolean(), nullable=False),
        sa.Column("trust", sa.Float(), nullable=False),
        sa.Column("source", key(32), nullable=False),
        sa.Column("language", key(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_recalled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recalled_count", sa.Integer(), nullable=False),
        sa.Column("used_count", sa.Integer(), nullable=False),
        sa.Column("demoted", sa.Boolean(), nullable=False),
        sa.Column("episode_id", key(36), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("superseded_by", key(36), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_memory"),
        if_not_exists=True,
    )
    op.create_index("ix_memory_episode", "memory", ["episode_id"], if_not_exists=True)
    op.create_index(
        "ix_memory_user_created", "memory", ["user_id", "created_at"], if_not_exists=True
    )
    op.create_index(
        "ix_memory_user_identity", "memory", ["user_id", "identity"], if_not_exists=True
    )
    op.create_index(
        "ix_memory_user_operation", "memory", ["user_id", "operation_id"], if_not_exists=True
    )
    op.create_index(
        "ix_memory_user_revision", "memory", ["user_id", "revision"], if_not_exists=True
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_outbox"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    op.create_index("ix_outbox_memory_id", "outbox", ["memory_id"], if_not_exists=True)


def _create_pinned_embedder() -> None:
    op.create_table(
        "pinned_embedder",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", key(255), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("pinned_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pinned_embedder"),
        if_not_exists=True,
    )


def _create_policy_version() -> None:
    op.create_table(
        "policy_version",
        sa.Column("fingerprint", key(255), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("first_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_policy_version"),
        if_not_exists=True,
    )


def _create_retrieval() -> None:
    op.create_table(
        "retrieval",
        sa.Column("id", key(36), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_id", key(255), nullable=True),
        sa.Column("session_id", key(255), nullable=True),
        sa.Column("episode_id", key(36), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("policy_fingerprint", key(255), nullable=False),
        sa.Column("timed_out", sa.Boolean(), nullable=False),
        sa.Column("returned", sa.Text(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("verdicts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_retrieval"),
        if_not_exists=True,
    )
    op.create_index("ix_retrieval_episode", "retrieval", ["episode_id"], if_not_exists=True)
    op.create_index(
        "ix_retrieval_user_asked", "retrieval", ["user_id", "asked_at"], if_not_exists=True
    )


def _create_scope_revision() -> None:
    op.create_table(
        "scope_revision",
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("purged_revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_scope_revision"),
        if_not_exists=True,
    )


def _create_session() -> None:
    op.create_table(
        "session",
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_key", key(255), nullable=False),
        sa.Column("session_id", key(255), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_step_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("model", key(255), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "agent_key", "session_id", name="pk_session"),
        if_not_exists=True,
    )


def _create_task_step() -> None:
    op.create_table(
        "task_step",
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("agent_key", key(255), nullable=False),
        sa.Column("session_id", key(255), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("step_id", key(255), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "user_id", "agent_key", "session_id", "ordinal", name="pk_task_step"
        ),
        if_not_exists=True,
    )


def _create_embedding() -> None:
    op.create_table(
        "embedding",
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("fingerprint", key(255), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memory.id"], name="fk_embedding_memory_id_memory"),
        sa.PrimaryKeyConstraint("memory_id", "ordinal", "fingerprint", name="pk_embedding"),
        if_not_exists=True,
    )
    op.create_index("ix_embedding_user_id", "embedding", ["user_id"], if_not_exists=True)


def _create_memory_event() -> None:
    op.create_table(
        "memory_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("kind", key(32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", key(255), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("old", sa.Text(), nullable=True),
        sa.Column("new", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name="fk_memory_event_memory_id_memory"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_memory_event"),
        if_not_exists=True,
    )
    op.create_index("ix_memory_event_memory_id", "memory_event", ["memory_id"], if_not_exists=True)


def _create_memory_evidence() -> None:
    op.create_table(
        "memory_evidence",
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("step_id", key(255), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("quote_hash", key(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name="fk_memory_evidence_memory_id_memory"
        ),
        sa.PrimaryKeyConstraint("memory_id", "ordinal", name="pk_memory_evidence"),
        if_not_exists=True,
    )


def _create_memory_key() -> None:
    op.create_table(
        "memory_key",
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("kind", key(32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name="fk_memory_key_memory_id_memory"
        ),
        sa.PrimaryKeyConstraint("memory_id", "ordinal", name="pk_memory_key"),
        if_not_exists=True,
    )
    op.create_index("ix_memory_key_user_id", "memory_key", ["user_id"], if_not_exists=True)


def _create_memory_link() -> None:
    op.create_table(
        "memory_link",
        sa.Column("from_id", key(36), nullable=False),
        sa.Column("to_id", key(36), nullable=False),
        sa.Column("relation", key(32), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.Column("status", key(32), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["from_id"], ["memory.id"], name="fk_memory_link_from_id_memory"),
        sa.ForeignKeyConstraint(["to_id"], ["memory.id"], name="fk_memory_link_to_id_memory"),
        sa.PrimaryKeyConstraint("from_id", "to_id", "relation", name="pk_memory_link"),
        if_not_exists=True,
    )
    op.create_index("ix_memory_link_to_id", "memory_link", ["to_id"], if_not_exists=True)


def _create_memory_tag() -> None:
    op.create_table(
        "memory_tag",
        sa.Column("memory_id", key(36), nullable=False),
        sa.Column("facet", key(64), nullable=False),
        sa.Column("value", key(190), nullable=False),
        sa.Column("user_id", key(255), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name="fk_memory_tag_memory_id_memory"
        ),
        sa.PrimaryKeyConstraint("memory_id", "facet", "value", name="pk_memory_tag"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_memory_tag_user_tag", "memory_tag", ["user_id", "facet", "value"], if_not_exists=True
    )
