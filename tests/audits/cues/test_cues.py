from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.audits.cues.statistics import cue_tables
from cuecard.data import Instances, load
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.errors import UsageError
from cuecard.features import FAMILIES, Function
from cuecard.text import tokenise
from small_sets import choice_instances, pair_instances


def shuffled(data: Instances, seed: int) -> Instances:
    """The same texts with the train labels in another order; the two labels of an example change together."""
    rng = np.random.default_rng(seed)
    if not data.grouped:
        return data.relabelled(data.label_codes[rng.permutation(len(data))])
    starts = np.flatnonzero(np.diff(data.example_codes, prepend=-1))
    sizes = np.diff(np.append(starts, len(data)))
    right = np.zeros(len(data), dtype=bool)
    right[starts + rng.integers(0, sizes)] = True
    return data.relabelled(np.where(right, 0, 1))


def test_planted_cues_are_found_with_their_strength_within_its_interval():
    demo = demo_nli(12_000, seed=3)
    table = Cues().run(demo.instances).tables["cues"]
    for kind in ("word", "bigram", "negation"):
        planted = demo.planted(kind)
        row = table.filter((pl.col("family") == planted.family) & (pl.col("feature") == planted.feature)).row(
            0, named=True
        )
        assert row["significant"]
        assert row["label"] == planted.label
        assert row["share_low"] - 0.02 <= planted.strength <= row["share_high"] + 0.02


def test_cues_are_sorted_by_cueness_where_that_is_wanted():
    data = demo_nli(2_000, seed=3).instances
    usual, sorted_ = (
        Cues(features=("word",), sort=sort).run(data).tables["cues"] for sort in ("significance", "cueness")
    )
    cueness = sorted_.filter("is_cue")["cueness"]
    assert cueness.to_list() == sorted(cueness, reverse=True)
    assert sorted_["is_cue"].to_list() == sorted(sorted_["is_cue"], reverse=True)
    assert sorted_.sort("feature").equals(usual.sort("feature"))
    with pytest.raises(UsageError, match="cueness"):
        Cues(sort="cuteness")


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_the_clean_control_is_quiet(make):
    """Overlap is left out: it compares the two texts, and their relation is what the label is about."""
    audit = Cues(features=tuple(name for name in FAMILIES.names() if name not in ("overlap", "concept")))
    runs = [
        audit.run(make(2_000, seed=seed, cues=None).instances).summary["significant"] for seed in range(6)
    ]
    assert sum(found > 0 for found in runs) <= 2  # each run may find something with probability 0.05


def test_a_planted_choice_cue_is_found_by_the_within_example_test():
    demo = demo_choice(4_000, seed=1)
    result = Cues().run(demo.instances)
    assert result.summary["null"] == "within-example"
    found = set(result.tables["cues"].filter("significant").select("family", "feature").iter_rows())
    assert ("length", "longest") in found
    assert ("word", demo.planted("word").feature) in found


def test_a_family_of_the_users_own_runs_beside_the_built_in_ones():
    family = Function("tone", lambda table: {"shouts": table["hypothesis"].str.ends_with("!")})
    rows = [("train", "p", f"text{i}{'!' if i % 2 else ''}", "loud" if i % 2 else "calm") for i in range(60)]
    table = Cues(features=("word", family)).run(pair_instances(rows)).tables["cues"]
    row = table.filter(pl.col("family") == "tone").row(0, named=True)
    assert (row["label"], row["share"], row["significant"]) == ("loud", 1.0, True)


def test_one_name_for_the_same_instances_leads_its_group_and_the_other_adds_nothing():
    rows = [
        (
            "train",
            "p",
            f"the cat{i} does not sleep" if i % 3 == 0 else f"the cat{i} sleeps",
            "no" if i % 3 == 0 else "yes",
        )
        for i in range(90)
    ]
    result = Cues(features=("word", "negation")).run(pair_instances(rows))
    table = result.tables["redundancy"]
    assert table.filter(pl.col("feature").is_in(["not", "negation", "does"]))["group"].n_unique() == 1
    told = [f.title for f in result.findings if "Cue for no" in f.title]
    assert len(told) == 1


def test_a_small_lift_is_significant_but_not_a_finding():
    rng = np.random.default_rng(0)
    n = 40_000
    has = rng.random(n) < 0.5
    label = rng.random(n) < np.where(has, 0.52, 0.48)
    rows = [
        ("train", "p", f"alpha beta {i}" if h else f"beta {i}", "yes" if y else "no")
        for i, (h, y) in enumerate(zip(has, label, strict=True))
    ]
    result = Cues(features=("word",)).run(pair_instances(rows))
    assert result.summary["significant"] == 1
    assert [f.title for f in result.findings] == [
        "Surface features are only weakly associated with the label"
    ]
    assert "no label share surely differs from chance by 10 points or more" in result.findings[0].text
    assert result.findings[0].severity == "info"


def test_a_large_share_of_few_texts_is_a_finding_of_low_severity():
    yes = np.concatenate([np.arange(40) < 29, np.arange(360) < 171])
    rows = [
        ("train", "p", f"alpha beta{i}" if i < 40 else f"beta{i}", "yes" if y else "no")
        for i, y in enumerate(yes)
    ]
    [finding] = Cues(features=("word",)).run(pair_instances(rows)).findings
    assert (finding.severity, finding.title) == (
        "low",
        "Surface features are only weakly associated with the label",
    )
    assert "The most significant: “alpha” (" in finding.text
    assert "\u00a0% yes, corrected for selection; chance " in finding.text


def test_a_smaller_gain_that_many_examples_have_is_a_finding():
    rng = np.random.default_rng(5)
    n = 4_000
    label = rng.random(n) < 0.5
    has = rng.random(n) < np.where(label, 0.58, 0.42)
    words = [f"w{i}" for i in range(1_000)]
    texts = [" ".join(["alpha" if h else "beta", *rng.choice(words, 8)]) for h in has]
    rows = [("train", f"p{i}", texts[i], "yes" if label[i] else "no") for i in range(n)]
    result = Cues(features=("word",)).run(pair_instances(rows))
    overall, cue = result.findings[:2]
    assert cue.title in ("Cue for yes: “alpha”", "Cue for no: “beta”")
    assert cue.severity == "medium"
    assert cue.low < cue.chance + 0.1  # less than 10 points, in half of the examples
    assert "10 points or more (95 % CI), or by less in many examples" in overall.text


def test_the_examples_of_a_finding_contain_its_cue_and_have_its_label(real_data):
    data = load(real_data("mnli/train_partial.parquet"), test=real_data("mnli/dev_matched.parquet"))
    findings = [f for f in Cues(features=("word", "bigram")).run(data).findings if f.cue]
    assert len(findings) >= 6
    for finding in findings:
        words = finding.cue.removeprefix("bigram:")
        assert finding.evidence
        for shown in finding.evidence:
            assert words in " ".join(tokenise(pl.Series([shown.hypothesis])).words(0))
            told = f"Cue for {shown.label}" in finding.title
            assert told or ("Cue against" in finding.title and shown.label not in finding.title)


def test_a_label_that_train_does_not_have_changes_nothing():
    rows = [("train", "p", f"word{i % 2} text {i}", "no" if i % 2 else "yes") for i in range(80)]
    table = (
        Cues(features=("word",)).run(pair_instances([*rows, ("test", "p", "text", "other")])).tables["cues"]
    )
    assert table.filter("significant")["feature"].to_list() == ["word0", "word1"]


def test_chance_follows_the_number_of_choices_of_the_questions_that_have_the_feature():
    questions = [("train", "q", ["foo a", "b"], i % 2) for i in range(100)]
    questions += [("train", "q", ["a", "b", "c", "d", "e", "f"], i % 6) for i in range(100)]
    table = Cues(features=("word",)).run(choice_instances(questions)).tables["cues"]
    row = table.filter(pl.col("feature") == "foo").row(0, named=True)
    assert (row["chance"], row["lift"]) == (0.5, 1.0)
    mixed = table.filter(pl.col("feature") == "b").row(0, named=True)
    right = mixed["chance"] if mixed["label"] == "right" else 1 - mixed["chance"]
    assert right == pytest.approx((100 / 2 + 100 / 6) / 200)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"features": ("word", "word")}, "is repeated"),
        ({"regex": (("x", "a"), ("x", "b"))}, "is repeated"),
        ({"prior": "Train"}, "Did you mean 'train'"),
        ({"scope": "hypotheses"}, "Did you mean 'hypothesis'"),
        ({"min_count": 0}, "at least 1"),
    ],
)
def test_settings_that_do_not_exist_are_refused_at_once(options, complaint):
    with pytest.raises(UsageError, match=complaint):
        Cues(**options)


def test_a_family_with_a_bug_is_skipped_with_its_error_and_the_others_run():
    family = Function("broken", lambda table: {"x": 1 / 0})
    rows = [("train", "p", f"h{i}", "ab"[i % 2]) for i in range(30)]
    families = Cues(features=("word", family)).run(pair_instances(rows)).summary["families"]
    assert "ZeroDivisionError" in families["broken"]["skipped"]
    assert families["word"]["skipped"] is None


def test_a_family_that_does_not_fit_is_skipped_with_a_reason():
    summary = Cues().run(pair_instances([("train", "p", f"h{i}", "ab"[i % 2]) for i in range(30)])).summary
    assert "only applies to multiple choice" in summary["families"]["position"]["skipped"]
    assert summary["families"]["word"]["skipped"] is None


# ---- published numbers and real data


def cues_of(real_data, train, test, **options):
    return Cues(**options).run(load(real_data(train), test=real_data(test) if test else None)).tables["cues"]


def cueness_of(table: pl.DataFrame, words: list[str]) -> dict[str, float]:
    found = table.filter((pl.col("family") == "word") & pl.col("feature").is_in(words))
    return {word: round(value, 2) for word, value in found.select("feature", "cueness").iter_rows()}


def test_copa_has_the_published_cueness(real_data):
    table = cues_of(real_data, "copa/dev.parquet", "copa/test.parquet", features=("word",))
    assert cueness_of(table, ["went", "got", "for", "with"]) == {
        "went": 3.61,
        "got": 2.74,
        "for": 2.14,
        "with": 1.38,
    }


def test_arct_has_the_published_cueness_with_treebank_tokens(real_data):
    pytest.importorskip("nltk")
    files = ("arct/train.parquet", "arct/test.parquet")
    table = cues_of(real_data, *files, features=("word",), tokens="treebank")
    assert cueness_of(table, ["not", "n't", "always", "does"]) == {
        "not": 3.74,
        "n't": 2.52,
        "always": 2.25,
        "does": 1.95,
    }
    lemmas = cues_of(real_data, *files, features=("word",), tokens="treebank-lemma")
    assert cueness_of(lemmas, ["doe"]) == {"doe": 2.06}


def test_balanced_arct_has_no_word_cue_at_all(real_data):
    table = cues_of(
        real_data, "arct_adversarial/train_adv_negated.parquet", "arct_adversarial/test_adv_negated.parquet",
        features=("word",),
    )  # fmt: skip
    assert table.height > 500
    assert not table["is_cue"].any()
    assert not table["significant"].any()
    assert table["cueness"].max() < 1e-12


@pytest.mark.parametrize(
    ("train", "test", "printed", "recomputed"),
    [
        (
            "snli/train_partial.parquet",
            "snli/test.parquet",
            {"sleeping": 13.95, "no": 13.33, "because": 9.24, "friend": 8.82, "movie": 7.73},
            {"sleeping": 13.6, "no": 11.8, "because": 8.7, "friend": 9.1, "movie": 7.5},
        ),
        (
            "mnli/train_partial.parquet",
            "mnli/dev_matched.parquet",
            {"never": 10.40, "no": 8.98, "nothing": 8.98, "any": 6.79, "anything": 5.73},
            {"never": 11.6, "no": 9.3, "nothing": 7.8, "any": 6.9, "anything": 5.4},
        ),
    ],
)
def test_balanced_samples_of_nli_train_have_about_the_published_cueness(
    real_data, train, test, printed, recomputed
):
    """One sample of a part of train varies by about a point, so the mean of three is compared."""
    pytest.importorskip("nltk")
    data = load(real_data(train), test=real_data(test))
    audit = Cues(features=("word",), tokens="treebank")
    samples = [cueness_of(audit.run(balanced(data, seed)).tables["cues"], list(printed)) for seed in range(3)]
    for word in printed:
        mean = np.mean([sample[word] for sample in samples])
        assert min(abs(mean - printed[word]), abs(mean - recomputed[word])) < 0.8


def balanced(data: Instances, seed: int) -> Instances:
    """As many train instances of every label as the rarest has, drawn at random, and the whole test split.

    They share the tokens of the whole dataset.
    """
    assert data.test is not None
    train = data.table.with_row_index("row").filter(pl.col("split") == "train")
    smallest = train["label"].value_counts()["count"].min()
    drawn = train.sample(fraction=1.0, shuffle=True, seed=seed).filter(
        pl.int_range(pl.len()).over("label") < smallest
    )
    kept = (data.table["split"] == "test").to_numpy().copy()
    kept[drawn["row"].to_numpy()] = True
    return data.rows(kept)


def test_snli_words_share_at_least_40_of_50_with_the_published_lists(real_data, oracle):
    import json

    published = json.loads(oracle("stubborn_A1_wordlists.json").read_text())
    data = load(real_data("snli/train_partial.parquet"))
    audit = Cues(features=("word",), tokens="stubborn", scope="both", stop_words=False)
    associations = audit.run(data).tables["associations"]
    lists = published.get("snli") or published.get("SNLI") or published
    for label in data.labels:
        top = associations.filter(pl.col("label") == label).sort("z", descending=True).head(50)["feature"]
        expected = next(words for name, words in lists.items() if label in name.lower())
        assert len(set(top) & set(expected)) >= 40


def test_snli_contradiction_words_lead_and_the_shuffled_set_is_silent(real_data):
    data = load(real_data("snli/train_partial.parquet"), test=real_data("snli/test.parquet"))
    audit = Cues(features=("word",))
    words = (
        audit.run(data)
        .tables["cues"]
        .filter(pl.col("label") == "contradiction")["feature"]
        .head(10)
        .to_list()
    )
    assert {"sleeping", "nobody", "cat"} <= set(words)
    assert audit.run(shuffled(data, 0)).summary["significant"] == 0


def test_mnli_contradiction_words_lead(real_data):
    table = cues_of(real_data, "mnli/train_partial.parquet", "mnli/dev_matched.parquet", features=("word",))
    words = table.filter(pl.col("label") == "contradiction")["feature"].head(12).to_list()
    assert {"never", "no", "nothing", "any"} <= set(words)


@pytest.mark.parametrize(
    ("train", "test", "sensible"),
    [
        ("ocnli/train_10k.parquet", "ocnli/dev.parquet", {"没", "不"}),
        ("xnli/test_zh.parquet", "xnli/dev_zh.parquet", {"不", "没"}),
        ("xnli/test_fr.parquet", "xnli/dev_fr.parquet", {"jamais", "rien", "aucun", "pas"}),
        ("xnli/test_sw.parquet", "xnli/dev_sw.parquet", {"hakuna", "kamwe"}),
    ],
)
def test_other_languages_give_sensible_words(real_data, train, test, sensible):
    table = cues_of(real_data, train, test, features=("word", "bigram", "length", "format"))
    words = table.filter((pl.col("family") == "word") & (pl.col("label") == "contradiction"))["feature"].head(
        25
    )
    assert set(words) & sensible


def test_single_texts_and_preferences_run(real_data):
    sst2 = cues_of(real_data, "sst2/train.parquet", "sst2/dev.parquet", features=("word",))
    assert {"bad", "too"} & set(sst2.filter(pl.col("label") == "0")["feature"].head(10))
    harmless = cues_of(
        real_data, "hh_rlhf_harmless_base/test.parquet", None, features=("word", "length", "format")
    )
    assert harmless.height > 500
    assert set(harmless["label"]) == {"chosen", "rejected"}


@pytest.mark.parametrize("file", ["copa/dev.parquet", "sick/train.parquet"])
def test_over_200_label_shuffles_false_discoveries_stay_at_their_nominal_level(real_data, file):
    data = load(real_data(file))
    audit = Cues(features=("word",))

    def significant(seed: int) -> int:
        """What a run calls significant, without the findings and tables that it would make of it."""
        counts, *_ = audit.counted(shuffled(data, seed))
        tables = cue_tables(
            counts,
            min_count=audit.min_count,
            per_label=audit.per_label,
            alpha=audit.alpha,
            correction=audit.correction,
            prior=audit.prior,
        )
        return int(tables.cues["significant"].sum())

    assert significant(0) == audit.run(shuffled(data, 0)).summary["significant"]
    runs = [significant(seed) > 0 for seed in range(200)]
    # Under shuffled labels every discovery is false, so the false discovery rate is the share of runs with any:
    # at most 5 %, and 18 of 200 is three standard errors above that.
    assert sum(runs) <= 18


def test_choices_that_nearly_copy_each_other_are_confirmed_in_test() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    rows: dict[str, list[tuple[str, str, list[str], int]]] = {"train": [], "test": []}
    for i in range(500):
        text = " ".join(rng.choice(words, 9))
        answer = int(rng.integers(2))
        choices = [f"{text} can go", f"{text} can go"]
        choices[answer if rng.random() < 0.8 else 1 - answer] = f"{text} cannot go"
        split = "train" if i < 300 else "test"
        rows[split].append((split, f"why {i}?", choices, answer))
    data = choice_instances(rows["train"] + rows["test"])
    cues = Cues(features=("word",)).run(data).tables["cues"]
    cannot = cues.row(by_predicate=pl.col("feature") == "cannot", named=True)
    assert cannot["outcome"] == "holds"
    assert cannot["again_n"] == 200
    assert cannot["again_share"] == pytest.approx(0.8, abs=0.08)


def test_of_many_labels_only_those_are_listed_that_a_feature_occurs_with_or_is_significant_for(monkeypatch):
    rows = [("train", f"p{i}", f"{'no ' if i % 3 == 0 else ''}h{i % 11}", "abc"[i % 3]) for i in range(300)]
    audit = Cues(features=("word",))
    whole = audit.run(pair_instances(rows)).tables
    monkeypatch.setattr("cuecard.audits.cues.statistics.ALL_LABELS", 2)
    listed = audit.run(pair_instances(rows)).tables
    assert listed["cues"].equals(whole["cues"])
    kept = whole["associations"].filter((pl.col("k") > 0) | (pl.col("q_value") <= 0.05))
    assert listed["associations"].equals(kept)
    assert kept.height > 0
    # "no" never occurs with b and c, which is significant.
    assert kept.filter((pl.col("feature") == "no") & (pl.col("k") == 0)).height == 2
    assert whole["associations"].height == 3 * whole["cues"].height


def test_a_family_that_the_user_names_and_that_fails_is_an_error(monkeypatch):
    def fail(self, data):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(FAMILIES.get("overlap"), "presence", fail)
    rows = [("train", "p", f"h{i}", "ab"[i % 2]) for i in range(30)]
    with pytest.raises(
        UsageError, match=r"'overlap' cannot be used: .*ZeroDivisionError: planted\. Leave it out"
    ):
        Cues(features=("word", "overlap")).run(pair_instances(rows))
    assert "planted" in Cues().run(pair_instances(rows)).summary["families"]["overlap"]["skipped"]


def test_words_of_texts_whose_copies_have_other_labels_than_the_rest_are_no_cues() -> None:
    """Copies have labels of their own, but 50 % of a label of which single texts have 10 %."""
    cues = 0
    for seed in range(4):
        rng = np.random.default_rng([seed, 41])
        frequency = 1 / np.arange(3, 303)
        drawn = rng.choice(300, (420, 8), p=frequency / frequency.sum())
        times = np.where(np.arange(420) < 400, 1, 30)
        lean = np.where(np.arange(420) < 400, 0.1, np.where(rng.random(420) < 0.5, 0.3, 0.7))
        rows = np.repeat(np.arange(420), times)
        texts = [" ".join(f"w{j}" for j in drawn[row]) for row in rows]
        labels = np.where(rng.random(len(rows)) < lean[rows], "yes", "no")
        data = load(pl.DataFrame({"text": texts, "label": labels}))
        cues += Cues(features=("word", "bigram")).run(data).summary["significant"] > 0
    assert cues == 0


def test_words_of_the_answers_that_lose_to_one_and_the_same_are_no_cues() -> None:
    """One answer wins 70 % of 300 comparisons: every word of all other answers is in 70 % of losing ones."""
    rng = np.random.default_rng(12)
    frequency = 1 / np.arange(3, 303)
    words = rng.choice(300, (601, 10), p=frequency / frequency.sum())
    texts = [" ".join(f"w{j}" for j in row) for row in words]
    wins = rng.random(300) < 0.7
    rows = {
        "prompt": texts[301:],
        "chosen": [texts[0] if won else other for won, other in zip(wins, texts[1:301], strict=True)],
        "rejected": [other if won else texts[0] for won, other in zip(wins, texts[1:301], strict=True)],
    }
    cues = Cues(features=("word", "bigram")).run(load(pl.DataFrame(rows))).tables["cues"]
    assert not cues["significant"].any()


def test_a_share_of_both_splits_says_whose_chance_level_it_has() -> None:
    """The label is more frequent in train: the share of both is not that of their examples."""
    rng = np.random.default_rng(0)
    parts = []
    for split, n, share in (("train", 1_500, 0.5), ("test", 900, 0.3)):
        yes = rng.random(n) < share
        telling = rng.random(n) < np.where(yes, 0.3, 0.1)
        words = rng.integers(0, 500, (n, 6))
        texts = [
            " ".join(f"w{j}" for j in row) + (" mark" if has else "")
            for row, has in zip(words, telling, strict=True)
        ]
        parts.append(pl.DataFrame({"premise": [f"p{split}{i}" for i in range(n)], "hypothesis": texts,
                                   "label": np.where(yes, "yes", "no")}))  # fmt: skip
    findings = Cues(features=("word",)).run(load(parts[0], test=parts[1])).findings
    [text] = [finding.text for finding in findings if "mark" in finding.cue]
    assert "training and test set together, at the chance level of the training set, " in text


def test_a_share_of_both_splits_below_either_says_that_it_is_corrected() -> None:
    """With a word that always goes with one label, in train and in test, the correction for selection still shows."""
    rng = np.random.default_rng(0)
    parts = []
    for n in (1_500, 900):
        yes = np.arange(n) % 2 == 0
        words = rng.integers(0, 500, (n, 6))
        telling = yes & (np.arange(n) % 10 == 0)
        texts = [
            " ".join(f"w{j}" for j in row) + (" mark" if has else "")
            for row, has in zip(words, telling, strict=True)
        ]
        parts.append(pl.DataFrame({"premise": [f"p{n}-{i}" for i in range(n)], "hypothesis": texts,
                                   "label": np.where(yes, "yes", "no")}))  # fmt: skip
    findings = Cues(features=("word",)).run(load(parts[0], test=parts[1])).findings
    [text] = [finding.text for finding in findings if "mark" in finding.cue]
    assert "In the test set: 100\xa0% of 90" in text
    assert "training and test set together, corrected for selection, 9" in text


def test_where_only_shared_words_predict_the_label_no_cue_is_found_in_a_single_text():
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        premise = rng.choice(5_000, 8, replace=False)
        hypothesis = premise[:4] if i % 2 else rng.choice(5_000, 4, replace=False)
        texts = (" ".join(f"w{word}" for word in words) for words in (premise, hypothesis))
        rows.append((*texts, "yes" if i % 2 else "no"))
    data = load(pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row"))
    titles = [finding.title for finding in Cues().run(data).findings]
    assert "No cue found in a single text" in titles
    assert "No cue found" not in titles


def test_features_too_rare_to_be_tested_come_after_significant_ones() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]

    def response(share: float, more: str = "") -> str:
        return " ".join([*rng.choice(words, 8), "common" if rng.random() < share else "other", more])

    rows = [
        {"prompt": f"{i}", "chosen": response(0.75, "rare" if i < 8 else ""), "rejected": response(0.45)}
        for i in range(400)
    ]
    cues = Cues(features=("word",)).run(load(pl.DataFrame(rows), task="preference")).tables["cues"]
    rare, common = (cues.filter(pl.col("feature") == name).row(0, named=True) for name in ("rare", "common"))
    assert common["significant"]
    assert rare["q_value"] == 1.0
    assert rare["share"] == 1.0
    assert cues["q_value"].is_sorted()
    assert cues.filter(pl.col("q_value") == common["q_value"])["log10_p"].is_sorted()


def test_one_wrong_choice_of_every_question_is_counted_and_the_draw_does_not_depend_on_the_order():
    data = demo_choice(400, seed=5).instances
    cues = Cues(features=("word",), wrong_choices=1)
    counted = cues.run(data).tables["cues"]
    both = counted["train_right"].sum(), counted["train_wrong"].sum()
    every = Cues(features=("word",)).run(data).tables["cues"]
    assert every["train_right"].sum() >= both[0]
    assert every["train_wrong"].sum() > 1.5 * both[1]
    assert cues.run(data).tables["cues"].equals(counted)
    many = Cues(features=("word",), wrong_choices=9).run(data).tables["cues"]
    assert many.equals(every)
    with pytest.raises(
        UsageError, match="only applies to questions with choices; this dataset holds pair data"
    ):
        cues.run(demo_nli(200).instances)
    with pytest.raises(UsageError, match="wrong_choices must be at least 1"):
        Cues(wrong_choices=0)


def test_a_family_that_cannot_be_tested_is_an_error_where_no_other_was_named():
    choices = choice_instances([("train", "Why?", ["a cat", "a dog"], 0)] * 20)
    with pytest.raises(
        UsageError, match=r"No feature family of --features can be tested: .*only applies to pairs"
    ):
        Cues(features=("premise_characters",)).run(choices)
    assert Cues(features=("premise_characters", "word")).run(choices).summary["features"] > 0
