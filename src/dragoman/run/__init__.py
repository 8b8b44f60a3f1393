"""What one run consists of: its directory, what it begins with, its text, its tasks, its model."""
