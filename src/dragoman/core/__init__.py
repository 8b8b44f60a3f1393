"""What every room may use: errors, files, configuration, device, processes."""
