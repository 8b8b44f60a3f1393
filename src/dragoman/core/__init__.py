"""The ground floor, for every package: errors, files, configuration, device, processes."""
