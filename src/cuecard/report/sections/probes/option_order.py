"""Whether models prefer a position among the choices."""

from __future__ import annotations

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, Column, SectionView, TableView
from cuecard.wording import display_text


@SECTION_VIEWS.register("option_order")
def option_order(card: Card, section: Section) -> SectionView:
    """Return the answers of every model by position, beside the key."""
    lead = [
        f"{display_text(model, 60)}: positions of its answers and of the correct answers, Stuart–Maxwell p = "
        f"{wording.probability(None, test['paired_log10_p'])} (chi-square p = "
        f"{wording.probability(None, test['log10_p'])})."
        for model, test in section.summary["models"].items()
    ]
    columns = {
        "model": Column("Model"),
        "position": Column("Position", "count", "counted from 0"),
        "answer_share": Column("Answered", "percent", "share of the model's answers at this position"),
        "key_share": Column("Correct", "percent", "share of the correct answers at this position"),
        "accuracy": Column("Accuracy", "percent", "accuracy if the correct choice is at this position"),
        "low": Column("CI low", "percent", "lower end of the 95 % CI"),
        "high": Column("CI high", "percent", "upper end of the 95 % CI"),
    }
    table = card.tables["option_order"]
    view = TableView.of("Answers by position", "option_order", table, columns)
    return SectionView(lead, tables=[view])
