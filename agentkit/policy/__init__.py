"""The parsed, versioned content of `memory/*.yaml`."""

from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.loader import load_yaml
from agentkit.policy.policy import Policy, load_policy
from agentkit.policy.recall import RecallPolicy
from agentkit.policy.reflection import ReflectionPolicy
from agentkit.policy.tags import parse_tag, parse_tags
from agentkit.policy.taxonomy import TaxonomyPolicy
from agentkit.policy.working import WorkingPolicy

__all__ = [
    "BoundariesPolicy",
    "DecayPolicy",
    "Policy",
    "RecallPolicy",
    "ReflectionPolicy",
    "TaxonomyPolicy",
    "WorkingPolicy",
    "load_policy",
    "load_yaml",
    "parse_tag",
    "parse_tags",
]
