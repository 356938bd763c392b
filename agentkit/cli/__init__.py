"""The command line: `agentkit`."""

from agentkit.cli.edge import main

__all__ = ["main"]
