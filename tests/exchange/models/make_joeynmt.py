"""Makes ``joeynmt/*``: tiny models of JoeyNMT 2.3.0, their logits, ids and greedy translations.

Run in an environment with JoeyNMT 2.3.0, sacremoses, subword-nmt, sentencepiece and PyTorch:
``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 python make_joeynmt.py``.  One thing is not as the library has
it: the table of positions, which it saves, has 60 rows rather than 5,000, which would not fit.
Every parameter, biases and normalisations too, is drawn at random, and then trained for some steps
on a few pairs of invented text, so that translations are not all alike.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import invented
import torch
import yaml
from joeynmt import encoders, model, training, transformer_layers

HERE = Path(__file__).resolve().parent
POSITIONS = 6  # of each output, whose logits are kept
MODELS = {
    "subwords": {"layer_norm": "pre", "activation": "swish", "tied": True, "scale": True},
    "sentencepiece": {"layer_norm": "post", "activation": "gelu", "tied": False, "scale": False},
}


def settings(name: str, work: Path) -> dict[str, Any]:
    """``config.yaml``."""
    chosen = MODELS[name]
    subwords = name == "subwords"
    kind = "subword-nmt" if subwords else "sentencepiece"
    options: dict[str, Any] = (
        {"codes": str(work / "bpe.codes"), "pretokenizer": "moses", "num_merges": 40}
        if subwords
        else {"model_file": str(work / "sentencepiece.model")}
    )
    side = {"level": "bpe", "tokenizer_type": kind, "tokenizer_cfg": options, "max_length": 60}
    part = {
        "type": "transformer",
        "num_heads": 2,
        "embeddings": {"embedding_dim": 12, "scale": chosen["scale"], "dropout": 0.0},
        "hidden_size": 12,
        "ff_size": 14,
        "dropout": 0.0,
        "layer_norm": chosen["layer_norm"],
        "activation": chosen["activation"],
    }
    files = ("vocab", "vocab") if subwords else ("src_vocab", "trg_vocab")
    return {
        "name": name,
        "joeynmt_version": "2.3.0",
        "model_dir": str(work / "run"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 5,
        "data": {
            "train": str(work / "train"),
            "dev": str(work / "train"),
            "dataset_type": "plain",
            "src": {
                **side,
                "lang": "en",
                "lowercase": subwords,
                "voc_file": str(work / f"{files[0]}.txt"),
            },
            "trg": {**side, "lang": "de", "voc_file": str(work / f"{files[1]}.txt")},
        },
        "testing": {"n_best": 1, "beam_size": 1, "max_output_length": 30},
        "training": {
            "optimizer": "sgd",
            "learning_rate": 0.2,
            "scheduling": "exponential",
            "decrease_factor": 1.0,
            "loss": "crossentropy",
            "clip_grad_norm": 1.0,
            "batch_size": 8,
            "batch_type": "sentence",
            "epochs": 1200,
            "validation_freq": 1200,
            "logging_freq": 100,
            "early_stopping_metric": "loss",
            "keep_best_ckpts": 1,
            "overwrite": True,
        },
        "model": {
            "tied_embeddings": chosen["tied"],
            "tied_softmax": chosen["tied"],
            "encoder": {**part, "num_layers": 2},
            "decoder": {**part, "num_layers": 1},
        },
    }


def write_data(name: str, work: Path) -> None:
    """Text, the splitting of it, and the lists of pieces."""
    from sacremoses import MosesTokenizer
    from subword_nmt import apply_bpe, learn_bpe

    invented.write_pairs(work, pieces=name != "subwords")
    split = {side: (work / f"train.{side}").read_text().splitlines() for side in ("src", "tgt")}
    if name == "subwords":
        tokenized = {
            side: [MosesTokenizer(language).tokenize(line, return_str=True) for line in split[side]]
            for side, language in (("src", "en"), ("tgt", "de"))
        }
        with (work / "bpe.codes").open("w", encoding="utf-8") as stream:
            learn_bpe.learn_bpe(tokenized["src"] + tokenized["tgt"], stream, 40)
        with (work / "bpe.codes").open(encoding="utf-8") as stream:
            bpe = apply_bpe.BPE(stream)
        split = {side: [bpe.process_line(line) for line in tokenized[side]] for side in split}
    for side, lines in split.items():
        pieces = sorted({piece for line in lines for piece in line.split()})
        (work / f"{side.replace('tgt', 'trg')}_vocab.txt").write_text("\n".join(pieces) + "\n")
    both = sorted({piece for lines in split.values() for line in lines for piece in line.split()})
    # Two pieces are left out, so that splitting has to do without them.
    (work / "vocab.txt").write_text("\n".join(one for one in both if one not in both[-2:]) + "\n")
    (work / "train.src").unlink()
    (work / "train.tgt").unlink()
    (work / "train.en").write_text("\n".join(invented.SOURCE) + "\n")
    (work / "train.de").write_text("\n".join(invented.TARGET) + "\n")


def make(name: str) -> None:
    """One model, its files and what it gives."""
    target = HERE / "joeynmt" / name
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_data(name, work)
        config = work / "config.yaml"
        config.write_text(yaml.safe_dump(settings(name, work), sort_keys=False))
        from joeynmt.config import load_config, parse_global_args
        from joeynmt.helpers import make_model_dir

        values = load_config(config)
        make_model_dir(Path(values["model_dir"]), overwrite=True)
        shutil.copy(config, work / "run" / "config.yaml")
        arguments = parse_global_args(values, rank=0, mode="train")
        training.train(rank=0, world_size=None, cfg=values)
        del arguments
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(work / "run" / "latest.ckpt", target / "best.ckpt")
        (target / "expected.json").write_text(
            json.dumps({"cases": expected(work / "run")}, ensure_ascii=False)
        )
        for file in ("src_vocab.txt", "trg_vocab.txt", "bpe.codes", "sentencepiece.model"):
            if (work / "run" / file).exists():
                shutil.copy(work / "run" / file, target / file)
        text = config.read_text().replace(f"{work}/run", "models/tiny").replace(f"{work}", "data")
        (target / "config.yaml").write_text(text)


def draw_at_random() -> None:
    """Have every parameter drawn at random when a model is made; a shorter table of positions."""

    def initialize(made: torch.nn.Module, *_: object) -> None:
        torch.manual_seed(3)
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter, mean=0.1, std=0.4)

    model.initialize_model = initialize
    transformer_layers.PositionalEncoding.__init__.__defaults__ = (0, 60)
    assert encoders


def expected(run: Path) -> list[dict[str, Any]]:
    """Ids, logits and greedy translations."""
    from joeynmt.config import load_config, parse_global_args
    from joeynmt.prediction import prepare
    from joeynmt.search import greedy

    arguments = parse_global_args(load_config(run / "config.yaml"), rank=0, mode="translate")
    made, *_, data = prepare(arguments, rank=0, mode="translate")
    made.eval()
    found = []
    for line in (*invented.QUESTIONS, *invented.SOURCE[:3], "A boat's lamp-lake & “town” x"):
        pieces = data.tokenizer["en"](data.tokenizer["en"].pre_process(line))
        source, lengths, _ = data.sequence_encoder["en"]([pieces], bos=False, eos=True)
        ids = torch.tensor(source)
        mask = (ids != made.pad_index).unsqueeze(1)
        with torch.no_grad():
            states, hidden, _, _ = made(
                return_type="encode", src=ids, src_length=torch.tensor(lengths), src_mask=mask
            )
            output, _, _ = greedy(
                mask, 30, made, states, hidden, generate_unk=False, return_prob="none"
            )
            before = torch.tensor([[made.bos_index, *output[0][:-1].tolist()]])
            logits, _, _, _ = made(
                return_type="decode",
                trg_input=before,
                encoder_output=states,
                encoder_hidden=hidden,
                src_mask=mask,
                unroll_steps=before.shape[1],
                decoder_hidden=None,
                trg_mask=before.new_ones([1, 1, before.shape[1]]).bool(),
            )
        words = made.trg_vocab.arrays_to_sentences(output, cut_at_eos=True)[0]
        found.append(
            {
                "text": line,
                "source": source[0],
                "target": output[0].tolist(),
                "translation": data.tokenizer["de"].post_process(words, generate_unk=False),
                "logits": [[round(x, 5) for x in row] for row in logits[0, :POSITIONS].tolist()],
            }
        )
    return found


if __name__ == "__main__":
    draw_at_random()
    for each in MODELS:
        make(each)
