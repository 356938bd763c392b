"""The store room: SQL, blobs, embedders and the derived index."""

from agentkit.store.blobs import FolderBlobs
from agentkit.store.consistency import Consistency, Disagreement
from agentkit.store.doors.snapshot import Snapshot
from agentkit.store.edits import KEEP, Keep, MemoryEdit
from agentkit.store.embedders import open_embedder
from agentkit.store.ids import new_id
from agentkit.store.layout import Isolation, Layout
from agentkit.store.merging import (
    merge_checks,
    merge_consistency,
    merge_filled,
    merge_kept,
    merge_restored,
    merge_settled,
    merge_switched,
)
from agentkit.store.offload import GATE, offload
from agentkit.store.ownership import IndexSlot, index_slot, unused_index_folders
from agentkit.store.places import open_blobs
from agentkit.store.points import Point, Reached, go_on
from agentkit.store.processes import ProcessMark, this_process
from agentkit.store.progress import Progress
from agentkit.store.purges import PurgeReport, PurgeTarget
from agentkit.store.store import Store
from agentkit.store.stores import Stores, open_stores
from agentkit.store.transfer.reports import ExportReport, RestoreReport
from agentkit.store.transfer.users import users_of
from agentkit.store.trials import Agreement, Comparison, LogTrial, compare_trials
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
    SessionSummary,
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
    "Isolation",
    "Keep",
    "KeptVectors",
    "Layout",
    "LogTrial",
    "MemoryEdit",
    "NewEpisode",
    "NewMemory",
    "OpenTask",
    "Point",
    "ProcessMark",
    "Progress",
    "PurgeReport",
    "PurgeTarget",
    "Reached",
    "RestoreReport",
    "SealResult",
    "SessionSummary",
    "SettleReport",
    "Snapshot",
    "Store",
    "StoredReflection",
    "Stores",
    "SwitchReport",
    "Verification",
    "WriteResult",
    "compare_trials",
    "go_on",
    "index_slot",
    "merge_checks",
    "merge_consistency",
    "merge_filled",
    "merge_kept",
    "merge_restored",
    "merge_settled",
    "merge_switched",
    "new_id",
    "offload",
    "open_blobs",
    "open_embedder",
    "open_stores",
    "this_process",
    "unused_index_folders",
    "users_of",
]
