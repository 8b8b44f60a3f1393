from __future__ import annotations

import io
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from command_line import CommandLine, one_error
from families import VARIATIONS, VOCABULARY, built, variations
from matplotlib import font_manager

from dragoman.cli.main import run
from dragoman.core.errors import ConfigError, DataError
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.outputs import Attention, AttentionOf
from dragoman.translation.translator import Translator
from dragoman.workflows.reports.heat_map import (
    HeatMap,
    View,
    draw_attention,
    head_maps,
    heat_map,
    heat_map_lines,
    readable,
)

torch.set_num_threads(1)

PNG = b"\x89PNG\r\n\x1a\n"
SENTENCES = ["a b c d e f g", "g f <e d & c b", "안 녕 $x_$"] * 9


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    text = zip(SENTENCES, SENTENCES, strict=True)
    return train_vocabularies(text, VocabularyConfig(size=VOCABULARY), seed=1)


@pytest.fixture(scope="module")
def model(vocabularies: Vocabularies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=8, d_ff=8, heads=2)
    return save(tmp_path_factory.mktemp("saved") / "model", config, vocabularies)


def save(directory: Path, config: ModelConfig, vocabularies: Vocabularies) -> Path:
    torch.manual_seed(1)
    network = FAMILIES[config.family](config, len(vocabularies.source), len(vocabularies.target))
    weights = {name: tensor.detach() for name, tensor in network.named_parameters()}
    save_model(
        directory, SavedConfig(model=config, search={"extra_length": 3}), vocabularies, weights
    )
    return directory


@pytest.mark.parametrize("config", variations())
def test_every_family_shows_its_attention_or_says_that_it_has_none(
    config: ModelConfig, vocabularies: Vocabularies
) -> None:
    translator = Translator([built(config)], vocabularies)
    if not (config.reads_source and config.attention_layers):
        with pytest.raises(ConfigError, match="has no attention over the source; use a family"):
            translator.attention("a b c", "g f")
        return
    attention = translator.attention("a b c", "g f")
    layers, heads = attention.weights.shape[:2]
    for layer, head in ((None, None), (1, None), (layers, heads)):
        found = heat_map(attention, layer, head)
        assert len(found.source) == len(attention.source)
        for piece, weights in found.rows:
            assert piece
            assert len(weights) == len(found.source)
            assert sum(weights) == pytest.approx(1, abs=1e-5)
    assert list(heat_map_lines(found))


def some(layers: int = 3, heads: int = 2) -> Attention:
    torch.manual_seed(2)
    weights = torch.rand(layers, heads, 2, 5).softmax(-1)
    return Attention(weights, ["▁drei", "</s>"], ["▁th", "ree", "▁eu", "ros", "</s>"], "drei")


def test_a_map_is_of_one_layer_or_head_or_the_mean_over_all() -> None:
    attention = some()
    for layer, head, expected, means in (
        (None, None, attention.weights.mean((0, 1)), "mean over 3 layers and 2 heads"),
        (2, None, attention.weights[1].mean(0), "layer 2 of 3, mean over 2 heads"),
        (3, 1, attention.weights[2, 0], "layer 3 of 3, head 1 of 2"),
    ):
        found = heat_map(attention, layer, head)
        torch.testing.assert_close(torch.tensor([row for _, row in found.rows]), expected)
        assert found.means == means
        assert found.source == ["␣th", "ree", "␣eu", "ros", "end"]
        assert [piece for piece, _ in found.rows] == ["␣drei", "end"]
    assert heat_map(some(1, 1)).means == ""
    assert heat_map(some(1, 2), head=2).means == "layer 1 of 1, head 2 of 2"
    assert heat_map(some(4, 1)).means == "mean over 4 layers"


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (4, None, "layer 4: does not exist; this model's layers are 1 to 3"),
        (0, None, "layer 0"),
        (1, 3, "head 3: does not exist; this model's heads are 1 to 2"),
        (None, 1, r"head 1 of which layer\? Choose one from 1 to 3"),
    ],
)
def test_a_layer_that_there_is_not_is_told(
    layer: int | None, head: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        heat_map(some(), layer, head)


def test_pieces_are_readable_whatever_they_hold() -> None:
    assert readable("▁a▁b") == "␣a␣b"
    assert readable("\x1b[2J\n") == "\\x1b[2J\\x0a"


def test_a_table_names_the_source_pieces_from_strong_to_weak() -> None:
    found = HeatMap(
        ["안녕", "b", "c", "d"], [("x", [0.5, 0.0, 0.375, 0.125]), ("yz", [0, 1, 0, 0])], ""
    )
    first, second = heat_map_lines(found)
    assert first == "x   안녕 0.50 ████       c    0.38 ███        d    0.12 █"
    assert second.startswith("yz  b    1.00 ████████")
    plain = next(iter(heat_map_lines(found, blocks=False)))
    assert plain == "x   안녕 0.50 ####      c    0.38 ###       d    0.12 #"
    weights = [float(weight) for weight in re.findall(r"\d\.\d\d", first)]
    assert all(one >= other for one, other in pairwise(weights))


def test_it_is_shown_in_a_terminal(model: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("show", "attention", model, "a b c", "--target", "g f")
    assert outcome.code == 0, outcome.err
    means, _, *rows = outcome.out.splitlines()
    assert means == "mean over 2 layers and 2 heads"
    own = Translator.load(model, device="cpu").attention("a b c", "g f")
    assert [row.split()[0] for row in rows] == [readable(piece) for piece in own.target]
    weights = own.weights.mean((0, 1))
    for row, expected in zip(rows, weights, strict=True):
        best = readable(own.source[int(expected.argmax())])
        assert row.split()[1:3] == [best, f"{expected.max():.2f}"]
    piped = dragoman("show", "attention", model, "--target", "g f", stdin=b"a b c\n")
    assert piped.out == outcome.out


def test_json_has_all_weights(model: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("show", "attention", model, "a b", "--layer", 2, "--head", 1, "--json")
    found = json.loads(outcome.out)
    translator = Translator.load(model, device="cpu")
    expected = translator.attention("a b")
    assert found["source"] == {"text": "a b", "pieces": expected.source}
    assert found["target"] == {"text": translator.translate(["a b"])[0], "pieces": expected.target}
    assert found["model"] == {"layers": 2, "heads": 2}
    assert found["shown"] == {"of": "source", "layer": 2, "head": 1}
    torch.testing.assert_close(torch.tensor(found["weights"]), expected.weights[1, 0])


def test_json_is_utf_8_whatever_the_encoding_of_the_terminal(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="iso8859-5")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["show", "attention", str(model), "a é", "--json"]) == 0
    assert json.loads(stream.detach().getvalue())["source"]["text"] == "a é"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_it_is_drawn_whatever_its_characters(
    suffix: str,
    model: Path,
    dragoman: CommandLine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = [one for one in font_manager.fontManager.ttflist if one.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    path = tmp_path / f"new/attention.{suffix}"
    options = ("--target", "안 <e $x_$ &", "--output", path)
    outcome = dragoman("show", "attention", model, "a <e & $x_$ 녕", *options)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("mean over")
    if suffix == "png":
        assert path.read_bytes().startswith(PNG)
        assert "no font on this machine has 녕 (U+B155), 안 (U+C548), drawn as boxes" in caplog.text
        return
    text = path.read_text(encoding="utf-8")
    assert "<e" not in text
    assert "안" in text
    if suffix == "svg":
        ElementTree.fromstring(text)


def test_a_page_escapes_whatever_it_is_given(tmp_path: Path) -> None:
    evil = "<script>alert('&')</script>"
    found = HeatMap([evil], [(evil, [1.0])], evil)
    facts = {"source": evil, "target": evil, "model": evil}
    draw_attention([found], tmp_path / "a.html", facts=facts)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#39;&amp;&#39;)") == 7


@pytest.mark.parametrize("view", ["heads", "lines"])
@pytest.mark.parametrize("of", ["source", "encoder", "decoder"])
def test_each_head_is_drawn(
    view: View, of: AttentionOf, model: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    given = ("a b c", "--view", view, "--of", of, "--layer", 1)
    outcome = dragoman("show", "attention", model, *given, "--output", tmp_path / "a.svg")
    assert outcome.code == 0, outcome.err
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    for head in (1, 2):
        assert text.count(f"layer 1 of {1 if of == 'encoder' else 2}, head {head} of 2") == 1
    title = {"source": "Attention over", "encoder": "Self-attention of the encoder"}
    assert title.get(of, "Self-attention of the decoder") in text


def test_lines_are_as_dark_as_weights(tmp_path: Path) -> None:
    rows = [("x", [0.25, 0.0, 0.75]), ("y", [0.01, 0.99, 0.0])]
    path = tmp_path / "a.svg"
    draw_attention([HeatMap(["a", "b", "c"], rows, "")], path, "encoder", "lines")
    opacities = re.findall(r"stroke-opacity: ([0-9.]+)", path.read_text(encoding="utf-8"))
    assert sorted(map(float, opacities)) == [0.25, 0.75, 0.99]


def test_maps_of_heads() -> None:
    attention = some()
    assert [one.means for one in head_maps(attention, 2)] == [
        "layer 2 of 3, head 1 of 2",
        "layer 2 of 3, head 2 of 2",
    ]
    assert len(head_maps(attention)) == 6
    found = head_maps(attention, head=2)
    for layer, one in enumerate(found):
        torch.testing.assert_close(
            torch.tensor([row for _, row in one.rows]), attention.weights[layer, 1]
        )
    with pytest.raises(ConfigError, match="head 3: does not exist"):
        head_maps(attention, head=3)


def test_self_attention_in_a_terminal(model: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("show", "attention", model, "a b c", "--of", "encoder")
    assert outcome.out.startswith("mean over 2 heads")
    own = Translator.load(model, device="cpu").attention("a b c", of="encoder")
    assert own.source == own.target
    outcome = dragoman("show", "attention", model, "a", "--of", "decoder", "--target", "g")
    rows = outcome.out.splitlines()[2:]
    assert rows[0].split()[1:3] == ["begin", "1.00"]  # nothing else was written


def test_dollar_signs_are_no_formula(tmp_path: Path) -> None:
    draw_attention([HeatMap(["$x_1$"], [("$\\nonsense$", [1.0])], "")], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">$x_1$<" in text
    assert ">$\\nonsense$<" in text


def test_the_same_picture_is_drawn_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        draw_attention([heat_map(some())], tmp_path / f"{name}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("",), 3, "source: it is empty; give a sentence"),
        ((), 3, "source: it is empty; give a sentence"),
        (("a " * 2000,), 3, r"source: \d+ pieces are more than search.max_source_pieces 1024"),
        (("a", "--target", "a " * 2000), 3, r"target: \d+ pieces are more than"),
        (("a", "--layer", "3"), 2, "layer 3: does not exist"),
        (("a", "--head", "1"), 2, "head 1 of which layer"),
        (
            ("a", "--output", "a.pdf"),
            2,
            r"a.pdf: expected a name that ends in one of .svg, .png, .html",
        ),
        (("a", "--output", "/proc/a.svg"), 6, "cannot write /proc/a.svg"),
        (("a", "b"), 2, "unexpected extra argument"),
        (("a", "--view", "heads"), 2, "--view heads is a picture; add --output"),
        (("a", "--view", "lines", "--output", "a.html"), 2, "draw lines as .svg or .png"),
        (("a", "--of", "encoder", "--target", "b"), 2, "--of encoder reads no --target"),
    ],
)
def test_what_cannot_be_shown_is_told(
    arguments: tuple[str, ...], code: int, message: str, model: Path, dragoman: CommandLine
) -> None:
    outcome = dragoman("show", "attention", model, *arguments)
    assert re.search(message, one_error(outcome, code)), outcome.err
    assert not outcome.out


def test_one_line_at_a_time(model: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("show", "attention", model, stdin=b"a\nb\n")
    assert "standard input: line 2: attention is shown for a single line" in one_error(outcome, 3)


def test_a_family_without_attention_says_so(
    vocabularies: Vocabularies, tmp_path: Path, dragoman: CommandLine
) -> None:
    path = save(tmp_path / "model", VARIATIONS["bytenet"], vocabularies)
    outcome = dragoman("show", "attention", path, "a b")
    assert "ByteNet has no attention over the source; use a family" in one_error(outcome, 2)


@pytest.mark.parametrize(
    ("package", "suffix", "hint"),
    [
        ("matplotlib", "svg", "pip install matplotlib jinja2"),
        ("jinja2", "html", "pip install jinja2 matplotlib"),
    ],
)
def test_what_draws_may_be_missing(
    package: str,
    suffix: str,
    hint: str,
    model: Path,
    dragoman: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("plots", "figures", "attention_pictures", "pages"):
        monkeypatch.delitem(sys.modules, f"dragoman.workflows.reports.{name}", raising=False)
    outcome = dragoman("show", "attention", model, "a", "--output", f"a.{suffix}")
    assert one_error(outcome, 7).endswith(f"{sys.executable} -m {hint}")
    assert dragoman("show", "attention", model, "a").code == 0


def test_the_empty_group_is_help(dragoman: CommandLine) -> None:
    outcome = dragoman("show")
    assert (outcome.code, outcome.err) == (0, "")
    assert "attention" in outcome.out


def test_attention_of_nothing_is_an_error(vocabularies: Vocabularies) -> None:
    translator = Translator([built(VARIATIONS["transformer"])], vocabularies)
    for nothing in ("", " ", "\u2028"):
        with pytest.raises(DataError, match="source: it is empty"):
            translator.attention(nothing)
