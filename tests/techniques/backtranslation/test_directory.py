"""The directory of a back-translation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from command_line import experiment, write_experiment
from flushes import watch_flushes
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.recipe import ExperimentConfig
from dragoman.saved.model import CONFIG_FILE
from dragoman.techniques.backtranslation.directory import (
    check_reverse_model,
    link_model,
    opened,
)
from dragoman.text.context import ContextConfig
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


def test_a_reverse_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    back = Direction(source_language="de", target_language="en")
    path = save_tiny_model(tmp_path / "context", directions=(back,), context=ContextConfig())
    with pytest.raises(ConfigError, match=r"--reverse .*: it reads context"):
        check_reverse_model(path, Direction(source_language="en", target_language="de"))
    masked = save_tiny_model(tmp_path / "masked", directions=(back,))
    values = yaml.safe_load((masked / CONFIG_FILE).read_text(encoding="utf-8"))
    (masked / CONFIG_FILE).write_text(yaml.safe_dump({**values, "translates": False}))
    with pytest.raises(ConfigError, match=r"--reverse .*: a masked language model"):
        check_reverse_model(masked, Direction(source_language="en", target_language="de"))


def test_a_reverse_recipe_that_reads_context_is_refused_before_it_is_trained(
    tmp_path: Path,
) -> None:
    values = experiment()
    forward = ExperimentConfig.model_validate(values)
    values |= {"source_language": "de", "target_language": "en"}
    values["data"]["context"] = {}
    given = {
        "monolingual": tmp_path / "mono.de",
        "reverse_recipe": write_experiment(tmp_path, values),
    }
    with (
        pytest.raises(ConfigError, match=r"reverse recipe's data\.context"),
        opened(tmp_path / "work", forward, given),
    ):
        pass


def test_a_model_to_start_from_must_fit_before_a_line_is_translated(tmp_path: Path) -> None:
    back = Direction(source_language="de", target_language="en")
    values = experiment()
    del values["vocabulary"]
    values["training"]["start_from"] = str(save_tiny_model(tmp_path / "other"))
    reverse = save_tiny_model(tmp_path / "reverse", directions=(back,))
    given = {"monolingual": tmp_path / "mono.de", "reverse_model": reverse}
    with (
        pytest.raises(ConfigError, match=r"other is another kind of model: .*d_model 8"),
        opened(tmp_path / "work", ExperimentConfig.model_validate(values), given),
    ):
        pass
