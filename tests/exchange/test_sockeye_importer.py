"""Models of Sockeye 3: what the toolkit says of them, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from imported_models import MODELS, built, expected, greedy, largest_difference

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.exchange.pickled import read_pickled

NAMES = ["sockeye/pre", "sockeye/post", "sockeye/ssru"]


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_the_toolkit(name: str) -> None:
    assert importer_of(MODELS / name).name == "sockeye"
    assert largest_difference("sockeye", MODELS / name) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_translated_as_by_the_toolkit(name: str, tmp_path: Path) -> None:
    told = expected(MODELS / name)
    ours = greedy("sockeye", MODELS / name, tmp_path / "ours", told["sources"])
    assert ours == [text.strip() for text in told["greedy"]]
    assert len(set(told["greedy"])) == len(told["greedy"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a model."""
    return Path(shutil.copytree(MODELS / "sockeye" / "post", tmp_path / "theirs"))


def setting(old: str, new: str) -> Callable[[Path], None]:
    """A change of the configuration, of its first or only place."""

    def change(folder: Path) -> None:
        text = (folder / "config").read_text()
        assert old in text
        (folder / "config").write_text(text.replace(old, new, 1))

    return change


def weights(**changes: torch.Tensor | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = read_pickled(folder / "params.best")
        for key, tensor in changes.items():
            name = key.replace("__", ".")
            if tensor is None:
                del found[name]
            else:
                found[name] = tensor
        torch.save(found, folder / "params.best")

    return change


def text(name: str, content: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_text(content)

    return change


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (setting("num_source_factors: 1", "num_source_factors: 2"), ConfigError, "factors: 2"),
        (setting("lhuc: false\nneural", "lhuc: true\nneural"), ConfigError, "lhuc: True"),
        (setting("use_glu: false", "use_glu: true"), ConfigError, "use_glu: True"),
        (setting("attention_heads: 2", "attention_heads: 3"), ConfigError, "attention_heads of"),
        (setting("act_type: gelu", "act_type: relu"), ConfigError, "act_type of the encoder"),
        (setting("postprocess_sequence: drn", "postprocess_sequence: dr"), ConfigError, "differ"),
        (setting("decoder_type: transformer", "decoder_type: x"), ConfigError, "decoder_type: 'x'"),
        (setting("num_layers: 1", "num_layers: x"), DataError, "decoder_layers"),
        (setting("  model_size: 12\n", ""), DataError, "config_decoder.model_size is missing"),
        (setting("!ModelConfig", "!!python/object/apply:os.system"), DataError, "config:"),
        (setting("use_glu: false", "use_glu: !!bool maybe"), DataError, "cannot be read as bool"),
        (text("config", "a: ["), DataError, "config:"),
        (text("config", "[" * 500), DataError, "config:"),
        (text("config", "a: 1"), DataError, "no configuration of Sockeye 3"),
        (text("vocab.trg.0.json", "[]"), DataError, "a JSON object is expected"),
        (text("vocab.trg.0.json", json.dumps({"a": 7})), DataError, "not 0, 1, 2"),
        (text("vocab.trg.0.json", json.dumps({"a": 0})), DataError, "has no <pad>"),
        (text("params.best", "nothing"), DataError, "params.best"),
        (weights(output_layer__bias=None), DataError, "output_layer.bias is missing"),
        (weights(output_layer__bias=torch.ones(3)), DataError, r"output bias .* shape \[3\]"),
        (
            weights(decoder__pos_embedding__weight=torch.ones(3)),
            DataError,
            r"shape \[3\], expected 12",
        ),
        (
            weights(encoder__pos_embedding__weight=torch.ones(9, 1)),
            DataError,
            r"pos_embedding.weight has the shape \[9, 1\], expected 12 columns",
        ),
        (weights(new=torch.ones(1)), ConfigError, "has the weight new"),
        (
            weights(decoder__layers__0__enc_attention__ff_kv__weight=torch.ones(7, 12)),
            DataError,
            "ff_kv.weight has the shape",
        ),
    ],
)
def test_what_is_not_known_or_damaged_is_refused(
    folder: Path,
    tmp_path: Path,
    change: Callable[[Path], None],
    error: type[Exception],
    message: str,
) -> None:
    change(folder)
    with pytest.raises(error, match=message):
        import_model(folder, tmp_path / "ours", toolkit="sockeye")
    assert not (tmp_path / "ours").exists()


def test_values_without_end_are_refused_before_they_are_shown(folder: Path) -> None:
    """Eight lists of ten times the one before took 7 seconds and most of a gigabyte to be named."""
    lists = [f"- &l{n} [{', '.join([f'*l{n - 1}' if n else 'ha'] * 10)}]\n" for n in range(8)]
    setting("!ModelConfig\n", "!ModelConfig\nmore:\n" + "".join(lists))(folder)
    setting("act_type: gelu", "act_type: *l7")(folder)
    with pytest.raises(DataError, match="with aliases written out"):
        import_model(folder, folder / "ours", toolkit="sockeye")
    (folder / "config").write_text("a: [" + "1," * 2**19 + "1]")
    with pytest.raises(DataError, match="too large for a configuration"):
        import_model(folder, folder / "ours", toolkit="sockeye")


def test_settings_that_early_versions_lack_are_off(folder: Path) -> None:
    """Sockeye 3.0 has nothing about prepended text; its loader takes the default, too."""
    setting("  block_prepended_cross_attention: false\n", "")(folder)
    assert largest_difference("sockeye", folder) < 1e-4


def test_parts_that_do_not_change_scores_are_left_out(folder: Path) -> None:
    weights(
        length_ratio__0__weight=torch.ones(1),
        nvs__project__weight=torch.ones(1),
        traced_encoder__weight=torch.ones(1),
    )(folder)
    notes = importer_from("sockeye").read(folder, ("en", "de")).notes
    assert [note.split(":")[0] for note in notes][:2] == ["Left out", "Left out"]
    assert any(note.startswith("Unknown pieces are put out there") for note in notes)
    assert largest_difference("sockeye", folder) < 1e-4


def test_longer_targets_than_learned_positions_read_the_last_one(folder: Path) -> None:
    """As Sockeye does: here the source's table is longer than the target's."""
    found = read_pickled(folder / "params.best")
    weights(decoder__pos_embedding__weight=found["decoder.pos_embedding.weight"][:25])(folder)
    model = built(importer_from("sockeye").read(folder, (None, None)))
    table = dict(model.named_parameters())["target_embedding.positions.table"]
    assert len(table) == 31
    assert torch.equal(table[24], table[30])
    assert not torch.equal(table[23], table[24])
    assert largest_difference("sockeye", folder) < 1e-4
