"""The one place where blocking calls leave the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def offload(call: Callable[[], Result]) -> Result:
    """Return what a blocking call returns, without blocking the event loop.

    Args:
        call: The call, with its arguments bound.
    """
    return await asyncio.to_thread(call)
