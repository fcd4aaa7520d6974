"""The command line: parse, call, render."""

from cuecard.cli.main import main

__all__ = ["main"]
