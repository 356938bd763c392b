"""What `agentkit doctor` looks at in a project before the kit is opened."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentkit.errors import AgentkitError
from agentkit.policy.policy import load_policy, stray_files
from agentkit.project import Project
from agentkit.settings import SETTINGS_FILE, load_settings
from agentkit.templates import Templates
from agentkit.toolbox import load_toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor.

    Attributes:
        name: What was looked at.
        ok: Whether it is in order.
        detail: What was found.
        fix: What to do about it, or "".
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""


def content_findings(project: Project, *, root: Path) -> Iterator[Finding]:
    """Give a finding for each kind of content, in order; one that fails never hides the next.

    Args:
        project: Where content is found.
        root: Folder of the project.
    """
    yield Finding(name="python", ok=True, detail=platform.python_version())
    yield _project_finding(root)
    yield _tried("settings", lambda: _settings_detail(root))
    yield _tried("policy", lambda: _policy_detail(project))
    yield from _stray_findings(project)
    yield from _model_findings(project, root=root)
    yield from _template_findings(project)
    yield from _toolbox_findings(project, root=root)


def _tried(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name=name, ok=True, detail=look())
    except AgentkitError as error:
        return Finding(name=name, ok=False, detail=str(error), fix="correct the line named")


def _project_finding(root: Path) -> Finding:
    if (root / SETTINGS_FILE).is_file():
        return Finding(name="project", ok=True, detail=str(root))
    return Finding(
        name="project",
        ok=True,
        detail=f"{root} (no {SETTINGS_FILE}: packaged defaults)",
        fix="`agentkit init DIR` makes a project to edit",
    )


def _settings_detail(root: Path) -> str:
    settings = load_settings(root)
    model = settings.model or "none (rules reflect)"
    return f"model {model}; embedder {settings.embedder}; index {settings.index}"


def _policy_detail(project: Project) -> str:
    policy = load_policy(project.find)
    tags = len(policy.taxonomy.tags())
    facets = len(policy.taxonomy.facets)
    return f"fingerprint {policy.fingerprint}; taxonomy: {facets} facets, {tags} tags"


def _stray_findings(project: Project) -> Iterator[Finding]:
    for folder in project.content("memory"):
        for problem in stray_files(folder):
            yield Finding(
                name="policy", ok=False, detail=str(problem), fix="rename or remove that file"
            )


def _model_findings(project: Project, *, root: Path) -> Iterator[Finding]:
    """Tell whether the models named for reflection could be asked; none of them is."""
    try:
        named = (load_settings(root).model, load_policy(project.find).reflection.model)
    except AgentkitError:
        return
    for name in dict.fromkeys(model for model in named if model is not None):
        # Loads the model library, so only where a model is named.
        from agentkit.reflection.asking import takes_schema

        try:
            takes_schema(name)
        except AgentkitError as error:
            fix = "name it provider:model, and put its key into the environment"
            yield Finding(name="model", ok=False, detail=str(error), fix=fix)
        else:
            yield Finding(name="model", ok=True, detail=f"{name} can be asked")


def _template_findings(project: Project) -> Iterator[Finding]:
    problems = Templates(project.content("prompts")).check()
    for problem in problems:
        yield Finding(
            name="prompts", ok=False, detail=str(problem), fix="correct or delete that file"
        )
    if not problems:
        yield Finding(name="prompts", ok=True, detail="all templates are in order")


def _toolbox_findings(project: Project, *, root: Path) -> Iterator[Finding]:
    toolbox = load_toolbox(project.content("tools"), root=root)
    for problem in toolbox.problems:
        yield Finding(name="tools", ok=False, detail=str(problem), fix="correct that file")
    if not toolbox.problems:
        yield Finding(name="tools", ok=True, detail=f"{len(toolbox.functions)} tools")
