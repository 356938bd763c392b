"""Immutable objects in a bucket of any store that speaks S3."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn, TypeVar
from urllib.parse import parse_qsl, urlsplit

from agentkit.errors import ConfigError, StoreError
from agentkit.store.blobs import SCHEME, safe_name

if TYPE_CHECKING:
    from obstore.store import S3Config

KEY = "blobs_url"
# A trajectory has some megabytes at most; over a slow line that takes seconds.
REQUEST_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5.0
# After these a caller waits no longer: the first request, and what is tried again.
RETRY_TIMEOUT_S = 30.0
MAX_RETRIES = 3
PAGE_OBJECTS = 1_000

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_KNOWN = ("endpoint", "region")
# In this order, as the AWS tools read them.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_SHOWN_CHARACTERS = 200

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Address:
    """An address such as `s3://bucket/prefix?endpoint=https://s3.internal&region=eu-west-1`.

    Attributes:
        bucket: Name of the bucket.
        prefix: What the names of all objects begin with, without a slash at its ends, or "".
        endpoint: Where the store is, or None for that of AWS in the region.
        region: Region of the bucket, or None for what the environment says.
    """

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        """Return bucket, prefix and endpoint, for messages."""
        where = "" if self.endpoint is None else f" at {self.endpoint}"
        return f"s3://{'/'.join(part for part in (self.bucket, self.prefix) if part)}{where}"

    def under(self, prefix: str) -> "S3Address":
        """Return the address of a part of it.

        Args:
            prefix: Plain names with slashes between, or "" for the same address.
        """
        parts = (self.prefix, prefix)
        return replace(self, prefix="/".join(part for part in parts if part))

    @classmethod
    def parse(cls, url: str) -> "S3Address":
        """Return the address that a text names; the environment gives the endpoint it leaves out.

        Args:
            url: `s3://BUCKET/PREFIX`, perhaps with `?endpoint=` and `region=`.

        Raises:
            ConfigError: If it is none. The text is not repeated, for it may hold a secret.
        """
        try:
            parts = urlsplit(url)
            query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        except ValueError as error:
            raise _refusal("cannot be read as an address") from error
        unknown = sorted(query.keys() - set(_KNOWN))
        if "@" in parts.netloc or unknown:
            said = f"holds {unknown[0]!r}" if unknown else "holds credentials"
            raise _refusal(f"{said}, which has no place in it")
        prefix = parts.path.strip("/")
        if parts.scheme != "s3" or parts.fragment or not _BUCKET.fullmatch(parts.netloc):
            raise _refusal("names no bucket")
        if prefix and safe_name(prefix) != prefix:
            raise _refusal("has a prefix with other than plain characters in it")
        found = (os.environ[name] for name in _ENDPOINTS if os.environ.get(name))
        return cls(
            bucket=parts.netloc,
            prefix=prefix,
            endpoint=_checked_endpoint(query.get("endpoint") or next(found, None)),
            region=query.get("region"),
        )


def _refusal(problem: str) -> ConfigError:
    return ConfigError(
        f"it {problem}; write s3://BUCKET/PREFIX, with ?endpoint=https://HOST where it is not "
        "AWS, and leave credentials to AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        key=KEY,
    )


def _checked_endpoint(endpoint: str | None) -> str | None:
    if endpoint is None:
        return None
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise _refusal("has an endpoint (or AWS_ENDPOINT_URL is one) that is no https://HOST")
    if parts.scheme == "http" and not _allows_http():
        raise ConfigError(
            f"the endpoint {endpoint} sends everything in the clear; write https://, or set "
            "AWS_ALLOW_HTTP=true where that is meant",
            key=KEY,
        )
    return endpoint


def _allows_http() -> bool:
    return os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes", "on")


class _Forks:
    """Knows which process made the first request: the S3 client hangs in a fork of it."""

    def __init__(self) -> None:
        self._pid: int | None = None

    def refuse_child(self) -> None:
        if self._pid is None:
            self._pid = os.getpid()
        if self._pid != os.getpid():
            raise StoreError(
                "this process was forked from one that used S3 already, which its S3 client does "
                "not survive; start it anew instead (`spawn`, or fork before the first use)"
            )


_FORKS = _Forks()


class S3Blobs:
    """Objects in a bucket, all under one prefix; what was written is durable there.

    The addresses are those of `FolderBlobs`: objects copied from one to the other are found.
    """

    def __init__(self, address: S3Address, *, request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        """Contact nothing yet.

        Args:
            address: Bucket and prefix; credentials are read from the environment.
            request_timeout_s: Longest wait for one answer, in seconds, above 0.

        Raises:
            ConfigError: If the environment's AWS settings cannot be used.
        """
        from obstore.exceptions import BaseError
        from obstore.store import S3Store

        self._address = address
        try:
            self._store = S3Store(
                address.bucket,
                prefix=address.prefix or None,
                config=_config(address),
                client_options={
                    "allow_http": _allows_http(),
                    "timeout": timedelta(seconds=request_timeout_s),
                    "connect_timeout": timedelta(seconds=CONNECT_TIMEOUT_S),
                },
                retry_config={
                    "max_retries": MAX_RETRIES,
                    "retry_timeout": timedelta(seconds=RETRY_TIMEOUT_S),
                },
            )
        except (BaseError, ValueError) as error:
            raise ConfigError(f"cannot be used: {_first_line(error)}", key=KEY) from error

    def put(self, name: str, data: bytes) -> str:
        """Write an object durably and return its address; the same content again is harmless.

        Args:
            name: Path-like name; a part with anything but plain characters in it is hashed.
            data: The object.

        Raises:
            StoreError: If another object has this name, or the store refuses.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        path = safe_name(name)
        uri = f"{SCHEME}{path}"

        def create() -> bool:
            try:
                obstore.put(self._store, path, data, mode="create")
            except AlreadyExistsError:
                return False
            return True

        if not self._call(create, uri=uri) and self.get(uri) != data:
            raise StoreError(f"{uri} exists with other content; objects never change")
        return uri

    def get(self, uri: str) -> bytes:
        """Return an object.

        Raises:
            StoreError: If it is missing or unreadable.
        """
        import obstore

        path = self._path(uri)
        return self._call(lambda: bytes(obstore.get(self._store, path).bytes()), uri=uri)

    def delete(self, uri: str) -> None:
        """Remove an object; a missing one is ignored.

        Raises:
            StoreError: If the store refuses.
        """
        import obstore

        path = self._path(uri)

        def remove() -> None:
            try:
                obstore.delete(self._store, path)
            except FileNotFoundError as error:
                if _lacks_bucket(error):
                    raise

        self._call(remove, uri=uri)

    def uris(self) -> set[str]:
        """Return the addresses of all objects under the prefix.

        Raises:
            StoreError: If the store refuses.
        """
        import obstore

        def listed() -> set[str]:
            # Its other overloads name types of pyarrow, which is not installed.
            pages = obstore.list(self._store, chunk_size=PAGE_OBJECTS)  # pyright: ignore[reportUnknownMemberType]
            return {f"{SCHEME}{found['path']}" for page in pages for found in page}

        return self._call(listed, uri="")

    def _path(self, uri: str) -> str:
        name = uri.removeprefix(SCHEME)
        if name == uri or safe_name(name) != name:
            raise StoreError(f"{uri!r} is no address of an object in a bucket")
        return name

    def _call(self, call: Callable[[], Result], *, uri: str) -> Result:
        from obstore.exceptions import BaseError

        _FORKS.refuse_child()
        try:
            return call()
        except FileNotFoundError as error:
            if _lacks_bucket(error):
                self._refuse(error)
            raise StoreError(f"{uri} is missing in {self._address}; restore it") from error
        except BaseError as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> NoReturn:
        """Say in one line what went wrong; an answer's body may name keys, so it is left out."""
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        if _lacks_bucket(error):
            raise StoreError(f"{self._address} has no such bucket; make it first") from error
        said = _first_line(error)
        if isinstance(error, PermissionDeniedError | UnauthenticatedError) or _is_denied(said):
            raise StoreError(
                f"{self._address} denies access; see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                "what they may do there"
            ) from error
        if "169.254." in said:
            raise StoreError(
                f"no credentials for {self._address}; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY"
            ) from error
        raise StoreError(f"{self._address} does not answer: {said}", retryable=True) from error


def _config(address: S3Address) -> "S3Config":
    """Return what is not left to the environment; deleting in bulk is not known everywhere."""
    config: S3Config = {"disable_bulk_delete": True}
    if address.endpoint is not None:
        # The environment's name for S3 alone would else go before the general one.
        config["endpoint"] = config["aws_endpoint_url_s3"] = address.endpoint
    if address.region is not None:
        config["region"] = address.region
    return config


def _lacks_bucket(error: Exception) -> bool:
    return "NoSuchBucket" in str(error)


def _is_denied(said: str) -> bool:
    return "403 Forbidden" in said or "401 Unauthorized" in said


def _first_line(error: Exception) -> str:
    line = str(error).partition("\n")[0].partition(": <")[0]
    return line[:_SHOWN_CHARACTERS]
