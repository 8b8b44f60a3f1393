"""What tests of workflows share."""

from command_fixtures import (  # noqa: F401 - for all tests here
    certificates_read_once,
    compared_soon,
    counted_once,
    web,
)
