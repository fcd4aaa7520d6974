"""People look: the card as an HTML report, in the terminal, as Markdown and in a notebook.

The names are imported when they are first used, so that the terminal view loads no chart library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.report.board.page import write_board
    from cuecard.report.board.terminal import render_board
    from cuecard.report.checks import show_check
    from cuecard.report.comparison.card_diff import render_comparison
    from cuecard.report.comparison.page import write_comparison_charts
    from cuecard.report.html.card_page import render_html, write_report
    from cuecard.report.html.comparison_page import comparison_html, write_comparison
    from cuecard.report.html.data_map import write_data_map
    from cuecard.report.html.notebook import notebook_html
    from cuecard.report.markdown import dataset_card_markdown, finding_markdown
    from cuecard.report.sections import draw_chart
    from cuecard.report.terminal.brief import render_brief
    from cuecard.report.terminal.card import render_terminal
    from cuecard.report.terminal.correction import render_correction
    from cuecard.report.terminal.explanation import (
        explanation_html,
        explanation_json,
        explanation_text,
        render_explanation,
    )
    from cuecard.report.terminal.plan import render_plan
    from cuecard.report.terminal.presets import preset_detail, preset_list
    from cuecard.report.terminal.stress import stress_lines
    from cuecard.report.terminal.training import render_training

__all__ = [
    "comparison_html",
    "dataset_card_markdown",
    "draw_chart",
    "explanation_html",
    "explanation_json",
    "explanation_text",
    "finding_markdown",
    "notebook_html",
    "preset_detail",
    "preset_list",
    "render_board",
    "render_brief",
    "render_comparison",
    "render_correction",
    "render_explanation",
    "render_html",
    "render_plan",
    "render_terminal",
    "render_training",
    "show_check",
    "stress_lines",
    "write_board",
    "write_comparison",
    "write_comparison_charts",
    "write_data_map",
    "write_report",
]

__getattr__ = lazy_names(__name__)
