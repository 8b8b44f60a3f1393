"""What commands do, apart from the command line: preparing, comparing, tuning, reports."""
