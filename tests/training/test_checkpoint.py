from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.core.errors import SavedError
from dragoman.training.checkpoint import (
    Best,
    Place,
    Progress,
    checkpoints,
    chosen_checkpoints,
    newest_checkpoints,
    planned_checkpoints,
    prune,
    read_checkpoint,
    step_of,
    write_checkpoint,
)

WEIGHTS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(1, dtype=torch.bfloat16)}
MOMENTS = {"step": torch.tensor([3.0])}


def write(run: Path, *steps: int) -> None:
    for step in steps:
        write_checkpoint(run, Progress(step=step), WEIGHTS, MOMENTS)


def test_round_trip(tmp_path: Path) -> None:
    progress = Progress(
        step=7, places={"a": Place(1, 0, 2)}, best=Best("bleu", 31.5, 6), early_losses=[9.0]
    )
    path = write_checkpoint(tmp_path, progress, WEIGHTS, MOMENTS)
    assert path.name == "step-000007"
    found, weights, moments = read_checkpoint(path)
    assert found == progress
    assert all(torch.equal(weights[name], WEIGHTS[name]) for name in WEIGHTS)
    assert torch.equal(moments["step"], MOMENTS["step"])


def test_in_order_and_only_checkpoints(tmp_path: Path) -> None:
    write(tmp_path, 30, 4, 1_000_000)
    folder = tmp_path / "checkpoints"
    for name in (".step-000050.0123456789abcdef", "step-000030-copy", "step-best"):
        (folder / name).mkdir()
    (folder / "step-000060").touch()
    found = [path.name for path in checkpoints(tmp_path)]
    assert found == ["step-000004", "step-000030", "step-1000000"]


def test_pruning_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3, 4, 5)
    prune(tmp_path, 2, Progress(best=Best("loss", 0.1, 2)))
    assert [path.name[-1] for path in checkpoints(tmp_path)] == ["2", "4", "5"]


def steps_of(found: list[Path]) -> list[int]:
    return [step_of(path) for path in found]


def test_the_best_by_another_metric_is_not_the_best(tmp_path: Path) -> None:
    write(tmp_path, 2, 4)
    progress = Progress(step=6, best=Best("loss", 3.0, 2))
    write_checkpoint(tmp_path, progress, WEIGHTS, MOMENTS)
    assert steps_of(chosen_checkpoints(tmp_path, 0)) == [2]
    assert steps_of(chosen_checkpoints(tmp_path, 0, "loss")) == [2]
    assert steps_of(chosen_checkpoints(tmp_path, 0, "chrf")) == [6]


class TestUnplanned:
    """Checkpoints that a signal brought about."""

    def stop(self, run: Path, step: int) -> None:
        write_checkpoint(run, Progress(step=step, unplanned=True), WEIGHTS, MOMENTS)

    def test_none_pushes_out_another_and_the_next_one_takes_its_place(self, tmp_path: Path) -> None:
        write(tmp_path, 2, 4)
        self.stop(tmp_path, 5)
        prune(tmp_path, 2, Progress(step=5, unplanned=True))
        assert steps_of(checkpoints(tmp_path)) == [2, 4, 5]
        self.stop(tmp_path, 6)
        prune(tmp_path, 2, Progress(step=6, unplanned=True))
        assert steps_of(checkpoints(tmp_path)) == [2, 4, 6]
        write(tmp_path, 8)
        prune(tmp_path, 2, Progress(step=8))
        assert steps_of(checkpoints(tmp_path)) == [4, 8]

    def test_one_becomes_the_model_only_if_it_is_the_newest(self, tmp_path: Path) -> None:
        write(tmp_path, 2, 4)
        self.stop(tmp_path, 6)
        assert steps_of(newest_checkpoints(tmp_path, 2)) == [4, 6]
        assert steps_of(planned_checkpoints(tmp_path)) == [2, 4]
        write(tmp_path, 8)  # and killed before it could delete another
        assert steps_of(newest_checkpoints(tmp_path, 2)) == [4, 8]
        assert steps_of(chosen_checkpoints(tmp_path, 3)) == [2, 4, 8]

    def test_a_run_that_has_no_other_has_this(self, tmp_path: Path) -> None:
        self.stop(tmp_path, 1)
        assert steps_of(chosen_checkpoints(tmp_path, 5)) == [1]
        assert steps_of(chosen_checkpoints(tmp_path, 0)) == [1]

    def test_a_damaged_one_stays_where_it_is(self, tmp_path: Path) -> None:
        write(tmp_path, 2)
        self.stop(tmp_path, 3)
        (tmp_path / "checkpoints" / "step-000003" / "state.json").write_text("{")
        write(tmp_path, 4)
        prune(tmp_path, 2, Progress(step=4))
        assert steps_of(checkpoints(tmp_path)) == [3, 4]

    def test_an_older_release_reads_a_run_that_was_not_stopped(self, tmp_path: Path) -> None:
        write(tmp_path, 2)
        assert "unplanned" not in (checkpoints(tmp_path)[0] / "state.json").read_text()
        self.stop(tmp_path, 3)
        assert read_checkpoint(checkpoints(tmp_path)[1])[0].unplanned


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("harm", ["truncated", "altered", "missing"])
def test_damage_is_found(tmp_path: Path, name: str, harm: str) -> None:
    write(tmp_path, 5)
    path = tmp_path / "checkpoints" / "step-000005" / name
    content = path.read_bytes()
    if harm == "truncated":
        path.write_bytes(content[:-3])
    elif harm == "altered":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        path.unlink()
    expected = {"missing": "no such file"}.get(harm, "truncated or damaged|altered")
    with pytest.raises(SavedError, match=rf"{name}: .*({expected})"):
        read_checkpoint(path.parent)


@pytest.mark.parametrize(
    "state",
    {
        "nothing": "",
        "cut short": '{"step": 5',
        "deep": '{"best": ' + "[" * 100_000,
        "no mapping": "[5]",
        "empty": "{}",
        "of another step": '{"step": 6}',
        "text": '{"step": "5"}',
        "truth": '{"step": 5, "epoch": true}',
        "fraction": '{"step": 5.5}',
        "negative": '{"step": 5, "batch": -1}',
        "null": '{"step": 5, "window": null}',
        "huge": '{"step": 5, "window": 1' + "0" * 40 + "}",
        "beyond all digits": '{"step": 5, "window": ' + "9" * 5000 + "}",
        "infinite": '{"step": 5, "seconds": 1e999}',
        "NaN": '{"step": 5, "learning_rate_factor": NaN}',
        "list": '{"step": 5, "best": []}',
        "half a best": '{"step": 5, "best": {"metric": "loss"}}',
        "unknown key": '{"step": 5, "colour": 1}',
        "surrogates": '{"step": 5, "best": {"metric": "\\ud800", "value": 1, "step": "5"}}',
    }.items(),
    ids=lambda item: item[0],
)
def test_a_damaged_state_names_the_remedy(tmp_path: Path, state: tuple[str, str]) -> None:
    write(tmp_path, 5)
    path = tmp_path / "checkpoints" / "step-000005"
    (path / "state.json").write_text(state[1])
    with pytest.raises(SavedError, match=r"state\.json: .*delete step-000005 to resume"):
        read_checkpoint(path)


def test_a_state_of_an_older_release_or_of_poor_figures_is_read(tmp_path: Path) -> None:
    write(tmp_path, 5)
    path = tmp_path / "checkpoints" / "step-000005"
    best = '{"metric": "loss", "value": NaN, "step": 5}'
    (path / "state.json").write_text(f'{{"step": 5, "seconds": 3, "best": {best}}}')
    progress, _, _ = read_checkpoint(path)
    assert (progress.step, progress.seconds, progress.learning_rate_factor) == (5, 3.0, 1.0)
    assert progress.best is not None


@pytest.mark.parametrize("name", ["state.json", "model.safetensors", "optimizer.safetensors"])
def test_a_newest_checkpoint_that_lacks_a_file_is_not_passed_over(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path, 3, 5)
    newest = checkpoints(tmp_path)[-1]
    (newest / name).unlink()
    assert checkpoints(tmp_path)[-1] == newest
    with pytest.raises(SavedError, match=rf"{name}: .*delete step-000005 to resume"):
        read_checkpoint(newest)


def test_one_that_was_translated_with_is_written_again(tmp_path: Path) -> None:
    """CTranslate2's engine keeps its conversion there, which is of weights that are replaced."""
    write(tmp_path, 3)
    (path,) = checkpoints(tmp_path)
    (path / "ctranslate2").mkdir()
    (path / "ctranslate2" / "model.bin").touch()
    write(tmp_path, 3)
    assert sorted(one.name for one in path.iterdir()) == [
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]
