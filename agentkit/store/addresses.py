"""Where an index server is, and which of its projects is ours."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentkit.errors import ConfigError

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAddress:
    """An address such as `http://127.0.0.1:8000/my-project`.

    Attributes:
        host: Host name or address.
        port: TCP port.
        tls: Whether it is `https`.
        name: Name of the project there: collections of other names are never touched.
    """

    host: str
    port: int
    tls: bool
    name: str

    @property
    def url(self) -> str:
        """The address as it is written."""
        scheme = "https" if self.tls else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.name}"

    @classmethod
    def parse(cls, url: str) -> "IndexAddress":
        """Return the address that a text names.

        Args:
            url: Scheme `http` or `https`, a host, perhaps a port, and one name as its path.

        Raises:
            ConfigError: If it is none.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _refusal(url) from error
        name = parts.path.strip("/")
        strange = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in _PORTS or not parts.hostname or strange:
            raise _refusal(url)
        if not _NAME.fullmatch(name):
            raise _refusal(url)
        return cls(
            host=parts.hostname,
            port=port or _PORTS[parts.scheme],
            tls=parts.scheme == "https",
            name=name,
        )


def _refusal(url: str) -> ConfigError:
    shown = re.sub(r"//[^/@]*@", "//...@", url)
    return ConfigError(
        f"{shown!r} is no address of an index; write http://HOST:PORT/NAME, where NAME (plain "
        "characters) is this project's own on that server",
        key="index_url",
    )
