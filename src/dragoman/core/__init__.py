"""The lowest layer, used by every package: errors, files, configuration, device, processes."""
