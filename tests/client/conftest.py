"""What tests of the client share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_server import ApiServer, v1_server
from command_fixtures import certificates_read_once  # noqa: F401 - for all tests here

from dragoman.server.server_config import LimitsConfig


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that writes in capitals, and takes 64 texts at once."""
    with v1_server(tmp_path_factory.mktemp("client"), limits=LimitsConfig(items=64)) as found:
        yield found
