"""What every package may use: errors, files, configuration, device, processes."""
