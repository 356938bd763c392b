"""Ids that sort in the order in which they were made."""

import secrets
import threading
from datetime import datetime
from uuid import UUID

_SEQUENCE_BITS = 12
_RANDOM_BITS = 62
_lock = threading.Lock()
_last = 0


def new_id(now: datetime) -> str:
    """Return a uuid7 as text, larger than every one this process made before.

    Args:
        now: Current time, UTC-aware; its milliseconds lead the id.

    Source:
        RFC 9562, section 5.7 and 6.2 (method 1): 48 bits of milliseconds, 12 bits that count
        within one, 62 random bits.
    """
    global _last
    with _lock:
        _last = max(int(now.timestamp() * 1000) << _SEQUENCE_BITS, _last + 1)
        milliseconds, sequence = divmod(_last, 1 << _SEQUENCE_BITS)
    value = milliseconds << 80 | 0x7 << 76 | sequence << 64 | 0x2 << 62
    return str(UUID(int=value | secrets.randbits(_RANDOM_BITS)))


def key_id(memory_id: str, ordinal: int) -> str:
    """Return the id of a key of a memory; ordinal 0 is its content, the others are cues."""
    return f"{memory_id}:{ordinal}"
