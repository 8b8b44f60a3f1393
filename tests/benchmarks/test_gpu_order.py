"""The order of work for a GPU: slots, kills, going on; its leads compute what eager code does."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import gpu  # noqa: E402
import gpu_leads  # noqa: E402
import gpu_order  # noqa: E402
from gpu_order import Found, Row, by_process, carry_out, main, order, read, table  # noqa: E402

from dragoman.data.batches import make_batch  # noqa: E402
from dragoman.models.families.transformer import Transformer  # noqa: E402
from dragoman.models.layers import attention, self_attention  # noqa: E402
from dragoman.search import ModelScorer, SearchConfig, search  # noqa: E402
from dragoman.training.objectives import CrossEntropy  # noqa: E402

ROWS = [Row("first", 10, ("peak",)), Row("long", 70, ("peak",)), Row("last", 10, ("peak",))]


def test_rows_are_written_at_once_and_never_measured_twice(tmp_path: Path) -> None:
    path, measured = tmp_path / "rows.jsonl", list[str]()

    def measure(row: Row) -> Found:
        if measured:
            raise KeyboardInterrupt  # whatever ends the order loses no row
        measured.append(row.name)
        return {"value": 1.0}

    with pytest.raises(KeyboardInterrupt):
        carry_out(ROWS, path, 100, measure)
    assert list(read(path)) == ["first"]
    with path.open("a", encoding="utf-8") as file:
        file.write('{"row": "lon')  # cut short by a kill
    carry_out(ROWS, path, 60, lambda row: {"value": 2.0})  # too short for the long row
    assert [(name, row["value"]) for name, row in read(path).items()] == [
        ("first", 1.0),
        ("last", 2.0),
    ]


def test_a_row_ends_with_its_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpu.py").write_text("import time; print('begun', flush=True); time.sleep(60)")
    monkeypatch.setattr(gpu_order, "HERE", tmp_path)
    found = by_process(Row("slow", 1, ("peak",)))
    assert found["error"] == "killed after 1 s"


def test_the_order_has_every_lead_once() -> None:
    commands = [row.command for row in order()]
    trained = {command[-1] for command in commands if command[:2] == ("train", "base")}
    assert trained == set(gpu_leads.TRAINING)
    searched = {command[-1] for command in commands if command[0] == "decode"}
    assert searched == {*gpu_leads.SEARCH, "ctranslate2"}
    names = [row.name for row in order()]
    assert len(names) == len(set(names))
    assert [row.name for row in order(dry=True)] == names


def test_the_table_compares_with_the_peak_and_with_eager_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = {"flops": 100, "memory": 2**30, "seconds": 1.0}
    rows: list[Found] = [
        {"row": "peak", "value": 1000.0},
        {"row": "train base eager", "value": 4.0, "losses": [2.0, 4.0], **common},
        {"row": "train base layers", "value": 5.0, "losses": [3.0, 3.5], **common},
        {"row": "train base liger", "skipped": "liger is not installed"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    main([str(path), "--table"])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| peak | 1,000 | | | | |",
        "| train base eager | 4 | 40.0% | 1.0 | 3.0000 | +0.0000 |",
        "| train base layers | 5 | 50.0% | 1.0 | 3.2500 | +0.2500 |",
        "| train base liger | liger is not installed | | | | |",
    ]
    assert list(table({}))


@pytest.fixture
def own_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores attention, which a lead replaces for the rest of its process."""
    for module in (attention, self_attention):
        monkeypatch.setattr(module, "attend", module.attend)


@pytest.mark.usefixtures("own_attention")
def test_attention_without_masks_is_the_same_without_padding() -> None:
    lines = torch.randint(4, 23, (3, 6)).tolist()
    batch = make_batch(lines, lines)
    torch.manual_seed(1)
    model = Transformer(gpu.SIZES["tiny"], 23, 23).eval()
    expected = CrossEntropy(0.1).backward(model, batch)["loss"]
    found = gpu_leads.unmasked(model).backward(model, batch, 1.0)["loss"]
    torch.testing.assert_close(found, expected)


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs CTranslate2")
def test_ctranslate2_searches_by_the_same_weights() -> None:
    torch.manual_seed(1)
    model = Transformer(gpu.SIZES["tiny"], 23, 23).eval()
    sources = torch.randint(4, 23, (2, 5))
    run = gpu_leads.by_ctranslate2(model, sources, 3, 6, 100, "cpu")
    config = SearchConfig(beam=3, minimum_length=6, maximum_length=6)
    mask = torch.ones_like(sources, dtype=torch.bool)
    ours = search(ModelScorer(model), sources, mask, config)
    theirs = [found.hypotheses[0] for found in run()]
    assert theirs == [[f"p{number}" for number in best.ids if number > 3] for best, *_ in ours]


def test_kinds_of_operations_add_up_to_the_time() -> None:
    rows = gpu.by_kind(
        [("nvjet_tst_128x256", 50.0), ("fmha_cutlassF_bf16", 20.0), ("cutlass_80_gemm", 5.0)], 100.0
    )
    assert rows[2:] == [
        "| products | 55.0% |",
        "| nothing: waiting for the next operation | 25.0% |",
        "| attention | 20.0% |",
    ]


UNCOMPILED = ("peak", "train base eager", "train base operator", "train base liger")


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
# The compiler looks at the gradients of what it is given, and uses what PyTorch itself warns of.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.usefixtures("own_attention")
def test_a_dry_run_carries_out_everything(
    whole: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module, name in ((gpu, "DEVICE"), (gpu, "VOCABULARY"), (gpu_leads, "BACKEND")):
        monkeypatch.setattr(module, name, getattr(module, name))
    rows = [row for row in order(dry=True) if whole or row.name in UNCOMPILED]
    monkeypatch.setattr(gpu_order, "order", lambda dry: rows)
    path = tmp_path / "rows.jsonl"
    main([str(path), "--dry-run"])
    found = read(path)
    assert list(found) == [row.name for row in rows]
    eager = found["train base eager"]["losses"]
    for name, row in found.items():
        if name.startswith("train base ") and "skipped" not in row:
            assert row["losses"] == pytest.approx(eager, rel=0.03)  # masks differ
    assert "| train base operator | " in capsys.readouterr().out
