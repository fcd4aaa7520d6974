"""What in the data gives the answer away? One question per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard.analysis import ANALYSES, Analysis
from cuecard.registry import Registry, lacking

if TYPE_CHECKING:
    from cuecard.audits.clusters import Clusters
    from cuecard.audits.columns import Columns
    from cuecard.audits.concepts import Concepts
    from cuecard.audits.cues import Cues
    from cuecard.audits.cues.explain import Explanation, explain
    from cuecard.audits.open_answers import AnswerPlace, OpenAnswers
    from cuecard.audits.overview import Overview
    from cuecard.audits.pair_graph import PairGraphAudit
    from cuecard.audits.partial_input import PartialInput
    from cuecard.audits.slices import Slices
    from cuecard.audits.style import Style

__all__ = [
    "AUDITS",
    "AnswerPlace",
    "Clusters",
    "Columns",
    "Concepts",
    "Cues",
    "Explanation",
    "OpenAnswers",
    "Overview",
    "PairGraphAudit",
    "PartialInput",
    "Slices",
    "Style",
    "explain",
]

AUDITS: Registry[type[Analysis]] = Registry(
    "audit", group="cuecard.audits", check=lacking("name", "title", "tasks", "run", "__dataclass_fields__")
)
# The order in which audits run and appear on a card.
AUDITS.declare("overview", "cuecard.audits.overview:Overview")
AUDITS.declare("cues", "cuecard.audits.cues:Cues")
AUDITS.declare("partial_input", "cuecard.audits.partial_input:PartialInput")
AUDITS.declare("columns", "cuecard.audits.columns:Columns")
AUDITS.declare("slices", "cuecard.audits.slices:Slices")
AUDITS.declare("style", "cuecard.audits.style:Style")
AUDITS.declare("pair_graph", "cuecard.audits.pair_graph:PairGraphAudit")
AUDITS.declare("clusters", "cuecard.audits.clusters:Clusters")
AUDITS.declare("concepts", "cuecard.audits.concepts:Concepts")  # by name only
AUDITS.declare("open_answers", "cuecard.audits.open_answers:OpenAnswers")
AUDITS.declare("answer_place", "cuecard.audits.open_answers:AnswerPlace")
ANALYSES.declare("scores", "cuecard.audits.scores:Scores")
ANALYSES.declare("each_label", "cuecard.audits.each_label:EachLabel")
ANALYSES.declare("overlap", "cuecard.audits.overlap.audit:Overlap")
ANALYSES.declare("published_order", "cuecard.audits.overlap.published_order:PublishedOrder")

__getattr__ = lazy_names(__name__)
