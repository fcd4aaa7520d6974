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
    "responses",
    "winner",
    "text",
    "id",
]
ROLES: tuple[Role, ...] = get_args(Role)

#: Roles that only one task has; naming one of them in `columns` decides the task.
TASK_ROLES: Mapping[Task, tuple[Role, ...]] = {
    "pair": ("premise", "hypothesis", "label"),
    "choice": ("context", "question", "choices", "answer"),
    "preference": ("prompt", "chosen", "rejected", "responses", "winner"),
    "text": ("text", "label"),
    "open": ("context", "question", "answer"),
}

#: Roles without which a task cannot be read. A choice or open answer also needs a context or a question; a preference
#: has a chosen and a rejected response, or two responses and a column that says which one won.
REQUIRED: Mapping[Task, tuple[Role, ...]] = {
    "pair": ("premise", "hypothesis", "label"),
    "choice": ("choices", "answer"),
    "preference": ("chosen", "rejected"),
    "text": ("text", "label"),
    "open": ("answer",),
}

#: Two columns that together are a pair: (premise, hypothesis). Order of rows is order of preference; columns
#: joined by `+` are read one after another.
PAIR_NAMES: tuple[tuple[str, str], ...] = (
    ("premise+hypothesis", "update"),
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
    ("passage", "question"),
    ("paragraph", "question"),
)

#: A prompt and one response to it, which are a pair only beside a label of `RESPONSE_LABELS`: of KTO, of WikiQA, and
#: with what the question is about, of MultiRC.
RESPONSE_PAIRS: tuple[tuple[str, str], ...] = tuple(
    (first, second)
    for first in ("prompt", "question", "query", "instruction", "input")
    for second in ("completion", "response", "answer", "output", "generation")
)
CONTEXT_RESPONSE_PAIRS: tuple[tuple[str, str], ...] = tuple(
    (f"{first}+question", second)
    for first in ("paragraph", "passage", "context", "knowledge")
    for second in ("answer", "response")
)
RESPONSE_LABELS = (
    *("label", "labels", "gold_label", "is_correct", "correct", "correctness", "relevance", "is_relevant"),
    *("is_safe", "safe", "desirable", "helpful", "thumbs_up"),
)

LABEL_NAMES = (
    *("gold_label", "label", "labels", "is_duplicate", "is_paraphrase", "entailment_judgment"),
    *(
        "entailment_label",
        "class",
        "category",
        "target_text",
        "target",
        "quality",
        "sentiment",
        "verdict",
        "relation",
    ),
    *("gold", "y", "update_type", "updatetype"),
)

#: Names that are a label's only if the column holds few different values; scores and texts have them too.
WEAK_LABEL_NAMES = (
    *("answer", "stars", "star_rating", "rating", "overall", "score", "polarity", "stance", "emotion"),
    *("intent", "topic", "type"),
)

#: Columns that name an example where every row has its own value, and a group of rows where values repeat.
GROUP_IDS = (
    *("question_id", "prompt_id", "premise_id", "passage_id", "story_id", "conversation_id"),
    *("dialogue_id", "group_id", "doc_id"),
)

NAMES: Mapping[Role, tuple[str, ...]] = {
    "label": LABEL_NAMES,
    "context": (
        *("context", "ctx", "passage", "article", "paragraph", "story", "startphrase", "premise"),
        *("reason", "background", "dialogue", "dialog", "conversation", "utterances", "support"),
        *("narrative",),
    ),
    "question": (
        *("question", "question_stem", "question_text", "stem", "query", "claim", "goal", "sentence"),
        *("ask_for", "input", "problem", "user_question_or_message", "prompt", "instruction", "messages"),
        *("inputs",),
    ),
    "choices": (
        *("choices", "choice", "options", "all_options", "answer_choices", "answer_options", "endings"),
        *("candidates", "alternatives", "entities", "answers"),
    ),
    "answer": (
        *("answer", "answer_key", "answerkey", "correct_answer", "correct", "answer_idx", "answer_index"),
        *("label", "gold_label", "gold", "target", "answer_right_ending", "answerrightending"),
        *("correctlabelw0orw1", "label_idx", "correct_answer_num", "correct_answer_id", "correct_option"),
        *("correct_choice", "cop", "ground_truth", "answers", "best_answer", "correct_answers"),
    ),
    "prompt": (
        *("prompt", "instruction", "question", "question_full_text", "query", "anchor", "input", "context"),
        *("history", "post", "messages", "conversations", "conversation"),
    ),
    "chosen": (
        *("chosen", "preferred", "response_chosen", "chosen_response", "chosen_value", "chosen_content"),
        *("winner", "positive", "positives", "pos", "positive_passages"),
    ),
    "rejected": (
        *("rejected", "dispreferred", "response_rejected", "rejected_response", "rejected_value"),
        *("rejected_content", "loser", "negative", "negatives", "neg", "negative_passages"),
    ),
    "responses": (),
    "winner": (
        *("winner", "preference", "preferred", "human_preference", "better_response_id"),
        *("overall_preference", "preference_strength", "label", "labels", "verdict", "judgment", "judgement"),
        *("annotator1", "annotator_1"),
    ),
    "text": (
        *("text", "sentence", "review", "review_text", "reviewtext", "review_body", "content", "document"),
        *("comment", "tweet", "utterance", "utterances", "dialogue", "dialog", "conversation", "messages"),
        *("message", "body", "headline", "tokens"),
    ),
    "id": (
        *("id", "example_id", "uid", "guid", "pairid", "pair_id", "id_string", "qid", "uuid", "idx"),
        *("ind", "input_story_id", "inputstoryid"),
        *GROUP_IDS,
    ),
}

#: Columns that are read one after another as the context where no single column is.
CONTEXT_SERIES: tuple[tuple[str, ...], ...] = (
    ("sent1", "sent2"),
    ("obs1", "obs2"),
    ("input_sentence_1", "input_sentence_2", "input_sentence_3", "input_sentence_4"),
    ("inputsentence1", "inputsentence2", "inputsentence3", "inputsentence4"),
)

#: Columns that are read one after another as the prompt.
PROMPT_SERIES: tuple[tuple[str, ...], ...] = (("instruction", "input"),)

#: What the columns of two responses are called before their number or letter.
RESPONSE_STEMS = (
    *("response", "output", "completion", "answer", "conversation", "messages", "reply", "generation"),
    *("summary", "human_ref", "assistant"),
)

#: One column per verdict, 1 in the one that applies: the first, the second, a tie.
ONE_HOT_WINNERS = (("winner_model_a", "winner_model_b", "winner_tie"), ("winner_a", "winner_b", "winner_tie"))

#: The right answer and wrong ones in columns of their own, so that their order means nothing.
RIGHT_NAMES = ("answer", "correct_answer", "right_answer", "best_answer", "correct", "correct_answers")
WRONG_STEMS = (
    *("incorrect_answers", "wrong_answers", "distractors", "wrong_answer", "incorrect_answer"),
    *("distractor", "distractor_", "wrong_answer_", "incorrect_answer_", "wrong"),
)

#: What a column with all right or all wrong answers of a question is called.
SEVERAL_ANSWERS = ("correct_answers", "incorrect_answers", "wrong_answers", "distractors")

#: What the columns of a choice spread over several columns are called before their number or letter.
CHOICE_STEMS = (
    *("choice", "option", "opt", "op", "ending", "alternative", "warrant", "answer", "ans", "mc_answer"),
    *("candidate", "sol", "solution", "hyp", "hypothesis", "sentence_quiz", "randomfifthsentencequiz", ""),
)


def missing_roles(task: Task, roles: Mapping[Role, tuple[str, ...]]) -> list[str]:
    """Return the roles that a task still needs."""
    lacking: list[str] = [role for role in REQUIRED[task] if role not in roles]
    if task == "preference" and "responses" in roles:
        lacking = [] if "winner" in roles else ["winner"]
    if task in ("choice", "open") and "context" not in roles and "question" not in roles:
        lacking.append("question")
    return lacking


def normal_name(name: str) -> str:
    """Return a column name in the form the lists of this module use."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower()).lstrip("#").strip("_")


def choice_series(names: Mapping[str, str]) -> list[str]:
    """Return the columns that hold one choice each (`ending0`…`ending3`, `A`…`D`), or none.

    `names` maps normal names to the user's. A series starts at 0, 1 or a and has no gap and at least two
    columns; bare numbers are no series.
    """
    for stem in CHOICE_STEMS:
        columns = series(names, stem)
        if columns:
            return columns
    return []


def series(names: Mapping[str, str], stem: str) -> list[str]:
    """Return the columns called after a stem with a number or letter each, counted up from 0, 1 or a."""
    for joint in ("", "_"):
        for start, symbols in ((0, "0123456789"), (1, "123456789"), (0, "abcdefghij")):
            if stem == "" and (symbols[0] != "a" or joint):
                continue
            columns = []
            for symbol in symbols:
                if f"{stem}{joint}{symbol}" not in names:
                    break
                columns.append(names[f"{stem}{joint}{symbol}"])
            after = symbols[len(columns) + 1 :]
            if columns and any(f"{stem}{joint}{symbol}" in names for symbol in after):
                return []  # a series with a gap
            if len(columns) >= 2 and not (start == 1 and f"{stem}{joint}0" in names):
                return columns
    return []


#: What nothing but options is called: the second of them is not the only one.
_OPTION_STEMS = ("choice", "option", "opt", "ending", "alternative")


def has_gap(names: Mapping[str, str]) -> bool:
    """Return whether columns are called after options but one of their series is missing."""
    for stem in (*CHOICE_STEMS, *RESPONSE_STEMS):
        for joint in ("", "_"):
            for symbols in ("0123456789", "123456789", "abcdefghij"):
                there = [f"{stem}{joint}{symbol}" in names for symbol in symbols]
                enough = sum(there) >= (3 if stem == "" else 2) and there[0] and (stem or symbols[0] == "a")
                if enough and not all(there[: sum(there)]):
                    return True
    alone = [f"{stem}{joint}" for stem in _OPTION_STEMS for joint in ("", "_")]
    pairs = (("1", "2"), ("a", "b"))
    return any(
        f"{a}{two}" in names and {f"{a}{one}", f"{a}0"}.isdisjoint(names) for a in alone for one, two in pairs
    )


def response_series(names: Mapping[str, str]) -> list[str]:
    """Return the two columns that hold one response each (`response_a` and `response_b`), or none."""
    for stem in RESPONSE_STEMS:
        columns = series(names, stem)
        if len(columns) == 2:
            return columns
    return []


def right_and_wrong(names: Mapping[str, str]) -> list[str]:
    """Return the column of the right answer and those of wrong ones, or none."""
    right = next((names[name] for name in RIGHT_NAMES if name in names), None)
    for stem in WRONG_STEMS:
        wrong = series(names, stem) or ([names[stem]] if stem in names else [])
        if right is not None and wrong:
            return [right, *wrong]
    return []
