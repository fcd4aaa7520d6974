"""The prompt study: templates, answers parsed from text."""
