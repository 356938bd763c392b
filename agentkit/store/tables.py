"""The tables. Every row but the static ones carries `user_id`; rows never leave the store.

Ids and tags compare byte for byte on every database: in the migrations each text with a length is
a `key`. Every key has a length, so that MySQL can follow. `agent_key` stands for the agent in
primary keys, where NULL cannot: it is "" when there is no agent.
"""

import re
from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, MetaData, Text
from sqlalchemy.orm import declared_attr, registry
from sqlmodel import Field, SQLModel

from agentkit.store.utc import UtcDateTime

ID_CHARS = 36
NAME_CHARS = 255
FACET_CHARS = 64
VALUE_CHARS = 190
WORD_CHARS = 32
HASH_CHARS = 64

_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class Row(SQLModel, registry=registry(metadata=MetaData(naming_convention=_CONVENTION))):
    """What every table has in common: its own metadata, and a name made from the class name.

    The metadata is ours alone, so a user's own SQLModel tables never meet these.
    """

    @declared_attr.directive
    @classmethod
    def __tablename__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the class name in snake case without `Row`; SQLModel types it too narrowly."""
        return _CAPITAL.sub("_", cls.__name__.removesuffix("Row")).lower()


class MemoryRow(Row, table=True):
    """A memory, without its keys, tags and evidence."""

    __table_args__ = (
        Index("ix_memory_user_revision", "user_id", "revision"),
        Index("ix_memory_user_created", "user_id", "created_at"),
        Index("ix_memory_user_identity", "user_id", "identity"),
        Index("ix_memory_user_operation", "user_id", "operation_id"),
        Index("ix_memory_episode", "episode_id"),
    )

    id: str = Field(primary_key=True, max_length=ID_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)
    agent_id: str | None = Field(default=None, max_length=NAME_CHARS)
    type: str = Field(max_length=WORD_CHARS)
    content: str = Field(sa_type=Text)
    identity: str = Field(max_length=HASH_CHARS)
    operation_id: str | None = Field(default=None, max_length=NAME_CHARS)
    intent: str = Field(default="", sa_type=Text)
    status: str = Field(max_length=WORD_CHARS)
    confidence: float
    alpha: float
    beta: float
    permanent: bool = False
    trust: float
    source: str = Field(max_length=WORD_CHARS)
    language: str = Field(max_length=WORD_CHARS)
    created_at: datetime = Field(sa_type=UtcDateTime)
    recorded_at: datetime = Field(sa_type=UtcDateTime)
    edited_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    valid_from: datetime | None = Field(default=None, sa_type=UtcDateTime)
    valid_to: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_recalled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_verified_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    recalled_count: int = 0
    used_count: int = 0
    demoted: bool = False
    episode_id: str | None = Field(default=None, max_length=ID_CHARS)
    position: int = -1
    superseded_by: str | None = Field(default=None, max_length=ID_CHARS)
    revision: int = Field(sa_type=BigInteger)


class MemoryKeyRow(Row, table=True):
    """A text by which a memory is found: ordinal 0 is its content, the others are cues."""

    memory_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS)
    ordinal: int = Field(primary_key=True)
    user_id: str = Field(max_length=NAME_CHARS, index=True)
    kind: str = Field(max_length=WORD_CHARS)
    text: str = Field(sa_type=Text)
    terms: bytes = Field(sa_type=LargeBinary)


class EmbeddingRow(Row, table=True):
    """The vector of a key, float32 little-endian, made by one embedder."""

    memory_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS)
    ordinal: int = Field(primary_key=True)
    fingerprint: str = Field(primary_key=True, max_length=NAME_CHARS)
    user_id: str = Field(max_length=NAME_CHARS, index=True)
    dim: int
    vector: bytes = Field(sa_type=LargeBinary)


class MemoryTagRow(Row, table=True):
    """A tag of a memory."""

    __table_args__ = (Index("ix_memory_tag_user_tag", "user_id", "facet", "value"),)

    memory_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS)
    facet: str = Field(primary_key=True, max_length=FACET_CHARS)
    value: str = Field(primary_key=True, max_length=VALUE_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)


class MemoryEvidenceRow(Row, table=True):
    """A step, and the words in it, that a memory rests on."""

    memory_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS)
    ordinal: int = Field(primary_key=True)
    user_id: str = Field(max_length=NAME_CHARS)
    step_id: str = Field(max_length=NAME_CHARS)
    quote: str = Field(sa_type=Text)
    quote_hash: str = Field(max_length=HASH_CHARS)


class MemoryLinkRow(Row, table=True):
    """How two memories of one user stand to each other."""

    from_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS)
    to_id: str = Field(primary_key=True, foreign_key="memory.id", max_length=ID_CHARS, index=True)
    relation: str = Field(primary_key=True, max_length=WORD_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)
    status: str = Field(max_length=WORD_CHARS)
    rationale: str = Field(default="", sa_type=Text)
    confidence: float = 1.0
    created_at: datetime = Field(sa_type=UtcDateTime)


class MemoryEventRow(Row, table=True):
    """One change of a memory, with the changed fields before and after as JSON text."""

    id: int | None = Field(default=None, primary_key=True)
    memory_id: str = Field(foreign_key="memory.id", max_length=ID_CHARS, index=True)
    user_id: str = Field(max_length=NAME_CHARS)
    kind: str = Field(max_length=WORD_CHARS)
    at: datetime = Field(sa_type=UtcDateTime)
    actor: str = Field(max_length=NAME_CHARS)
    reason: str = Field(default="", sa_type=Text)
    old: str | None = Field(default=None, sa_type=Text)
    new: str | None = Field(default=None, sa_type=Text)


class SessionRow(Row, table=True):
    """A conversation that has, or had, an open task."""

    user_id: str = Field(primary_key=True, max_length=NAME_CHARS)
    agent_key: str = Field(primary_key=True, max_length=NAME_CHARS)
    session_id: str = Field(primary_key=True, max_length=NAME_CHARS)
    opened_at: datetime = Field(sa_type=UtcDateTime)
    last_step_at: datetime = Field(sa_type=UtcDateTime)
    instructions: str = Field(default="", sa_type=Text)
    model: str | None = Field(default=None, max_length=NAME_CHARS)
    owner: str = Field(default="", sa_type=Text)


class TaskStepRow(Row, table=True):
    """A step of an open task, as JSON text; gone once the task is sealed."""

    user_id: str = Field(primary_key=True, max_length=NAME_CHARS)
    agent_key: str = Field(primary_key=True, max_length=NAME_CHARS)
    session_id: str = Field(primary_key=True, max_length=NAME_CHARS)
    ordinal: int = Field(primary_key=True)
    step_id: str = Field(max_length=NAME_CHARS)
    payload: str = Field(sa_type=Text)


class EpisodeRow(Row, table=True):
    """A sealed trajectory; its steps are in the blob."""

    __table_args__ = (
        Index("ix_episode_user_ended", "user_id", "ended_at"),
        Index("ix_episode_user_source", "user_id", "source_id"),
    )

    id: str = Field(primary_key=True, max_length=ID_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)
    agent_id: str | None = Field(default=None, max_length=NAME_CHARS)
    session_id: str = Field(max_length=NAME_CHARS)
    source_id: str | None = Field(default=None, max_length=NAME_CHARS)
    goal: str = Field(sa_type=Text)
    outcome: str = Field(max_length=WORD_CHARS)
    outcome_source: str | None = Field(default=None, max_length=WORD_CHARS)
    end_reason: str = Field(max_length=WORD_CHARS)
    trajectory_uri: str = Field(max_length=NAME_CHARS)
    trajectory_sha256: str = Field(max_length=HASH_CHARS)
    instructions: str = Field(default="", sa_type=Text)
    model: str | None = Field(default=None, max_length=NAME_CHARS)
    step_count: int
    tokens_in: int = 0
    tokens_out: int = 0
    started_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime = Field(sa_type=UtcDateTime)
    recorded_at: datetime = Field(sa_type=UtcDateTime)
    reflected_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    reflection: str | None = Field(default=None, sa_type=Text)
    refused: str | None = Field(default=None, sa_type=Text)


class JobRow(Row, table=True):
    """A piece of background work. `attempts` grows with each claim, so it fences old holders."""

    __table_args__ = (
        Index("ix_job_state_run_after", "state", "run_after"),
        Index("ix_job_user_subject", "user_id", "subject_id"),
    )

    id: str = Field(primary_key=True, max_length=ID_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)
    agent_id: str | None = Field(default=None, max_length=NAME_CHARS)
    kind: str = Field(max_length=WORD_CHARS)
    subject_id: str = Field(max_length=ID_CHARS)
    state: str = Field(max_length=WORD_CHARS)
    attempts: int = 0
    run_after: datetime = Field(sa_type=UtcDateTime)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_error: str = Field(default="", sa_type=Text)
    payload: str = Field(default="{}", sa_type=Text)
    created_at: datetime = Field(sa_type=UtcDateTime)


class OutboxRow(Row, table=True):
    """A key on which SQL and the vector index may differ; what to do is read from SQL."""

    # A number is never given twice: a late "done" must not hit a newer row.
    __table_args__ = ({"sqlite_autoincrement": True},)

    seq: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(max_length=NAME_CHARS)
    memory_id: str = Field(max_length=ID_CHARS, index=True)
    ordinal: int


class RetrievalRow(Row, table=True):
    """One recall; query, answer and pool are packed in one column."""

    __table_args__ = (
        Index("ix_retrieval_user_asked", "user_id", "asked_at"),
        Index("ix_retrieval_episode", "episode_id"),
    )

    id: str = Field(primary_key=True, max_length=ID_CHARS)
    user_id: str = Field(max_length=NAME_CHARS)
    agent_id: str | None = Field(default=None, max_length=NAME_CHARS)
    session_id: str | None = Field(default=None, max_length=NAME_CHARS)
    episode_id: str | None = Field(default=None, max_length=ID_CHARS)
    asked_at: datetime = Field(sa_type=UtcDateTime)
    policy_fingerprint: str = Field(max_length=NAME_CHARS)
    timed_out: bool = False
    returned: str = Field(default="[]", sa_type=Text)
    packed: bytes = Field(sa_type=LargeBinary)
    verdicts: str = Field(default="[]", sa_type=Text)


class PolicyVersionRow(Row, table=True):
    """The content of a policy that some recall used; the same for all users."""

    fingerprint: str = Field(primary_key=True, max_length=NAME_CHARS)
    content: str = Field(sa_type=Text)
    first_used_at: datetime = Field(sa_type=UtcDateTime)


class ScopeRevisionRow(Row, table=True):
    """How far the memories of a user have changed, and when something was last erased."""

    user_id: str = Field(primary_key=True, max_length=NAME_CHARS)
    revision: int = Field(default=0, sa_type=BigInteger)
    purged_revision: int = Field(default=0, sa_type=BigInteger)


class PurgeMarkRow(Row, table=True):
    """Something that was erased for good, by the hash of its id: nobody's, and without a word."""

    mark: str = Field(primary_key=True, max_length=HASH_CHARS)


class StoreOwnerRow(Row, table=True):
    """The user whose store this is, by a hash of the name; no row where all users share it."""

    owner: str = Field(primary_key=True, max_length=HASH_CHARS)


class PinnedEmbedderRow(Row, table=True):
    """The embedder whose vectors this store holds; one row."""

    id: int = Field(primary_key=True, sa_type=Integer)
    name: str = Field(max_length=NAME_CHARS)
    dim: int
    pinned_at: datetime = Field(sa_type=UtcDateTime)
