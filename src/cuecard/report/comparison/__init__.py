"""Several cards side by side: in the terminal, as one table, as a page of charts."""
