"""Files become raw rows: formats, folders, Hugging Face datasets."""
