"""What `make fuzz` tries: cases made from seeds, and the process that reads them."""
