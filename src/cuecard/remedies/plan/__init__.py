"""Which examples to change so that a shortcut stops working, and the worksheet in which people change them."""
