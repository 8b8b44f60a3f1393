"""Work before a model trains: encoding text, and resuming in the middle of an epoch.

data.py encode PAIRS RUN           sentences per second of sentencepiece's own threads
data.py prepare PAIRS RUN STORE    sentences per second from text to a store, everything included
data.py resume STORE               seconds to a batch in the middle of an epoch

PAIRS.en and PAIRS.de are the text, RUN has the vocabulary.  Each prints a JSON line with ``value``
and its peak ``memory`` in bytes.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable

from shared_material import BATCH_TOKENS

from dragoman.data.batches import Batches
from dragoman.data.prepare import prepare
from dragoman.data.store import Store
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary


def encode(pairs: str, run: str) -> float:
    """Encode text in memory; only sentencepiece is timed."""
    part = CorpusPart(source=f"{pairs}.en", target=f"{pairs}.de")
    lines = [side for pair in read_pairs(part) for side in (pair.source, pair.target)]
    vocabulary = Vocabularies.load(run).source
    assert isinstance(vocabulary, SentencePieceVocabulary)
    processor = vocabulary._processor
    start = time.perf_counter()
    processor.encode(lines, num_threads=os.cpu_count())
    return len(lines) / (time.perf_counter() - start)


def prepare_store(pairs: str, run: str, store: str) -> float:
    """Time reading, cleaning, finding duplicates, encoding, writing and checksums."""
    part = CorpusPart(source=f"{pairs}.en", target=f"{pairs}.de")
    start = time.perf_counter()
    _, report = prepare(
        store,
        (part,),
        Vocabularies.load(run),
        CleaningConfig(),
        max_pieces=256,
        processes=os.cpu_count() or 1,
    )
    return 2 * report.read / (time.perf_counter() - start)


def resume(store: str) -> float:
    """Time it as in a resumed run, in a process that has seen nothing of the epoch."""
    opened = Store.open(store)
    start = time.perf_counter()
    batches = Batches(opened, BATCH_TOKENS, seed=1)
    next(batches.window(0, batches.windows(0) // 2, 1000))
    return time.perf_counter() - start


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    tasks: dict[str, Callable[..., float]] = {
        "encode": encode,
        "prepare": prepare_store,
        "resume": resume,
    }
    value = tasks[kind](*arguments)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"value": value, "memory": 1024 * max(part.ru_maxrss for part in usage)}))
