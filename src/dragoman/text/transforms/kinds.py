"""The transforms that a configuration can name: ours, and those of other installed packages.

A package adds a transform by an entry point in the group ``dragoman.transforms`` (see
:mod:`dragoman.core.plugins`). The name of the entry point is the transform's ``kind``, and it
refers to a subclass of :class:`~dragoman.text.transforms.interface.TransformConfig`.
"""

from __future__ import annotations

from typing import Annotated

from dragoman.core.sections import Kinds
from dragoman.text.transforms.casing import CaseConfig
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.text.transforms.inline_tagging import InjectTagsConfig, MarkupTagsConfig
from dragoman.text.transforms.interface import TransformConfig
from dragoman.text.transforms.masking import MaskFragmentConfig, MaskSpansConfig
from dragoman.text.transforms.noise import NoiseConfig
from dragoman.text.transforms.short_input import PassThroughConfig, SegmentConfig
from dragoman.text.transforms.sources import CopyConfig, DummySourceConfig, SourceByModelConfig
from dragoman.text.transforms.tagging import TagConfig
from dragoman.text.transforms.term_annotating import AnnotateTermsConfig, WithTermsConfig

GROUP = "dragoman.transforms"
"""The group of entry points by which packages add transforms."""

_BUILT_IN: dict[str, type[TransformConfig]] = {
    "tag": TagConfig,
    "noise": NoiseConfig,
    "mask_spans": MaskSpansConfig,
    "mask_fragment": MaskFragmentConfig,
    "copy": CopyConfig,
    "dummy_source": DummySourceConfig,
    "back_translation": SourceByModelConfig,
    "case": CaseConfig,
    "segment": SegmentConfig,
    "pass_through": PassThroughConfig,
    "filter": FilterConfig,
    "terms": AnnotateTermsConfig,
    "with_terms": WithTermsConfig,
    "markup_tags": MarkupTagsConfig,
    "inject_tags": InjectTagsConfig,
}

Transform = Annotated[TransformConfig, Kinds(GROUP, TransformConfig, _BUILT_IN)]
"""Any transform, identified by its key ``kind``."""
