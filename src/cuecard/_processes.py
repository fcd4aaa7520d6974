"""How processes of our own are started."""

import sys

#: The interpreter that runs us, without the current folder among the places of modules: that is where users keep data,
#: and a file of theirs that is called `polars.py` must not be run.
PYTHON = (sys.executable, "-P")
