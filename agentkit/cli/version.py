"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version

from agentkit.errors import DISTRIBUTION


def release() -> str:
    """Return the version of the installed distribution; `0` for sources that are not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
