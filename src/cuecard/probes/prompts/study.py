"""Prompt study: the same examples asked with several prompts; which one leans least on a cue? (ICQ 5)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Skip, interval
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.reading.formats import check_regular, shown
from cuecard.errors import InputError, UsageError
from cuecard.features.cue_names import spoken_cue
from cuecard.models.endpoint import AnswerCache, Endpoint, Question, Reply
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.distribution import DistributionTest
from cuecard.probes.examples import check_test
from cuecard.probes.formats.answer_parsing import likeliest_answer, parsed_answer, structured_answer
from cuecard.probes.formats.table import READ_FROM
from cuecard.probes.predictions import Predictions, Probe
from cuecard.probes.prompts.view import prompts_view
from cuecard.registry import unknown_name
from cuecard.wording import plural, points

#: Built-in prompts: their template, and whether they ask to think step by step.
BUILT_IN = {
    "short": ("short.j2", False),
    "alternative": ("alternative.j2", False),
    "short-steps": ("short.j2", True),
    "alternative-steps": ("alternative.j2", True),
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

NAME = "prompts"
ACCURACY = MeasureKind("accuracy.{model}", "accuracy with the prompt {model}", "share", "lower")
UNANSWERED_SHARE = MeasureKind(
    "unanswered.{model}", "unanswered examples with the prompt {model}", "share", "higher"
)


def prompt_measures(summary: Row) -> list[Measure]:
    """Return the accuracy with every prompt, and how many answers could not be read."""
    n = summary["n"]
    return [
        kind.of(NAME, value, n=n, model=model)
        for model, part in summary["prompts"].items()
        for kind, value in ((ACCURACY, part["accuracy"]), (UNANSWERED_SHARE, part["unanswered"] / n))
    ]


SHORT_ANSWER, LONG_ANSWER = 16, 512
#: Characters of reasoning in a structured answer, so that a model that repeats itself still comes to its answer.
MOST_REASONING = 1000


@dataclass(frozen=True)
class Prompt:
    """A named template; a prompt with steps gets room to think and is read from its text."""

    name: str
    source: str
    steps: bool = False

    def render(self, examples: Examples, i: int) -> str:
        """Return the prompt about one test example."""
        choices = examples.choices[i].to_list()
        values = {
            "task": examples.instances.task,
            "premise": examples.premises[i],
            "hypothesis": choices[0],
            "choices": choices,
            "letters": LETTERS,
            "labels": list(examples.instances.labels),
            "answers": possible_answers(examples, i),
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


def possible_answers(examples: Examples, i: int) -> list[str]:
    """Return what may be answered: the labels, or a letter per choice."""
    if examples.instances.grouped:
        return list(LETTERS[: int(examples.sizes[i])])
    return list(examples.instances.labels)


def prompted_answers(
    data: Instances,
    endpoint: Endpoint,
    prompts: Sequence[Prompt],
    *,
    structured: bool = False,
    cache: AnswerCache | None = None,
) -> pl.DataFrame:
    """Return a model's answers to the test examples, one row per prompt and example, as `read_predictions` takes them.

    The log-probabilities of the first token decide where the endpoint gives them, no steps were asked for and
    the answers hold at least half of the probability; otherwise the text is read (column `read_from`).
    With `structured`, the endpoint lets the model write nothing but JSON with one of the possible answers.
    Answers that cannot be read are null, never guessed.
    """
    examples = check_test(data)
    most = int(examples.sizes.max(initial=0))
    if data.grouped and most > len(LETTERS):
        raise UsageError(
            f"A test question has {most:,} choices, but prompts name choices by letter, {len(LETTERS)} at most: "
            "leave out such questions, or give the model's answers with --predictions FILE."
        )
    questions = [
        _question(prompt, examples, i, structured) for prompt in prompts for i in range(len(examples))
    ]
    # Asked in one go, so that a budget is one for all prompts.
    replies = endpoint.ask(questions, cache)
    parts = [replies[k * len(examples) : (k + 1) * len(examples)] for k in range(len(prompts))]
    tables = [_answers(prompt, part, examples) for prompt, part in zip(prompts, parts, strict=True)]
    return pl.concat(tables).insert_column(1, pl.lit(endpoint.model).alias("model"))


def _question(prompt: Prompt, examples: Examples, i: int, structured: bool) -> Question:
    """Return what is asked about one test example."""
    text = prompt.render(examples, i)
    if not structured:
        room = LONG_ANSWER if prompt.steps else SHORT_ANSWER
        return Question(text, max_tokens=room, logprobs=not prompt.steps)
    possible = possible_answers(examples, i)
    # Enough for braces, names, reasoning and answer, even if every letter is a token.
    room = 64 + max(map(len, possible)) + (MOST_REASONING if prompt.steps else 0)
    return Question(text, max_tokens=room, schema=answer_schema(possible, steps=prompt.steps))


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


def _answers(prompt: Prompt, replies: Sequence[Reply], examples: Examples) -> pl.DataFrame:
    """Return the answers that the replies to one prompt hold."""
    predictions: list[str | None] = []
    read_from: list[str | None] = []
    names = examples.answer_names
    for i, reply in enumerate(replies):
        possible = possible_answers(examples, i)
        shares = {} if prompt.steps else likeliest_answer(reply.first_tokens, possible)
        picked = max(shares, key=shares.__getitem__) if shares else None
        how = "probability"
        if picked is None:
            texts = examples.choices[i].to_list() if examples.instances.grouped else ()
            picked = structured_answer(reply.text, possible)
            picked = picked or parsed_answer(reply.text, possible, texts, cut=reply.cut)
            how = "text"
        predictions.append(None if picked is None else names[possible.index(picked)])
        read_from.append(None if picked is None else how)
    return pl.DataFrame(
        {
            "example_id": examples.ids.cast(pl.String),
            "prompt_name": [prompt.name] * len(replies),
            "prediction": pl.Series(predictions, dtype=pl.String),
            READ_FROM: pl.Series(read_from, dtype=pl.String),
        }
    )


@dataclass(frozen=True)
class PromptStudy(Probe):
    """Which of several prompts has the smallest accuracy gap, and how each leans on flattened examples.

    Args:
        alpha: level of the q-values over the cues.
        draws: seeded samples of the distribution test.
        seed: seed of the samples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Prompt study"
    view = staticmethod(prompts_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "prompts", "cues"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, UNANSWERED_SHARE)

    alpha: float = 0.05
    draws: int = 200
    seed: int = 0

    def run(self, data: Instances, prompts: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per prompt and cue, and the prompt with the smallest |ΔAcc| of every cue."""
        if not len(cues):
            raise Skip("needs at least one cue to compare prompts")
        table = pl.concat([self._of_prompt(model, cues) for model in prompts])
        best = (
            table.drop_nans("gap")
            .with_columns(size=pl.col("gap").abs())
            .sort("size", maintain_order=True)
            .unique(["family", "feature"], keep="first", maintain_order=True)
        )
        summary = {
            "prompts": {
                model.model: {
                    "unanswered": model.unanswered,
                    "accuracy": float(model.correct(cues.examples).mean()),
                    "how": list(model.notes),
                }
                for model in prompts
            },
            "smallest_gap": {row["feature"]: row["model"] for row in best.iter_rows(named=True)},
            "n": len(cues.examples),
        }
        findings = [_finding(row, table) for row in best.iter_rows(named=True)]
        return Result(summary, {NAME: table}, findings, measures=prompt_measures(summary))

    def _of_prompt(self, model: Predictions, cues: CueSet) -> pl.DataFrame:
        leans = DistributionTest(draws=self.draws, alpha=self.alpha, seed=self.seed).tested(model, cues)[1]
        gaps = accuracy_table(model, cues, alpha=self.alpha)
        return pl.concat(
            [
                gaps.with_columns(prompt=pl.lit(model.prompt), unanswered=pl.lit(model.unanswered)),
                leans.select("usual_share", "flat", "amplification", lean_q="q_value"),
            ],
            how="horizontal",
        )


def _finding(best: Row, table: pl.DataFrame) -> Finding:
    name = spoken_cue(best["family"], best["feature"])
    rows = table.filter((pl.col("family") == best["family"]) & (pl.col("feature") == best["feature"]))
    gaps = ", ".join(f"{row['prompt']} {points(row['gap'])}" for row in rows.iter_rows(named=True))
    text = (
        f"Accuracy gaps (with {name} minus without), in points: {gaps}. The prompt “{best['prompt']}” has the smallest "
        f"gap (95 % CI {points(best['gap_low'])} to {points(best['gap_high'])}; "
        f"{plural(best['with_cue'], 'test example')} with the cue). Prompts with overlapping CIs cannot be ranked."
    )
    title = f"The prompt “{best['prompt']}” has the smallest accuracy gap for {name}"
    gap = interval(best, "gap", "gap_") | {"chance": 0.0, "n": best["with_cue"]}
    key = f"{best['family']}:{best['feature']}"
    return Finding(NAME, "info", title, text, **gap, unit="points", key=key)
