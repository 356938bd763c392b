"""The retrieval log, written beside the caller: many recalls in one transaction."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from weakref import WeakSet

from agentkit.kit.background import Background, attempt
from agentkit.kit.parts import Parts
from agentkit.recall import sampled, without_pool
from agentkit.records import Query, RecallResult, Retrieval, Scope
from agentkit.reflection import redact
from agentkit.store import Store

logger = logging.getLogger("agentkit")

# Writing competes with the next recalls for the interpreter, so it waits for company; whoever
# needs the log (feedback, the end of a task, closing) has it written at once.
LINGER_S = 0.25
MOST_AT_ONCE = 64
# A database that cannot be written for so long loses the log, never the caller's memory.
MOST_WAITING = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall as it goes into the log.

    Attributes:
        query: What was asked.
        scope: Whose memory.
        at: When, UTC.
        session_id: Session it served, or None.
    """

    query: Query
    scope: Scope
    at: datetime
    session_id: str | None


Entry = tuple[RecallResult, Asked]


@dataclass(slots=True)
class _Linger:
    """One piece of writing that waits for company, in the loop where it waits."""

    loop: asyncio.AbstractEventLoop
    over: asyncio.Event

    def end(self) -> None:
        """Have the wait end now; called from any thread."""
        # A loop that is closed between the look and the call raises.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.over.set)

    async def wait(self) -> None:
        """Wait for the end, or for as long as lingering is worth it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), LINGER_S)


class Logbook:
    """Takes recalls at once and writes them a little later, in the order in which they came."""

    def __init__(
        self,
        parts: Parts,
        *,
        background: Background,
        written: Callable[[Sequence[Entry]], Awaitable[None]] | None = None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """Hold nothing yet.

        Args:
            parts: The open project.
            background: Runs the writing.
            written: Told what is in the log now.
            most_waiting: Recalls held at most, at least 1; further ones are not logged.
        """
        self._parts = parts
        self._written = written
        self._most_waiting = most_waiting
        self._background = background
        self._waiting: dict[str, Entry] = {}
        self._linger: _Linger | None = None
        self._is_full = False
        self._lock = threading.Lock()
        # Each store that this process wrote its policy into.
        self._policy_kept = WeakSet[Store]()
        background.before_join(self.hasten)

    def add(self, result: RecallResult, asked: Asked) -> None:
        """Take over a recall; it is written soon, or at once when somebody waits for it.

        Args:
            result: The answer.
            asked: What was asked, by whom.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if len(self._waiting) >= self._most_waiting:
                if not self._is_full:
                    logger.warning("the retrieval log cannot keep up; some recalls are not in it")
                self._is_full = True
                return
            self._waiting[result.retrieval_id] = result, asked
            held = self._linger
            lingers = held is not None and held.loop is loop
            linger = held if held is not None and lingers else _Linger(loop, asyncio.Event())
            self._linger = linger
            enough = len(self._waiting) >= MOST_AT_ONCE
        if not lingers:
            self._background.spawn("log recalls", lambda: self._write(linger), lane="log")
        if enough:
            linger.end()

    def hasten(self) -> None:
        """Have what waits written now, in whatever loop its writing waits."""
        with self._lock:
            linger = self._linger
        if linger is not None:
            linger.end()

    async def _write(self, linger: _Linger) -> None:
        """Write what there is once its time is over; done again, it writes what is left."""
        if linger.loop is asyncio.get_running_loop():
            await linger.wait()
        with self._lock:
            if self._linger is linger:
                self._linger = None
            batch = list(self._waiting.values())
            self._is_full = False
        stores = dict[Store, list[Retrieval]]()
        for result, asked in batch:
            # Asking makes no store for a name that nobody ever used.
            if await self._parts.stores.has(asked.scope):
                store = await self._parts.store(asked.scope)
                stores.setdefault(store, []).append(self._retrieval(result, asked))
        for store, retrievals in stores.items():
            await self._write_into(store, retrievals)
        with self._lock:
            for entry in batch:
                # A late answer may have taken its place meanwhile.
                if self._waiting.get(entry[0].retrieval_id) is entry:
                    del self._waiting[entry[0].retrieval_id]
        if self._written is not None:
            await self._written(batch)

    async def _write_into(self, store: Store, retrievals: Sequence[Retrieval]) -> None:
        """Write them all, or where that fails as many as can be; what cannot be is told."""

        async def together() -> None:
            await self._keep_policy(store)
            await store.log_retrievals(retrievals)

        if await attempt("log recalls", together) is None or len(retrievals) == 1:
            return
        for one in retrievals:
            alone = partial(store.log_retrievals, [one])
            await attempt(f"log recall {one.retrieval_id}", alone)

    async def _keep_policy(self, store: Store) -> None:
        if store in self._policy_kept:
            return
        policy = self._parts.policy
        content = json.dumps(policy.to_json(), ensure_ascii=False, sort_keys=True)
        await store.save_policy(policy.fingerprint, content)
        self._policy_kept.add(store)

    def _retrieval(self, result: RecallResult, asked: Asked) -> Retrieval:
        if not sampled(result.retrieval_id, share=self._parts.policy.recall.log.sample):
            result = without_pool(result)
        return Retrieval(
            retrieval_id=result.retrieval_id,
            scope=asked.scope,
            session_id=asked.session_id,
            query=replace(asked.query, text=redact(asked.query.text).text),
            asked_at=asked.at,
            policy_fingerprint=self._parts.policy.fingerprint,
            result=replace(result, hits=()),
        )
