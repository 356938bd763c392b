"""The error tree, sorted by who can act on it.

::

    AgentkitError
    ├── ConfigError            owner: a policy or settings file is wrong (file, line, key)
    ├── TemplateError          owner: a prompt template is wrong (file)
    ├── ToolboxError           owner: a drop-in tool file cannot be loaded (file)
    ├── RecordingError         owner: a recorded session cannot be read (file, line)
    ├── ArchiveError           operator: an export cannot be restored (file, line)
    ├── InputError             caller: an argument is out of range or of the wrong form
    │   └── NotFoundError      caller: nothing of that id in this scope
    ├── StoreError             operator: database, index or blobs cannot do it now
    │   ├── SchemaError        operator: the database is newer than this release
    │   └── EmbedderError      operator: the embedder changed, or cannot be loaded
    ├── MissingExtraError      operator: an optional dependency is not installed
    ├── RunError               model: a run of the project's agent gave no answer
    └── ReflectionError        model: a critic gave nothing usable (may be retried)

Every message says which thing, why, and what to do. Adapters translate third-party errors once.
"""

from pathlib import Path

DISTRIBUTION = "agentkit-hindsight"


class AgentkitError(Exception):
    """Root of every error that agentkit raises on purpose."""


class ConfigError(AgentkitError):
    """A configuration file holds something that cannot be used.

    Attributes:
        file: The file at fault, or None when the value came from the environment.
        line: Line in the file, from 1, or None when it is not known.
        key: Dotted key at fault, or None when the whole file is.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        """Build the one line that the owner reads: `file:line: key: problem`."""
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        place = "" if file is None else f"{file}:" if line is None else f"{file}:{line}:"
        super().__init__(" ".join(p for p in (place, f"{key}:" if key else "", problem) if p))


class TemplateError(AgentkitError):
    """A prompt template cannot be loaded or rendered.

    Attributes:
        file: Template name or path at fault.
    """

    def __init__(self, problem: str, *, file: str) -> None:
        """Name the template in front of the problem."""
        self.file = file
        super().__init__(f"{file}: {problem}")


class ToolboxError(AgentkitError):
    """A file in `tools/` cannot be loaded; the other files still are.

    Attributes:
        file: The tool file at fault.
    """

    def __init__(self, problem: str, *, file: Path) -> None:
        """Name the tool file in front of the problem."""
        self.file = file
        super().__init__(f"{file}: {problem}")


class RecordingError(AgentkitError):
    """A recorded session file cannot be read at all.

    Attributes:
        file: The recording at fault.
        line: Line in the file, from 1, or None.
    """

    def __init__(self, problem: str, *, file: Path, line: int | None = None) -> None:
        """Name the recording, and the line when one is known."""
        self.file = file
        self.line = line
        super().__init__(f"{file}{'' if line is None else f':{line}'}: {problem}")


class ArchiveError(AgentkitError):
    """An export of a store is damaged, or does not go with what the store holds already.

    Attributes:
        file: The export at fault.
        line: Line in the file, from 1, or None.
    """

    def __init__(self, problem: str, *, file: Path, line: int | None = None) -> None:
        """Name the export, and the line when one is known."""
        self.file = file
        self.line = line
        super().__init__(f"{file}{'' if line is None else f':{line}'}: {problem}")


class InputError(AgentkitError):
    """An argument of the caller is out of range or of the wrong form."""


class NotFoundError(InputError):
    """No such thing in this scope; a foreign id and a missing id look the same.

    Attributes:
        kind: What was looked for, such as `memory`.
        thing_id: The id that was not found.
    """

    def __init__(self, kind: str, thing_id: str) -> None:
        """Say what was not found, without telling whether another user has it."""
        self.kind = kind
        self.thing_id = thing_id
        super().__init__(f"no {kind} {thing_id!r} here; check the id and the user")


class StoreError(AgentkitError):
    """The database, the vector index or the blob store cannot do it now.

    Attributes:
        retryable: True when the same call may succeed later without any change.
    """

    def __init__(self, problem: str, *, retryable: bool = False) -> None:
        """Carry whether trying again makes sense."""
        self.retryable = retryable
        super().__init__(problem)


class SchemaError(StoreError):
    """The database was written by a newer release and is left untouched."""


class EmbedderError(StoreError):
    """The embedder cannot be loaded, or is not the one this store was built with."""


class MissingExtraError(AgentkitError):
    """An optional dependency is needed and is not installed.

    Attributes:
        extra: Name of the extra to install.
    """

    def __init__(self, what: str, *, extra: str) -> None:
        """Name the extra and the command that installs it."""
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install '{DISTRIBUTION}[{extra}]'")


class RunError(AgentkitError):
    """A run of the project's agent ended without an answer."""


class ReflectionError(AgentkitError):
    """A critic or judge gave nothing usable.

    Attributes:
        retryable: True when the model may answer later (rate limit, timeout, cut JSON).
        unusable: True when the model did answer, but nothing like what it was asked for: asking
            in another way may help at once, waiting does not.
        retry_after_s: Seconds the provider asked to wait, or None.
    """

    def __init__(
        self,
        problem: str,
        *,
        retryable: bool = True,
        unusable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        """Carry whether and when to try again."""
        self.retryable = retryable
        self.unusable = unusable
        self.retry_after_s = retry_after_s
        super().__init__(problem)
