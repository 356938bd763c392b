"""The store room: SQL, blobs, embedders and the derived index."""

from agentkit.store.blobs import FolderBlobs
from agentkit.store.edits import KEEP, Keep, MemoryEdit
from agentkit.store.embedders import open_embedder
from agentkit.store.ids import new_id
from agentkit.store.offload import offload
from agentkit.store.processes import ProcessMark, this_process
from agentkit.store.purges import PurgeReport, PurgeTarget
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
    "KEEP",
    "VISIBLE",
    "Check",
    "FolderBlobs",
    "ForgetResult",
    "Keep",
    "MemoryEdit",
    "NewEpisode",
    "NewMemory",
    "OpenTask",
    "ProcessMark",
    "PurgeReport",
    "PurgeTarget",
    "SealResult",
    "SettleReport",
    "Store",
    "StoredReflection",
    "Verification",
    "WriteResult",
    "new_id",
    "offload",
    "open_embedder",
    "this_process",
]
