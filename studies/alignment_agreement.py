"""How often each attention head looks at the source words that are linked to the output.

    python studies/alignment_agreement.py runs/guided --source val.en --target val.de \\
        --alignments val.align

For every layer and head: of the target pieces with a link, the share for which the source piece of
the largest weight belongs to a linked word, under teacher forcing.  The alignments are in Pharaoh
format, for pairs that the model was not trained on; see docs/objectives.md.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch

from dragoman.data.alignments import AlignedBatches, prepare_alignments
from dragoman.data.batches import Batches
from dragoman.data.prepare import prepare
from dragoman.saved.model import load_model
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart

_EVERYTHING = CleaningConfig(
    max_characters=None, max_length_ratio=None, min_identical_words=None, drop_duplicates=False
)


@torch.no_grad()
def main() -> None:
    """Print one line per head, with its share in percent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    for name in ("source", "target", "alignments"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    saved = load_model(arguments.model, "cpu")
    part = CorpusPart(
        source=arguments.source, target=arguments.target, alignments=arguments.alignments
    )
    vocabularies = saved.vocabularies
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        store, _ = prepare(place / "data", [part], vocabularies, _EVERYTHING, max_pieces=256)
        links = prepare_alignments(place / "alignments", store, [part], vocabularies, _EVERYTHING)
        stream = AlignedBatches(Batches(store, 4000, seed=1), links, vocabularies)
        found, linked = torch.zeros(0), 0
        for (batch,) in stream.window(0, 0):
            if batch.alignments is None:
                continue
            memory = saved.model.encode(batch.source, batch.source_mask)
            # (batch, layers, heads, target, source)
            _, looks = saved.model.decode_attending(batch.target_input, memory)
            # (batch, layers, heads, target, 1)
            hits = (
                batch.alignments[:, None, None]
                .expand(looks.shape)
                .gather(-1, looks.argmax(-1, keepdim=True))
            )
            sums = hits.sum((0, 3, 4)).double()  # (layers, heads)
            found = sums if not linked else found + sums
            linked += int(batch.alignments.any(-1).sum())
    for layer, heads in enumerate(found / linked, 1):
        for head, share in enumerate(heads, 1):
            print(f"layer {layer}, head {head}: {100 * float(share):.1f} %")
    print(f"{linked:,} target pieces with a link")


if __name__ == "__main__":
    main()
