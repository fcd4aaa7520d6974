"""Prompts about the test examples, and a model's answers to them as a table of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import polars as pl

from cuecard.analysis import Row
from cuecard.data import Instances
from cuecard.data.answer_texts import normal_answers
from cuecard.data.examples import Examples
from cuecard.data.reading.formats import check_regular, shown
from cuecard.errors import InputError, UsageError
from cuecard.models.answers import AnswerCache, Question, Reply
from cuecard.models.endpoint import Endpoint
from cuecard.probes.examples import check_test
from cuecard.probes.formats.answer_parsing import likeliest_answer, parsed_answer, structured_answer
from cuecard.probes.formats.table import INPUT, NOT_ASKED, ORDER, READ_FROM, SHOWN
from cuecard.probes.prompts.inputs import FULL, NOT_SHOWN, OPEN, Input, ShownTexts, shown_texts
from cuecard.probes.prompts.orders import Order, orders_of
from cuecard.registry import unknown_name

__all__ = ["BUILT_IN", "Prompt", "Request", "answers_table", "find_prompt", "prompted_answers", "requests"]

#: Built-in prompts: their template, and whether they ask to think step by step.
BUILT_IN = {
    "short": ("short.j2", False),
    "alternative": ("alternative.j2", False),
    "short-steps": ("short.j2", True),
    "alternative-steps": ("alternative.j2", True),
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

SHORT_ANSWER, LONG_ANSWER = 16, 512
#: Characters of reasoning in a structured answer, so that a model that repeats itself still comes to its answer.
MOST_REASONING = 1000


OPEN_ANSWER = 48
#: The prompt that asks without options, whatever prompt is asked with them.
_OPEN_TEMPLATE = "{{ premise }}\n\nAnswer in a few words and nothing else."


@dataclass(frozen=True)
class Prompt:
    """A named template; a prompt with steps gets room to think and is read from its text."""

    name: str
    source: str
    steps: bool = False

    def render(
        self, examples: Examples, i: int, order: Order | None = None, texts: ShownTexts | None = None
    ) -> str:
        """Return the prompt about one test example, with its options in an order, or with a part of its texts."""
        choices = examples.choices[i].to_list()
        labels = list(examples.instances.labels)
        if order is not None and examples.grouped:
            choices = [choices[k] for k in order]
        elif order is not None:
            labels = [labels[k] for k in order]
        if texts is not None and not texts.hypotheses:
            choices = [NOT_SHOWN] * len(choices)
        values = {
            "task": examples.instances.task,
            "premise": (texts.premises if texts is not None else examples.premises)[i],
            "hypothesis": choices[0],
            "choices": choices,
            "letters": LETTERS,
            "labels": labels,
            "answers": list(LETTERS[: len(choices)]) if examples.grouped else labels,
            "steps": self.steps,
        }
        from cuecard.probes.prompts.filling import filled

        return filled(self.source, values, f"The prompt {self.name!r}")


def find_prompt(name: str) -> Prompt:
    """Return a built-in prompt by its name, or the template in a file; steps if its name ends in `-steps`."""
    if name in BUILT_IN:
        file, steps = BUILT_IN[name]
        source = (
            resources.files("cuecard.probes.prompts").joinpath("templates", file).read_text(encoding="utf-8")
        )
        return Prompt(name, source, steps)
    path = Path(name)
    if path.suffix not in (".j2", ".jinja", ".txt"):
        raise unknown_name("prompt", name, [*BUILT_IN, "a template file such as mine.j2"])
    try:
        check_regular(path, rows=False)
        source = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the template cannot be read ({error}).") from None
    from cuecard.probes.prompts.filling import compiled

    compiled(source, f"The template {shown(path)}")
    return Prompt(path.stem, source, path.stem.endswith("-steps"))


@dataclass(frozen=True)
class Request:
    """One question about one test example: with which prompt, what of its texts, and its options in which order."""

    prompt: Prompt
    input: Input
    number: int
    example: int
    order: Order | None  # None where the example is not asked so
    question: Question | None


def requests(
    data: Instances,
    prompts: Sequence[Prompt],
    *,
    inputs: Sequence[Input] = (FULL,),
    permute: str | None = None,
    structured: bool = False,
    seed: int = 0,
) -> list[Request]:
    """Return what is asked about the test examples, by prompt, input, order and example.

    Every order has a row per example; an example with fewer orders than others is not asked in the further ones.
    """
    examples = check_test(data)
    most = int(examples.sizes.max(initial=0))
    if data.grouped and most > len(LETTERS):
        raise UsageError(
            f"A test question has {most:,} choices, but prompts name choices by letter, {len(LETTERS)} at most: "
            "leave out such questions, or give the model's answers with --predictions FILE."
        )
    orders = [_orders(examples, i, permute, seed) for i in range(len(examples))]
    texts = {name: shown_texts(examples, name) for name in inputs}
    asked = []
    for prompt in prompts:
        for name in inputs:
            # Without options there is nothing to permute.
            count = 1 if name == OPEN else max(map(len, orders))
            for number in range(count):
                for i, own in enumerate(orders):
                    order = own[number] if number < len(own) and texts[name].asked[i] else None
                    question = None
                    if order is not None:
                        question = _question(prompt, examples, i, name, order, texts[name], structured)
                    asked.append(Request(prompt, name, number, i, order, question))
    return asked


def _orders(examples: Examples, i: int, permute: str | None, seed: int) -> list[Order]:
    """Return the orders in which an example is asked: of its options, or of the labels that it may have."""
    data = examples.instances
    options = (
        examples.choices[i].to_list() if data.grouped else [f"label {k}" for k in range(len(data.labels))]
    )
    # The data have the preferred response first, which a model must not be shown.
    return orders_of(options, permute, seed=f"{seed}/{examples.ids[i]}", shuffled=data.task == "preference")


def _question(
    prompt: Prompt,
    examples: Examples,
    i: int,
    name: Input,
    order: Order,
    texts: ShownTexts,
    structured: bool,
) -> Question:
    """Return what is asked about one test example."""
    if name == OPEN:
        free = replace(prompt, source=_OPEN_TEMPLATE)
        return Question(free.render(examples, i, order, texts), max_tokens=OPEN_ANSWER)
    text = prompt.render(examples, i, order, None if name == FULL else texts)
    if not structured:
        room = LONG_ANSWER if prompt.steps else SHORT_ANSWER
        return Question(text, max_tokens=room, logprobs=not prompt.steps)
    possible = possible_answers(examples, order)
    # Enough for braces, names, reasoning and answer, even if every letter is a token.
    room = 64 + max(map(len, possible)) + (MOST_REASONING if prompt.steps else 0)
    return Question(text, max_tokens=room, schema=answer_schema(possible, steps=prompt.steps))


def possible_answers(examples: Examples, order: Order) -> list[str]:
    """Return what may be answered: the labels in the order shown, or a letter per choice."""
    if examples.grouped:
        return list(LETTERS[: len(order)])
    return [examples.instances.labels[k] for k in order]


def answer_schema(possible: Sequence[str], *, steps: bool) -> Row:
    """Return the JSON schema of an answer: one of the possible ones, behind the reasoning if steps are asked for."""
    answer = {"answer": {"type": "string", "enum": list(possible)}}
    fields = {"reasoning": {"type": "string", "maxLength": MOST_REASONING}} | answer if steps else answer
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def prompted_answers(
    data: Instances,
    endpoint: Endpoint,
    prompts: Sequence[Prompt],
    *,
    inputs: Sequence[Input] = (FULL,),
    permute: str | None = None,
    structured: bool = False,
    cache: AnswerCache | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return a model's answers to the test examples, as `read_predictions` takes them.

    There is one row per prompt, input, order and example. The log-probabilities of the first token decide where the
    endpoint gives them, no steps were asked for and the answers hold at least half of the probability; otherwise the
    text is read (column `read_from`). With `structured`, the endpoint lets the model write nothing but JSON with one of
    the possible answers. Answers that cannot be read are null, never guessed.
    """
    asked = requests(data, prompts, inputs=inputs, permute=permute, structured=structured, seed=seed)
    # Asked in one go, so that a budget is one for all prompts.
    replies = iter(endpoint.ask([one.question for one in asked if one.question is not None], cache))
    return answers_table(
        asked, [None if one.question is None else next(replies) for one in asked], check_test(data)
    ).insert_column(1, pl.lit(endpoint.model).alias("model"))


def answers_table(
    asked: Sequence[Request], replies: Sequence[Reply | None], examples: Examples
) -> pl.DataFrame:
    """Return the answers that replies hold, a row per request; what is answered is said by content, not by letter."""
    read = [_read(one, reply, examples) for one, reply in zip(asked, replies, strict=True)]
    return pl.DataFrame(
        {
            "example_id": examples.ids.cast(pl.String).gather([one.example for one in asked]),
            "prompt_name": [one.prompt.name for one in asked],
            INPUT: [str(one.input) for one in asked],
            ORDER: pl.Series([one.number for one in asked], dtype=pl.Int64),
            SHOWN: pl.Series(
                [None if one.order is None else " ".join(map(str, one.order)) for one in asked],
                dtype=pl.String,
            ),
            "prediction": pl.Series([answer for answer, _ in read], dtype=pl.String),
            READ_FROM: pl.Series([how for _, how in read], dtype=pl.String),
        }
    )


def _read(request: Request, reply: Reply | None, examples: Examples) -> tuple[str | None, str | None]:
    """Return the answer that a reply holds, and what it was read from."""
    if reply is None or request.order is None:
        return None, NOT_ASKED
    names, order = examples.answer_names, request.order
    if request.input == OPEN:
        place = open_answer(reply.text, examples.choices[request.example].to_list())
        return (None, None) if place is None else (names[place], "text")
    possible = possible_answers(examples, order)
    shares = {} if request.prompt.steps else likeliest_answer(reply.first_tokens, possible)
    if shares:
        return names[order[possible.index(max(shares, key=shares.__getitem__))]], "probability"
    texts: list[str] = []
    if examples.grouped:
        choices = examples.choices[request.example].to_list()
        texts = [choices[k] for k in order]
    picked = structured_answer(reply.text, possible)
    picked = picked or parsed_answer(reply.text, possible, texts, cut=reply.cut)
    return (None, None) if picked is None else (names[order[possible.index(picked)]], "text")


def open_answer(text: str, choices: Sequence[str]) -> int | None:
    """Return the choice that a free answer is, or the only one that it names, compared as open answers are.

    >>> open_answer("A cat.", ["the cat", "the dog"])
    0
    """
    *options, answer = normal_answers(pl.Series([*choices, text])).to_list()
    if options.count(answer) == 1:
        return options.index(answer)
    said = parsed_answer(answer, options) if len(set(options)) == len(options) and all(options) else None
    return None if said is None else options.index(said)
