"""Evaluation: importers of recorded sessions, labelled corpora, suites, metrics, reports."""

from agentkit.evaluation.boundaries import BoundariesReport, evaluate_boundaries
from agentkit.evaluation.report import EvalReport, caption, table
from agentkit.evaluation.retrieval import Progress, evaluate
from agentkit.evaluation.sessions import Recalled, Recaller, SessionsOutcome, evaluate_sessions
from agentkit.evaluation.suites import (
    BoundariesSuite,
    RetrievalSuite,
    SessionsSuite,
    Suite,
    load_suite,
)

__all__ = [
    "BoundariesReport",
    "BoundariesSuite",
    "EvalReport",
    "Progress",
    "Recalled",
    "Recaller",
    "RetrievalSuite",
    "SessionsOutcome",
    "SessionsSuite",
    "Suite",
    "caption",
    "evaluate",
    "evaluate_boundaries",
    "evaluate_sessions",
    "load_suite",
    "table",
]
