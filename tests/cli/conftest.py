"""What tests of several commands translate."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_fixtures import certificates_read_once, counted_once, web  # noqa: F401 - for all tests here
from command_line import LINES


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four lines, one of them empty."""
    path = tmp_path_factory.mktemp("input") / "in.en"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path
