"""After a fork: the child gets parts of its own for each open project.

A child inherits database connections, locks that a thread of its parent may hold, and an event
loop whose threads do not exist; using any of them hangs or does harm. Servers that fork their
workers after loading the application, and `multiprocessing` on Linux, do that.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from functools import cache
from weakref import WeakKeyDictionary

from agentkit.errors import AgentkitError
from agentkit.kit.parts import Parts
from agentkit.kit.running import Running
from agentkit.store import GATE

logger = logging.getLogger("agentkit")

_REOPEN: "WeakKeyDictionary[Running, Callable[[], Parts]]" = WeakKeyDictionary()
# The longest blocking call, loading an embedder or chromadb, takes some seconds on a busy machine.
GATE_LIMIT_S = 10.0
# What the parent had open, kept so that nothing of it is ever closed from within a child.
_INHERITED: list[object] = []


def reopen_in_children(running: Running, reopen: Callable[[], Parts]) -> None:
    """Have an open project opened anew in every process that is forked from this one.

    Args:
        running: The open project; it stays the same object in the child.
        reopen: Opens its parts.
    """
    _REOPEN[running] = reopen
    _register()


@cache
def _register() -> None:
    os.register_at_fork(before=_before, after_in_parent=GATE.reopen, after_in_child=_in_child)


def _before() -> None:
    if not GATE.shut(timeout_s=GATE_LIMIT_S):
        logger.warning("forked while the memory was at work; the child may find it locked")


def _in_child() -> None:
    used_loop = False
    GATE.renew()
    for running, reopen in list(_REOPEN.items()):
        _INHERITED.append(dict(vars(running)))
        used_loop = running.background.abandon() or used_loop
        try:
            parts = reopen()
        except AgentkitError as error:
            logger.warning("the project cannot be opened in a forked process: %s", error)
            continue
        running.put_together(parts)
    if used_loop:
        # From Python 3.12 on the interpreter does this itself.
        asyncio.set_event_loop(asyncio.new_event_loop())
