"""``python -m dragoman.client``, and of the distribution alone ``python -m dragoman_client``."""

import sys

from dragoman.client.command import main

sys.exit(main())
