"""No sentence of an analysis states what was not computed: quantities in words have a number behind them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import cuecard

#: Words that state a quantity, a frequency or a cause without a number.
QUANTITY = re.compile(
    r"\b(?:most|mostly|usually|often|largely|nearly all|almost|many|hardly|mainly|typically|generally|rarely|"
    r"frequently|clearly|strongly|because)\b"
)
#: Clauses with such a word, and the number or condition from which each follows. One that is not here states what
#: nobody computed, or lacks the name of its number.
COMPUTED = {
    "the embedding hardly distinguishes them": "largest_cluster is at least GIANT, and is stated",
    "clearly ": "clusterings_agree",
    "or by less in many examples": "given_away of the cues is at least MEDIUM_GAIN, whatever their distance",
    "Nearly all questions offer the same options": "fixed options are offered by FIXED_SHARE of the questions",
    "only how often each is right": "fixed options, and the share is stated",
    "No option is right more often than chance": "direction of choices_only, which is tested",
    "avoiding the most likely one is better than chance": "direction of the baseline, and turned is stated",
    "the model predicts the most frequent label for ": "majority_predicted, which is stated",
    "because exact balance would leave a very small": "the effective sample size of exact balance",
    "because the forest predicts the label": "the number of infinite weights is stated",
}
#: Names of rules and columns, and advice: nothing about the data.
NAMES = re.compile(r"^(?:Always choosing|Predicting|the most frequent|The most frequent option)|^how often")


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the texts of findings: literal parts of what functions named for findings return."""
    source = Path(cuecard.__file__).parent
    remedies = [
        path for path in source.glob("remedies/*.py") if path.name != "views.py"
    ]  # captions of charts
    for path in sorted([*source.glob("*/**/findings.py"), *remedies]):
        tree = ast.parse(path.read_text())
        documented = (ast.FunctionDef, ast.ClassDef, ast.Module)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        raised = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if id(node) not in docstrings | raised and QUANTITY.search(node.value):
                yield f"{path.relative_to(source)}:{node.lineno}", node.value


def test_every_quantity_in_words_names_the_number_behind_it():
    unnamed = [
        (place, text)
        for place, text in sentences()
        if not NAMES.search(text) and not any(clause in text for clause in COMPUTED)
    ]
    assert unnamed == []
