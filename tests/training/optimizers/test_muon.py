"""Muon for matrices of layers, compared with singular values in float64 and with PyTorch's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reversal import SharedReversal, assert_same, tiny_model
from sharded_reversal import FILES, Uneven, assert_close, begun, saved, sharded_trainer
from torch import Tensor, nn
from worlds import ALONE, GlooThreads, gloo_together

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.training.checkpoint import checkpoints
from dragoman.training.optimizers import muon
from dragoman.training.optimizers.interface import LayerMatrix, Parameter
from dragoman.training.optimizers.muon import MuonConfig, orthogonal
from dragoman.training.settings import TrainingConfig
from dragoman.training.sharding.replicas import Replicas

OPTIMIZER = {"kind": "muon", "weight_decay": 0.1, "clip_norm": 0.5}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def _iterates_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on processors with bfloat16, whose rounding these comparisons do not allow for."""
    monkeypatch.setattr(muon, "computes_bfloat16", lambda device: False)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 50.0]))
def test_singular_values_follow_the_polynomials(
    rows: int, columns: int, seed: int, size: float
) -> None:
    """Newton-Schulz keeps singular vectors and applies scalar polynomials to singular values."""
    matrix = size * drawn(rows, columns, seed=seed)
    left, values, right = torch.linalg.svd(matrix.double(), full_matrices=False)
    values = values / values.square().sum().sqrt() / 1.02
    for a, b, c in muon._POLYNOMIALS:
        values = a * values + b * values**3 + c * values**5
    expected = left @ values.diag() @ right
    torch.testing.assert_close(orthogonal(matrix).double(), expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("in_bfloat16", [False, True])
@pytest.mark.parametrize("smallest", [0.0102, 0.1, 0.5, 1.0])
def test_directions_become_about_equally_long(
    smallest: float, in_bfloat16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of at least 0.0102 of the matrix's norm; 1.0 is a matrix of rank one."""
    monkeypatch.setattr(muon, "computes_bfloat16", lambda device: in_bfloat16)
    values = torch.tensor([smallest, (1 - smallest**2) ** 0.5, 0.0])
    left, right = (torch.linalg.qr(drawn(9, 3, seed=seed)).Q for seed in (1, 2))
    found = torch.linalg.svdvals(orthogonal(3 * left @ values.diag() @ right.T))
    rank = int((values > 0).sum())
    assert found[:rank].min() > 0.71
    assert found[0] < 1.29
    assert found[rank:].max() < (0.5 if in_bfloat16 else 0.01)  # rounding grows 78 times


def test_the_zero_matrix_stays() -> None:
    assert not orthogonal(torch.zeros(3, 5)).any()


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch before 2.9 has no Muon")
@pytest.mark.parametrize("shape", [(7, 7), (5, 11), (13, 3)])
def test_the_step_of_a_matrix_is_pytorchs(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal if the iterations are PyTorch's: five of one polynomial, in bfloat16."""
    monkeypatch.setattr(muon, "computes_bfloat16", lambda device: True)
    monkeypatch.setattr(muon, "_POLYNOMIALS", ((3.4445, -4.7750, 2.0315),) * 5)
    monkeypatch.setattr(muon, "_MARGIN", 1.0)
    ours, theirs = drawn(*shape), nn.Parameter(drawn(*shape))
    config = MuonConfig(weight_decay=0.1, matrix_rate=1.5, momentum=0.9)
    optimizer = config.build([LayerMatrix(ours, True)])
    expected = torch.optim.Muon(
        [theirs], weight_decay=0.1, momentum=0.9, adjust_lr_fn="match_rms_adamw"
    )
    for step, rate in enumerate((0.02, 0.04, 0.01)):
        ours.grad = drawn(*shape, seed=step)
        theirs.grad = ours.grad.clone()
        expected.param_groups[0]["lr"] = 1.5 * rate
        optimizer.step(rate)
        expected.step()
        torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-7)


def test_everything_else_learns_by_adamw() -> None:
    ours, theirs = [[drawn(5, 3), drawn(4)] for _ in range(2)]
    config = MuonConfig(weight_decay=0.1, beta2=0.95)
    optimizer = config.build([Parameter(ours[0], True), Parameter(ours[1], False)])
    groups: list[dict[str, Any]] = [
        {"params": [theirs[0]]},
        {"params": [theirs[1]], "weight_decay": 0.0},
    ]
    expected = torch.optim.AdamW(groups, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-9, fused=True)
    for step, rate in enumerate((0.02, 0.04, 0.01)):
        for own, other in zip(ours, theirs, strict=True):
            own.grad = drawn(*own.shape, seed=step)
            other.grad = own.grad.clone()
        for group in expected.param_groups:
            group["lr"] = rate
        optimizer.step(rate)
        expected.step()
        assert all(map(torch.equal, ours, theirs))


def test_embeddings_biases_and_gains_are_not_matrices_of_layers() -> None:
    model = tiny_model()
    sharding = Replicas(model, MuonConfig(), torch.float32)
    for parameter in model.parameters():
        assert parameter.grad is not None
        parameter.grad.fill_(1.0)
    sharding.step(0.1)
    kinds: dict[str, set[str]] = {}
    for key in sharding.moments().keys() - {"step"}:
        kind, _, name = key.partition(".")
        kinds.setdefault(name, set()).add(kind)
    for name, parameter in model.named_parameters():
        is_layers = parameter.dim() == 2 and not name.startswith(("source_emb", "target_emb"))
        assert kinds[name] == ({"momentum"} if is_layers else {"first_moment", "second_moment"})
    assert kinds["source_embedding.weight"] == {"first_moment", "second_moment"}
    assert kinds["encoder.0.attention.query.weight"] == {"momentum"}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_resumed_run_is_the_same(tmp_path: Path, precision: str) -> None:
    def train(run: str) -> None:
        model = tiny_model(dropout=0.1)
        sharded_trainer(
            tmp_path / run, ALONE, model, optimizer=OPTIMIZER, precision=precision, ema_decay=0.9
        ).train()

    train("whole")
    for checkpoint in checkpoints(tmp_path / "whole")[:-1]:
        shutil.copytree(checkpoint, tmp_path / "resumed" / "checkpoints" / checkpoint.name)
    train("resumed")
    for name in FILES:
        assert_same(saved(tmp_path / "whole", name), saved(tmp_path / "resumed", name))


def test_two_processes_learn_the_same_however_gradients_are_sent(tmp_path: Path) -> None:
    """Also with several passes in a step."""
    models = {when: [tiny_model(dropout=0.0) for _ in range(2)] for when in ("after", "during")}

    def train(when: str) -> None:
        def work(world: GlooThreads) -> None:
            values: dict[str, Any] = {"optimizer": OPTIMIZER, "send_gradients": when}
            model = models[when][world.rank]
            stream: type[SharedReversal] = Uneven if when == "after" else SharedReversal
            sharded_trainer(tmp_path / when, world, model, stream, **values).train()

        for process in gloo_together(2, work):
            process.result()

    train("after")
    train("during")
    weights = [saved(tmp_path / when) for when in ("after", "during")]
    for name, values in weights[0].items():
        torch.testing.assert_close(values, weights[1][name], rtol=1e-3, atol=1e-4)


def trained_together(run: Path, size: int, **values: Any) -> None:
    """Train with Muon in so many processes, from the newest checkpoint on."""
    models = [tiny_model(dropout=0.0) for _ in range(size)]

    def work(world: GlooThreads) -> None:
        settings = {"optimizer": OPTIMIZER, "ema_decay": 0.9, **values}
        sharded_trainer(run, world, models[world.rank], **settings).train()

    for process in gloo_together(size, work):
        process.result()


def test_matrices_shared_out_learn_what_replicas_do_bit_for_bit(tmp_path: Path) -> None:
    """Each matrix is updated by one process; a clipped norm would be summed in another order."""
    for sharding in ("none", "state"):
        values = {"optimizer": {**OPTIMIZER, "clip_norm": None}, "sharding": sharding}
        trained_together(tmp_path / sharding, 2, **values)
    for name in FILES:
        assert_same(saved(tmp_path / "none", name), saved(tmp_path / "state", name))


@pytest.mark.parametrize(
    ("sharding", "precision"), [("state", "float32"), ("gradients", "bfloat16")]
)
def test_any_number_of_processes_continues_a_sharded_run(
    tmp_path: Path, sharding: str, precision: str
) -> None:
    """Bit for bit with as many, and with others but for rounding."""
    values = {"sharding": sharding, "precision": precision}
    trained_together(tmp_path / "whole", 2, **values)
    for size in (1, 2, 3) if precision == "float32" else (2,):
        begun(tmp_path / "whole", tmp_path / str(size))
        trained_together(tmp_path / str(size), size, **values)
        if size != 2:
            assert_close(tmp_path / "whole", tmp_path / str(size))
    for name in FILES:
        assert_same(saved(tmp_path / "whole", name), saved(tmp_path / "2", name))


def test_sharded_gradients_learn_what_replicas_do(tmp_path: Path) -> None:
    """But for rounding, also with a clipped gradient."""
    for sharding in ("none", "gradients"):
        trained_together(tmp_path / sharding, 2, sharding=sharding)
    assert_close(tmp_path / "none", tmp_path / "gradients")


def test_sharded_parameters_are_refused() -> None:
    values = {"optimizer": {"kind": "muon"}, "sharding": "parameters"}
    with pytest.raises(ConfigError, match=r"muon needs them whole; set sharding: gradients"):
        parse(TrainingConfig, values, "run.yaml")


def test_a_checkpoint_of_adam_is_refused(tmp_path: Path) -> None:
    sharded_trainer(tmp_path / "run", ALONE, tiny_model(), max_steps=3).train()
    with pytest.raises(SavedError, match=r"momentum\..* should be \[.*\], found nothing"):
        sharded_trainer(tmp_path / "run", ALONE, tiny_model(), optimizer=OPTIMIZER)
