"""Where a model string is asked: at its provider, or at the server that the settings name."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_OPENAI = ("openai-chat:", "openai:")


def served_at(name: str, *, base_url: str | None) -> "Model | str":
    """Return what is to be asked for a model string.

    Args:
        name: Model string of pydantic-ai, or the plain name that a local server knows, which may
            hold colons (`qwen3:8b`).
        base_url: Server that speaks OpenAI's protocol, or None.

    Returns:
        A model at that server, for `openai:NAME` and for names without a provider; the string
        itself where there is no server, or where it names another provider.
    """
    if base_url is None:
        return name
    plain = next((name.removeprefix(lead) for lead in _OPENAI if name.startswith(lead)), name)
    if plain == name and names_provider(name):
        return name
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(plain, provider=OpenAIProvider(base_url=base_url))


def names_provider(name: str) -> bool:
    """Whether a model string begins with a provider that pydantic-ai knows."""
    from pydantic_ai.providers import infer_provider_class

    lead, colon, _ = name.partition(":")
    if name == "test" or not colon:
        return name == "test"
    try:
        infer_provider_class(lead)
    except ValueError:
        return False
    except ImportError:
        # Known, though what it needs is not installed.
        return True
    return True
