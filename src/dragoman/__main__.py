"""``python -m dragoman``: the command line when ``dragoman`` is not on the path."""

from dragoman.cli.main import main

if __name__ == "__main__":
    main()
