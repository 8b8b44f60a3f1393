"""The SentencePiece models of spBLEU (Goyal et al. 2022), which sacrebleu downloads and keeps."""

from __future__ import annotations

import logging
from http.client import HTTPException
from pathlib import Path

from dragoman.core.errors import DownloadError

PIECE_MODELS = ("flores101", "flores200", "spBLEU-1K")
"""Tokenizers of BLEU that need such a model."""

log = logging.getLogger(__name__)


def ensure_piece_model(tokenizer: str) -> None:
    """Have the model of a tokenizer, which is downloaded if it is not there.

    sacrebleu makes the file before it asks for it, and would load what a failure has left.

    Raises:
        DownloadError: it cannot be downloaded, or the file is no such model.
    """
    from sacrebleu.tokenizers import tokenizer_spm
    from sacrebleu.utils import SACREBLEU_DIR, download_file
    from sentencepiece import SentencePieceProcessor

    url = tokenizer_spm.SPM_MODELS[tokenizer]["url"]
    path = Path(SACREBLEU_DIR, "models", Path(url).name)
    if not path.exists():
        log.warning("downloading the model of the tokenizer %s to %s", tokenizer, path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            download_file(url, str(path))  # type: ignore[no-untyped-call]
        except (OSError, HTTPException, SystemExit, ValueError) as error:
            path.unlink(missing_ok=True)
            raise DownloadError(
                f"BLEU with the tokenizer {tokenizer}: {url} cannot be downloaded ({error}); "
                f"connect to the Internet, or put the file at {path}"
            ) from error
        except BaseException:  # Ctrl-C
            path.unlink(missing_ok=True)
            raise
    try:
        SentencePieceProcessor().Load(str(path))
    except (OSError, RuntimeError) as error:
        raise DownloadError(
            f"{path}: not the SentencePiece model of the tokenizer {tokenizer}; delete it, and it "
            "is downloaded again"
        ) from error
