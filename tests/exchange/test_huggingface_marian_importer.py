"""Tiny models of MarianMTModel, made by ``models/make_huggingface_marian.py``."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import sentencepiece
import torch
from command_line import call, one_error
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.importing import import_model
from dragoman.exchange.weight_layout import sines_first
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.positions import sinusoids
from dragoman.saved.model import build_model, load_model
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK
from dragoman.training.warm_start import StartConfig, take_over
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.model_service import ModelService, ServiceOptions
from dragoman.translation.translator import Translator

MODELS = Path(__file__).parent / "models" / "huggingface_marian"
NAMES = ["shared", "separate"]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("imported")
    for name in NAMES:
        import_model(MODELS / name, folder / name)
    return {name: folder / name for name in NAMES}


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MODELS / name / "expected.json").read_text())
    return found


def translated_ids(name: str, rows: list[list[int]], *, target: bool = False) -> Tensor:
    """Their ids as ours, by the rule of the importer: the others follow in their order."""
    file = "target_vocab.json" if target and name == "separate" else "vocab.json"
    table = json.loads((MODELS / name / file).read_text())
    ours = {table["<pad>"]: PAD, table["<unk>"]: UNK, table["</s>"]: EOS}
    ours |= {n: i for i, n in enumerate(sorted(set(table.values()) - set(ours)), start=4)}
    return torch.tensor([[ours[one] for one in row] for row in rows])


@pytest.mark.parametrize("name", NAMES)
def test_scores_as_the_original(name: str, imported: dict[str, Path]) -> None:
    """All at once and step by step; one symbol more, which begins, never comes."""
    known, model = expected(name), load_model(imported[name], "cpu").model
    source = translated_ids(name, known["source"])
    labels = translated_ids(name, known["labels"], target=True)
    begin = torch.full((len(labels), 1), BOS)
    inputs = torch.cat([begin, labels[:, :-1]], dim=1)
    memory = model.encode(source, source != PAD)
    hidden, _ = model.decode(inputs, memory, model.start(memory))
    state, steps = model.start(memory), []
    for place in range(inputs.shape[1]):
        step, state = model.decode(inputs[:, place : place + 1], memory, state)
        steps.append(step)
    theirs = torch.tensor(known["logits"])
    every = list(range(theirs.shape[-1]))
    order = translated_ids(name, [every], target=True)[0]
    real = labels != PAD
    for found in (hidden, torch.cat(steps, dim=1)):
        scores = model.logits(found)
        torch.testing.assert_close(scores[..., order][real], theirs[real], rtol=0, atol=1e-4)
        assert scores.softmax(-1)[..., BOS].max() == 0


@pytest.mark.parametrize("name", NAMES)
def test_writes_as_the_original(name: str, imported: dict[str, Path]) -> None:
    known, translator = expected(name), Translator.load(imported[name], device="cpu")
    options: dict[str, Any] = {"beam": 1, "allow_unknown": True, "degenerate": "keep"}
    found = translator.translate(known["lines"], maximum_length=38, **options)
    assert [text.strip() for text in found] == known["texts"]


def test_both_sides_share_a_matrix_though_they_split_text_differently(
    imported: dict[str, Path],
) -> None:
    saved = load_model(imported["shared"], "cpu")
    assert not saved.vocabularies.joint
    assert saved.vocabularies.same_ids
    config = saved.config.model
    assert isinstance(config, TransformerConfig)
    assert config.embeddings == "shared"
    apart = load_model(imported["separate"], "cpu").config.model
    assert isinstance(apart, TransformerConfig)
    assert apart.embeddings == "separate"


def test_says_where_it_is_from(tmp_path: Path) -> None:
    outcome = call("import", MODELS / "shared", "--output", tmp_path / "m", "--json")
    found = json.loads(outcome.out)
    assert (found["source_language"], found["target_language"]) == ("en", "de")
    assert found["toolkit"] == "huggingface-marian"
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    for text in ("# en to de", "cc-by-4.0", "MarianMTModel", *found["notes"]):
        assert text in card
    assert load_model(tmp_path / "m", "cpu").search == {"beam": 4, "length_penalty": 0.8}
    again = call("import", MODELS / "shared", "--output", tmp_path / "m")
    assert "exists already" in one_error(again, 2)


def test_serves(imported: dict[str, Path]) -> None:
    lines = expected("shared")["lines"][:3]

    async def served() -> list[str]:
        system = TranslationSystem(models=(imported["shared"],), device="cpu")
        options = ServiceOptions(reload_seconds=0)
        async with await ModelService.open([system], options) as service:
            found = await service.translate([TextRequest(line, "de", "en") for line in lines])
            return [one.text for one in found]

    translator = Translator.load(imported["shared"], device="cpu")
    assert asyncio.run(served()) == translator.translate(lines)


def test_exports(imported: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    options = ("--to", "ctranslate2", "--output", tmp_path / "there", "--json")
    found = json.loads(call("export", imported["shared"], *options).out)
    assert found["difference"] < 1e-4


def test_adapts(imported: dict[str, Path]) -> None:
    """Training that starts from it has all of its weights, and changes all of them."""
    saved = load_model(imported["shared"], "cpu")
    model = build_model(saved.config.model, saved.vocabularies)
    take_over(model, saved.vocabularies, StartConfig(model=str(imported["shared"])))
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, saved.model.get_parameter(name)), name
    losses = [step(model.train(), saved) for _ in range(2)]
    assert losses[1] < losses[0]


def step(model: Any, saved: SavedModel) -> float:
    """One step of gradient descent on a pair; the loss before it."""
    source = torch.tensor([[*saved.vocabularies.source.encode("a new boat"), EOS]])
    target = torch.tensor([[*saved.vocabularies.target.encode("ein neues boot"), EOS]])
    memory = model.encode(source, source != PAD)
    inputs = torch.cat([torch.full((1, 1), BOS), target[:, :-1]], dim=1)
    hidden, _ = model.decode(inputs, memory, model.start(memory))
    loss = torch.nn.functional.cross_entropy(model.logits(hidden)[0], target[0])
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.sub_(0.01 * parameter.grad)
    return loss.item()


def test_a_language_code_in_front_of_a_source_is_a_tag(tmp_path: Path) -> None:
    copy = copied(tmp_path, "shared")
    table = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))
    changed = {">>deu<<" if number == 40 else piece: number for piece, number in table.items()}
    (copy / "vocab.json").write_text(json.dumps(changed), encoding="utf-8")
    import_model(copy, tmp_path / "m", languages=("eng", None))
    saved = load_model(tmp_path / "m", "cpu")
    (direction,) = saved.config.directions
    assert (direction.source_language, direction.target_language) == ("eng", "deu")
    assert direction.tags == ("<2deu>",)
    (tag,) = saved.vocabularies.source.language_tags
    plain = saved.vocabularies.source.encode("a boat")
    assert saved.vocabularies.source.encode("<2deu> a boat") == [tag, *plain]
    assert saved.vocabularies.same_ids


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model into two languages, each by its code."""
    folder = tmp_path_factory.mktemp("two")
    table = json.loads((MODELS / "shared" / "vocab.json").read_text(encoding="utf-8"))
    codes = {40: ">>deu<<", 41: ">>fra<<"}
    changed = {codes.get(number, piece): number for piece, number in table.items()}
    copy = copied(folder, "shared")
    (copy / "vocab.json").write_text(json.dumps(changed), encoding="utf-8")
    import_model(copy, folder / "model", languages=("eng", None))
    return folder / "model"


@pytest.mark.parametrize("target", ["ctranslate2", "onnx"])
def test_an_export_whose_text_cannot_have_its_tags_takes_them_as_pieces(
    target: str, of_two: Path, tmp_path: Path
) -> None:
    pytest.importorskip({"onnx": "onnxruntime"}.get(target, target))
    export_model(of_two, target, tmp_path / "there")
    name = "source.spm" if target == "onnx" else "sentencepiece.model"
    splitter = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "there" / name))
    assert "<2deu>" not in splitter.encode("<2deu> a boat", out_type=str)
    vocabulary = load_model(of_two, "cpu").vocabularies.source
    pieces = ["<2deu>", *splitter.encode("a boat", out_type=str)]
    assert vocabulary.ids(pieces) == vocabulary.encode("<2deu> a boat")
    card = (tmp_path / "there" / "README.md").read_text("utf-8")
    assert "put these pieces in front of its own:\n\n|  |  |\n" in card
    assert "| eng to deu | `<2deu>` |\n| eng to fra | `<2fra>` |" in card
    assert "In front of each text" not in card


def test_an_export_to_transformers_names_the_codes_that_it_reads(
    of_two: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers", minversion="5")
    export_model(of_two, "huggingface", tmp_path / "there")
    card = (tmp_path / "there" / "README.md").read_text("utf-8")
    assert "In front of each text, followed by a space, write:" in card
    assert "| eng to deu | `>>deu<<` |\n| eng to fra | `>>fra<<` |" in card
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "there")
    ids = load_model(of_two, "cpu").vocabularies.source.encode("<2deu> a boat")
    assert tokenizer(">>deu<< a boat").input_ids == [*ids, EOS]


def copied(folder: Path, name: str) -> Path:
    copy = folder / "copy"
    shutil.copytree(MODELS / name, copy)
    return copy


def edit(name: str, **values: Any) -> Callable[[Path], None]:
    """Change values of a JSON file; None removes them."""

    def change(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8")) | values
        kept = {key: value for key, value in content.items() if value is not None}
        (folder / name).write_text(json.dumps(kept), encoding="utf-8")

    return change


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


def weights(**changes: Tensor | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors: dict[str, Any] = safetensors.torch.load(path.read_bytes())
        tensors |= {name.replace("__", "."): tensor for name, tensor in changes.items()}
        tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        path.write_bytes(safetensors.torch.save(tensors))

    return change


def cut(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return change


BIAS = "final_logits_bias"
NORM = "model__encoder__layers__0__final_layer_norm__bias"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (write("config.json", b"{"), DataError, r"config.json: not JSON"),
        (write("config.json", b"[" * 100_000), DataError, r"config.json: not JSON"),
        (write("config.json", b"\xff\xfe"), DataError, r"config.json: not UTF-8"),
        (write("config.json", b"[]"), DataError, r"a JSON object is expected, found a list"),
        (edit("config.json", model_type="t5"), DataError, r"of type 't5', expected 'marian'"),
        (edit("config.json", d_model="16"), DataError, r"d_model: expected int, found '16'"),
        (edit("config.json", d_model=None), DataError, r"d_model: expected int, found None"),
        (
            edit("config.json", d_model=10**9),
            DataError,
            r"width \[16\], and .* d_model: 1000000000",
        ),
        (edit("config.json", d_model=-16), DataError, r"greater than or equal to 1"),
        (edit("config.json", decoder_ffn_dim=9), ConfigError, r"ffn_dim 20 and .* 9 differ"),
        (edit("config.json", activation_function="mish"), ConfigError, r"'mish' is none of: relu"),
        (edit("config.json", normalize_before=True), ConfigError, r"normalize_before: true"),
        (edit("config.json", encoder_layers=1), ConfigError, r"encoder.layers.1.* and 15 more"),
        (edit("config.json", encoder_layers=3), DataError, r"encoder.layers.2.* is missing"),
        (edit("config.json", vocab_size=64), DataError, r"has 54 pieces, the model 64"),
        (edit("generation_config.json", eos_token_id=5), DataError, r"eos_token_id: 5, but"),
        (
            edit("generation_config.json", decoder_start_token_id=99),
            DataError,
            r"decoder_start_token_id: 99 is no piece",
        ),
        (edit("generation_config.json", num_beams="4"), DataError, r"num_beams: expected int"),
        (
            edit("generation_config.json", forced_bos_token_id=7),
            ConfigError,
            r"forced_bos_token_id: 7 begins every output, which is not known here",
        ),
        (
            edit("generation_config.json", length_penalty=11.5),
            DataError,
            r"equal to 10",
        ),
        (edit("generation_config.json", length_penalty=float("nan")), DataError, r"finite number"),
        (edit("generation_config.json", num_beams=2**63), DataError, r"beam: .* equal to 1000"),
        (
            edit("tokenizer_config.json", target_lang="\ud800"),
            DataError,
            r"a language is '\\ud800', which is no language tag",
        ),
        (
            edit("tokenizer_config.json", source_lang="e n"),
            DataError,
            r"a language is 'e n', which is no language tag.*--from-language",
        ),
        (
            edit("tokenizer_config.json", target_lang="de\nx"),
            DataError,
            r"a language is 'de\\nx', which is no language tag.*--to-language",
        ),
        (edit("vocab.json", **{"<unk>": 0}), DataError, r"ids are not 0, 1, 2"),
        (edit("vocab.json", **{"<unk>": "1"}), DataError, r"ids are not 0, 1, 2"),
        (write("source.spm", b"no model"), DataError, r"source.spm: not a sentencepiece model"),
        (cut("target.spm"), DataError, r"target.spm: a sentencepiece model without its end"),
        (cut("model.safetensors"), DataError, r"model.safetensors: damaged"),
        (write("model.safetensors", b""), DataError, r"model.safetensors: damaged"),
        (weights(**{BIAS: torch.zeros(1, 7)}), DataError, r"output.bias has 7 rows, expected 54"),
        (weights(**{NORM: None}), DataError, r"final_layer_norm.bias is missing"),
        (weights(**{NORM: torch.full((16,), torch.nan)}), DataError, r"has NaN or infinite"),
        (weights(**{NORM: torch.ones(3)}), DataError, r"has the shape \[3\] there"),
        (weights(**{NORM: torch.ones(16).long()}), DataError, r"expected real numbers"),
        (weights(model__gate=torch.ones(3)), ConfigError, r"has the weight model.gate, which"),
        (
            weights(model__encoder__embed_positions__weight=torch.ones(64, 16)),
            ConfigError,
            r"are not the sinusoids",
        ),
        (
            weights(model__encoder__embed_positions__weight=torch.ones(64, 1)),
            DataError,
            r"embed_positions.weight has the shape \[64, 1\], expected 16 columns",
        ),
    ],
)
def test_what_is_refused(
    change: Callable[[Path], None], error: type[Exception], message: str, tmp_path: Path
) -> None:
    copy = copied(tmp_path, "shared")
    change(copy)
    with pytest.raises(error, match=message) as raised:
        import_model(copy, tmp_path / "m")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_positions_may_be_stored_in_half_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    copy = copied(tmp_path, "shared")
    names = [f"model__{side}__embed_positions__weight" for side in ("encoder", "decoder")]
    table = sinusoids(512, 16)[:, sines_first(16)].to(dtype)
    weights(**{name: table.clone() for name in names})(copy)
    import_model(copy, tmp_path / "m")
    weights(**{names[0]: table + 0.02})(copy)
    with pytest.raises(ConfigError, match="are not the sinusoids"):
        import_model(copy, tmp_path / "other")


def test_how_the_original_searches_is_taken_over_or_told(tmp_path: Path) -> None:
    """Each of these changes texts, with beam 1, too."""
    copy = copied(tmp_path, "shared")
    table = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))
    edit(
        "generation_config.json",
        no_repeat_ngram_size=3,
        repetition_penalty=1.3,
        min_length=5,
        suppress_tokens=[4],
        num_beam_groups=1,
        bad_words_ids=[[table["<pad>"]], [7, 9], [table["<unk>"]]],
        max_new_tokens=30,
        guidance_scale=1.0,
    )(copy)
    notes = import_model(copy, tmp_path / "m").notes
    assert load_model(tmp_path / "m", "cpu").search["no_repeat_ngram"] == 3
    (told,) = [note for note in notes if "not done here" in note]
    assert told == (
        "Other settings of generation_config.json are not done here: repetition_penalty: 1.3, "
        "min_length: 5, max_new_tokens: 30, suppress_tokens: [4], bad_words_ids: [[7, 9]]."
    )


def test_ends_that_differ_are_refused(tmp_path: Path) -> None:
    """And no setting says which is right."""
    copy = copied(tmp_path, "separate")
    table = json.loads((copy / "target_vocab.json").read_text(encoding="utf-8"))
    other = next(piece for piece, number in table.items() if number == 5)
    edit("target_vocab.json", **{"</s>": 5, other: table["</s>"]})(copy)
    for name in ("config.json", "generation_config.json"):
        edit(name, eos_token_id=None)(copy)
    with pytest.raises(DataError, match=r"eos_token_id: None, but vocab.json has 0"):
        import_model(copy, tmp_path / "m")


def test_weights_are_needed(tmp_path: Path) -> None:
    copy = copied(tmp_path, "shared")
    (copy / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has none of model.safetensors, .*pytorch_model.bin"):
        import_model(copy, tmp_path / "m")
    tensors = safetensors.torch.load_file(MODELS / "shared" / "model.safetensors")
    torch.save(tensors, copy / "pytorch_model.bin")
    import_model(copy, tmp_path / "m")
    assert load_model(tmp_path / "m", "cpu").config.target_language == "de"


def test_what_is_no_unicode_is_not_in_the_card(tmp_path: Path) -> None:
    """JSON may say half of a pair of UTF-16, which no file can hold."""
    folder = copied(tmp_path, "separate")
    edit("generation_config.json", transformers_version="\ud800")(folder)
    import_model(folder, tmp_path / "m")
    assert "(version ?)" in (tmp_path / "m" / "README.md").read_text(encoding="utf-8")


def sharded(folder: Path) -> Path:
    """A copy whose weights are in two files and an index, as large models are saved."""
    copy = copied(folder, "shared")
    file = copy / "model.safetensors"
    tensors = safetensors.torch.load(file.read_bytes())
    file.unlink()
    names = sorted(tensors)
    places: dict[str, str] = {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        shard = f"model-0000{number}-of-00002.safetensors"
        safetensors.torch.save_file({name: tensors[name] for name in part}, copy / shard)
        places |= dict.fromkeys(part, shard)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return copy


def test_weights_may_be_in_several_files(tmp_path: Path, imported: dict[str, Path]) -> None:
    import_model(sharded(tmp_path), tmp_path / "ours")
    ours, whole = (
        read_tensors(path / WEIGHTS_FILE) for path in (tmp_path / "ours", imported["shared"])
    )
    assert ours.keys() == whole.keys()
    assert all(torch.equal(ours[name], whole[name]) for name in ours)


INDEX, SHARD = "model.safetensors.index.json", "model-00001-of-00002.safetensors"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / SHARD).unlink(), rf"{SHARD}: missing, and {INDEX} names it"),
        (edit(INDEX, weight_map={"a": "../b.safetensors"}), "no name of a file beside it"),
        (edit(INDEX, weight_map=[]), "weight_map: expected names"),
        (edit(INDEX, weight_map={"a": SHARD}), "the weight a is not in its file"),
    ],
)
def test_damaged_shards_are_refused(
    change: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    copy = sharded(tmp_path)
    change(copy)
    with pytest.raises(DataError, match=message):
        import_model(copy, tmp_path / "ours")


def test_untied_sides_of_one_vocabulary_are_read_each(tmp_path: Path) -> None:
    """As Transformers 5 saves them: it ties nothing if ``tie_word_embeddings`` is false."""
    copy = copied(tmp_path, "shared")
    edit("config.json", tie_word_embeddings=False)(copy)
    shared = safetensors.torch.load((copy / "model.safetensors").read_bytes())[
        "model.shared.weight"
    ]
    names = ("model__encoder__embed_tokens", "model__decoder__embed_tokens", "lm_head")
    tables = {name: shared + number for number, name in enumerate(names, 1)}
    weights(**{f"{name}__weight": table for name, table in tables.items()})(copy)
    import_model(copy, tmp_path / "ours")
    found = read_tensors(tmp_path / "ours" / WEIGHTS_FILE)
    config = load_model(tmp_path / "ours", "cpu").config.model
    assert isinstance(config, TransformerConfig)
    assert config.embeddings == "separate"
    import_model(MODELS / "shared", tmp_path / "tied")
    before = read_tensors(tmp_path / "tied" / WEIGHTS_FILE)["source_embedding.weight"]
    rows = before.abs().sum(1) > 0  # the begin symbol has a row of zeros
    ours = ("source_embedding.weight", "target_embedding.weight", "output.weight")
    for number, name in enumerate(ours, 1):
        torch.testing.assert_close(found[name][rows], before[rows] + number)
