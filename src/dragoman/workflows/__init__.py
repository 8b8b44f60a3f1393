"""Work of the commands, apart from the command line: preparing, comparing, tuning, reports."""
