"""One file per verb: parse, call, render."""
