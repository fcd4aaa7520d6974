"""What a model does with a cue: tests and sizes on arrays of answers."""
