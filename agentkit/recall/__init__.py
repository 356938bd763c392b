"""Recall: intent of a query, exact scan, score, decay, explanation, briefing. All pure."""

from agentkit.recall.briefing import BriefingMemory, BriefingView, compose, harmless
from agentkit.recall.cache import IndexCache
from agentkit.recall.explain import explanation, why_not
from agentkit.recall.filters import Filter, count_passing
from agentkit.recall.index import Near, ScopeIndex
from agentkit.recall.intent import AliasTable, Prototypes, TagExamples, infer_tags
from agentkit.recall.phrases import FoundTime, find_time, read_time
from agentkit.recall.query import Ranking, RankQuery
from agentkit.recall.rank import rank
from agentkit.recall.sampling import sampled, without_pool
from agentkit.recall.sanitise import ends, focus
from agentkit.recall.score import rescore, reweigh

__all__ = [
    "AliasTable",
    "BriefingMemory",
    "BriefingView",
    "Filter",
    "FoundTime",
    "IndexCache",
    "Near",
    "Prototypes",
    "RankQuery",
    "Ranking",
    "ScopeIndex",
    "TagExamples",
    "compose",
    "count_passing",
    "ends",
    "explanation",
    "find_time",
    "focus",
    "harmless",
    "infer_tags",
    "rank",
    "read_time",
    "rescore",
    "reweigh",
    "sampled",
    "why_not",
    "without_pool",
]
