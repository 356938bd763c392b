"""The store room: SQL, blobs, embedders and the derived index."""

from agentkit.store.blobs import FolderBlobs
from agentkit.store.embedders import open_embedder
from agentkit.store.ids import new_id
from agentkit.store.offload import GATE, offload
from agentkit.store.processes import ProcessMark, this_process
from agentkit.store.store import Store
from agentkit.store.transfer.reports import ExportReport, RestoreReport
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
    "GATE",
    "VISIBLE",
    "Check",
    "ExportReport",
    "FolderBlobs",
    "ForgetResult",
    "NewEpisode",
    "NewMemory",
    "OpenTask",
    "ProcessMark",
    "RestoreReport",
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
