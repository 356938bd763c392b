"""A project folder: whose files come before the packaged defaults, and how one is made."""

import shutil
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal

from agentkit.errors import ConfigError, InputError
from agentkit.settings import SETTINGS_FILE

ContentKind = Literal["prompts", "tools", "memory", "evals"]

CONTENT_KINDS: tuple[ContentKind, ...] = ("prompts", "tools", "memory", "evals")
# Figures of our own runs are no use in somebody else's project.
_NOT_COPIED = frozenset({"evals/baselines"})

_SETTINGS_TEXT = """\
# Settings of this project. Every key may be left out; the values here are the defaults.
# An environment variable AGENTKIT_<KEY> beats this file, such as AGENTKIT_MODEL.

# Model for chatting and reflecting, such as "openai:gpt-4o-mini"; null: none, rules reflect.
# Keys of providers stay in their own environment variables, never here.
model: null

# null: each provider's own address. A local server that speaks OpenAI's protocol (Ollama, vLLM,
# llama.cpp) is such as http://127.0.0.1:11434/v1, with `model` named as that server names it.
base_url: null

# local (bundled, English and Chinese), minilm, or an embedder string of pydantic-ai.
embedder: local

# null: an SQLite file in the state folder. A team shares postgresql://<user>@<host>/<database>
# (pip install 'agentkit-hindsight[postgres]'); its password belongs in PGPASSWORD or ~/.pgpass.
database_url: null

# Folder of everything that is written: database, index, recorded runs.
state_dir: .agentkit

# How users are kept apart: logical (one store, every call filters) or physical (a store for each).
# A project that holds memories in one mode does not open in the other: export and restore.
isolation: logical

# null: a folder in the state folder. s3://<bucket>/<prefix>?endpoint=https://<host>&region=<name>
# (pip install 'agentkit-hindsight[s3]'); its keys belong in AWS_ACCESS_KEY_ID and its kin.
blobs_url: null

# chroma, qdrant (pip install 'agentkit-hindsight[qdrant]'), or none to score from the database
# alone.
index: chroma

# null: an index in the state folder. Several processes share http://<host>:<port>/<project>
index_url: null

# Who reflects: inline (beside your runs) or external (`agentkit worker`).
worker: inline

# Language of prompts and lessons: auto (the user's), en or zh.
language: auto

# Where "yesterday" begins, such as Asia/Shanghai.
timezone: UTC
"""
_IGNORE_TEXT = ".agentkit/\n__pycache__/\n"


class Project:
    """Finds content: the user's file where there is one, else the packaged default.

    Attributes:
        root: Folder of the project, or None for the packaged defaults alone.
    """

    def __init__(self, root: Path | None) -> None:
        """Look for content in a folder before the packaged defaults.

        Args:
            root: Folder of the project, or None.

        Raises:
            InputError: If the folder does not exist.
        """
        if root is not None and not root.is_dir():
            raise InputError(f"no folder {root}; make a project with `agentkit init`")
        self.root = root

    def content(self, kind: ContentKind) -> tuple[Path, ...]:
        """Return the existing folders of a kind of content, the user's first.

        Args:
            kind: `prompts`, `tools`, `memory` or `evals`.
        """
        roots = [_defaults()] if self.root is None else [self.root, _defaults()]
        folders = dict.fromkeys((root / kind).resolve() for root in roots)
        return tuple(folder for folder in folders if folder.is_dir())

    def find(self, name: str) -> Path | None:
        """Return the user's file of a name, else the packaged one, else None.

        Args:
            name: Such as `memory/decay.yaml`: a kind of content, then a path below it.

        Raises:
            InputError: If the name does not stay within a kind of content.
        """
        kind, _, below = name.partition("/")
        kinds: list[ContentKind] = [known for known in CONTENT_KINDS if known == kind]
        if not kinds or not below or ".." in Path(below).parts or Path(below).is_absolute():
            raise InputError(f"{name!r} is no content; name one such as memory/decay.yaml")
        found = (folder / below for folder in self.content(kinds[0]))
        return next((path for path in found if path.is_file()), None)


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds `agentkit.yaml`, or None.

    Args:
        start: Folder to begin with.
    """
    here = start.resolve()
    return next((at for at in (here, *here.parents) if (at / SETTINGS_FILE).is_file()), None)


def init_project(target: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Make a project: its settings and a copy of the content, for its owner to edit.

    Everything is written beside the target first, so that a failure leaves nothing half made.

    Args:
        target: Folder of the project; may exist.
        force: Whether files that are there already are overwritten. Other files always stay.

    Returns:
        Paths of the files written, relative to the target, sorted.

    Raises:
        InputError: If a file to be written is there already and `force` is not set, or the
            target is a file.
        ConfigError: If the folder cannot be written.
    """
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; name a folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".agentkit-", dir=target.parent) as draft:
            made = Path(draft) / "project"
            names = _write(made)
            there = [name for name in names if (target / name).exists()]
            if there and not force:
                more = f" and {len(there) - 1} more" if len(there) > 1 else ""
                raise InputError(
                    f"{target / there[0]}{more} would be overwritten; name another folder "
                    "or use --force"
                )
            _move(made, target, names=names)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=target) from error
    return names


def _defaults() -> Path:
    """The packaged content in a wheel, else the top folder of the checkout."""
    package = Path(str(files("agentkit")))
    packaged = package / "_defaults"
    return packaged if packaged.is_dir() else package.parent


def _write(draft: Path) -> tuple[Path, ...]:
    """Write all files of a new project into a new folder and return their names."""
    draft.mkdir()
    (draft / SETTINGS_FILE).write_text(_SETTINGS_TEXT, encoding="utf-8")
    (draft / ".gitignore").write_text(_IGNORE_TEXT, encoding="utf-8")
    for kind in CONTENT_KINDS:
        for source, name in _content_files(kind):
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, draft / name)
    return tuple(sorted(path.relative_to(draft) for path in draft.rglob("*") if path.is_file()))


def _content_files(kind: ContentKind) -> Iterator[tuple[Path, Path]]:
    """Give each default file of a kind with its name in a project."""
    root = _defaults()
    for source in sorted((root / kind).rglob("*")):
        name = source.relative_to(root)
        skipped = any(name.is_relative_to(folder) for folder in _NOT_COPIED)
        if source.is_file() and not skipped and "__pycache__" not in name.parts:
            yield source, name


def _move(draft: Path, target: Path, *, names: tuple[Path, ...]) -> None:
    """Move the finished files to their place; a new folder comes into being in one step."""
    if not target.exists():
        draft.rename(target)
        return
    new: list[Path] = []
    try:
        for name in names:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                new.append(place)
            (draft / name).replace(place)
    except OSError:
        for place in new:
            place.unlink(missing_ok=True)
        raise
