"""What a card gets once its sections are there."""
