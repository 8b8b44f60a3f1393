"""Makes ``opennmt2``: a tiny model of OpenNMT-py 2.3.0, its logits and greedy translations.

As ``make_opennmt.py``, for Python 3.8 with OpenNMT-py 2.3.0, torchtext 0.5.0 and PyTorch 2.0.
Checkpoints of this version hold their vocabularies as pickled objects of torchtext, and its
attention always has biases.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import invented

HERE = Path(__file__).resolve().parent
OPTIONS = (
    "-encoder_type transformer -decoder_type transformer -enc_layers 1 -dec_layers 2 "
    "-rnn_size 12 -word_vec_size 12 -transformer_ff 14 -heads 3 -param_init 0.6 -optim sgd "
    "-learning_rate 0.3 -train_steps 500 -valid_steps 999 -save_checkpoint_steps 500 "
    "-batch_size 8 -max_grad_norm 1 -dropout 0 -seed 7 -attention_dropout 0 -report_every 100 "
    "-position_encoding -share_decoder_embeddings"
)


def train(work: Path) -> Path:
    """The checkpoint."""
    from onmt.bin.train import main
    from onmt.modules.embeddings import PositionalEncoding

    PositionalEncoding.__init__.__defaults__ = (40,)
    for side in ("src", "tgt"):
        counts = Counter((work / f"train.{side}").read_text().split())
        lines = [f"{piece}\t{count}\n" for piece, count in counts.most_common()]
        (work / f"{side}.vocab").write_text("".join(lines))
    data = {
        "data": {"corpus": {"path_src": "train.src", "path_tgt": "train.tgt"}},
        "src_vocab": "src.vocab",
        "tgt_vocab": "tgt.vocab",
        "save_model": "model",
    }
    (work / "data.yaml").write_text(json.dumps(data))
    sys.argv = ["onmt_train", "-config", "data.yaml", *OPTIONS.split()]
    main()
    return work / "model_step_500.pt"


def translate(checkpoint: Path, lines: list[str]) -> list[str]:
    """Greedy translations, as pieces, through the library's own program."""
    from onmt.bin.translate import main

    Path("in.txt").write_text("\n".join(lines) + "\n")
    sys.argv = (
        f"onmt_translate -model {checkpoint} -src in.txt -output out.txt -beam_size 1 "
        "-max_length 24"
    ).split()
    main()
    return Path("out.txt").read_text().splitlines()


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
    fields, model, _ = load_test_model(options)
    ids = [dict(fields[side].base_field.vocab.stoi) for side in ("src", "tgt")]
    found = []
    for pieces, target in pairs:
        source_ids = [ids[0][piece] for piece in pieces]
        target_ids = [ids[1][piece] for piece in ["<s>", *target]]
        with torch.no_grad():
            source = torch.tensor(source_ids).view(-1, 1, 1)
            _, states, lengths = model.encoder(source, torch.tensor([len(source_ids)]))
            model.decoder.init_state(source, states, states)
            hidden, _ = model.decoder(
                torch.tensor(target_ids).view(-1, 1, 1), states, memory_lengths=lengths
            )
            # The generator ends in a logarithm of the softmax.
            scores = model.generator[0](hidden.squeeze(1))
        found.append([[round(x, 6) for x in row] for row in scores.tolist()])
    return found, list(fields["tgt"].base_field.vocab.itos)


def main() -> None:
    """Write the folder."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        os.chdir(work)
        invented.write_pairs(work)
        splitter = sentencepiece.SentencePieceProcessor(
            model_file=str(work / "sentencepiece.model")
        )
        checkpoint = train(work)
        sources = [splitter.encode(line, out_type=str) for line in invented.QUESTIONS]
        greedy = translate(checkpoint, [" ".join(source) for source in sources])
        targets = [splitter.encode(line, out_type=str) for line in invented.TARGET]
        pairs = list(zip(sources, targets))[:2]  # noqa: B905
        output = HERE / "opennmt2"
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        shutil.copy(checkpoint, output / "model_step_500.pt")
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
