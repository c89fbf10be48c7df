"""``python -m clasher``: the command line."""

from clasher.app.cli import main

if __name__ == "__main__":
    main()
