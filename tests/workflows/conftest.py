"""What tests of workflows share."""

from command_fixtures import certificates_read_once, counted_once, web  # noqa: F401 - for all tests here
