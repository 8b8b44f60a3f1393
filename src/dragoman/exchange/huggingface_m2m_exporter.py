"""Models for transformers as M2M-100, NLLB-200 and mBART-50, with their tokenizers.

The opposite of :mod:`~dragoman.exchange.huggingface_m2m_importer`, also for models trained here
with that layout.  The names of the languages choose the tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.huggingface_m2m_importer import FIRST_POSITION, SPM_FILE
from dragoman.exchange.huggingface_m2m_weights import (
    BEGIN,
    END,
    PADDING,
    M2M100Weights,
    MbartWeights,
    WeightsThere,
)
from dragoman.exchange.huggingface_writing import (
    ACTIVATIONS_THERE,
    BATCH,
    POSITIONS,
    REMEDY,
    TOLERANCE,
    check_widths,
    gap,
    other_ranks,
    padded,
    quiet,
    refusals,
    search_settings,
    sizes,
)
from dragoman.exchange.interface import TRANSFORMER_KNOWN, Exporter, ExportReport
from dragoman.exchange.m2m_tokenizers import (
    M2M100Layout,
    MbartLayout,
    NllbLayout,
    TextPieces,
    TokenizerLayout,
)
from dragoman.exchange.probes import Probe, batches, check_gap, largest, probes
from dragoman.exchange.vocabulary_files import NOT_NORMALISED, never_written
from dragoman.exchange.weight_layout import SILENT
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.directions import target_languages
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.text.tags import language_tag
from dragoman.text.vocabularies import EOS

try:
    import transformers
    from transformers.models.m2m_100.configuration_m2m_100 import M2M100Config
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100ForConditionalGeneration
    from transformers.models.mbart.configuration_mbart import MBartConfig
    from transformers.models.mbart.modeling_mbart import MBartForConditionalGeneration
except ImportError as error:
    raise MissingExtraError.of(
        "Hugging Face transformers", "transformers>=5", "sacremoses"
    ) from error

_WEIGHTS_FILE = "model.safetensors"
_KNOWN: Known = {
    **TRANSFORMER_KNOWN,
    "names_source": None,
    "model.d_k": None,
    "model.d_v": None,
    "model.activation": list(ACTIVATIONS_THERE),
    "model.norm": ["pre"],
    "model.scale_embeddings": None,
    "model.language_tags": ["decoder_second"],
}


class HuggingfaceM2MExporter(Exporter):
    """Writes what ``M2M100ForConditionalGeneration`` reads, with its tokenizer or NLLB's."""

    name = "huggingface"
    model: ClassVar[Any] = M2M100ForConditionalGeneration
    config: ClassVar[Any] = M2M100Config
    weights: ClassVar[type[WeightsThere]] = M2M100Weights
    layouts: ClassVar[Sequence[type[TokenizerLayout]]] = (NllbLayout, M2M100Layout)
    known: ClassVar[Known] = {
        **_KNOWN,
        "model.positions": ["sinusoidal"],
        "model.timescales": ["tensor2tensor"],
        "model.first_position": [FIRST_POSITION],
    }

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, self.known, self.model.__name__, REMEDY)
        check_widths(_transformer(saved), self.model.__name__)
        named = saved.model.state_dict(keep_vars=True)
        sides = [named[f"{side}_embedding.weight"] for side in ("source", "target")]
        if not (saved.vocabularies.same_ids and torch.equal(*sides)):
            raise ConfigError(
                f"{self.model.__name__} has the same embeddings of sources and targets, and this "
                f"model does not; train it with model.embeddings: shared, or {REMEDY}"
            )
        self.layout(saved).check()

    def layout(self, saved: SavedModel) -> TokenizerLayout:
        """The tokenizer that has codes for all languages.

        Raises:
            ConfigError: there is none, or directions are not told both languages.
        """
        languages = _languages(saved)
        text = TextPieces.of(saved.vocabularies.source)
        if strangers := text.languages.keys() - languages:
            raise ConfigError(
                f"the vocabulary has the tag {language_tag(min(strangers))}, and no direction is "
                f"of that language; {REMEDY}"
            )
        for layout in self.layouts:
            if all(map(layout.knows, languages)):
                return layout(text)
        names = " and ".join(layout.tokenizer.__name__ for layout in self.layouts)
        raise ConfigError(
            f"{names} have no codes for the languages {', '.join(sorted(languages))}; name all as "
            f"NLLB does (eng_Latn, kor_Hang), M2M-100 (en, ko) or mBART-50 (en_XX, ko_KR), or "
            f"{REMEDY}"
        )

    @override
    def reads_tags(self, saved: SavedModel) -> bool:
        return False

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        layout = self.layout(saved)
        source, target = _pairs(saved)[0]
        longest = self.positions(_transformer(saved))
        options = {"src_lang": source, "tgt_lang": target, "model_max_length": longest}
        with quiet():
            layout.write(directory, **options)
            theirs = self.weights(saved, _transformer(saved), layout.rows, layout.size)
            weights, begin, silent = theirs.all(), theirs.pieces.begin, theirs.pieces.silent
            tied = "lm_head.weight" not in weights
            with refusals():
                save_file(weights, directory / _WEIGHTS_FILE, metadata={"format": "pt"})
            del theirs, weights  # the largest part of memory
            values = self._config(saved, layout.size, begin)
            config = self.config(**values, tie_word_embeddings=tied)
            config.architectures = [self.model.__name__]
            config.save_pretrained(directory)
            settings = self._generation(saved, layout, begin)
            transformers.GenerationConfig(**settings).save_pretrained(directory)
            for path in directory.iterdir():  # its weights would be for this user alone
                path.chmod((directory / SPM_FILE).stat().st_mode)
            model = self.model.from_pretrained(directory).eval()
            tokenizer = layout.tokenizer.from_pretrained(directory)
        drawn = probes(saved, tags=_tags(saved))
        compared = _Compared(model, layout.rows, begin, silent)
        apart = largest(compared.difference(batch) for batch in batches(drawn, BATCH))
        check_gap(f"{self.model.__name__} gives", apart, TOLERANCE)
        alike = _split_alike(saved, layout, tokenizer, drawn)
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, through "
            f"{self.model.__name__} of transformers {transformers.__version__}, whose "
            f"{layout.tokenizer.__name__} splits {alike} of their {len(drawn)} texts alike",
            difference=apart,
            differences=tuple(_differences(saved, layout, begin)),
        )

    @override
    def guide(self, saved: SavedModel) -> str:
        layout, (source, target) = self.layout(saved), _pairs(saved)[0]
        listed = ", ".join(f"`{code}`" for code in layout.codes.values())
        return f"""With transformers and sentencepiece:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("DIR", src_lang="{source}")
model = AutoModelForSeq2SeqLM.from_pretrained("DIR").eval()
language = tokenizer.convert_tokens_to_ids("{layout.codes[target]}")
batch = tokenizer(["..."], return_tensors="pt", padding=True)
found = model.generate(**batch, forced_bos_token_id=language)
print(tokenizer.batch_decode(found, skip_special_tokens=True))
```

`src_lang` is the language of the source, and `forced_bos_token_id` the code of the language to
write, one of {listed}."""

    def positions(self, config: TransformerConfig) -> int:
        """The number in the configuration; sinusoids have no limit."""
        return POSITIONS

    def _config(self, saved: SavedModel, size: int, begin: int) -> dict[str, Any]:
        config = _transformer(saved)
        return {
            **sizes(config),
            "vocab_size": size,
            "max_position_embeddings": self.positions(config),
            "encoder_layerdrop": 0.0,
            "decoder_layerdrop": 0.0,
            "pad_token_id": PADDING,
            "bos_token_id": BEGIN,
            "eos_token_id": END,
            "decoder_start_token_id": begin,
            "forced_eos_token_id": None,
        }

    def _generation(self, saved: SavedModel, layout: TokenizerLayout, begin: int) -> dict[str, Any]:
        """Settings of search: ours, and what our search never puts out."""
        rows = layout.rows
        used = {rows[i] for i in range(len(rows))}
        never = {rows[i] for i in never_written(saved)} | ({*range(layout.size)} - used)
        settings: dict[str, Any] = {
            **search_settings(saved),
            "max_length": min(POSITIONS // 2, self.positions(_transformer(saved))),
            "bad_words_ids": [[row] for row in sorted(never)],
            "pad_token_id": PADDING,
            "bos_token_id": BEGIN,
            "eos_token_id": END,
            "decoder_start_token_id": begin,
        }
        targets = {target for _, target in _pairs(saved)}
        if len(targets) == 1:
            settings["forced_bos_token_id"] = layout.code_rows[layout.codes[targets.pop()]]
        return settings


class HuggingfaceMbartExporter(HuggingfaceM2MExporter):
    """Writes what ``MBartForConditionalGeneration`` reads, with the tokenizer of mBART-50."""

    model = MBartForConditionalGeneration
    config = MBartConfig
    weights = MbartWeights
    layouts = (MbartLayout,)
    known: ClassVar[Known] = {
        **_KNOWN,
        "model.positions": ["learned"],
        "model.max_positions": None,
        "model.normalize_embeddings": [True],
    }

    @override
    def positions(self, config: TransformerConfig) -> int:
        return config.positional_encoding.max_positions + 1


def _transformer(saved: SavedModel) -> TransformerConfig:
    config = saved.config.model
    assert isinstance(config, TransformerConfig), "by its family"
    return config


def _pairs(saved: SavedModel) -> list[tuple[str, str]]:
    """Source and target languages; of a model that translates between all, each with the next."""
    config = saved.config
    if config.names_source:
        names = target_languages(config)
        return [(name, names[(place + 1) % len(names)]) for place, name in enumerate(names)]
    found = [(one.source_language, one.target_language) for one in config.directions]
    return list(dict.fromkeys(pair for pair in found if pair[0] != pair[1]))


def _tags(saved: SavedModel) -> list[list[int]]:
    """The tags of each pair, as they stand in front of a source."""
    ids = saved.vocabularies.source.ids
    return [ids([language_tag(into), language_tag(from_)]) for from_, into in _pairs(saved)]


def _languages(saved: SavedModel) -> set[str]:
    """All languages, each of which has a tag.

    Raises:
        ConfigError: a direction is not asked for by the tags of both languages.
    """
    for one in saved.config.directions:
        tags = (language_tag(one.target_language), language_tag(one.source_language))
        if saved.config.names_source or one.source_language == one.target_language:
            continue
        if one.tags != tags:
            raise ConfigError(
                f"the direction {one.source_language}-{one.target_language} has the tags "
                f"{', '.join(one.tags) or 'none'}; M2M-100, NLLB and mBART-50 are told both "
                f"languages: train with tags: [{', '.join(tags)}] on this part of the text, or "
                f"{REMEDY}"
            )
    if not (pairs := _pairs(saved)):
        raise ConfigError(f"the model names no directions, and so no languages; {REMEDY}")
    return {language for pair in pairs for language in pair}


@dataclass(frozen=True)
class _Compared:
    """The model there, as it is compared with ours."""

    model: Any
    rows: list[int]
    begin: int
    silent: Tensor

    def difference(self, batch: Sequence[Probe]) -> float:
        """The largest difference of a log-probability, in a batch with padding."""
        rows = self.rows
        sources = [[rows[i] for i in pair.source[1:]] for pair in batch]
        targets = [
            [self.begin, *(rows[i] for i in (pair.source[0], *pair.target[:-1]))] for pair in batch
        ]
        source, mask = padded(sources, PADDING)
        target, _ = padded(targets, PADDING)
        with torch.inference_mode():
            outputs = self.model(input_ids=source, attention_mask=mask, decoder_input_ids=target)
        # Rows that have no use may have a share there.
        logits = outputs.logits[:, 1:, rows].masked_fill(self.silent, SILENT)
        found = zip(logits, batch, strict=True)
        return largest(gap(scores, pair.log_probabilities) for scores, pair in found)


def _split_alike(
    saved: SavedModel, layout: TokenizerLayout, tokenizer: Any, drawn: Sequence[Probe]
) -> int:
    """How many texts get the same ids from the tokenizer as here."""
    vocabulary, rows = saved.vocabularies.source, layout.rows
    texts = [vocabulary.decode(pair.source[2:]) for pair in drawn]
    ours = ([rows[i] for i in (*vocabulary.encode(text), EOS)] for text in texts)
    theirs = (tokenizer(text).input_ids[1:] for text in texts)  # behind the code
    return sum(one == other for one, other in zip(ours, theirs, strict=True))


def _differences(saved: SavedModel, layout: TokenizerLayout, begin: int) -> Iterator[str]:
    yield other_ranks(saved)
    yield NOT_NORMALISED
    yield f"Outputs have fewer than {POSITIONS // 2} pieces."
    zeros = len(layout.all_codes) - len(layout.codes)
    if zeros or begin == END:
        yield (
            f"Rows without use, {zeros} of them of languages that the model lacks, may have a "
            "small share of the probability there. They are never put out (bad_words_ids)."
        )
