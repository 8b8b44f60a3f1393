"""What tests of the client share."""

from command_fixtures import certificates_read_once  # noqa: F401 - for all tests here
