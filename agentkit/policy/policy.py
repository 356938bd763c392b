"""The whole policy: the content of `memory/*.yaml`, with a fingerprint."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

import yaml

from agentkit.errors import ConfigError
from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.loader import line_of, load_yaml, nearest
from agentkit.policy.model import PolicyModel
from agentkit.policy.recall import RecallPolicy
from agentkit.policy.reflection import ReflectionPolicy
from agentkit.policy.taxonomy import TaxonomyPolicy, tag_text
from agentkit.policy.working import WorkingPolicy

P = TypeVar("P", bound=PolicyModel)

FINGERPRINT_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything that an owner may set about memory. The defaults stand where nothing is said.

    Attributes:
        taxonomy: Facets and values, with their words and examples.
        decay: How memories fade.
        recall: How they are found, scored and briefed.
        boundaries: When a task ends.
        working: How much of a running task the model is sent.
        reflection: How a task is looked back on, and what is admitted.
        fingerprint: 12 hex digits that change with any value above; it is in every log record.
    """

    taxonomy: TaxonomyPolicy = field(default_factory=TaxonomyPolicy)
    decay: DecayPolicy = field(default_factory=DecayPolicy)
    recall: RecallPolicy = field(default_factory=RecallPolicy)
    boundaries: BoundariesPolicy = field(default_factory=BoundariesPolicy)
    working: WorkingPolicy = field(default_factory=WorkingPolicy)
    reflection: ReflectionPolicy = field(default_factory=ReflectionPolicy)
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the fingerprint once."""
        canonical = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=True)
        digest = hashlib.sha256(canonical.encode("ascii")).hexdigest()
        object.__setattr__(self, "fingerprint", digest[:FINGERPRINT_DIGITS])

    def to_json(self) -> dict[str, object]:
        """Return all values by file name, ready for JSON; what `policy_version` keeps."""
        parts: dict[str, object] = {}
        for part in fields(self):
            if part.name != "fingerprint":
                model: PolicyModel = getattr(self, part.name)
                parts[part.name] = model.model_dump(mode="json")
        return parts


def policy_yaml(policy: Policy) -> str:
    """Return all values by file name, as YAML for a person to read.

    Args:
        policy: The policy.
    """
    text: str = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - open in the stubs
        policy.to_json(), allow_unicode=True, sort_keys=False
    )
    return text.rstrip()


def load_policy(find: Callable[[str], Path | None]) -> Policy:
    """Return the policy out of `memory/*.yaml`; a missing or empty file gives the defaults.

    Args:
        find: Gives the file for a name such as `memory/decay.yaml`, or None.

    Raises:
        ConfigError: With file, line and key, for the first thing that is wrong in any file.
    """

    def part(name: str, model: type[P]) -> P:
        path = find(f"memory/{name}.yaml")
        return model() if path is None else load_yaml(path, model)

    policy = Policy(
        taxonomy=part("taxonomy", TaxonomyPolicy),
        decay=part("decay", DecayPolicy),
        recall=part("recall", RecallPolicy),
        boundaries=part("boundaries", BoundariesPolicy),
        working=part("working", WorkingPolicy),
        reflection=part("reflection", ReflectionPolicy),
    )
    _check_tags(policy, file=find("memory/decay.yaml"))
    return policy


def stray_files(folder: Path) -> tuple[ConfigError, ...]:
    """Return an error for each file of a `memory/` folder that looks like policy and is not read.

    Args:
        folder: A `memory/` folder; may be missing.
    """
    known = [f"{part.name}.yaml" for part in fields(Policy) if part.name != "fingerprint"]
    there = sorted((*folder.glob("*.yaml"), *folder.glob("*.yml")))
    return tuple(
        ConfigError(
            f"nothing reads this file{nearest(file.with_suffix('.yaml').name, known)}", file=file
        )
        for file in there
        if file.name not in known
    )


def _check_tags(policy: Policy, *, file: Path | None) -> None:
    """Refuse a half-life for a tag that the taxonomy does not have."""
    known = [str(tag) for tag in policy.taxonomy.tags()]
    for name in policy.decay.tags:
        if name not in known:
            raise ConfigError(
                f"memory/taxonomy.yaml has no tag {name!r}{nearest(tag_text(name), known)}",
                file=file,
                line=None if file is None else line_of(file, "tags", name),
                key=f"tags.{name}",
            )
