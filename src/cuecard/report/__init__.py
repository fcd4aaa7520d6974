"""People look: the card as an HTML report, in the terminal, as Markdown and in a notebook.

The names are imported when they are first used, so that the terminal view loads no chart library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.report.board import render_board, write_board
    from cuecard.report.changes import render_comparison
    from cuecard.report.changes_page import comparison_html, write_comparison
    from cuecard.report.charts.comparison import write_comparison_charts
    from cuecard.report.checks import show_check
    from cuecard.report.html.card_page import notebook_html, render_html, write_report
    from cuecard.report.html.chart_page import write_data_map
    from cuecard.report.markdown import dataset_card_markdown, finding_markdown
    from cuecard.report.sections import draw_chart
    from cuecard.report.terminal.card import render_brief, render_terminal
    from cuecard.report.terminal.explanation import (
        explanation_html,
        explanation_json,
        explanation_text,
        render_explanation,
    )
    from cuecard.report.terminal.verbs import (
        preset_detail,
        preset_list,
        render_correction,
        render_plan,
        render_training,
        stress_lines,
    )

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
