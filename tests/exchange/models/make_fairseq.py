"""Makes ``fairseq/*``: tiny models of fairseq 0.12.2, their logits, ids and greedy translations.

Run in an environment with fairseq (``fairseq-fixed`` 0.12.3.1 is the same code for newer versions
of Python), sacremoses, subword-nmt, sentencepiece and PyTorch:
``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 python make_fairseq.py``.  Every parameter, biases and
normalisations too, is drawn at random, and then trained for some steps on a few pairs of invented
text, so that translations are not all alike.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import invented
import torch
from fairseq_cli import preprocess, train

HERE = Path(__file__).resolve().parent
SIZES = (
    "--encoder-embed-dim 12 --decoder-embed-dim 12 --encoder-ffn-embed-dim 14 "
    "--decoder-ffn-embed-dim 14 --encoder-layers 2 --decoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-attention-heads 2"
)
MODELS = {
    # As the models of WMT are published: Moses and subword-nmt, one matrix three ways.
    "moses": f"--arch transformer {SIZES} --share-all-embeddings",
    "sentencepiece": (
        f"--arch transformer {SIZES} --encoder-normalize-before --decoder-normalize-before "
        "--encoder-learned-pos --decoder-learned-pos --max-source-positions 36 "
        "--max-target-positions 30 --activation-fn gelu --share-decoder-input-output-embed "
        "--no-scale-embedding --encoder-layers 1"
    ),
}
SIGNS = ("boat's lamp-town & lake",) * 6  # so that the escapes and hyphens of Moses are pieces
POSITIONS = 6  # of each output, whose logits are kept
COMMON = (
    "--cpu --optimizer adam --lr 0.01 --criterion cross_entropy --max-tokens 400 --dropout 0 "
    "--max-update 300 --no-epoch-checkpoints --no-last-checkpoints --no-save-optimizer-state "
    "--validate-interval-updates 300 --num-workers 0 --seed 7 --save-dir save --no-progress-bar"
)


def split_by_moses(work: Path) -> None:
    """Pieces of subword-nmt over words of the Moses tokeniser, and the file of merges."""
    from sacremoses import MosesTokenizer
    from subword_nmt import apply_bpe, learn_bpe

    lines = {}
    for side, language, given in (
        ("src", "en", invented.SOURCE),
        ("tgt", "de", invented.TARGET),
    ):
        tokenizer = MosesTokenizer(language)
        lines[side] = [
            tokenizer.tokenize(line, aggressive_dash_splits=True, return_str=True)
            for line in (*given, *SIGNS)
        ]
    codes = io.StringIO()
    learn_bpe.learn_bpe(io.StringIO("\n".join(lines["src"] + lines["tgt"])), codes, 60)
    (work / "bpecodes").write_text(codes.getvalue(), encoding="utf-8")
    bpe = apply_bpe.BPE(io.StringIO(codes.getvalue()))
    for side, given in lines.items():
        text = "".join(bpe.process_line(line) + "\n" for line in given)
        (work / f"train.{side}").write_text(text, encoding="utf-8")


def make(name: str, options: str) -> None:
    """One model, its files and what it gives."""
    target = HERE / "fairseq" / name
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if name == "moses":
            split_by_moses(work)
        else:
            invented.write_pairs(work)
        for side, language in (("src", "en"), ("tgt", "de")):
            (work / f"train.{side}").rename(work / f"train.{language}")
        joined = ["--joined-dictionary"] if "share-all" in options else []
        main_with(
            preprocess.cli_main,
            f"-s en -t de --trainpref {work}/train --validpref {work}/train --destdir {work}/bin",
            *joined,
        )
        draw_at_random()
        common = COMMON.replace("save-dir save", f"save-dir {work}/save")
        main_with(train.cli_main, f"{work}/bin {common} {options}")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(work / "save/checkpoint_best.pt", target / "model.pt")
        for file in ("bin/dict.en.txt", "bin/dict.de.txt", "bpecodes", "sentencepiece.model"):
            if (work / file).exists():
                shutil.copy(work / file, target / Path(file).name)
    if (target / "sentencepiece.model").exists():
        (target / "sentencepiece.model").rename(target / "sentencepiece.bpe.model")
    (target / "expected.json").write_text(json.dumps(expected(target), ensure_ascii=False))


def main_with(main: Any, arguments: str, *more: str) -> None:
    sys.argv = ["fairseq", *arguments.split(), *more]
    main()


def draw_at_random() -> None:
    """Have every parameter drawn at random when a model is made."""
    from fairseq.models.transformer import TransformerModel

    build = TransformerModel.build_model.__func__

    def built(cls: Any, args: Any, task: Any) -> Any:
        model = build(cls, args, task)
        torch.manual_seed(3)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, mean=0.1, std=0.4)
        return model

    TransformerModel.build_model = classmethod(built)


def expected(directory: Path) -> dict[str, Any]:
    """Ids, logits and greedy translations through fairseq's own interface."""
    from fairseq.models.transformer import TransformerModel

    options: dict[str, Any] = (
        {"tokenizer": "moses", "bpe": "subword_nmt", "bpe_codes": str(directory / "bpecodes")}
        if (directory / "bpecodes").exists()
        else {
            "bpe": "sentencepiece",
            "sentencepiece_model": str(directory / "sentencepiece.bpe.model"),
        }
    )
    hub = TransformerModel.from_pretrained(
        str(directory), "model.pt", str(directory), source_lang="en", target_lang="de", **options
    ).eval()
    found = []
    for line in (*invented.QUESTIONS, *invented.SOURCE[:3], "a boat's lamp-lake & “town” x"):
        source = hub.encode(line)
        output = hub.generate(source, beam=1, max_len_b=40)[0]["tokens"]
        previous = torch.cat([output[-1:], output[:-1]])
        with torch.no_grad():
            logits, _ = hub.models[0](source[None], torch.tensor([len(source)]), previous[None])
        found.append(
            {
                "text": line,
                "source": source.tolist(),
                "target": output.tolist(),
                "translation": hub.decode(output),
                "logits": [[round(x, 5) for x in row] for row in logits[0, :POSITIONS].tolist()],
            }
        )
    return {"cases": found}


if __name__ == "__main__":
    for each, settings in MODELS.items():
        make(each, settings)
