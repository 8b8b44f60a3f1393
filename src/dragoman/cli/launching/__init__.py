"""What starts the processes that train together, and starts them again."""
