"""A card in the words and files of other places: Croissant metadata, a Hugging Face README, a badge, an issue."""

from cuecard.report.exports.badge import badge_svg
from cuecard.report.exports.croissant import croissant_json
from cuecard.report.exports.hf_card import hf_card
from cuecard.report.exports.issue import issue_markdown

__all__ = ["badge_svg", "croissant_json", "hf_card", "issue_markdown"]
