"""Where things are kept and who does the work: `agentkit.yaml` and `AGENTKIT_*`."""

import difflib
import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from agentkit.errors import ConfigError
from agentkit.policy.loader import describe, load_yaml, nearest

SETTINGS_FILE = "agentkit.yaml"
ENV_PREFIX = "AGENTKIT_"
# An environment variable nearer than this to a known one is taken for a misspelling of it.
_MISSPELT = 0.85


class Settings(BaseModel):
    """The settings of one project. An argument beats the environment, that beats the file.

    Attributes:
        model: Model string of pydantic-ai for chatting and reflecting, or None for no model.
        base_url: Address of a server that speaks OpenAI's protocol, such as
            `http://127.0.0.1:11434/v1`, for models named without a provider or as `openai:NAME`;
            None for OpenAI itself. Reflection asks there too.
        embedder: `local` (bundled, English and Chinese), `minilm`, or an embedder string of
            pydantic-ai such as `openai:text-embedding-3-small`.
        database_url: `sqlite:///<path>` or `postgresql://<user>@<host>/<database>`, or None for
            an SQLite file in the state folder.
        state_dir: Folder of everything that is written; a relative one is in the project.
        blobs_url: `s3://<bucket>/<prefix>` for trajectories in a bucket (an extra), or None for a
            folder in the state folder. Credentials come from the environment's AWS names.
        index: `chroma`, `qdrant` (an extra), or `none` to score from SQL alone.
        index_url: Server of the index, `http://HOST:PORT/NAME` where NAME is this project's own
            there, or None for an embedded index in the state folder.
        isolation: `logical` (users share a database, every call filters) or `physical` (a store
            for each user: a SQLite file or PostgreSQL schema, an index and blobs of his own).
        worker: Who reflects: `inline` (beside your runs) or `external` (`agentkit worker`).
        language: Language of prompts and lessons; `auto` follows the user.
        timezone: Where "yesterday" begins: an IANA name such as `Asia/Shanghai`; UTC unless set,
            so that a server and a laptop give the same answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str | None = None
    base_url: str | None = None
    embedder: str = "local"
    database_url: str | None = None
    state_dir: str = ".agentkit"
    blobs_url: str | None = None
    index: Literal["chroma", "qdrant", "none"] = "chroma"
    index_url: str | None = None
    isolation: Literal["logical", "physical"] = "logical"
    worker: Literal["inline", "external"] = "inline"
    language: Literal["auto", "en", "zh"] = "auto"
    timezone: str = "UTC"

    @model_validator(mode="after")
    def _nothing_blank(self) -> Self:
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, str) and not value.strip():
                raise ValueError(f"{name} is blank; give a value or leave the key out")
        try:
            self.zone()
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"timezone {self.timezone!r} is not known here; give an IANA name such as "
                "Europe/Berlin (and install tzdata where the system has no time zones)"
            ) from error
        if self.base_url is not None and not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url {self.base_url!r} is no address; write http://HOST:PORT/v1")
        if self.index == "none" and self.index_url is not None:
            raise ValueError("index_url is given and index is none; leave one of them out")
        return self

    def zone(self) -> tzinfo:
        """Return the time zone in which plain time phrases are read."""
        return UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)

    def state_path(self, root: Path) -> Path:
        """Return the state folder of a project.

        Args:
            root: Folder of the project.
        """
        return root / Path(self.state_dir).expanduser()


def load_settings(root: Path | None, **overrides: object) -> Settings:
    """Return the settings of a project.

    Args:
        root: Folder that may hold `agentkit.yaml`, or None to look at the environment alone.
        **overrides: Values that beat everything else, by the names of `Settings`; None is a
            value like any other, so leave out what is not given.

    Raises:
        ConfigError: For an unknown key or a value of the wrong form, naming file and line, or
            the environment variable; also for an `AGENTKIT_*` name that looks misspelt.
    """
    values: dict[str, object] = {}
    if root is not None and (root / SETTINGS_FILE).is_file():
        values.update(_set_in(load_yaml(root / SETTINGS_FILE, Settings)))
    values.update(_from_environment(os.environ))
    values.update(overrides)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        if problem["type"] == "extra_forbidden":
            said = f"unknown setting{nearest(name, sorted(Settings.model_fields))}"
            raise ConfigError(said, key=name) from error
        raise ConfigError(describe(problem), key=name or None) from error


def _set_in(settings: Settings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Read `AGENTKIT_*`: blank is unset, `null` is None; nearly right names are refused."""
    known = {f"{ENV_PREFIX}{name}".upper(): name for name in Settings.model_fields}
    values: dict[str, object] = {}
    for variable, text in environ.items():
        if not variable.startswith(ENV_PREFIX):
            continue
        if variable in known:
            if text.strip():
                values[known[variable]] = None if text == "null" else text
            continue
        near = difflib.get_close_matches(variable, list(known), n=1, cutoff=_MISSPELT)
        if near:
            raise ConfigError(f"unknown variable; did you mean {near[0]!r}?", key=variable)
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        names = [str(piece).upper() for piece in problem["loc"][:1]]
        raise ConfigError(describe(problem), key=ENV_PREFIX + "".join(names)) from error
    return values
