"""What every test may count on: no model requests, no user settings, data by path."""

import os
from pathlib import Path

import pytest
from pydantic_ai import models

pytest_plugins = ["tests.buckets", "tests.databases"]

models.ALLOW_MODEL_REQUESTS = False

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("AGENTKIT_") and name != "AGENTKIT_DATA":
            monkeypatch.delenv(name)


@pytest.fixture
def repository() -> Path:
    """The checkout."""
    return REPOSITORY


@pytest.fixture
def data() -> Path:
    """The folder of labelled data sets; the test skips where it is absent."""
    folder = Path(os.environ.get("AGENTKIT_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the labelled data sets are not here (AGENTKIT_DATA names their folder)")
    return folder
