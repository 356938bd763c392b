"""Options that several commands share, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated, Any

import typer

USER_VARIABLE = "AGENTKIT_USER"

UserOption = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="NAME",
        envvar=USER_VARIABLE,
        help="Whose memory. There is no default and no name for everybody.",
    ),
]

ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help="Project folder; by default the nearest one upward that holds agentkit.yaml.",
    ),
]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else on stdout.")
]

TypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only episodic, semantic or procedural memories."),
]

TagOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="TAG",
        help="A tag, facet:value or a value only one facet has; repeat it, or join with commas.",
    ),
]

SimilarityOption = Annotated[
    float | None,
    typer.Option(
        "--least-similarity",
        metavar="S",
        help="Leave out memories whose cosine to the question is below, -1 to 1.",
    ),
]
WithinOption = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="TIME",
        help='Only what was learnt or happened then: "last week", 上周, or FROM/TO in ISO 8601, '
        "where .. leaves an end open.",
    ),
]

AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Ask the memories as they stood then: an ISO 8601 time, or a date for its first "
        "instant. Nothing counts as recalled.",
    ),
]


ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Model string, such as openai:gpt-5; by default `model` of the settings.",
    ),
]

BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Local server that speaks OpenAI's protocol, such as http://127.0.0.1:11434/v1.",
    ),
]


def overrides_given(*, model: str | None, base_url: str | None) -> dict[str, Any]:
    """Return the settings that options beat; what is not given is left out."""
    given = {"model": model, "base_url": base_url}
    return {name: value for name, value in given.items() if value is not None}


def tags_given(tags: list[str] | None) -> object:
    """Return the tags in the shape in which they were given.

    One option may hold several tags, joined by commas or as a JSON list, just as a client may
    send them in one text; several options are a list.
    """
    if tags is None or len(tags) != 1:
        return tags
    return tags[0]


def project_root(project: Path | None) -> Path:
    """Return the project folder as `Kit.open` finds it.

    Args:
        project: Folder as given, or None to look upward from the current folder.
    """
    from agentkit.project import find_root

    if project is not None:
        return project
    return find_root(Path.cwd()) or Path.cwd()
