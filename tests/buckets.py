"""Buckets for tests: an S3 double on loopback that lives as long as the test session."""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

import pytest

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-a-secret-at-all"}
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class BucketServer:
    """A running server.

    Attributes:
        endpoint: Its address.
    """

    endpoint: str
    _numbers: Iterator[int] = field(default_factory=count)

    def client(self) -> Any:
        """Return a client of another make than the one under test."""
        import boto3  # pyright: ignore[reportMissingTypeStubs] - it ships none

        make = cast("Callable[..., Any]", boto3.client)  # pyright: ignore[reportUnknownMemberType]
        return make(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )

    def create(self) -> str:
        """Return the name of a new, empty bucket."""
        name = f"bucket-{next(self._numbers)}"
        self.client().create_bucket(Bucket=name)
        return name


@pytest.fixture(scope="session")
def bucket_server() -> Iterator[BucketServer]:
    """An S3 double; nothing outside this machine is contacted."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield BucketServer(f"http://{host}:{port}")
    finally:
        server.stop()


@dataclass(frozen=True, slots=True)
class Bucket:
    """An empty bucket of one test's own, with credentials in the environment.

    Attributes:
        name: Its name.
        server: Where it is.
    """

    name: str
    server: BucketServer

    @property
    def url(self) -> str:
        """The value of `blobs_url` without a prefix."""
        return f"s3://{self.name}"

    def objects(self) -> dict[str, bytes]:
        """Return everything that is in it, by name, read by another client."""
        client = self.server.client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        names = [str(found["Key"]) for page in pages for found in page.get("Contents", ())]
        return {
            name: cast("bytes", client.get_object(Bucket=self.name, Key=name)["Body"].read())
            for name in names
        }

    def put(self, name: str, data: bytes) -> None:
        """Write an object behind the store's back, over one that is there."""
        self.server.client().put_object(Bucket=self.name, Key=name, Body=data)

    def delete(self, name: str) -> None:
        """Remove an object behind the store's back."""
        self.server.client().delete_object(Bucket=self.name, Key=name)


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Dummy credentials and nothing else that the AWS tools read; a test may set more."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    return monkeypatch


@pytest.fixture
def bucket(bucket_server: BucketServer, aws_environment: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket, to which the environment leads."""
    aws_environment.setenv("AWS_ENDPOINT_URL", bucket_server.endpoint)
    return Bucket(bucket_server.create(), bucket_server)
