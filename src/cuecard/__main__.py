"""`python -m cuecard` is `cuecard`."""

from cuecard.cli import main

if __name__ == "__main__":
    main()
