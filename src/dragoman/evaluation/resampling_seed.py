"""The seed of intervals and tests that draw at random."""

from __future__ import annotations

import os

from dragoman.core.errors import ConfigError

SEED = 12345
"""That of sacrebleu."""
_SETTING = "SACREBLEU_SEED"


def resampling_seed() -> int | None:
    """The seed with which sacrebleu draws resamples and trials; None if it draws others each time.

    Raises:
        ConfigError: SACREBLEU_SEED is no seed.
    """
    given = os.environ.get(_SETTING, str(SEED))
    if given.lower() == "none":
        return None
    try:
        seed = int(given)
    except ValueError:
        seed = -1
    if seed < 0:
        raise ConfigError(
            f"{_SETTING}={given!r:.80}: expected a whole number from 0, or none for other draws "
            "each time; change the environment variable, or unset it"
        )
    return seed
