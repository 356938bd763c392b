"""The project's agent: its model, its instructions, its tools."""

from typing import TYPE_CHECKING

from agentkit.errors import ConfigError, InputError
from agentkit.kit.models import served_at
from agentkit.records import Language
from agentkit.text import language_of

if TYPE_CHECKING:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.models import Model

    from agentkit.kit import Kit

NO_MODEL = (
    "no model is set; give --model openai:gpt-5, set `model` in agentkit.yaml or AGENTKIT_MODEL, "
    "or use a local OpenAI-compatible server: --base-url http://127.0.0.1:11434/v1 --model NAME"
)


def make_agent(kit: "Kit", *, model: "Model | None" = None) -> "Agent[object, str]":
    """Return the agent of a project: prompt `agent`, tools of `tools/*.py`, no memory yet.

    Args:
        kit: The open project.
        model: A model object in place of the one that the settings name, or None.

    Raises:
        ConfigError: If no model is set, or the one that is set cannot be used.
    """
    from pydantic_ai import Agent

    asked = model if model is not None else _model_of(kit)

    def instructions(ctx: "RunContext[object]") -> str:
        language = _language(kit, ctx.prompt)
        return kit.templates.render("agent", language=language, date=f"{kit.now():%Y-%m-%d}")

    return Agent(asked, instructions=instructions, toolsets=[kit.toolset()])


def _model_of(kit: "Kit") -> "Model":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    name = kit.settings.model
    if name is None:
        raise ConfigError(NO_MODEL)
    model = served_at(name, base_url=kit.settings.base_url)
    if isinstance(model, str) and kit.settings.base_url is not None:
        raise InputError(
            f"model {name!r} names a provider with an address of its own; leave base_url out, or "
            "name the model as the server there does"
        )
    try:
        return infer_model(model)
    except (UserError, ValueError, ImportError) as error:
        why = " ".join(str(error).split())
        raise ConfigError(f"model {name!r} cannot be used: {why}") from error


def _language(kit: "Kit", prompt: object) -> Language:
    from agentkit.steps import prompt_text

    wanted = kit.settings.language
    return language_of(prompt_text(prompt)) if wanted == "auto" else wanted
