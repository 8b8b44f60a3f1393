"""Invented text for tiny models, and pieces of it; nothing of it is from a corpus.

The scripts beside this file, which make models with other toolkits, import it.
"""

from __future__ import annotations

from pathlib import Path

SOURCE = (
    "the small red boat is on the lake",
    "a boat sails to the old town",
    "who saw the red lamp in the town?",
    "the old man sells small lamps.",
    "we walk to the lake, then home",
    "is the lamp old or new?",
    "a new town by the lake",
    "the man saw a boat!",
)
TARGET = (
    "das kleine rote boot ist auf dem see",
    "ein boot segelt zur alten stadt",
    "wer sah die rote lampe in der stadt?",
    "der alte mann verkauft kleine lampen.",
    "wir gehen zum see, dann heim",
    "ist die lampe alt oder neu?",
    "eine neue stadt am see",
    "der mann sah ein boot!",
)
QUESTIONS = (
    "the old boat is red",
    "a man walks home, then to the town",
    "who sells the new lamp?",
    "lake",
)


def write_pairs(folder: Path, pieces: bool = True) -> None:
    """Write the pairs, and train sentencepiece models on them.

    Args:
        folder: gets ``train.src`` and ``train.tgt``, as pieces if wished, and
            ``sentencepiece.model``.
        pieces: whether lines are split into pieces.
    """
    import sentencepiece

    raw = folder / "raw.txt"
    raw.write_text("\n".join(SOURCE + TARGET) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(raw),
        model_prefix=str(folder / "sentencepiece"),
        vocab_size=60,
        model_type="bpe",
        character_coverage=1.0,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    for side, lines in (("src", SOURCE), ("tgt", TARGET)):
        split = [" ".join(processor.encode(line, out_type=str)) for line in lines]
        chosen = split if pieces else list(lines)
        (folder / f"train.{side}").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    raw.unlink()
    (folder / "sentencepiece.vocab").unlink()
