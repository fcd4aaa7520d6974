"""Which names datasets use for which role, most telling names first.

Names are compared lower-cased, with white space, dots and hyphens as underscores and without a leading `#`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from cuecard.data.instances import Task

Role = Literal[
    "premise",
    "hypothesis",
    "label",
    "context",
    "question",
    "choices",
    "answer",
    "prompt",
    "chosen",
    "rejected",
    "text",
    "id",
]
ROLES: tuple[Role, ...] = get_args(Role)

#: Roles that only one task has; naming one of them in `columns` decides the task.
TASK_ROLES: Mapping[Task, tuple[Role, ...]] = {
    "pair": ("premise", "hypothesis", "label"),
    "choice": ("context", "question", "choices", "answer"),
    "preference": ("prompt", "chosen", "rejected"),
    "text": ("text", "label"),
}

#: Roles without which a task cannot be read. A choice also needs a context or a question.
REQUIRED: Mapping[Task, tuple[Role, ...]] = {
    "pair": ("premise", "hypothesis", "label"),
    "choice": ("choices", "answer"),
    "preference": ("chosen", "rejected"),
    "text": ("text", "label"),
}

#: Two columns that together are a pair: (premise, hypothesis). Order of rows is order of preference.
PAIR_NAMES: tuple[tuple[str, str], ...] = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"),
    ("sentence_a", "sentence_b"),
    ("question1", "question2"),
    ("question_1", "question_2"),
    ("sent1", "sent2"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("text_a", "text_b"),
    ("s1", "s2"),
    ("q1", "q2"),
    ("1_string", "2_string"),
    ("title1_en", "title2_en"),
    ("title1_zh", "title2_zh"),
    ("title1", "title2"),
    ("evidence", "claim"),
    ("context", "hypothesis"),
    ("context", "claim"),
    ("premise", "claim"),
    ("question", "sentence"),
    ("query", "passage"),
)

LABEL_NAMES = (
    "gold_label",
    "label",
    "labels",
    "is_duplicate",
    "is_paraphrase",
    "entailment_judgment",
    "entailment_label",
    "class",
    "category",
    "target",
    "quality",
    "sentiment",
    "verdict",
    "relation",
    "gold",
    "y",
)

NAMES: Mapping[Role, tuple[str, ...]] = {
    "label": LABEL_NAMES,
    "context": (
        "context",
        "ctx",
        "passage",
        "article",
        "paragraph",
        "story",
        "startphrase",
        "premise",
        "reason",
        "background",
    ),
    "question": ("question", "question_text", "stem", "query", "claim", "goal", "sentence"),
    "choices": ("choices", "options", "endings", "answers", "candidates", "alternatives"),
    "answer": (
        "answer",
        "answer_key",
        "answerkey",
        "correct_answer",
        "correct",
        "answer_idx",
        "answer_index",
        "label",
        "gold_label",
        "gold",
        "target",
        "answer_right_ending",
        "answerrightending",
        "correctlabelw0orw1",
        "label_idx",
    ),
    "prompt": ("prompt", "instruction", "question", "query", "input", "context"),
    "chosen": ("chosen", "preferred", "response_chosen", "winner"),
    "rejected": ("rejected", "dispreferred", "response_rejected", "loser"),
    "text": ("text", "sentence", "review", "content", "document", "comment", "tweet", "utterance"),
    "id": (
        "id",
        "example_id",
        "uid",
        "guid",
        "pairid",
        "pair_id",
        "question_id",
        "id_string",
        "qid",
        "uuid",
        "idx",
        "ind",
        "input_story_id",
        "inputstoryid",
    ),
}

#: Columns that are read one after another as the context where no single column is.
CONTEXT_SERIES: tuple[tuple[str, ...], ...] = (
    ("sent1", "sent2"),
    ("obs1", "obs2"),
    ("input_sentence_1", "input_sentence_2", "input_sentence_3", "input_sentence_4"),
    ("inputsentence1", "inputsentence2", "inputsentence3", "inputsentence4"),
)

#: What the columns of a choice spread over several columns are called before their number or letter.
CHOICE_STEMS = (
    "choice",
    "option",
    "opt",
    "ending",
    "alternative",
    "warrant",
    "answer",
    "candidate",
    "sol",
    "hyp",
    "sentence_quiz",
    "randomfifthsentencequiz",
    "",
)


def normal_name(name: str) -> str:
    """Return a column name in the form the lists of this module use."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower()).lstrip("#").strip("_")


def choice_series(names: Mapping[str, str]) -> list[str]:
    """Return the columns that hold one choice each (`ending0`…`ending3`, `A`…`D`), or none.

    `names` maps normal names to the user's. A series starts at 0, 1 or a and has no gap and at least two
    columns; bare numbers are no series.
    """
    for stem in CHOICE_STEMS:
        for joint in ("", "_"):
            for start, symbols in ((0, "0123456789"), (1, "123456789"), (0, "abcdefghij")):
                if stem == "" and (symbols[0] != "a" or joint):
                    continue
                found = []
                for symbol in symbols:
                    if f"{stem}{joint}{symbol}" not in names:
                        break
                    found.append(names[f"{stem}{joint}{symbol}"])
                if len(found) >= 2 and not (start == 1 and f"{stem}{joint}0" in names):
                    return found
    return []
