"""The card as a small piece of HTML for a notebook cell: no script, the colours of the page around it."""

from __future__ import annotations

from jinja2 import Environment, StrictUndefined

from cuecard.card.card import Card
from cuecard.card.files import of_readable_card
from cuecard.report.findings import facts, how_many_more, ordered_findings
from cuecard.report.headline.verdict import key_figures, verdict
from cuecard.report.html.inlined import resource
from cuecard.report.palette import LIGHT
from cuecard.wording import display_text

MOST_FINDINGS = 6


@of_readable_card
def notebook_html(card: Card) -> str:
    """Return the headline, the key figures and the first findings as an HTML fragment."""
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    findings = ordered_findings(card)
    return template.from_string(resource("notebook.html.j2")).render(
        card=card,
        verdict=verdict(card),
        figures=key_figures(card),
        findings=findings[:MOST_FINDINGS],
        more=how_many_more(findings[MOST_FINDINGS:]),
        tones=LIGHT.severity,
        facts=facts,
        show=display_text,
    )
