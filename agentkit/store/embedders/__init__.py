"""Embedders, each loaded when it is first used."""

from agentkit.store.embedders.opening import open_embedder

__all__ = ["open_embedder"]
