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
    r"frequently|never|always|little|likely|likelier|clearly|strongly|because)\b",
    re.IGNORECASE,
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
    "The least likely ": "turned, the accuracy of the least likely answer, is stated",
    "the model predicts the most frequent label for ": "majority_predicted, which is stated",
    "gains too little to be sure": "the interval of the AUC or of the accuracy includes chance",
    "because exact balance would leave a very small": "the effective sample size of exact balance",
    "because the forest predicts the label": "the number of infinite weights is stated",
    "because all examples have the same label": "the labels of the examples with the value",
    " never ": "the count of the cue with a label is 0",
    "it never occurs with ": "the count of the cue with a label is 0",
    " never occur with some label": "the number of such cues is stated",
    " The most significant: ": "cues are sorted by p-value, and this one stands first",
    ", always with the same label, would not be significant": "the count below which no p-value reaches alpha",
    "agree with them too little (AUC below 0.7)": "the AUC of each concept, below its stated limit",
    "The right answer has the most words of the question": "accuracy of the rule, which is stated and tested",
    "The choice that shares most words with its question": "accuracy of the rule, which is stated and tested",
    " of the context more often than chance": "share of the place, which is stated and tested",
    " of their context more often than chance": "share of the place, which is stated and tested",
    "finds the published order likelier": "rank_share, which is stated and tested",
    "finds the published order no likelier than shuffled ones": "rank_share, which is stated and tested",
    "near copies, which share most of their words": "what makes texts near copies",
    ", the most similar other text has ": "similarity, which is stated",
    " win more often.": "signs of the coefficients, which are stated with their intervals",
    "always giving the commonest answer scores ": "the score, which is stated",
    "says little about anything else": "solved is all or nearly all of the examples, and is stated",
    "can also cause": "what the difference does not exclude; both accuracies are stated",
    "are likelier if another option is the key": "the posterior of each key; how many, and the rate, are stated",
    # What commands print and reports show beside findings.
    "Carry most of the score": "share of the log score that each part carries, which is stated",
    "arries most": "share of the log score that each part carries, which is stated",
    "ive away most": "label shares of cues, which are stated",
    "ives away most": "label shares of cues, which are stated",
    "Many questions have the same context": "share of the commonest context, which is stated",
    "Most ": "groups of near copies are at most FEW_TEXTS of the texts, and both are stated",
    " gives most away: ": "the largest gain over chance, which is stated",
    "at most": "the largest of the numbers, or the limit of a policy, is stated",
    "because the interval crosses the limit": "both are stated",
    "On examples that the plan never saw": "outer folds",
    "with a confidence at which it is usually": "threshold at which most predictions of the training folds are right",
}
#: Names of rules, measures, charts and columns, definitions and advice: nothing about the data.
NAMES = re.compile(
    r"^(?:Always (?:choosing|giving|answering|correct)|Never(?: answering)?$|"
    r"Predicting|[Tt]he most frequent|how often|How much more often|Runs of many|choosing the|"
    r"accuracy of the|the answer of the most similar question|what always giving it scores|shuffles that|"
    r"A model that has not seen the dataset|features, most|For the words most associated|Who labelled them|"
    r"A counterexample has|Verified: a fresh learner|The table counts every instance)"
)
#: What prints or shows sentences beside those of findings.
SHOWN = ("report/*.py", "report/terminal/*.py", "card/by_what.py", "run/finishing.py")


def sources() -> Iterator[Path]:
    """Yield the modules that make findings, or sentences that stand beside them."""
    root = Path(cuecard.__file__).parent
    shown = {path for pattern in (*SHOWN, "*/**/findings.py", "remedies/*.py") for path in root.glob(pattern)}
    making = {path for path in root.rglob("*.py") if re.search(r"\bFinding\(", path.read_text())}
    yield from sorted(shown | making)


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the literal parts of texts with a quantity in words, apart from documentation and errors."""
    for path in sources():
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
                yield f"{path.parent.name}/{path.name}:{node.lineno}", node.value


def is_computed(text: str) -> bool:
    """Return whether a clause of a text, or all of it where that is one word, names its number."""
    return any(clause in text if " " in clause.strip() else clause == text for clause in COMPUTED)


def test_every_quantity_in_words_names_the_number_behind_it():
    unnamed = [
        (place, text) for place, text in sentences() if not NAMES.search(text) and not is_computed(text)
    ]
    assert unnamed == []


def test_every_clause_that_names_its_number_is_still_said():
    texts = [text for _, text in sentences()]
    assert [clause for clause in COMPUTED if not any(clause in text for text in texts)] == []
