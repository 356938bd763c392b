"""The store room: SQL, blobs, embedders and the derived index."""

from agentkit.store.blobs import FolderBlobs
from agentkit.store.consistency import Consistency, Disagreement
from agentkit.store.embedders import open_embedder
from agentkit.store.ids import new_id
from agentkit.store.offload import offload
from agentkit.store.ownership import IndexSlot, index_slot
from agentkit.store.processes import ProcessMark, this_process
from agentkit.store.store import Store
from agentkit.store.values import (
    VISIBLE,
    Check,
    ForgetResult,
    NewEpisode,
    NewMemory,
    OpenTask,
    SealResult,
    SettleReport,
    StoredReflection,
    Verification,
    WriteResult,
)

__all__ = [
    "VISIBLE",
    "Check",
    "Consistency",
    "Disagreement",
    "FolderBlobs",
    "ForgetResult",
    "IndexSlot",
    "NewEpisode",
    "NewMemory",
    "OpenTask",
    "ProcessMark",
    "SealResult",
    "SettleReport",
    "Store",
    "StoredReflection",
    "Verification",
    "WriteResult",
    "index_slot",
    "new_id",
    "offload",
    "open_embedder",
    "this_process",
]
