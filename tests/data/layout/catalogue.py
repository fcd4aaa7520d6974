# ruff: noqa: E501
"""Layouts of public datasets with made-up rows: what each is read as, and what to type where one needs an option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
_NOUNS = ("river", "engine", "garden", "market", "violin", "harbour", "comet", "bakery", "forest", "library", "glacier", "tunnel")  # fmt: skip
_PLACES = ("Lisbon", "Oslo", "Quito", "Kyoto", "Dakar", "Perth", "Riga", "Hanoi", "Tunis", "Turin", "Bergen", "Lima")  # fmt: skip


def noun(i: int) -> str:
    """Return a word that changes from row to row."""
    return _NOUNS[i % 12] + ("" if i < 12 else f" {i}")


def ask(i: int) -> str:
    """Return a question of a row."""
    return f"Where does the {noun(i)} of the old story stand?"


def says(i: int) -> str:
    """Return a sentence of a row."""
    return f"The {noun(i)} stands near the square of {_PLACES[(i * 5) % 12]}."


def places(i: int, k: int = 4) -> list[str]:
    """Return k options of a row; the right one is at `gold`."""
    return [_PLACES[(i + 3 * j) % 12] for j in range(k)]


def gold(i: int, k: int = 4) -> int:
    """Return the place of the right option of a row."""
    return (i * 7 + i // 3) % k


def letter(i: int, k: int = 4) -> str:
    """Return the letter of the right option of a row."""
    return "ABCDEFGH"[gold(i, k)]


def right(i: int) -> str:
    """Return the right option of a row."""
    return places(i)[gold(i)]


def chat(*texts: str) -> list[Row]:
    """Return texts as messages of user and assistant in turn."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def lettered(i: int, form: str, joint: str) -> str:
    """Return the options of a row as one text."""
    return joint.join(form.format(u="ABCD"[n], l="abcd"[n], text=text) for n, text in enumerate(places(i)))


def better(i: int) -> str:
    """Return a response that is preferred."""
    return f"Near the square of {right(i)}, as the {noun(i)} always did."


def worse(i: int) -> str:
    """Return a response that is not."""
    return f"Nobody knows where a {noun(i)} is."


@dataclass(frozen=True)
class Layout:
    """A layout: its rows, what they are read as, and the options it needs.

    `first` holds the premise, and the right text (or hypothesis and label) of the first row; `says` is part of a note;
    `options` is what `cuecard.load` takes where an error must name it, `typed` how the command line says the same.
    """

    name: str
    row: Callable[[int], Row]
    task: str
    first: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    typed: str = ""
    says: str = ""
    rows: int = 24
    k: int = 4

    @property
    def command(self) -> str:
        """What to type for the options."""
        return " ".join(f"--{name} '{value}'" for name, value in self.options.items())

    @property
    def table(self) -> list[Row]:
        """The rows."""
        return [self.row(i) for i in range(self.rows)]


def choice(name: str, row: Callable[[int], Row], premise: str | None = None, **more: Any) -> Layout:
    """Return a layout of multiple choice."""
    return Layout(name, row, "choice", (ask(0) if premise is None else premise, right(0)), **more)


def preference(name: str, row: Callable[[int], Row], premise: str | None = None, **more: Any) -> Layout:
    """Return a layout of a preference."""
    return Layout(name, row, "preference", (ask(0) if premise is None else premise, better(0)), **more)


def opened(name: str, row: Callable[[int], Row], answer: str | None = None, premise: str | None = None, **more: Any) -> Layout:  # fmt: skip
    """Return a layout of open answers."""
    first = (ask(0) if premise is None else premise, f"{right(0)} 0" if answer is None else answer, "answer")
    return Layout(name, row, "open", first, **more)


CHOICE = [
    choice("MMMU", lambda i: {"id": f"v_{i}", "question": ask(i), "options": str(places(i)), "answer": letter(i), "question_type": "multiple-choice", "image_1": None}),
    choice("MMMU with open questions", lambda i: {"id": f"v_{i}", "question": ask(i), "options": "[]" if i % 6 == 5 else str(places(i)), "answer": "42" if i % 6 == 5 else letter(i), "question_type": "open" if i % 6 == 5 else "multiple-choice"}, says="no options"),
    choice("MMStar", lambda i: {"index": i, "question": f"{ask(i)}\nOptions: {lettered(i, '{u}: {text}', ', ')}", "answer": letter(i), "category": ("fine", "coarse")[i % 2]}, says="inside"),
    choice("PersonaMem", lambda i: {"persona_id": i, "question_id": f"q{i}", "user_question_or_message": ask(i), "correct_answer": f"({letter(i).lower()})", "all_options": str([f"({'abcd'[n]}) {t}" for n, t in enumerate(places(i))]), "shared_context_id": "c"}),
    choice("BBH", lambda i: {"input": f"{ask(i)}\nOptions:\n{lettered(i, '({u}) {text}', chr(10))}", "target": f"({letter(i)})"}, says="inside"),
    choice("TruthfulQA mc", lambda i: {"question": ask(i), "mc1_targets": {"choices": [right(i), *(t for t in places(i) if t != right(i))], "labels": [1, 0, 0, 0]}, "mc2_targets": {"choices": [right(i), "an old town", *(t for t in places(i) if t != right(i))], "labels": [1, 1, 0, 0, 0]}}, says="mc2_targets"),
    choice("TruthfulQA generation", lambda i: {"type": "x", "category": ("law", "myth")[i % 2], "question": ask(i), "best_answer": right(i), "correct_answers": [right(i), "an old town"], "incorrect_answers": [t for t in places(i) if t != right(i)], "source": "s"}, says="no order"),
    choice("MMLU", lambda i: {"question": ask(i), "subject": ("law", "art")[i % 2], "choices": places(i), "answer": gold(i)}),
    choice("MMLU-Pro", lambda i: {"question_id": i, "question": ask(i), "options": places(i), "answer": letter(i), "answer_index": gold(i), "category": "law"}),
    choice("ARC", lambda i: {"id": f"a{i}", "question": ask(i), "choices": {"text": places(i), "label": list("ABCD")}, "answerKey": letter(i)}),
    choice("CommonsenseQA", lambda i: {"id": f"a{i}", "question": {"stem": ask(i), "choices": [{"label": "ABCD"[n], "text": t} for n, t in enumerate(places(i))]}, "answerKey": letter(i)}),
    choice("GPQA", lambda i: {"Question": ask(i), "Correct Answer": right(i), **{f"Incorrect Answer {n}": t for n, t in enumerate([t for t in places(i) if t != right(i)], 1)}}, says="no order"),
    choice("SciQ", lambda i: {"question": ask(i), **{f"distractor{n}": t for n, t in enumerate([t for t in places(i) if t != right(i)], 1)}, "correct_answer": right(i), "support": ""}, says="no order"),
    choice("MedMCQA", lambda i: {"id": f"m{i}", "question": ask(i), **{f"op{'abcd'[n]}": t for n, t in enumerate(places(i))}, "cop": gold(i), "choice_type": "single"}),
    choice("MathQA", lambda i: {"Problem": ask(i), "Rationale": "because", "options": lettered(i, "{l} ) {text}", " , "), "correct": letter(i).lower()}),
    choice("AQuA-RAT", lambda i: {"question": ask(i), "options": [f"{'ABCD'[n]}){t}" for n, t in enumerate(places(i))], "rationale": "because", "correct": letter(i)}),
    choice("RACE", lambda i: {"example_id": f"r{i}.txt", "article": says(i), "question": ask(i), "options": places(i), "answer": letter(i)}, f"{says(0)} {ask(0)}"),
    choice("options one per line", lambda i: {"question": ask(i), "choices": "\n".join(places(i)), "answer": right(i)}),
    choice("options as JSON", lambda i: {"question": ask(i), "choices": '["' + '", "'.join(places(i)) + '"]', "answer": gold(i)}),
    choice("options as an object", lambda i: {"question": ask(i), "options": dict(zip("ABCD", places(i), strict=True)), "answer": letter(i)}),
    choice("options as an object in text", lambda i: {"question": ask(i), "options": str(dict(zip("ABCD", places(i), strict=True))), "answer": letter(i)}),
    choice("CMMLU with answers in full", lambda i: {"id": i, "question": ask(i), "choices": [f"({'ABCD'[n]}) {t}" for n, t in enumerate(places(i))], "answer": f"({letter(i)}) {right(i)}"}),
    choice("a judge's verdict as answer", lambda i: {"question": ask(i), "A": places(i)[0], "B": places(i)[1], "C": places(i)[2], "D": places(i)[3], "answer": f"[[{letter(i)}]]"}),
    choice("several right answers", lambda i: {"question": ask(i), "options": places(i), "answer": [letter(i)] if i % 3 else [letter(i), letter(i)]}),
    choice("several right letters in one text", lambda i: {"question": ask(i), "options": places(i), "answers": letter(i) if i != 5 else "A, C"}, says="several right"),
    choice("a list of objects with flags", lambda i: {"question": ask(i), "answers": [{"text": t, "correct": t == right(i)} for t in places(i)]}),
    choice("MS MARCO", lambda i: {"query": ask(i), "query_id": i, "query_type": "LOCATION", "answers": [right(i)], "passages": {"is_selected": [int(t == right(i)) for t in places(i)], "passage_text": places(i), "url": list("abcd")}}),
    choice("ReCoRD", lambda i: {"passage": says(i), "query": f"The {noun(i)} was moved to @placeholder.", "entities": places(i), "answers": [right(i)], "idx": i}, f"{says(0)} The river was moved to @placeholder."),
    choice("WikiHop", lambda i: {"id": f"w{i}", "query": ask(i), "answer": right(i), "candidates": places(i), "supports": [says(i), says(i + 1)]}),
    choice("HellaSwag", lambda i: {"ind": i, "ctx": ask(i), "endings": places(i), "label": str(gold(i))}),
    choice("SWAG", lambda i: {"sent1": ask(i), "sent2": "It is", **{f"ending{n}": t for n, t in enumerate(places(i))}, "label": gold(i)}, f"{ask(0)} It is"),
    choice("ScienceQA", lambda i: {"image": None, "question": ask(i), "choices": places(i), "answer": gold(i), "hint": "", "task": "closed choice", "grade": f"grade{i % 3}"}),
    choice("SuperGPQA", lambda i: {"uuid": f"u{i}", "question": ask(i), "options": places(i), "answer": right(i), "answer_letter": letter(i), "discipline": "Law", "difficulty": "hard", "is_calculation": i % 2 == 0}),
    choice("LongBench v2", lambda i: {"_id": f"l{i}", "domain": "Law", "length": "short", "question": ask(i), **{f"choice_{'ABCD'[n]}": t for n, t in enumerate(places(i))}, "answer": letter(i), "context": says(i)}, f"{says(0)} {ask(0)}"),
    choice("QuALITY", lambda i: {"article": says(i), "question": ask(i), "options": places(i), "answer": gold(i) + 1, "hard": i % 2 == 0}, f"{says(0)} {ask(0)}"),
    choice("AGIEval with an empty answer", lambda i: {"passage": says(i), "question": ask(i), "options": [f"({'ABCD'[n]}){t}" for n, t in enumerate(places(i))], "label": letter(i), "answer": None, "other": {"solution": "because"}}, f"{says(0)} {ask(0)}"),
    choice("TruthfulQA as CSV", lambda i: {"Type": "x", "Category": ("law", "myth")[i % 2], "Question": ask(i), "Best Answer": right(i), "Correct Answers": f"{right(i)}; an old town", "Incorrect Answers": "; ".join(t for t in places(i) if t != right(i)), "Source": "s"}, says="no order"),
    choice("options in one line", lambda i: {"question": ask(i), "options": lettered(i, "{u}. {text}", " "), "answer": letter(i)}),
    choice("several right letters without a comma", lambda i: {"question": ask(i), **dict(zip("ABCD", places(i), strict=True)), "answer": letter(i) if i != 5 else "AC"}, says="several right"),
    choice("messages that end with the letter of an option", lambda i: {"messages": chat(f"{ask(i)}\n{lettered(i, '{u}) {text}', chr(10))}", letter(i))}, f"user: {ask(0)}", says="inside"),
    choice("messages as question", lambda i: {"question": chat(ask(i)), "options": places(i), "answer": letter(i)}, f"user: {ask(0)}"),
]  # fmt: skip

PREFERENCE = [
    preference("DPO", lambda i: {"prompt": ask(i), "chosen": better(i), "rejected": worse(i)}),
    preference("UltraFeedback binarized", lambda i: {"prompt": ask(i), "prompt_id": f"p{i}", "chosen": chat(ask(i), better(i)), "rejected": chat(ask(i), worse(i)), "score_chosen": 8.0, "score_rejected": 5.0}),
    preference("HH-RLHF", lambda i: {"chosen": f"\n\nHuman: {ask(i)}\n\nAssistant:{better(i)}", "rejected": f"\n\nHuman: {ask(i)}\n\nAssistant:{worse(i)}"}, f"\n\nHuman: {ask(0)}\n\nAssistant:"),
    preference("ShareGPT with chosen and rejected", lambda i: {"conversations": [{"from": "human", "value": ask(i)}], "chosen": {"from": "gpt", "value": better(i)}, "rejected": {"from": "gpt", "value": worse(i)}}, f"human: {ask(0)}"),
    preference("messages with chosen and rejected", lambda i: {"messages": chat(ask(i)), "chosen": better(i), "rejected": worse(i)}, f"user: {ask(0)}"),
    preference("RewardBench", lambda i: {"prompt": ask(i), "chosen": better(i), "chosen_model": "m", "rejected": worse(i), "rejected_model": "n", "subset": "chat", "id": i}),
    preference("RewardBench 2", lambda i: {"id": f"i{i}", "prompt": ask(i), "chosen": [better(i)], "rejected": [worse(i), f"{worse(i)} Ask.", f"{worse(i)} No."], "num_correct": 1, "num_incorrect": 3, "models": ["m", "n", "o", "p"], "subset": "Focus"}),
    preference("RM-Bench", lambda i: {"id": f"i{i}", "prompt": ask(i), "chosen": [better(i)] * 3, "rejected": [worse(i), f"{worse(i)} So.", f"**{worse(i)}**"], "domain": "chat"}, says="several chosen"),
    preference("JudgeBench", lambda i: {"pair_id": f"j{i}", "source": "s", "question": ask(i), "response_A": better(i) if i % 2 == 0 else worse(i), "response_B": worse(i) if i % 2 == 0 else better(i), "label": ("A>B", "B>A")[i % 2]}),
    preference("Arena-Hard verdicts", lambda i: {"question": ask(i), "answer_a": better(i) if i % 4 < 2 else worse(i), "answer_b": worse(i) if i % 4 < 2 else better(i), "verdict": ("A>>B", "A>B", "B>A", "B>>A")[i % 4] if i != 11 else "A=B"}),
    preference("verdicts in brackets", lambda i: {"prompt": ask(i), "response_a": better(i) if i % 2 == 0 else worse(i), "response_b": worse(i) if i % 2 == 0 else better(i), "winner": ("[[A]]", "[[B]]")[i % 2] if i != 7 else "[[C]]"}),
    preference("Chatbot Arena", lambda i: {"question_id": f"q{i}", "model_a": "m", "model_b": "n", "winner": ("model_a", "model_b", "tie")[i % 3], "conversation_a": chat(ask(i), better(i) if i % 3 == 0 else worse(i)), "conversation_b": chat(ask(i), worse(i) if i % 3 == 0 else better(i))}, f"user: {ask(0)}"),
    preference("PKU-SafeRLHF", lambda i: {"prompt": ask(i), "response_0": better(i) if i % 2 == 0 else worse(i), "response_1": worse(i) if i % 2 == 0 else better(i), "better_response_id": i % 2}),
    preference("HelpSteer3", lambda i: {"domain": "general", "context": chat(ask(i)), "response1": better(i) if i % 2 == 0 else worse(i), "response2": worse(i) if i % 2 == 0 else better(i), "overall_preference": (-2, 1)[i % 2]}, f"user: {ask(0)}"),
    preference("Nectar", lambda i: {"prompt": ask(i), "answers": [{"answer": worse(i), "model": "m", "rank": 2.0}, {"answer": better(i), "model": "n", "rank": 1.0}]}),
    preference("sentence-transformers triplets", lambda i: {"anchor": ask(i), "positive": better(i), "negative": worse(i)}),
    preference("triplets with several negatives", lambda i: {"query": ask(i), "positive": better(i), "negative_1": worse(i), "negative_2": f"{worse(i)} So."}),
    preference("query, pos and neg", lambda i: {"query": ask(i), "pos": [better(i)], "neg": [worse(i), f"{worse(i)} So."]}),
    preference("FlagEmbedding", lambda i: {"query": ask(i), "pos": [better(i)], "neg": [worse(i), f"{worse(i)} So."], "pos_scores": [0.9], "neg_scores": [0.1, 0.2], "prompt": "Represent this sentence.", "type": "normal"}),
    preference("LMSYS battles", lambda i: {"id": i, "model_a": "m", "model_b": "n", "prompt": f'["{ask(i)}"]', "response_a": f'["{better(i) if i % 2 == 0 else worse(i)}"]', "response_b": f'["{worse(i) if i % 2 == 0 else better(i)}"]', "winner_model_a": int(i % 2 == 0), "winner_model_b": i % 2, "winner_tie": 0}),
    preference("Tevatron passages", lambda i: {"query_id": f"t{i}", "query": ask(i), "positive_passages": [{"docid": "1", "text": better(i), "title": ""}], "negative_passages": [{"docid": "2", "text": worse(i), "title": ""}, {"docid": "3", "text": f"{worse(i)} So.", "title": ""}]}),
]  # fmt: skip

PAIR = [
    Layout("SNLI", lambda i: {"pairID": f"p{i}", "sentence1": says(i), "sentence2": ask(i), "gold_label": ("entailment", "neutral", "-")[i % 3]}, "pair", (says(0), ask(0), "entailment"), says=""),
    Layout("ANLI", lambda i: {"uid": f"p{i}", "premise": says(i), "hypothesis": ask(i), "label": i % 3, "reason": "because"}, "pair", (says(0), ask(0), "0")),
    Layout("QQP", lambda i: {"question1": ask(i), "question2": ask(i + 1), "label": i % 2, "idx": i}, "pair", (ask(0), ask(1), "0")),
    Layout("KTO", lambda i: {"prompt": ask(i), "completion": better(i) if i % 2 == 0 else worse(i), "label": i % 2 == 0}, "pair", (ask(0), better(0), "true")),
    Layout("KTO with messages", lambda i: {"prompt": chat(ask(i)), "completion": chat("", better(i) if i % 2 == 0 else worse(i))[1:], "label": i % 2 == 0}, "pair", (f"user: {ask(0)}", f"assistant: {better(0)}", "true")),
    Layout("WikiQA", lambda i: {"question_id": f"q{i // 2}", "question": ask(i // 2), "document_title": noun(i), "answer": says(i), "label": i % 2}, "pair", (ask(0), says(0), "0")),
    Layout("BoolQ", lambda i: {"question": ask(i), "passage": says(i), "answer": i % 2 == 0}, "pair", (says(0), ask(0), "true")),
    Layout("FEVER", lambda i: {"id": i, "claim": ask(i), "evidence": says(i), "label": ("SUPPORTS", "REFUTES")[i % 2]}, "pair", (says(0), ask(0), "SUPPORTS")),
    Layout("STS-B", lambda i: {"sentence1": says(i), "sentence2": ask(i), "score": (i * 7 % 24) / 4.8}, "pair", (says(0), ask(0), "at most 2.4"), says="holds scores"),
    Layout("GLUE STS-B", lambda i: {"sentence1": says(i), "sentence2": ask(i), "label": (i * 7 % 24) / 4.8, "idx": i}, "pair", (says(0), ask(0), "at most 2.4"), says="holds scores"),
    Layout("MultiRC", lambda i: {"paragraph": says(i // 2), "question": ask(i // 2), "answer": better(i), "idx": {"paragraph": i // 2, "question": i // 2, "answer": i}, "label": i % 2}, "pair", (f"{says(0)} {ask(0)}", better(0), "0")),
]  # fmt: skip

TEXT = [
    Layout("IMDb", lambda i: {"text": says(i), "label": i % 2}, "text", ("", says(0), "0")),
    Layout("AG News with messages", lambda i: {"messages": chat(says(i)), "label": ("sport", "world")[i % 2]}, "text", ("", f"user: {says(0)}", "sport")),
    Layout("reviews with stars", lambda i: {"review_body": says(i), "stars": 1 + i % 5}, "text", ("", says(0), "1")),
    Layout("GoEmotions", lambda i: {"text": says(i), "labels": [i % 3] if i % 4 else [i % 3, 3], "id": f"e{i}"}, "text", ("", says(0), "0"), says="several labels"),
    Layout("tweets with lists of names", lambda i: {"tweet": says(i), "labels": [("joy", "fear")[i % 2]]}, "text", ("", says(0), "joy")),
    Layout("labels with commas", lambda i: {"Tweet": says(i), "Labels": ("joy", "joy, awe", "fear")[i % 3]}, "text", ("", says(0), "joy"), says="several labels"),
    Layout("labels in one text", lambda i: {"text": says(i), "labels": ("['joy']", "['joy', 'fear']", "['joy', 'awe']")[i % 3] if i % 5 < 4 else "['fear']"}, "text", ("", says(0), "joy"), says="several labels"),
]  # fmt: skip

OPEN = [
    opened("GSM8K", lambda i: {"question": ask(i), "answer": f"{noun(i)} costs {i * 3}.\n#### {i * 3}"}, "0", says="'####'"),
    opened("SQuAD", lambda i: {"id": f"s{i}", "title": noun(i), "context": says(i), "question": ask(i), "answers": {"text": [_PLACES[(i * 5) % 12]], "answer_start": [30]}}, "Lisbon", f"{says(0)} {ask(0)}"),
    opened("SQuAD 2", lambda i: {"id": f"s{i}", "title": noun(i), "context": says(i), "question": ask(i), "answers": {"text": [_PLACES[(i * 5) % 12]] * 3 if i % 3 else [], "answer_start": [30] * 3 if i % 3 else []}}, "", f"{says(0)} {ask(0)}"),
    opened("MATH", lambda i: {"problem": ask(i), "level": f"Level {i % 5}", "type": ("Algebra", "Geometry")[i % 2], "solution": f"{says(i)} So $x = \\boxed{{\\frac{{{i}}}{{7}}}}$."}, "\\frac{0}{7}", says="boxed"),
    opened("NuminaMath", lambda i: {"source": "olympiads", "problem": ask(i), "solution": says(i), "answer": f"{i}\\pi"}, "0\\pi"),
    opened("SimpleQA", lambda i: {"metadata": "x", "problem": ask(i), "answer": f"{_PLACES[i % 12]} {i}"}),
    opened("NQ-open", lambda i: {"question": ask(i), "answer": [f"{right(i)} {i}", noun(i)]}),
    opened("TriviaQA", lambda i: {"question": ask(i), "question_id": f"t{i}", "answer": {"value": f"{right(i)} {i}", "aliases": [right(i), noun(i)]}}),
    opened("VQA", lambda i: {"question_type": "where is", "multiple_choice_answer": f"{right(i)} {i}", "answers": [{"answer": f"{right(i)} {i}", "answer_confidence": "yes", "answer_id": n + 1} for n in range(10)], "image_id": i, "answer_type": "other", "question_id": i * 10, "question": ask(i)}),
    opened("LoCoMo questions", lambda i: {"sample_id": f"conv-{i // 6}", "question": ask(i), "answer": f"{right(i)} {i}", "evidence": ["D1:3"], "category": 1 + i % 5}),
    opened("verl", lambda i: {"data_source": "gsm", "prompt": chat(ask(i)), "ability": "math", "reward_model": {"style": "rule", "ground_truth": str(i * 3)}}, "0"),
    opened("verl with its sources", lambda i: {"data_source": "openai/gsm8k", "prompt": chat(f"{ask(i)} Let's think step by step."), "ability": "math", "reward_model": {"style": "rule", "ground_truth": str(i * 3)}, "extra_info": {"split": "train", "index": i, "answer": f"{noun(i)} costs {i * 3}.\n#### {i * 3}", "question": ask(i)}}, "0", says="'####'"),
    opened("TriviaQA with its sources", lambda i: {"question": ask(i), "question_id": f"t{i}", "question_source": "s", "entity_pages": {"title": [], "wiki_context": []}, "search_results": {"title": [], "search_context": []}, "answer": {"aliases": [f"{right(i)} {i}", noun(i)], "normalized_aliases": [noun(i)], "normalized_value": f"{right(i)} {i}".lower(), "type": "WikipediaEntity", "value": f"{right(i)} {i}"}}),
    opened("AGIEval cloze", lambda i: {"passage": None, "question": ask(i), "options": None, "label": None, "answer": f"{right(i)} {i}", "other": {"solution": says(i), "level": 1, "type": "Algebra"}}),
    opened("GSM-Symbolic", lambda i: {"id": i // 3, "instance": i % 3, "question": ask(i), "answer": f"{says(i)}\n#### {i}", "original_id": i // 3, "original_question": ask(i + 1), "original_answer": f"{says(i + 1)}\n#### {i + 1}"}, "0", says="'####'"),
    opened("GSM-Plus", lambda i: {"question": ask(i), "solution": f"{says(i)} So it is {i * 3}.", "answer": str(i * 3), "perturbation_type": ("numerical variation", "distraction")[i % 2], "seed_question": ask(i + 1), "seed_solution": says(i + 1), "seed_answer": str(i)}, "0"),
    opened("LiveBench", lambda i: {"question_id": f"q{i}", "category": "reasoning", "turns": [ask(i)], "ground_truth": f"{right(i)} {i}", "task": "zebra_puzzle"}),
    opened("CRUXEval", lambda i: {"code": f"def f(x): return x + {i}", "input": str(i), "output": str(2 * i + 7), "id": f"sample_{i}"}, "7", "def f(x): return x + 0 0"),
    opened("FinQA", lambda i: {"id": f"f{i}", "pre_text": [says(i)], "table": [["a", "b"]], "question": ask(i), "answer": f"{i}.5%", "program_re": "divide(1, 2)"}, "0.5%"),
    opened("PopQA", lambda i: {"id": 900 + i, "subj": noun(i), "prop": "place", "obj": right(i), "s_pop": 142 + i, "question": ask(i), "possible_answers": f'["{right(i)} {i}", "{noun(i)}"]'}, options={"task": "open"}),
    opened("MuSiQue", lambda i: {"id": f"2hop__{i}", "paragraphs": [{"idx": 0, "title": noun(i), "paragraph_text": says(i), "is_supporting": True}], "question": ask(i), "answer": f"{right(i)} {i}", "answer_aliases": [noun(i)], "answerable": i % 4 > 0}, options={"task": "open"}),
    opened("DeepEval goldens", lambda i: {"input": ask(i), "actual_output": worse(i), "expected_output": better(i), "context": [says(i)], "retrieval_context": None}, better(0), f"{says(0)} {ask(0)}"),
    opened("Ragas", lambda i: {"user_input": ask(i), "retrieved_contexts": [says(i)], "response": worse(i), "reference": better(i)}, better(0), f"{says(0)} {ask(0)}"),
    opened("Alpaca", lambda i: {"instruction": ask(i), "input": says(i) if i % 2 else "", "output": better(i)}, better(0)),
    opened("messages that end with an answer", lambda i: {"messages": chat(ask(i), better(i))}, better(0), f"user: {ask(0)}"),
    opened("ShareGPT", lambda i: {"id": f"g{i}", "conversations": [{"from": "human", "value": ask(i)}, {"from": "gpt", "value": better(i)}]}, better(0), f"human: {ask(0)}"),
]  # fmt: skip

LAYOUTS = (*CHOICE, *PREFERENCE, *PAIR, *TEXT, *OPEN)
