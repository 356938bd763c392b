"""Opening corpus files by path, with one clear error when they are not what was wanted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agentkit.errors import InputError

T = TypeVar("T")


class CorpusRow(BaseModel):
    """A row of a corpus file; fields that the evaluation does not read are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def find_files(
    data: Path, *, folder: str, pattern: str, wanted: str, parts: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Return the files of a corpus, by name.

    Args:
        data: One file, the corpus folder, or the folder that holds the corpus folder.
        folder: Name of the corpus folder.
        pattern: Glob of the files wanted.
        wanted: The format wanted, in words, for the message.
        parts: Keep the files whose name without the ending is one of these; empty for all.

    Raises:
        InputError: If nothing is there, or a part is missing.
    """
    if data.is_file():
        return (data,)
    found = sorted(data.glob(pattern)) or sorted((data / folder).glob(pattern))
    if not found:
        raise InputError(
            f"{data}: no {pattern} there nor in {data / folder}; give the folder (or the file) "
            f"that holds {wanted}"
        )
    missing = sorted(set(parts) - {file.stem for file in found})
    if missing:
        raise InputError(f"{found[0].parent}: no part {missing[0]!r}; wanted are {wanted}")
    return tuple(file for file in found if not parts or file.stem in parts)


def read_file(file: Path, *, form: type[T], wanted: str) -> T:
    """Return the content of a JSON file in a given form.

    Args:
        file: The file.
        form: Type to read it as, made of `CorpusRow`s.
        wanted: The format wanted, in words, for the message.

    Raises:
        InputError: If the file is missing, is no JSON, or has another form.
    """
    try:
        content = json.loads(file.read_bytes())
        return TypeAdapter(form).validate_python(content)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); wanted {wanted}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{file}: no JSON ({error}); wanted {wanted}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the top level"
        raise InputError(f"{file}: {place}: {first['msg']}; wanted {wanted}") from error
