"""Where memory trouble stops: the user's answer goes out as if no memory were there."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

logger = logging.getLogger("agentkit")


@contextmanager
def boundary(doing: str) -> Generator[None]:
    """Keep trouble of the memory away from the run: log it, with its traceback, and go on.

    Args:
        doing: What was being done, for the log.
    """
    try:
        yield
    except Exception:
        logger.exception("memory trouble while %s; the run goes on without", doing)
