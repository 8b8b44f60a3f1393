"""How MarianMTModel searches, by ``generation_config.json``, as settings of our search."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.exchange.foreign_options import ForeignOptions
from dragoman.exchange.huggingface_marian import GENERATION_FILE

_FORCED = ("forced_bos_token_id", "forced_decoder_ids")
# What changes outputs, with the values that do not.
_NOT_DONE: dict[str, tuple[object, ...]] = {
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "encoder_no_repeat_ngram_size": (0,),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "max_new_tokens": (),
    "force_words_ids": ([],),
    "stop_strings": ([],),
    "guidance_scale": (1,),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "sequence_bias": (),
    "exponential_decay_length_penalty": (),
    "do_sample": (False,),
    "num_beam_groups": (1,),
}


def search_of(
    settings: ForeignOptions, never: Collection[int | None]
) -> tuple[dict[str, Any], list[str]]:
    """Settings of search, and how theirs differ.

    Args:
        settings: of the model.
        never: ids there of what is never put out here, either: symbols and tags.

    Raises:
        ConfigError: every output begins with other pieces than ours.
    """
    for name in _FORCED:
        if (found := settings.values.get(name)) is not None:
            raise ConfigError(
                f"{settings.where}: {name}: {found!r:.40} begins every output, which is not known "
                "here"
            )
    beam = settings.of_type("num_beams", int, 1)
    penalty = settings.of_type("length_penalty", float, 1.0)
    search: dict[str, Any] = {"beam": max(beam, 1), "length_penalty": max(penalty, 0.0)}
    if (ngram := settings.of_type("no_repeat_ngram_size", int, 0)) > 0:
        search["no_repeat_ngram"] = ngram
    forced = settings.values.get("forced_eos_token_id") is not None
    longest = settings.of_type("max_length", int, 0) - (2 if forced else 1)  # begin and end count
    notes = [
        f"Search: beam {search['beam']}. There a hypothesis' log-probability is divided by "
        f"|Y|^{penalty:g}, here by ((5 + |Y|) / 6)^{search['length_penalty']:g} (Wu et al. 2016), "
        "so that beam search may rank hypotheses otherwise; with beam 1 texts are the same.",
        "Unknown pieces are not put out unless search.allow_unknown is set; there they are.",
    ]
    if longest > 0:
        notes.append(
            f"An output has at most {longest} pieces there; here at most 50 more than its "
            "source (search.extra_length), and sources may be of any length."
        )
    if others := list(_others(settings, never)):
        notes.append(f"Other settings of {GENERATION_FILE} are not done here: {', '.join(others)}.")
    return search, notes


def _others(settings: ForeignOptions, never: Collection[int | None]) -> Iterator[str]:
    """Other settings that change outputs there."""
    for name, neutral in _NOT_DONE.items():
        found = settings.values.get(name)
        if found is not None and found not in neutral:
            yield f"{name}: {found!r:.40}"
    found = settings.values.get("bad_words_ids")
    words = found if isinstance(found, list) else []
    if others := [one for one in words if one not in [[symbol] for symbol in never]]:
        yield f"bad_words_ids: {others!r:.40}"
