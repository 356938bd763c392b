"""Who may store trajectories ahead of their rows, and who may sweep unused ones away."""

import asyncio

import pytest

from agentkit.errors import StoreError
from agentkit.store.engine import database_address, open_engine
from agentkit.store.sweeping import SweepLock


async def test_many_may_store_at_once_and_one_alone_may_sweep(database_url: str) -> None:
    engine = open_engine(database_address(database_url))
    one, other = SweepLock(engine), SweepLock(engine)
    with one.storing(), other.storing():
        with (
            pytest.raises(StoreError, match="mending has to wait"),
            other.sweeping(what="mending", patience_s=0),
        ):
            pass
        with pytest.raises(StoreError, match="purging has to wait"):
            async with one.aside(what="purging", patience_s=0.1):
                pass
    async with one.aside(what="purging", patience_s=0):
        with (
            pytest.raises(StoreError, match="another sweep"),
            other.sweeping(what="mending", patience_s=0),
        ):
            pass
    with other.sweeping(what="mending", patience_s=0):
        pass
    engine.dispose()


async def test_who_gives_up_waiting_leaves_nothing_locked(database_url: str) -> None:
    engine = open_engine(database_address(database_url))
    one, other = SweepLock(engine), SweepLock(engine)

    async def purge() -> None:
        async with one.aside(what="purging", patience_s=60):
            raise AssertionError("a restore was going on")

    with other.storing():
        waiting = asyncio.ensure_future(purge())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    # The thread that waited still gets its turn, and lets go of it at once.
    async with other.aside(what="purging", patience_s=60):
        pass
    engine.dispose()
