"""The prompt study: templates, answers parsed from text."""

from cuecard.probes.prompts.study import PromptStudy, find_prompt, prompted_predictions

__all__ = ["PromptStudy", "find_prompt", "prompted_predictions"]
