"""The directory of a back-translation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flushes import watch_flushes
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.techniques.backtranslation.directory import check_reverse_model, link_model
from dragoman.text.examples import Direction


def test_the_link_to_the_model_outlasts_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has said that it has finished, and what to translate with."""
    plan: Any = SimpleNamespace(directory=tmp_path)
    flushed = watch_flushes(monkeypatch)
    assert link_model(plan, tmp_path / "round-1" / "forward") == tmp_path
    assert (tmp_path / "model").readlink() == Path("round-1/forward/model")
    assert flushed == [tmp_path]


@pytest.mark.parametrize("search", [{"sampling": {}}, {"mbr": {"samples": 5}}])
def test_a_reverse_model_that_samples_is_refused(search: dict[str, Any], tmp_path: Path) -> None:
    back = Direction(source_language="de", target_language="en")
    path = save_tiny_model(tmp_path / "model", directions=(back,), **search)
    with pytest.raises(ConfigError, match=r"--reverse .*: its own search settings sample"):
        check_reverse_model(path, Direction(source_language="en", target_language="de"))
