"""``python -m clasher``: the command line."""

from clasher.cli.main import main

if __name__ == "__main__":
    main()
