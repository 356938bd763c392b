"""The store room: SQL, blobs, embedders and the derived index."""

from agentkit.store.blobs import FolderBlobs
from agentkit.store.consistency import Consistency, Disagreement
from agentkit.store.edits import KEEP, Keep, MemoryEdit
from agentkit.store.embedders import open_embedder
from agentkit.store.ids import new_id
from agentkit.store.offload import GATE, offload
from agentkit.store.ownership import IndexSlot, index_slot, unused_index_folders
from agentkit.store.places import open_blobs
from agentkit.store.points import Point, Reached, go_on
from agentkit.store.processes import ProcessMark, this_process
from agentkit.store.purges import PurgeReport, PurgeTarget
from agentkit.store.store import Store
from agentkit.store.transfer.reports import ExportReport, RestoreReport
from agentkit.store.trials import Agreement, Comparison
from agentkit.store.values import (
    VISIBLE,
    Check,
    FillReport,
    ForgetResult,
    KeptVectors,
    NewEpisode,
    NewMemory,
    OpenTask,
    SealResult,
    SettleReport,
    StoredReflection,
    SwitchReport,
    Verification,
    WriteResult,
)

__all__ = [
    "GATE",
    "KEEP",
    "VISIBLE",
    "Agreement",
    "Check",
    "Comparison",
    "Consistency",
    "Disagreement",
    "ExportReport",
    "FillReport",
    "FolderBlobs",
    "ForgetResult",
    "IndexSlot",
    "Keep",
    "KeptVectors",
    "MemoryEdit",
    "NewEpisode",
    "NewMemory",
    "OpenTask",
    "Point",
    "ProcessMark",
    "PurgeReport",
    "PurgeTarget",
    "Reached",
    "RestoreReport",
    "SealResult",
    "SettleReport",
    "Store",
    "StoredReflection",
    "SwitchReport",
    "Verification",
    "WriteResult",
    "go_on",
    "index_slot",
    "new_id",
    "offload",
    "open_blobs",
    "open_embedder",
    "this_process",
    "unused_index_folders",
]
