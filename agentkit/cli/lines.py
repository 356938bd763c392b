"""Lines that somebody types, read beside the event loop."""

import asyncio
import codecs
import os
import threading

CHUNK_BYTES = 65_536


class Lines:
    """The lines of a file descriptor, in order.

    Read in a thread of its own by `os.read`: an event loop cannot watch a regular file, and a
    thread that is blocked in `sys.stdin` would hold a lock that the interpreter needs at its end.

    Attributes:
        closed: Whether there are no more lines.
    """

    def __init__(self, descriptor: int) -> None:
        """Begin to read; call it where an event loop runs.

        Args:
            descriptor: An open file descriptor, such as that of stdin.
        """
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.closed = False
        threading.Thread(target=self._read, name="agentkit-lines", daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line without its end, or None when there are no more."""
        if self.closed and self._lines.empty():
            return None
        line = await self._lines.get()
        if line is None:
            self.closed = True
        return line

    def close(self) -> None:
        """Take no more lines; whoever waits for one gets None."""
        self.closed = True
        while not self._lines.empty():
            self._lines.get_nowait()
        self._lines.put_nowait(None)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        held = ""
        while data := self._chunk():
            held += decoder.decode(data)
            *whole, held = held.split("\n")
            for line in whole:
                self._put(line)
        held += decoder.decode(b"", final=True)
        if held:
            self._put(held)
        self._put(None)

    def _chunk(self) -> bytes:
        """Return what there is to read; a terminal that is gone has nothing more."""
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""

    def _put(self, line: str | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
