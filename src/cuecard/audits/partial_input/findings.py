"""The findings of partial input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from cuecard.analysis import MEDIUM_GAIN, SEVERITIES, Evidence, Finding, Severity, Summary
from cuecard.audits.partial_input.judging import Baseline
from cuecard.audits.partial_input.measures import SPOKEN, spoken_carrier
from cuecard.audits.repetition import with_distinct_texts
from cuecard.data import Task
from cuecard.stats import format_p, state_probability
from cuecard.wording import listed, of_responses

EXAMPLES_SHOWN = 3
#: Features that a sentence names as carrying a score.
CARRIERS_NAMED = 3
#: Options of all questions that a sentence names.
OPTIONS_NAMED = 5
#: Where chance is below the first, a score of which the second is not surely gained is low, however well it ranks.
MANY_ANSWERS, LEAST_OF_MANY = 0.1, 0.04
LOWER_BOUND = "This is a lower bound: a stronger model may find more."

_NOUN = {"pair": "pairs", "choice": "questions", "preference": "preferences", "text": "texts"}
#: What the accuracy of a partial input is called, and what the model does not see.
_ACCURACY = {
    ("hypothesis_only", "pair"): ("Hypothesis-only accuracy", ""),
    ("premise_only", "pair"): ("Premise-only accuracy", ""),
    ("choices_only", "choice"): ("Choices-only accuracy", " (without the question)"),
    ("choices_only", "preference"): ("Choices-only accuracy", " (without the prompt)"),
}
#: What the probabilities of a model are about, where that is not the answer; and what each of them is given to.
_SOUGHT = {"preference": "preference"}
_OPTION = {"pair": "label", "text": "label", "choice": "choice", "preference": "response"}
_RULE = {
    "longest": "Always choosing the longest answer",
    "shortest": "Always choosing the shortest answer",
    "position": "A model that sees only the position of each choice",
    "length": "A model that sees only the length of the {}",
    "overlap": "A model that sees only the number of shared words",
    "metadata": "A model that sees only the extra columns",
    "rarest_choice": "Always choosing the answer that is rarest in the dataset",
    "commonest_choice": "Always choosing the answer that is most frequent in the dataset",
    "premise_least": "Predicting the least frequent training label of the premise",
    "premise_most": "Predicting the most frequent training label of the premise",
    "hypothesis_least": "Predicting the least frequent training label of the {}",
    "hypothesis_most": "Predicting the most frequent training label of the {}",
}
_SHORT = {
    "longest": "the longest answer",
    "shortest": "the shortest answer",
    "rarest_choice": "the rarest answer",
    "commonest_choice": "the most frequent answer",
    "metadata": "the extra columns",
    "premise_least": "the least frequent label of the premise",
    "premise_most": "the most frequent label of the premise",
    "hypothesis_least": "the least frequent label of the hypothesis",
    "hypothesis_most": "the most frequent label of the hypothesis",
}
#: What a test is about.
_TESTED = {"score": "probabilities", "hits": "hits", "places": "places", "figures": "numbers"}
#: What is associated with the label where that was tested without a model, whose intervals may include chance.
_FIGURES = {"length": "The length of the {}", "overlap": "The number of shared words"}
#: Families of cues that a rule covers as a whole.
_FAMILY = dict.fromkeys(("longest", "shortest", "length"), ("length:",))
_FAMILY |= {"position": ("position:",), "metadata": ("metadata:",)}
#: A rule below chance is its opposite above chance.
_OPPOSITE = {
    "longest": "shortest",
    "rarest_choice": "commonest_choice",
    "premise_least": "premise_most",
    "hypothesis_least": "hypothesis_most",
}
_OPPOSITE |= {opposite: rule for rule, opposite in _OPPOSITE.items()}


def partial_findings(
    summary: Summary,
    baselines: Sequence[Baseline],
    leaking: pl.DataFrame,
    task: Task,
    expect: Sequence[str] = (),
) -> list[Finding]:
    """Return a finding for every partial input that leaks, the best blind rule, and what is at chance.

    `expect` are relations of both texts, such as "overlap", that the user calls a part of the task.
    """
    if "fixed_options" in summary:
        fixed = summary["fixed_options"]
        places = [b for b in baselines if b.name == "position" and b.direction != "at"]
        beside = [_blind(places, task)] if places and not fixed["in_order"] else []
        return [_prior_of_options(fixed, baselines, task), *beside]
    findings = []
    for baseline in baselines:
        if baseline.kind == "partial" and baseline.direction != "at":
            evidence = _evidence(leaking) if baseline.name == summary["primary"] else ()
            findings.append(_leak(baseline, task, evidence, _carrying(summary, baseline)))
    full = [b for b in baselines if b.name == "full" and b.direction == "above"]
    findings += [_full_text(b, _carrying(summary, b)) for b in full if task == "text"]
    blind = [b for b in baselines if b.kind == "content-blind" and b.direction != "at"]
    if blind:
        findings.append(_blind(blind, task))
    quiet = [b for b in baselines if b.kind == "partial" and b.direction == "at"]
    findings += [_at_chance(b, task, summary["alpha"]) for b in quiet]
    relations = [b for b in baselines if b.kind == "relation" and b.direction == "above"]
    findings += [_relation(b, task, expected=b.name in expect) for b in relations]
    for name, shift in summary["inflation"].items():
        findings.append(_inflation(name, shift))
    return findings


def _prior_of_options(fixed: Summary, baselines: Sequence[Baseline], task: Task) -> Finding:
    """Return the one finding about questions that all offer the same options: these are labels with a prior.

    The length or the frequency of an answer is the same guess as the options themselves, and so is its place where the
    options are in one order.
    """
    model = next(b for b in baselines if b.name == "choices_only")
    other = () if fixed["in_order"] else ("position",)
    blind = [
        b for b in baselines if b.kind == "content-blind" and b.direction == "above" and b.name not in other
    ]
    guesses = "Length, position and frequency" if fixed["in_order"] else "Length and frequency"
    same = [f"{_short(b, task)} {_percent(b.accuracy)}" for b in blind]
    text = (
        f"Nearly all questions offer the same options ({listed(fixed['options'][:OPTIONS_NAMED])}), so options act as "
        f"labels: without the question, only how often each is right can be learned. “{fixed['most_frequent']}” is "
        f"right in {_percent(fixed['share'])} of {model.n:,} questions. Choices-only accuracy is "
        f"{_percent(model.accuracy)} (95 % CI {_percent(model.low)} to {_percent(model.high)}; chance "
        f"{_percent(model.chance)}; p = {_p(model)}). {guesses} of an answer are this same guess."
    )
    if model.direction != "above":
        return _finding(model, "info", "No option is right more often than chance", text)
    finding = _finding(
        model, severity_of_baseline(model), "The most frequent option predicts the answer", text
    )
    return replace(finding, parts=tuple(same))


def _carrying(summary: Summary, baseline: Baseline) -> str:
    """Return the sentence that says what carries the score of an input's model, if that is known."""
    score = summary.get("carried")
    if score is None and (baseline.information_low or 0.0) < 0:
        return " Its log score is not surely above that of chance, so it cannot be divided among features."
    if score is None or score["input"] != baseline.name:
        return ""
    if not score["listed"]:
        return " No single word carries a share of its log score beyond noise."
    carriers = [f"{spoken_carrier(row)} {_percent(row['share'])}" for row in score["listed"]]
    n, interval = len(carriers), f"95 % CI {_percent(score['low'])} to {_percent(score['high'])}"
    text = f" What carries it: {listed(carriers[:CARRIERS_NAMED])} of its held-out log score"
    if n > 1:
        text += f"; {n} features together {_percent(score['share'])} ({interval})"
    return f"{text}."


def _full_text(baseline: Baseline, carrying: str) -> Finding:
    """Return what predicts the label of a single text, which may be the task itself."""
    text = f"A linear model of words and length has an accuracy of {_score(baseline, 'text')}.{carrying}"
    text += " What the text says may be the task or a shortcut."
    return _finding(baseline, "info", "The words of the text predict the label", text)


def _leak(baseline: Baseline, task: Task, evidence: tuple[Evidence, ...], carrying: str) -> Finding:
    accuracy, unseen = _ACCURACY[baseline.name, task]
    text = f"{accuracy}{unseen} is {_score(baseline, task)}"
    if baseline.direction == "below":
        text += f". {_turned(baseline, task)}"
        title = f"{accuracy} is below chance"
    else:
        text += f"{_against_full(baseline)}{_beyond_accuracy(baseline, task)}{carrying} {LOWER_BOUND}"
        named = accuracy.replace("accuracy", "AUC") if _only_ranks(baseline) else accuracy
        title = f"{named} {_verb(baseline)} above chance"
    return _finding(baseline, severity_of_baseline(baseline), title, text, evidence)


def _turned(baseline: Baseline, task: Task) -> str:
    """Say what a score below chance gives away."""
    answer = "label" if task in ("pair", "text") else of_responses("answer", task)
    if baseline.turned is None or baseline.turned_low is None or baseline.turned_high is None:
        return f"An accuracy below chance is a leak, too: avoiding this {answer} is better than chance."
    opposite = (
        f"The least likely {answer} has an accuracy of {_percent(baseline.turned)} (95 % CI "
        f"{_percent(baseline.turned_low)} to {_percent(baseline.turned_high)})."
    )
    better = "avoiding the most likely one is better than chance"
    if baseline.turned_low > baseline.chance:
        better = "the opposite prediction is above chance"
    return f"An accuracy below chance is a leak, too: {better}. {opposite}"


def _beyond_accuracy(baseline: Baseline, task: Task) -> str:
    """Say what the probabilities know, and that accuracy may not show it."""
    if baseline.auc is None or baseline.auc_low is None or baseline.auc_high is None:
        return ""
    text = (
        f" AUC {baseline.auc:z.3f} (95 % CI {baseline.auc_low:z.3f} to {baseline.auc_high:z.3f}; chance 0.5)"
    )
    if baseline.information is not None and baseline.information > 0:
        text += f", {baseline.information:z.3f} bits about the {_SOUGHT.get(task, 'answer')}"
    if _unsure(baseline):
        model = ", so this model gains too little to be sure" if baseline.test == "figures" else ""
        text += (
            f". Both intervals include chance{model}; the test of the {_TESTED[baseline.test]} is significant "
            f"(p = {_p(baseline)})"
        )
    elif baseline.low <= baseline.chance:
        majority = ""
        if baseline.majority_predicted is not None and baseline.majority_predicted > 0.5:
            majority = (
                f"the model predicts the most frequent label for {_percent(baseline.majority_predicted)} of the "
                "examples, but "
            )
        text += (
            f". Accuracy alone does not show this leak: {majority}the probability of a "
            f"{_OPTION[task]} is associated with the correct {_SOUGHT.get(task, 'answer')} (p = {_p(baseline)})"
        )
    return f"{text}."


def _blind(blind: Sequence[Baseline], task: Task) -> Finding:
    above = {b.name for b in blind if b.direction == "above"}
    kept = [b for b in blind if b.direction == "above" or _OPPOSITE.get(b.name) not in above]
    best = max(kept, key=_given_away)
    rest = [
        f"{_short(b, task)} {_percent(b.accuracy)}"
        for b in kept
        if b is not best and (b.direction == "below" or b.accuracy > b.chance)
    ]
    unit = " (in characters)" if best.name in ("longest", "shortest") else ""
    text = f"{_rule(best, task)}{unit} has an accuracy of {_score(best, task)}"
    text += f". Other accuracies: {listed(rest)}." if rest else "."
    if best.direction == "below":
        text += f" {_turned(best, task)}"
    else:
        text += _beyond_accuracy(best, task)
    beats = "beats chance" if best.direction == "above" else "scores below chance"
    if best.direction == "above" and best.low <= best.chance:  # no better than the majority, and yet no luck
        beats = "is associated with the label"
    title = _auc_title(best, task) if _only_ranks(best) else f"{_rule(best, task)} {beats}"
    return _finding(best, severity_of_baseline(best), title, text)


def _given_away(baseline: Baseline) -> tuple[int, float]:
    """Return what the strongest rule has most of: severity, then the part of what chance leaves that it gives away."""
    return -SEVERITIES.index(severity_of_baseline(baseline)), max(_gains(baseline))


def _at_chance(baseline: Baseline, task: Task, alpha: float) -> Finding:
    accuracy, unseen = _ACCURACY[baseline.name, task]
    title = f"{accuracy} does not differ from chance"
    verdict = "The difference is not significant"
    if baseline.q_value <= alpha:
        title = f"{accuracy} is not surely below chance"
        tested = _TESTED[baseline.test]
        verdict = f"The test of the {tested} is significant below chance, but no interval excludes chance"
    text = (
        f"{accuracy}{unseen} is {_score(baseline, task)}. {verdict} "
        f"(p = {_p(baseline)}; adjusted for all baselines tested, {state_probability('q', baseline.q_value)})."
    )
    if baseline.detectable_auc is not None:
        text += (
            f" On a dataset of this size, the test detects an AUC of {baseline.detectable_auc:z.3f} or more with a "
            "power of 80 %. It may miss smaller leaks, and leaks that this model cannot learn."
        )
    return _finding(baseline, "info", title, text)


def _relation(baseline: Baseline, task: Task, *, expected: bool) -> Finding:
    """Return what a relation of both texts predicts, which may be the task: of pairs it is at most medium.

    Of answers, the rule of most shared words is a finding of its own, and sharing more goes with being longer.
    """
    ranks = _only_ranks(baseline)
    severity: Severity = "info" if expected or task != "pair" else severity_of_baseline(baseline)
    what = "so this may be the task or a shortcut; a model should exceed this accuracy."
    if severity != "info":
        what += f" If it is the task, type --expect {baseline.name}."
    elif expected:
        what = "which is expected as a part of the task (--expect)."
    text = (
        f"{_rule(baseline, task)} has an accuracy of {_score(baseline, task)}."
        f"{_beyond_accuracy(baseline, task) if ranks else ''} Shared words compare the two texts, {what}"
    )
    title = _auc_title(baseline, task) if ranks else f"{_rule(baseline, task)} beats chance"
    return _finding(baseline, "medium" if severity == "high" else severity, title, text)


def _inflation(name: str, shift: Mapping[str, float]) -> Finding:
    grouping = next(key for key in shift if key not in {"example", "difference"})
    text = (
        f"If training and scored examples share sentences, the accuracy of {name.replace('_', ' ')} is "
        f"{_percent(shift['example'])}. If examples with the same {grouping} stay in one fold, it is "
        f"{_percent(shift[grouping])}: a difference of {100 * shift['difference']:+z.1f} points."
    )
    title = f"Shared sentences and {name.replace('_', ' ')}"
    return Finding("partial_input", "info", title, text, key=f"{name}/shared-sentences")


def severity_of_baseline(baseline: Baseline) -> Severity:
    """Return how much of the way from chance to perfect a score surely goes, in words.

    Below chance it is the score turned round. Where accuracy shows nothing, 2 · AUC − 1 does: it is the same share of
    the way for ranking.
    """
    if baseline.direction == "below" and baseline.turned_low is None:
        return "medium" if _gains(baseline)[0] >= MEDIUM_GAIN else "low"
    if _unsure(baseline):
        return "low" if baseline.test == "figures" else "info"
    gain, ranking = _gains(baseline)
    if baseline.chance < MANY_ANSWERS and gain < LEAST_OF_MANY:
        return "low"  # a ranking of many answers that hardly ever names the right one inflates no score
    if gain >= 0.15 or ranking >= 0.4:
        return _capped(baseline, "high")
    return "medium" if gain >= 0.04 or ranking >= 0.15 else "low"


def _gains(baseline: Baseline) -> tuple[float, float]:
    """Return how far accuracy and ranking surely get from chance to perfect; below chance, turned round."""
    low: float | None = baseline.low
    auc_low = baseline.auc_low
    if baseline.direction == "below":
        low = baseline.turned_low
        auc_low = None if baseline.auc_high is None else 1 - baseline.auc_high
    ranking = 0.0 if auc_low is None else 2 * auc_low - 1
    if low is None:  # of 1 / luck answers, one is avoided, and each of the others may be the right one
        avoided = (baseline.luck - baseline.high) * baseline.luck
        return avoided / max(1 - baseline.luck, 1e-9) ** 2, ranking
    return (low - baseline.chance) / max(1 - baseline.chance, 1e-9), ranking


def _capped(baseline: Baseline, severity: Severity) -> Severity:
    """Return the severity; extra columns are rarely given to a model, so they are at most of medium weight."""
    return "medium" if baseline.name == "metadata" else severity


def _rule(baseline: Baseline, task: Task) -> str:
    rule = _RULE[baseline.name].format({"pair": "hypothesis", "text": "text"}.get(task, "answers"))
    return of_responses(rule, task)


def _score(baseline: Baseline, task: Task) -> str:
    copies = "" if baseline.units is None else with_distinct_texts(baseline.n, baseline.units, task)
    accuracy = f"{_percent(baseline.accuracy)} on {baseline.n:,} {_NOUN[task]}{copies}"
    chance = "the majority baseline" if task in ("pair", "text") else "chance"
    text = (
        f"{accuracy} (95 % CI {_percent(baseline.low)} to {_percent(baseline.high)}); {chance} is "
        f"{_percent(baseline.chance)}"
    )
    if baseline.kind == "content-blind" and baseline.auc is None and baseline.luck < baseline.chance - 0.0005:
        text += f", and chance for these predictions is {_percent(baseline.luck)}"
    return text


def _against_full(baseline: Baseline) -> str:
    if baseline.percent_r is None:
        return "."
    full = _percent(baseline.accuracy / baseline.percent_r)
    return f". With the full input, the same model has an accuracy of {full}."


def _short(baseline: Baseline, task: Task) -> str:
    return of_responses(_SHORT.get(baseline.name, f"{baseline.name} only"), task)


def _p(baseline: Baseline) -> str:
    return format_p(baseline.log10_p)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:z.1f} %"


def _evidence(leaking: pl.DataFrame) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(row["example_id"], row["split"], row["label"], row["hypothesis"], row["premise"])
        for row in leaking.head(EXAMPLES_SHOWN).iter_rows(named=True)
    )


def _finding(
    baseline: Baseline, severity: Severity, title: str, text: str, evidence: tuple[Evidence, ...] = ()
) -> Finding:
    finding = Finding(
        section="partial_input",
        severity=severity,
        title=title,
        text=text,
        value=baseline.accuracy,
        low=baseline.low,
        high=baseline.high,
        chance=baseline.chance,
        n=baseline.n,
        evidence=evidence,
        key=baseline.name,
        words=_FAMILY.get(baseline.name, ()),
        q_value=baseline.q_value,
    )
    return _by_ranking(finding, baseline) if _only_ranks(baseline) else finding


def _only_ranks(baseline: Baseline) -> bool:
    """Return whether the AUC shows a leak that the accuracy does not."""
    return baseline.direction == "above" and baseline.low <= baseline.chance and baseline.auc is not None


def _unsure(baseline: Baseline) -> bool:
    """Return whether the test of the probabilities is significant, but neither interval excludes chance."""
    return _only_ranks(baseline) and baseline.auc_low is not None and baseline.auc_low <= 0.5


def _verb(baseline: Baseline) -> str:
    return "may be" if _unsure(baseline) else "is"


def _auc_title(baseline: Baseline, task: Task) -> str:
    if _unsure(baseline) and baseline.test == "figures":
        what = _FIGURES[baseline.name].format({"pair": "hypothesis"}.get(task, "text"))
        return f"{what} is associated with the label"
    spoken = of_responses(SPOKEN.get(baseline.name, baseline.name), task)
    return f"{spoken.capitalize()} AUC {_verb(baseline)} above chance"


def _by_ranking(finding: Finding, baseline: Baseline) -> Finding:
    """Return the finding with the AUC as its number: the accuracy beside its chance would contradict its title.

    An association that was tested without the model has no number of the model's, whose intervals include chance.
    """
    if _unsure(baseline) and baseline.test == "figures":
        return replace(finding, value=None, low=None, high=None, chance=None)
    return replace(
        finding, value=baseline.auc, low=baseline.auc_low, high=baseline.auc_high, chance=0.5, unit="score"
    )
