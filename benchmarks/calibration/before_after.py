"""What used to be concluded on difficult data, and what is now: `python -m benchmarks.calibration.before_after`.

*Before* are figures of versions that took every row for an independent example, weights for known and hits for all
there is to see. *Now* is computed when this runs: on public datasets where they exist, otherwise on generated ones of
the same shape. Figures that need many simulated datasets are in the sections of the calibration page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

import cuecard as cc
from benchmarks.calibration.units import significant_under_blocks, small_cue_shares
from benchmarks.demo_shapes import demo_elimination, demo_long_answers, demo_rare_choices, demo_unbalanced
from cuecard.audits import Clusters, Cues, Overview, PartialInput
from cuecard.audits.cues.statistics import independent
from cuecard.data import Instances
from cuecard.features import count_cues
from cuecard.report.verdict import verdict
from cuecard.stats import q_values
from cuecard.stats.cues.association import strength_given_group

#: What it is about, the figure before, and what computes the figure now from the folder of public datasets.
Case = tuple[str, str, Callable[[Path], str]]


def _load(data: Path, train: str, test: str | None = None) -> Instances:
    held_out = None if test is None else pl.read_parquet(data / f"{test}.parquet")
    return cc.load(pl.read_parquet(data / f"{train}.parquet"), test=held_out)


def _baseline(data: Instances, name: str) -> dict[str, Any]:
    lines = PartialInput(learning_curve=False, cross_fit=False).run(data).summary["baselines"]
    return next(line for line in lines if line["name"] == name)


def few_hypotheses(_: Path) -> str:
    """Features that are significant where 171 hypotheses have a random label each."""
    counts = significant_under_blocks(2, seed=20_000)
    return ", ".join(f"{significant} of {tested}" for significant, tested in counts)


def hopeless_tests(data: Path) -> str:
    """Associations of SICK's training set, without and with the tests that cannot be significant."""
    audit = Cues()
    loaded = _load(data, "sick/train")
    every_row = loaded.with_columns(row=pl.int_range(len(loaded), eager=True)).clustered_by("row")
    texts = []
    for copies, instances in ((False, every_row), (True, loaded)):
        encoded, families = audit.prepared(instances)
        counts = count_cues(encoded, families, minimum=audit.min_count)
        by_label = [f"train_{label}" for label in counts.labels]
        features = counts.features.filter(pl.sum_horizontal(by_label) >= audit.min_count)
        prior = counts.totals[0] / counts.totals[0].sum()
        null = independent(counts, features, features.select(by_label).to_numpy(), prior, known_prior=False)
        log_p, least = null.log_p.ravel(), null.least_log_p.ravel()
        plain, mended = (
            int((q <= audit.alpha).sum())
            for q in (q_values(log_p), q_values(log_p, least_log_p=least, alpha=audit.alpha))
        )
        texts.append(
            f"{plain} → {mended} {'with copies counted once' if copies else 'with every row counted'}"
        )
    return "; ".join(texts)


def sick_hypothesis(data: Path) -> str:
    """The test of SICK's hypotheses alone."""
    line = _baseline(_load(data, "sick/train", "sick/test"), "hypothesis_only")
    return f"p = {line['p_value']:.0e} (AUC {line['auc']:.3f}, {line['information']:.3f} bits)"


def ranked_well(_: Path) -> str:
    """The test of a hypothesis that ranks a rare label well and never names it."""
    line = _baseline(demo_unbalanced(2_000, strength=0.5, seed=20_000), "hypothesis_only")
    return f"p = {line['p_value']:.0e} (AUC {line['auc']:.2f}; by hits p = {line['hits_p_value']:.2g})"


def ranked_questions(_: Path) -> str:
    """The test of questions that rank "yes" a little, too little to be more accurate than always "no"."""
    line = _baseline(demo_unbalanced(6_000, rare=0.12, strength=0.27, seed=20_000), "hypothesis_only")
    return f"p = {line['p_value']:.0e} (AUC {line['auc']:.3f}; by hits p = {line['hits_p_value']:.2g})"


def mixed_clusters(_: Path) -> str:
    """A cluster that has a choice of every question with two choices, among questions with two to four."""
    rng = np.random.default_rng(20_000)
    rows = []
    for i in range(1_500):
        k = int(rng.integers(2, 5))
        answer = int(rng.random() >= 0.57) if k == 2 else int(rng.integers(k))
        topics = ["fruit tree" if k == 2 and j == 0 else "stone wall" for j in range(k)]
        choices = [topic + "".join(f" w{w}" for w in rng.integers(0, 400, 4)) for topic in topics]
        rows.append({"question": f"q{i}", "choices": choices, "answer": answer})
    table = Clusters(k=2, map="none", sweep=False).run(cc.load(pl.DataFrame(rows))).tables["clusters"]
    row = table.row(by_predicate=pl.col("label") == "right", named=True)
    everywhere = len(rows) / table["size"].sum()
    return (
        f"{row['share']:.0%} where {row['prior']:.0%} is chance ({everywhere:.0%} of all choices are right)"
    )


def words_of_texts(_: Path) -> str:
    """The first finding about reviews with a telling word, and more exclamation marks in one class."""
    rng = np.random.default_rng(20_000)
    negative = rng.random(2_000) < 0.5
    worst = rng.random(2_000) < np.where(negative, 0.3, 0.01)
    marked = rng.random(2_000) < np.where(negative, 0.1, 0.5)
    words = np.char.add("w", rng.integers(0, 400, (2_000, 8)).astype(str))
    words[worst, 0] = "worst"
    texts = [" ".join(row) + "!" * int(mark) for row, mark in zip(words, marked, strict=True)]
    rows = pl.DataFrame({"text": texts, "label": np.where(negative, "negative", "positive")})
    findings = cc.audit(cc.load(rows), only=["partial_input", "cues"]).findings
    of_word = next(one for one in findings if "worst" in one.title)
    return f"first, {findings[0].severity}: {findings[0].title}; {of_word.severity}: {of_word.title}"


def half_of_a_rare_label(_: Path) -> str:
    """A word at 50 % of a label whose share is 11 %."""
    rng = np.random.default_rng(20_000)
    labels = rng.choice(["a", "b", "c"], 2_000, p=[0.11, 0.39, 0.5])
    has = rng.random(2_000) < np.where(labels == "a", 0.5, 0.0618)
    rows = {"text": [f"x{i} {'word' if h else 'other'}" for i, h in enumerate(has)], "label": labels}
    row = Cues(features=("word",)).run(cc.load(pl.DataFrame(rows))).tables["cues"]
    cue = row.row(by_predicate=pl.col("feature") == "word", named=True)
    return f"{'a' if cue['is_cue'] else 'no'} cue, {cue['share']:.0%} {cue['label']}, z = {cue['z']:.0f}"


def one_sentence_58_times(_: Path) -> str:
    """A word of one sentence that occurs 58 times, always with one label, among 1,000 others."""
    rng = np.random.default_rng(20_000)
    texts = [" ".join(f"w{w}" for w in row) for row in rng.integers(0, 300, (1_000, 8))] + [
        "one telling word"
    ] * 58
    labels = [*rng.choice(["a", "b"], 1_000), *["a"] * 58]
    rows = pl.DataFrame({"text": texts, "label": labels})
    cues = Cues(features=("word",)).run(cc.load(rows)).tables["cues"]
    cue = cues.row(by_predicate=pl.col("feature") == "telling", named=True)
    return f"effective sample size {cue['effective_n']}, q = {cue['q_value']:.2g}"


def explained_by_two(_: Path) -> str:
    """How often a third word is said to add to two that explain it."""
    added = {"one": 0, "both": 0}
    for i in range(200):
        rng = np.random.default_rng([20_000, i])
        strong = rng.random((1_000, 2)) < 0.3
        third = strong.any(axis=1) & (rng.random(1_000) < 0.8) | (rng.random(1_000) < 0.05)
        label = (rng.random(1_000) < 0.3 + 0.3 * strong.sum(axis=1)).astype(np.int64)
        columns = sparse.csc_matrix(np.column_stack([strong, third]).astype(np.int64))
        for name, stronger in (("one", [0]), ("both", [0, 1])):
            added[name] += strength_given_group(columns, label, [2], [stronger], [1]).log_p[0] <= np.log(0.05)
    return f"{added['both'] / 200:.1%} given both ({added['one'] / 200:.0%} given one of them), of 200 sets"


def small_cues(_: Path) -> str:
    """The reported, corrected and fresh share of significant cues with fewer than 20 instances."""
    shares = small_cue_shares(60, seed=20_000)
    return (
        f"{shares['corrected']:.0%} corrected ({shares['reported']:.0%} uncorrected); fresh data "
        f"{shares['fresh']:.0%}, {shares['cues']:.0f} cues"
    )


def many_weak_words(_: Path) -> str:
    """The headline about pairs with forty words, each a little likelier with one label."""
    rng = np.random.default_rng(20_000)
    label = rng.integers(0, 2, 12_000)
    has = rng.random((12_000, 40)) < np.where(np.arange(40) % 2 == label[:, None], 0.105, 0.095)
    others = rng.integers(0, 900, (12_000, 6))
    texts = [
        " ".join([*(f"v{j}" for j in np.flatnonzero(mine)), *(f"w{w}" for w in row)])
        for mine, row in zip(has, others, strict=True)
    ]
    premises = [f"p{i}" for i in range(12_000)]
    rows = pl.DataFrame({"premise": premises, "hypothesis": texts, "label": np.array(["a", "b"])[label]})
    card = cc.audit(cc.load(rows, name="pairs"), only=["partial_input", "cues"])
    return f"“{verdict(card).headline}”"


def ruled_out(data: Path, name: str = "mnli/dev_matched") -> str:
    """Words (of MNLI's development set) that rule a label out, beside those that point to one."""
    cues = Cues(features=("word",)).run(_load(data, name)).tables["cues"]
    significant = cues.filter(pl.col("significant") & pl.col("is_cue"))
    out = significant.filter(pl.col("direction") == "rules out").height
    return f"{out} beside {significant.height - out} that point to a label"


def elimination(_: Path) -> str:
    """The least frequent training label of a premise that occurs once with every label."""
    line = _baseline(demo_elimination(700, strength=0.6, seed=20_000), "premise_least")
    return f"{line['accuracy']:.1%} (chance {line['chance']:.1%}), {line['direction']} chance"


def rare_choice(_: Path) -> str:
    """The choice whose text is rarer."""
    line = _baseline(demo_rare_choices(600, seed=20_000), "rarest_choice")
    return f"{line['accuracy']:.0%} (chance {line['chance']:.0%}), {line['direction']} chance"


def travelling_with_length(_: Path) -> str:
    """Words that are cues because the longer answer is preferred."""
    cues = Cues(features=("word", "length")).run(demo_long_answers(1_500, seed=20_000)).tables["cues"]
    words = cues.filter((pl.col("family") == "word") & pl.col("is_cue"))
    own = words.filter(pl.col("significant") & ~pl.col("by_length")).height
    return f"{words['by_length'].sum()} go with length, {own} are cues of their own"


def reversed_in_test(_: Path) -> str:
    """A word that goes with one label in train and with another in test."""
    rng = np.random.default_rng(20_000)
    frames = []
    for n, shares in ((1_500, (0.92, 0.08)), (500, (0.21, 0.79))):
        has = rng.random(n) < 0.2
        label = np.where(rng.random(n) < np.where(has, shares[0], 0.5), "a", "b")
        words = rng.integers(0, 200, (n, 6))
        texts = [" ".join(f"w{w}" for w in row) + " word" * int(h) for row, h in zip(words, has, strict=True)]
        frames.append(
            pl.DataFrame({"premise": [f"p{i}" for i in range(n)], "hypothesis": texts, "label": label})
        )
    findings = Cues(features=("word",)).run(cc.load(frames[0], test=frames[1])).findings
    return ", ".join(f"{one.severity}: {one.title}" for one in findings if one.severity != "info")


def always_d(_: Path) -> str:
    """Questions whose last choice is right in 41.5 %, beside a rare word that is always right."""
    rng = np.random.default_rng(20_000)
    rows = []
    for i in range(1_000):
        answer = 3 if rng.random() < 0.22 else int(rng.integers(4))
        choices = [" ".join(f"w{w}" for w in rng.integers(0, 300, 6)) for _ in range(4)]
        choices[answer] += " rare" if rng.random() < 0.01 else ""
        rows.append({"question": f"q{i}", "choices": choices, "answer": answer})
    findings = cc.audit(cc.load(pl.DataFrame(rows)), only=["partial_input", "cues"]).findings
    first = findings[0]
    return f"first, {first.severity}: {first.title}"


def in_train(data: Path) -> str:
    """The grade of SICK's test examples that occur in the training set."""
    findings = Overview().run(_load(data, "sick/train", "sick/test")).findings
    finding = next(one for one in findings if one.key == "test-examples-in-train")
    return f"{finding.severity}: {finding.n} of 4,927"


def confirmed_choices(data: Path) -> str:
    """What ARCT's test set says of “not”, where the two choices nearly copy each other."""
    cues = Cues(features=("word",)).run(_load(data, "arct/train", "arct/test")).tables["cues"]
    row = cues.row(by_predicate=pl.col("feature") == "not", named=True)
    return f"{row['again_share']:.0%} of {row['again_n']:.0f} questions whose choices differ in it"


CASES: tuple[Case, ...] = (
    ("171 hypotheses in 2,126 pairs, random labels: significant features", "1,030 of 2,232", few_hypotheses),
    ("SICK: significant associations when hopeless tests do not count", "76 → 100", hopeless_tests),
    ("SICK: hypothesis only", "p = .37", sick_hypothesis),
    ("a rare label ranked with an AUC of .75", "p = 1", ranked_well),
    ("questions alone rank the answer with an AUC of .586", "p = 1", ranked_questions),
    ("clusters of choices, two to four per question", "57 % where 33 % would be expected", mixed_clusters),
    ("single texts: a word of the task beside a mark that is none", "“worst → negative” leads", words_of_texts),
    ("a word at 50 % of a label of 11 %, z = 17", "no cue", half_of_a_rare_label),
    ("a word of one sentence that occurs 58 times with one label", "a cue, n = 58", one_sentence_58_times),
    ("MNLI: words that rule a label out", "lost", ruled_out),
    ("VitaminC: words that rule a label out", "lost", lambda data: ruled_out(data, "vitaminc/bigbench_sample")),
    ("a word that two stronger ones explain: said to add to them", "71 %", explained_by_two),
    ("share of cues with n < 20", "89 %; fresh data 76 %", small_cues),
    ("forty weak words: the headline", "“strong cues that give labels away”", many_weak_words),
    ("every premise with every label: the label it has least in train", "“below chance”", elimination),
    ("take the rarer choice", "not looked for", rare_choice),
    ("the longer answer is preferred: words that are cues", "each one a cue", travelling_with_length),
    ("a word at 92 % in train and 21 % in test", "high", reversed_in_test),
    ("the last choice is right in 41.5 %, beside a word of 10 questions", "last on the card", always_d),
    ("SICK: test examples in train", "medium, first on the card", in_train),
    ("ARCT: “not” in the test set", "42 %, of all its choices", confirmed_choices),
)  # fmt: skip


def before_after(data: Path) -> Iterator[dict[str, str]]:
    """Yield what each case is about, the figure before and the figure now; without its dataset, a case is left out."""
    for about, before, now in CASES:
        try:
            yield {"about": about, "before": before, "now": now(data).replace("%", " %").replace("  %", " %")}
        except FileNotFoundError:
            continue


def main() -> None:
    """Print the table."""
    for row in before_after(Path(__file__).parents[3] / "shared" / "data"):
        print(" | ".join(row.values()), flush=True)


if __name__ == "__main__":
    main()
