"""The pictures of docs/gallery.md, of a page that stands in for the server's."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.core.errors import ConfigError
from studies.gallery.__main__ import gallery
from studies.gallery.screens import running_browser


def test_a_run_without_a_report_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(gallery, [str(tmp_path), "--output", str(tmp_path / "out")])
    assert result.exit_code == 4
    assert "no finished run" in result.output
    assert not (tmp_path / "out").exists()


def test_a_missing_browser_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright.sync_api")
    monkeypatch.setenv("PATH", "")
    told = "no browser on the PATH; install one of chromium"
    with pytest.raises(ConfigError, match=told), running_browser():
        pass
