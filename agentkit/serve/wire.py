"""Standard input and output as a line-by-line wire that nothing else can write to.

Whatever prints while the wire is taken (a tool, a library, a child process) lands on stderr,
because the file descriptor 1 itself points there; whatever reads finds an empty input.
"""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager

logger = logging.getLogger("agentkit")

READ_BYTES = 65_536


@contextmanager
def taken_stdio() -> Generator["Wire", None, None]:
    """Take stdin and stdout for a protocol while the block runs.

    Yields:
        The wire; its descriptors stay open until the process ends, because a thread may still
        be waiting for input.
    """
    sys.stdout.flush()
    wire = Wire(read_fd=os.dup(0), write_fd=os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire.write_fd, 1)


class Wire:
    """Lines in and lines out, in UTF-8 whatever the locale says."""

    def __init__(self, *, read_fd: int, write_fd: int) -> None:
        """Hold the descriptors.

        Args:
            read_fd: Where lines come from: a pipe, a file or a terminal.
            write_fd: Where lines go.
        """
        self.read_fd = read_fd
        self.write_fd = write_fd

    async def lines(self) -> AsyncIterator[str]:
        """Give each line as it comes, without its end; bytes that are not UTF-8 are replaced.

        Reading is done by a daemon thread, because a wait for a pipe can be interrupted in no
        other way that also works for files.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def read() -> None:
            try:
                for line in _split_lines(self.read_fd):
                    loop.call_soon_threadsafe(queue.put_nowait, line)
                loop.call_soon_threadsafe(queue.put_nowait, None)
            except RuntimeError:
                return  # the loop has ended: nobody wants the rest of the input

        threading.Thread(target=read, name="agentkit stdin", daemon=True).start()
        while (line := await queue.get()) is not None:
            yield line.decode("utf-8", errors="replace")

    async def send(self, line: str) -> None:
        """Write one line.

        Args:
            line: Text without line breaks.

        Raises:
            BrokenPipeError: If nobody reads any more.
        """
        await asyncio.to_thread(self._write, line.encode("utf-8", errors="replace") + b"\n")

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.write_fd, rest) :]


def _split_lines(descriptor: int) -> Iterator[bytes]:
    """Give each line of a descriptor without its end; input that breaks off is input that ends."""
    parts: list[bytes] = []
    while chunk := _read(descriptor):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line])
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield last


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError as error:
        logger.warning("reading standard input failed: %s", error)
        return b""
