"""Recall: intent of a query, exact scan, score, decay, explanation, briefing. All pure."""

from agentkit.recall.briefing import BriefingMemory, BriefingView, compose, harmless
from agentkit.recall.cache import IndexCache
from agentkit.recall.explain import explanation, why_not
from agentkit.recall.index import Near, ScopeIndex
from agentkit.recall.intent import AliasTable, Prototypes, TagExamples, infer_tags
from agentkit.recall.query import Ranking, RankQuery
from agentkit.recall.rank import rank
from agentkit.recall.sanitise import focus
from agentkit.recall.score import rescore, reweigh

__all__ = [
    "AliasTable",
    "BriefingMemory",
    "BriefingView",
    "IndexCache",
    "Near",
    "Prototypes",
    "RankQuery",
    "Ranking",
    "ScopeIndex",
    "TagExamples",
    "compose",
    "explanation",
    "focus",
    "harmless",
    "infer_tags",
    "rank",
    "rescore",
    "reweigh",
    "why_not",
]
