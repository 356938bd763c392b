"""What a person changes of a memory, checked and brought into the form that is stored (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from agentkit.errors import InputError
from agentkit.records import Float32Array, Tag
from agentkit.store.drafts import check_aware, stored_tag
from agentkit.text import normalise


class Keep(Enum):
    """Stands for a value that is left as it is, where None means that there is none."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryEdit:
    """Changes of one memory; what is not named stays.

    Attributes:
        content: The new content, or None to leave it.
        cues: All cues from now on, or None to leave them.
        tags: All tags from now on, or None to leave them.
        valid_from: Not true before, UTC; None for no such bound.
        valid_to: Not visible after, UTC; None for no such bound.
        vectors: Embeddings by text, each of shape (dim,), float32, L2-normalised; a text without
            one is embedded later.
    """

    content: str | None = None
    cues: tuple[str, ...] | None = None
    tags: tuple[Tag, ...] | None = None
    valid_from: datetime | Keep | None = KEEP
    valid_to: datetime | Keep | None = KEEP
    vectors: Mapping[str, Float32Array] = field(default_factory=dict[str, Float32Array])


def prepared(edit: MemoryEdit) -> MemoryEdit:
    """Return an edit in the form that is stored.

    Args:
        edit: What is to be changed.

    Raises:
        InputError: If it changes nothing, or something in it cannot be stored.
    """
    named = (edit.content, edit.cues, edit.tags)
    if all(one is None for one in named) and edit.valid_from is edit.valid_to is KEEP:
        raise InputError("nothing is to be changed; name content, cues, tags or a validity")
    content = None if edit.content is None else normalise(edit.content).strip()
    if content == "":
        raise InputError("the content of a memory is blank; say what is to be remembered")
    check_aware(
        valid_from=None if isinstance(edit.valid_from, Keep) else edit.valid_from,
        valid_to=None if isinstance(edit.valid_to, Keep) else edit.valid_to,
    )
    return replace(
        edit,
        content=content,
        cues=None if edit.cues is None else tuple(normalise(cue).strip() for cue in edit.cues),
        tags=None if edit.tags is None else tuple(sorted({stored_tag(tag) for tag in edit.tags})),
        vectors={normalise(text).strip(): vector for text, vector in edit.vectors.items()},
    )


def key_texts(content: str, cues: Sequence[str]) -> tuple[str, ...]:
    """Return the texts by which a memory is found: its content, then each cue once.

    Args:
        content: The content, normalised.
        cues: The cues, normalised; blank ones and repeats of what stands before are left out.
    """
    return tuple(dict.fromkeys(text for text in (content, *cues) if text))
