"""Settings of tasks, and weights that leave nothing to learn."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from dragoman.training.settings import TaskConfig, task_problems


def problems(used: list[str], **tasks: Any) -> list[str]:
    settings = {name: TaskConfig.model_validate(values) for name, values in tasks.items()}
    return list(task_problems(settings, used))


def test_a_weight_is_a_number_or_one_by_step() -> None:
    assert TaskConfig().weights == {0: 1.0}
    assert TaskConfig(weight=0.5).weights == {0: 0.5}
    read = TaskConfig.model_validate({"weight": {"0": 1, 3000: 0.1}})  # JSON has text as keys
    assert read.weights == {0: 1.0, 3000: 0.1}
    assert TaskConfig.model_validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize("weight", [-1, {}, 0, {0: 0, 9: 0}, {-1: 1}, {1: -1}, "much", {"a": 1}])
def test_weights_that_teach_nothing_are_refused(weight: Any) -> None:
    with pytest.raises(ValidationError):
        TaskConfig(weight=weight)


def test_settings_need_text() -> None:
    assert not problems(["translation"])
    assert not problems(["a", "b"], a={"weight": {0: 1, 9: 0}})
    (found,) = problems(["a"], b={})
    assert found == "training.tasks.b: no part of data.train has task: b; tasks there: a"
    (found,) = problems(["a"], a={"objective": {"kind": "guided_alignment"}})
    assert "a.objective: guided_alignment learns from all pairs" in found


def test_some_task_has_weight_in_every_step() -> None:
    rising, falling = {0: 0, 9: 1}, {0: 1, 5: 0}
    assert not problems(["a"], a={"weight": rising}), "steps begin at 1"
    assert not problems(["a", "b"], a={"weight": rising}, b={"weight": falling})
    late = {5: 0, 6: 1}
    (found,) = problems(["a", "b"], a={"weight": late}, b={"weight": falling})
    assert found == "training.tasks: every weight is 0 at step 5; raise one of them there"
    assert not problems(["a", "b"], a={"weight": late}, b={"weight": {0: 1, 6: 0}})
