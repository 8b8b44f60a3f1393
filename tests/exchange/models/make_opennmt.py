"""Makes ``opennmt3/*``: tiny models of OpenNMT-py 3.5.1, their logits and greedy translations.

Run in an environment with OpenNMT-py 3.5.1 (``pip install --no-deps``), sentencepiece and PyTorch:
``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 python make_opennmt.py``.  Two things are not as the library
has them: modules for transforms that are not used are stubs, and the table of positions has 40 rows
rather than 5,000, which would not fit.  Every parameter, biases too, is drawn at random, and then
trained for some steps on a few pairs of invented text, so that translations are not all alike.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import types
from collections import Counter
from pathlib import Path
from typing import Any

import invented

HERE = Path(__file__).resolve().parent
PLAIN = "-position_encoding --share_vocab --share_embeddings --share_decoder_embeddings"
MODELS = {
    "positions": PLAIN + " --add_qkvbias",
    "relative": "--max_relative_positions 3 --pos_ffn_activation_fn gelu",
    "rotary": "--max_relative_positions -1 --pos_ffn_activation_fn silu --layer_norm rms "
    "--num_kv 1 --norm_eps 1e-5 --share_vocab --share_decoder_embeddings",
}
COMMON = (
    "-encoder_type transformer -decoder_type transformer -enc_layers 2 -dec_layers 1 "
    "-hidden_size 12 -word_vec_size 12 -transformer_ff 14 -heads 2 -param_init 0.6 -optim sgd "
    "-learning_rate 0.3 -train_steps 400 -valid_steps 999 -save_checkpoint_steps 400 "
    "-num_workers 0 -batch_size 8 -bucket_size 8 -max_grad_norm 1 -dropout 0 -seed 7 "
    "-attention_dropout 0 -vocab_size_multiple 4 -report_every 100"
)


def stub() -> None:
    """Stand-ins for what only unused transforms import; a shorter table of positions."""

    class Anything(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in ("fasttext", "spacy", "ahocorasick"):
        sys.modules[name] = Anything(name)
    from onmt.modules.embeddings import PositionalEncoding

    PositionalEncoding.__init__.__defaults__ = (40,)


def train(work: Path, options: str) -> Path:
    """The checkpoint."""
    from onmt.bin.train import main

    for side in ("src", "tgt"):
        names = ("src", "tgt") if "share_vocab" in options else (side,)
        counts = Counter(
            piece for one in names for piece in (work / f"train.{one}").read_text().split()
        )
        lines = [f"{piece}\t{count}\n" for piece, count in counts.most_common()]
        (work / f"{side}.vocab").write_text("".join(lines))
    (work / "data.yaml").write_text(
        json.dumps(
            {
                "data": {"corpus": {"path_src": "train.src", "path_tgt": "train.tgt"}},
                "src_vocab": "src.vocab",
                "tgt_vocab": "tgt.vocab",
                "save_model": "model",
            }
        )
    )
    sys.argv = ["onmt_train", "-config", "data.yaml", *COMMON.split(), *options.split()]
    main()
    return work / "model_step_400.pt"


def translate(work: Path, checkpoint: Path, lines: list[str]) -> list[str]:
    """Greedy translations, as pieces, through the library's own program."""
    from onmt.bin.translate import main

    (work / "in.txt").write_text("\n".join(lines) + "\n")
    sys.argv = (
        f"onmt_translate -model {checkpoint} -src in.txt -output out.txt -beam_size 1 "
        "-max_length 24"
    ).split()
    main()
    return (work / "out.txt").read_text().splitlines()


def logits(
    checkpoint: Path, pairs: list[tuple[list[str], list[str]]]
) -> tuple[list[Any], list[str]]:
    """Of every position of each target, begun with the start symbol; and the target pieces."""
    import torch
    from onmt.model_builder import load_test_model
    from onmt.opts import translate_opts
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    translate_opts(parser)
    options = parser.parse_args(["-model", str(checkpoint), "-src", "in.txt"])
    vocabularies, model, _ = load_test_model(options)
    found = []
    for pieces, target in pairs:
        source_ids = vocabularies["src"](pieces)
        target_ids = vocabularies["tgt"](["<s>", *target])
        with torch.no_grad():
            source = torch.tensor([source_ids]).unsqueeze(-1)
            states, _, lengths = model.encoder(source, torch.tensor([len(source_ids)]))
            model.decoder.init_state(source, states, None)
            hidden, _ = model.decoder(
                torch.tensor([target_ids]).unsqueeze(-1), states, src_len=lengths
            )
            scores = model.generator(hidden)[0]
        found.append([[round(x, 6) for x in row] for row in scores.tolist()])
    return found, list(vocabularies["tgt"].ids_to_tokens)


def main() -> None:
    """Write one folder for each model."""
    import os

    import sentencepiece

    stub()
    for name, options in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            os.chdir(work)
            invented.write_pairs(work)
            splitter = sentencepiece.SentencePieceProcessor(
                model_file=str(work / "sentencepiece.model")
            )
            checkpoint = train(work, options)
            sources = [splitter.encode(line, out_type=str) for line in invented.QUESTIONS]
            greedy = translate(work, checkpoint, [" ".join(source) for source in sources])
            targets = [splitter.encode(line, out_type=str) for line in invented.TARGET]
            pairs = list(zip(sources, targets, strict=False))[:2]
            output = HERE / "opennmt3" / name
            shutil.rmtree(output, ignore_errors=True)
            output.mkdir(parents=True)
            shutil.copy(checkpoint, output / "model_step_400.pt")
            shutil.copy(work / "sentencepiece.model", output)
            scores, target_pieces = logits(checkpoint, pairs)
            expected = {
                "sources": list(invented.QUESTIONS),
                "greedy": [splitter.decode(line.split()) for line in greedy],
                "pairs": pairs,
                "logits": scores,
                "target_pieces": target_pieces,
                "pad": "<blank>",
            }
            (output / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
