"""Recorded sessions of other tools, as trajectories."""

from agentkit.evaluation.importers.registry import FORMATS, read_recordings
from agentkit.evaluation.importers.report import ImportReport, SkippedLine

__all__ = ["FORMATS", "ImportReport", "SkippedLine", "read_recordings"]
