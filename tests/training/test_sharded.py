"""Room for sharded state: an optimizer whose processes keep a range of the moments each.

It is written here as an outsider would, against the trainer and the protocol.  The processes are
threads, joined by gloo.
"""

from __future__ import annotations

from pathlib import Path

import torch
from reversal import SharedReversal, tiny_config, tiny_model, translation
from torch import Tensor, nn
from worlds import GlooThreads, gloo_together

from dragoman.models.interface import TranslationModel
from dragoman.saved.model import read_tensors
from dragoman.training.checkpoint import checkpoints
from dragoman.training.distributed import World
from dragoman.training.optimizer import FlatOptimizer, Optimizer, OptimizerConfig
from dragoman.training.trainer import Trainer


class Sharded(FlatOptimizer):
    """Keeps the moments of this process' range of the flat vector, and updates that range."""

    def __init__(self, model: nn.Module, config: OptimizerConfig, world: World) -> None:
        super().__init__(model, config, torch.float32)
        size = len(self.master)
        self.own = slice(size * world.rank // world.size, size * (world.rank + 1) // world.size)
        self.world = world
        self.part = nn.Parameter(self.master[self.own])
        self.part.grad = self.gradient[self.own]
        self.own_adam = torch.optim.Adam(
            [self.part], lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True
        )

    def step(self, learning_rate: float) -> None:
        self.own_adam.param_groups[0]["lr"] = learning_rate
        self.own_adam.step()
        self.clear()
        self.master.copy_(self.whole(self.part.detach()))

    def whole(self, part: Tensor) -> Tensor:
        """The ranges of all processes one after another."""
        vector = torch.zeros_like(self.master)
        vector[self.own] = part
        return self.world.all_reduce(vector)

    def moments(self) -> dict[str, Tensor]:
        state = self.own_adam.state[self.part]
        tensors = {"step": state["step"].reshape(1)}
        for ours, theirs in (("first_moment", "exp_avg"), ("second_moment", "exp_avg_sq")):
            named = self._by_name(self.whole(state[theirs]))
            tensors |= {f"{ours}.{name}": tensor for name, tensor in named.items()}
        return tensors

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        super().restore(weights, {})
        state = self.own_adam.state[self.part]
        state["step"] = moments["step"].reshape(()).clone()
        for ours, theirs in (("first_moment", "exp_avg"), ("second_moment", "exp_avg_sq")):
            prefix = f"{ours}."
            named = {n[len(prefix) :]: t for n, t in moments.items() if n.startswith(prefix)}
            state[theirs] = self.flat(named)[self.own].clone()


def train(run: Path, size: int, steps: int, kind: type[Sharded] | None = None) -> None:
    """Train the tiny task, or go on with it, by so many processes."""
    models = [tiny_model(dropout=0.0) for _ in range(size)]  # threads share a generator

    def work(world: GlooThreads) -> None:
        config = tiny_config(max_steps=steps, validation_steps=4, checkpoint_steps=3)

        def optimizer(model: TranslationModel) -> Optimizer:
            assert kind is not None
            return kind(model, config.optimizer, world)

        trainer = Trainer(
            models[world.rank],
            [translation(SharedReversal(world))],
            lambda model: {"loss": 1.0},
            config,
            run,
            seed=5,
            d_model=16,
            world=world,
            make_optimizer=optimizer if kind else None,
        )
        trainer.resume()
        trainer.train()

    for one in gloo_together(size, work):
        one.result()


def saved(run: Path, name: str) -> dict[str, Tensor]:
    return read_tensors(checkpoints(run)[-1] / name)


def test_sharded_state_gives_the_same_weights_and_checkpoints(tmp_path: Path) -> None:
    """Two processes, each with the moments of a half, beside two with the whole."""
    train(tmp_path / "flat", 2, 7)
    train(tmp_path / "sharded", 2, 7, Sharded)
    for name in ("model.safetensors", "optimizer.safetensors"):
        flat, sharded = saved(tmp_path / "flat", name), saved(tmp_path / "sharded", name)
        assert flat.keys() == sharded.keys()
        for key, values in flat.items():
            # The update of a number may round differently at the end of a range.
            torch.testing.assert_close(sharded[key], values, rtol=1e-5, atol=1e-8, msg=key)


def test_a_run_goes_on_whoever_kept_what(tmp_path: Path) -> None:
    """Saved by two with sharded state, taken up by three with it, and by one with the whole."""
    train(tmp_path / "alone", 1, 7)
    for size, kind in ((3, Sharded), (1, None)):
        run = tmp_path / str(size)
        train(run, 2, 4, Sharded)
        train(run, size, 7, kind)
        expected, found = (saved(one, "model.safetensors") for one in (tmp_path / "alone", run))
        for key, values in expected.items():
            torch.testing.assert_close(found[key], values, rtol=1e-3, atol=1e-5, msg=key)
