from __future__ import annotations

from dragoman.training.health import learns_nothing, output_is_constant

EARLY = [9.2] * 50


def test_a_flat_loss_is_told() -> None:
    message = learns_nothing(EARLY, 9.1, 500)
    assert message is not None
    assert "nothing is being learned: the loss is 9.10 nats per token, after 9.20" in message


def test_a_falling_loss_or_an_early_step_is_not() -> None:
    assert learns_nothing(EARLY, 5.0, 500) is None
    assert learns_nothing(EARLY, 9.1, 400) is None
    assert learns_nothing(EARLY[:10], 9.1, 500) is None


def test_constant_output_is_told() -> None:
    message = output_is_constant(["der mann ."] * 99 + ["die frau ."])
    assert message is not None
    assert "2 different translations of 100 sentences" in message
    assert output_is_constant([f"satz {n}" for n in range(100)]) is None
    assert output_is_constant(["ja"] * 5) is None
