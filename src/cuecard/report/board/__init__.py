"""The board of datasets, as it is shown: in the terminal, as a page and as Markdown."""
