"""Raw rows become instances: which column is what, labels, answers, choices."""
