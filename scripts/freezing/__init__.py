"""Cards of small datasets, made by one tree of the project and compared with those of another."""
