from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom, kstest

import cuecard as cc
from cuecard.analysis import Skip
from cuecard.audits import Cues
from cuecard.data.demo import demo_choice, demo_nli, demo_predictions
from cuecard.errors import UsageError
from cuecard.probes import (
    UNANSWERED,
    AccuracyTest,
    AgreementOfModels,
    DistributionTest,
    PairedComparison,
    PermutationTest,
    Predictions,
    Reliance,
    check_test,
    choose_cues,
)
from cuecard.probes.cues.accuracy import accuracy_table
from cuecard.probes.cues.permutation import usual_table

MODELS = 60


class Bench:
    """A generated set with its cues and as many simulated models as are asked for."""

    def __init__(self, demo) -> None:
        self.demo = demo
        self.data = demo.instances
        audit = Cues(features=("word", "negation", "length"))
        table = audit.run(self.data).tables["cues"]
        self.audit, self.table = audit, table
        self.cues = choose_cues(self.data, audit, table, top=12)
        self.examples = check_test(self.data)

    def model(self, follow, *, accuracy=0.75, seed=0, name="model") -> Predictions:
        table = demo_predictions(self.demo, follow=follow, accuracy=accuracy, seed=seed)
        (read,) = cc.read_predictions(table, self.data, model=name)
        return read

    def cue(self, feature):
        return choose_cues(self.data, self.audit, self.table, names=[feature])


@pytest.fixture(scope="module")
def nli():
    return Bench(demo_nli(12000, seed=3))


@pytest.fixture(scope="module")
def choice():
    return Bench(demo_choice(4000, seed=3))


@pytest.fixture(params=["nli", "choice"])
def bench(request):
    return request.getfixturevalue(request.param)


def planted_word(bench):
    return next(cue for cue in bench.demo.truth if cue.kind == "word")


def test_chosen_cues_hold_the_planted_word_and_repeat_no_other(bench):
    assert planted_word(bench).feature in bench.cues.table["feature"].to_list()
    together = np.asarray((bench.cues.instances_having.T @ bench.cues.instances_having).todense())
    contained = np.tril(together / np.maximum(np.diag(together), 1)[:, None], k=-1)
    assert (contained < 0.9).all()


def test_members_follow_their_definition(choice):
    having = np.asarray(choice.cues.instances_having.todense()) > 0
    starts = choice.examples.first_rows
    members = np.asarray(choice.cues.members.having.todense()) > 0
    usual = np.asarray(choice.cues.members.usual.todense()) > 0
    labels = choice.cues.table["label"].to_list()
    for example in range(0, len(choice.examples), 37):
        rows = having[starts[example] : starts[example + 1]]
        some_not_all = rows.any(axis=0) & ~rows.all(axis=0)
        assert (members[example] == some_not_all).all()
        right = rows[choice.examples.gold[example]]
        expected = some_not_all & (right == np.array([label == "right" for label in labels]))
        assert (usual[example] == expected).all()


def test_an_unbiased_model_has_uniform_p_values_in_the_permutation_test(bench):
    probe = PermutationTest()
    log10_p = []
    for seed in range(MODELS):
        model = bench.model(0.0, seed=seed)
        summary = probe.run(bench.data, [model], bench.cues).summary
        log10_p.append(summary["models"]["model"]["log10_p"])
    assert summary["both_sets"] > 0
    assert kstest(10.0 ** np.array(log10_p), "uniform").pvalue > 0.01


def test_the_other_tests_keep_their_level_on_unbiased_models(bench):
    gaps, leans = [], []
    for seed in range(MODELS):
        model = bench.model(0.0, seed=seed)
        gaps += (10.0 ** accuracy_table(model, bench.cues)["log10_p"].drop_nulls()).to_list()
        tests = DistributionTest().tested(model, bench.cues)[1].drop_nulls("log10_p")
        leans += (10.0 ** tests["log10_p"]).to_list()
    for p in (np.array(gaps), np.array(leans)):
        # Cues overlap, so rejections of one model come together: allow three errors of the share over models.
        allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / MODELS)
        assert (p <= 0.05).mean() <= allowed
        assert (p <= 0.5).mean() >= 0.35


def test_a_model_that_follows_a_word_is_found_with_the_power_that_counting_predicts(nli):
    follow, accuracy, models = 0.3, 0.75, 150
    word = planted_word(nli)
    cues = nli.cue(word.feature)
    found = []
    for seed in range(models):
        table = demo_predictions(nli.demo, follow=follow, accuracy=accuracy, seed=seed, only=("word",))
        (model,) = cc.read_predictions(table, nli.data)
        tested = usual_table(model, cues.names, cues.members, model.correct(nli.examples), alpha=0.05)
        found.append(tested["log10_p"][0] <= np.log10(0.05))
    n_usual, n_unusual = int(cues.members.usual.sum()), int(cues.members.unusual.sum())
    rng = np.random.default_rng(0)
    right_usual = rng.binomial(n_usual, follow + (1 - follow) * accuracy, 4000)
    right = right_usual + rng.binomial(n_unusual, (1 - follow) * accuracy, 4000)
    power = np.mean(hypergeom.sf(right_usual - 1, n_usual + n_unusual, right, n_usual) <= 0.05)
    assert power > 0.6
    assert np.mean(found) == pytest.approx(power, abs=3 * np.sqrt(power * (1 - power) / models) + 0.01)


def test_the_planted_word_is_relied_on_by_the_follower_and_not_by_the_other(bench):
    word = planted_word(bench)
    models = [bench.model(0.6, name="follower"), bench.model(0.0, name="even", seed=1)]
    result = Reliance().run(bench.data, models, bench.cue(word.feature))
    verdict = dict(result.tables["reliance"].select("model", "verdict").iter_rows())
    assert verdict["follower"] == "relies"
    assert verdict["even"] == "none"
    advice = result.tables["reliance"]["next"][0]
    assert "follower" in advice
    assert "cuecard debias" in advice


def test_a_model_that_prefers_a_label_everywhere_relies_on_no_cue(nli):
    rng = np.random.default_rng(0)
    n = len(nli.examples)
    for label in range(3):
        dice = rng.choice(3, size=n, p=np.roll([0.8, 0.1, 0.1], label))
        models = [Predictions("constant", np.full(n, label)), Predictions("dice", dice)]
        table = Reliance().run(nli.data, models, nli.cues).tables["reliance"]
        assert "relies" not in table["verdict"].to_list()
        assert "signs" not in table.filter(pl.col("contrast_q").is_not_null())["verdict"].to_list()
        assert table.filter(pl.col("breaks_q") <= 0.05).height > 0
        assert DistributionTest().run(nli.data, models, nli.cues).findings == []


def test_the_contrast_is_what_counting_gives(nli):
    word = planted_word(nli)
    cues, model = nli.cue(word.feature), nli.model(0.6)
    row = DistributionTest().tested(model, cues)[1].row(0, named=True)
    here = np.asarray(cues.members.having.todense()).ravel() > 0
    usual = model.answers == nli.data.labels.index(word.label)
    golds = [nli.examples.gold == code for code in range(3)]
    without = np.mean([usual[gold & ~here].mean() for gold in golds])
    assert row["usual_share_without"] == pytest.approx(without)
    assert row["contrast"] == pytest.approx(np.mean([usual[gold & here].mean() for gold in golds]) - without)


def test_flattened_shares_are_those_of_a_model_that_follows_with_known_probability(nli):
    word = planted_word(nli)
    cues = nli.cue(word.feature)
    shares = []
    for seed in range(20):
        model = nli.model(0.0, accuracy=0.75, seed=seed)
        # Follow this cue alone with probability one half, whatever the label is.
        here = np.asarray(cues.members.having.todense()).ravel() > 0
        rng = np.random.default_rng(seed)
        follows = here & (rng.random(len(here)) < 0.5)
        usual = nli.data.labels.index(word.label)
        model = replace(model, answers=np.where(follows, usual, model.answers))
        test = DistributionTest(min_per_label=2).tested(model, cues)[1]
        shares.append(test["usual_share"][0])
    # On flat labels an even model gives each label a third; half of the examples get the usual one.
    assert np.mean(shares) == pytest.approx(0.5 + 0.5 / 3, abs=0.05)


def test_accuracy_table_is_what_counting_gives(nli):
    model = nli.model(0.4)
    row = accuracy_table(model, nli.cues).row(0, named=True)
    here = np.asarray(nli.cues.members.having[:, [0]].todense()).ravel() > 0
    right = model.correct(nli.examples)
    assert row["gap"] == pytest.approx(right[here].mean() - right[~here].mean())
    assert row["gap_low"] < row["gap"] < row["gap_high"]


def test_permutation_p_is_the_hypergeometric_tail(nli):
    model = nli.model(0.2)
    apart = replace(nli.cues)
    vars(apart)["shared"] = []  # near copies of a text would make the p-value larger
    summary = PermutationTest().run(nli.data, [model], apart).summary["models"]["model"]
    words = nli.cues.words.highest(50)
    assert words.group_by("label").len()["len"].max() <= 50
    vocabulary = {label: set(words.filter(pl.col("label") == label)["feature"]) for label in nli.data.labels}
    usual, unusual = [], []
    for hypothesis, label in nli.data.test.table.select("hypothesis", "label").iter_rows():
        tokens = set("".join(c if c.isalnum() or c in "_'" else " " for c in hypothesis.lower()).split())
        usual.append(bool(tokens & vocabulary[label]))
        unusual.append(any(tokens & vocabulary[other] for other in vocabulary if other != label))
    usual, unusual = np.array(usual), np.array(unusual)
    right = model.correct(nli.examples)
    pool = usual | unusual
    expected = hypergeom.logsf((right & usual).sum() - 1, pool.sum(), (right & pool).sum(), usual.sum())
    assert (summary["usual"], summary["unusual"]) == (usual.sum(), unusual.sum())
    assert summary["log10_p"] == pytest.approx(expected / np.log(10), rel=1e-9)
    assert summary["log10_p_exact"] == pytest.approx(expected / np.log(10), rel=1e-9)


def test_words_can_be_ranked_by_z_about_one_label_in_as_many_as_there_are(nli):
    model = Predictions("right", nli.examples.gold)
    words = nli.cues.words.associations
    table = PermutationTest(prior="uniform").run(nli.data, [model], nli.cues).tables["permutation_words"]
    both = table.join(words, on=["feature", "label"], suffix="_train")
    assert both.height == table.height
    k, n, third = both["k"], both["n"], 1 / len(nli.data.labels)
    expected = (k - n * third) / (n * third * (1 - third)).sqrt()
    assert both["z"].to_list() == pytest.approx(expected.to_list())
    assert both["z"].to_list() != pytest.approx(both["z_train"].to_list())


def test_stratifying_spares_a_model_that_is_merely_better_at_one_class(nli):
    rng = np.random.default_rng(0)
    gold = nli.examples.gold
    # Words of the first label are the most frequent: a model that is good at it looks biased unless stratified.
    usual_label = nli.cues.table["label"][0]
    good = gold == nli.data.labels.index(usual_label)
    right = rng.random(len(gold)) < np.where(good, 0.98, 0.5)
    wrong = (gold + rng.integers(1, 3, len(gold))) % 3
    model = Predictions("lopsided", np.where(right, gold, wrong))
    plain = PermutationTest().run(nli.data, [model], nli.cues).summary["models"]["lopsided"]
    known = (
        PermutationTest(guessing="predicted").run(nli.data, [model], nli.cues).summary["models"]["lopsided"]
    )
    assert known["log10_p_exact"] != plain["log10_p_exact"]
    assert known["log10_p"] == plain["log10_p"]
    within = PermutationTest(stratify="label").run(nli.data, [model], nli.cues).summary["models"]["lopsided"]
    assert within["log10_p"] == plain["log10_p_stratified"]
    assert within["log10_p"] > -2
    assert plain["log10_p_decisive"] == within["log10_p_decisive"] == max(plain["log10_p"], within["log10_p"])


def test_a_model_that_is_better_at_one_class_and_ignores_every_cue_is_not_called_biased(nli):
    rng = np.random.default_rng(0)
    gold, named, plain = nli.examples.gold, 0, 0
    for draw in range(60):
        right = rng.random(len(gold)) < np.where(gold == draw % 3, 0.95, 0.6)
        model = Predictions("lopsided", np.where(right, gold, (gold + rng.integers(1, 3, len(gold))) % 3))
        result = PermutationTest().run(nli.data, [model], nli.cues)
        named += result.findings[0].severity != "info"
        plain += result.summary["models"]["lopsided"]["log10_p"] <= np.log10(0.05)
    assert plain > 12  # the test over all examples alone
    assert named <= 7  # 5 % of 60, and luck (binomial, p = .01)


def test_words_are_tested_without_strata_where_the_usual_label_is_the_stratum(nli):
    model = nli.model(0.9)
    plain, within = (PermutationTest(stratify=by).run(nli.data, [model], nli.cues) for by in (None, "label"))
    words = within.tables["permutation_words"]
    assert words["significant"].any()
    assert words.equals(plain.tables["permutation_words"])
    assert "single words are tested without strata" in within.summary["notes"][0]
    assert plain.summary["notes"] == []


def test_the_finding_of_the_permutation_test_keeps_the_level_asked_for(nli):
    model = nli.model(0.9)
    # One word per label leaves hardly anything to compare within a correct answer.
    found = PermutationTest(per_label=3).run(nli.data, [model], nli.cues)
    assert found.findings[0].severity != "info"
    log10_p = found.summary["models"]["model"]["log10_p_decisive"]
    strict = PermutationTest(per_label=3, alpha=10.0 ** (log10_p - 1)).run(nli.data, [model], nli.cues)
    assert strict.findings[0].title.startswith("No evidence")


def test_readings_agree_where_the_sets_do_not_overlap_much(nli):
    model = nli.model(0.9)
    found = {
        reading: PermutationTest(per_label=1, reading=reading, draws=2000)
        .run(nli.data, [model], nli.cues)
        .summary["models"]["model"]["log10_p"]
        for reading in ("union", "twice", "difference")
    }
    assert all(value < -2 for value in found.values())


def test_weakness_is_the_sum_of_absolute_gaps_and_noise_is_taken_out(nli):
    quiet = AccuracyTest().run(nli.data, [nli.model(0.0, seed=5)], nli.cues)
    table = quiet.tables["accuracy_test"]
    summary = quiet.summary["models"]["model"]
    assert summary["weakness"] == pytest.approx(float(table["gap"].abs().sum()))
    assert summary["weakness_corrected"] < 0.5 * summary["weakness"]
    here = np.asarray(nli.cues.members.having[:, [0]].todense()).ravel() > 0
    model = nli.model(0.0, seed=5)
    perfect = replace(model, answers=np.where(here, nli.examples.gold, model.answers))
    loud = AccuracyTest().run(nli.data, [perfect], nli.cues).summary["models"]["model"]
    assert loud["weakness_corrected"] > 0.2
    assert loud["weakness_low"] > summary["weakness_low"]


def test_roles_in_agreement_are_given_and_the_paired_comparison_names_the_better_model(nli):
    models = [nli.model(0.0, accuracy=0.6, name="weak"), nli.model(0.0, accuracy=0.9, seed=1, name="strong")]
    partial = [replace(models[0], partial_input="hypothesis"), models[1]]
    for given, options, roles in (
        (models, {}, ("weak", "strong")),
        (models[::-1], {}, ("strong", "weak")),
        (models, {"normal": ("strong",)}, ("strong", "weak")),
        (partial, {}, ("strong", "weak")),
        ([models[0], replace(models[1], partial_input="hypothesis")], {}, ("weak", "strong")),
    ):
        agreement = AgreementOfModels(**options).run(nli.data, given)
        row = agreement.tables["agreement"].row(0, named=True)
        assert (row["normal"], row["biased"]) == roles
    with pytest.raises(UsageError, match="strong"):
        AgreementOfModels(normal=("strng",)).run(nli.data, models)
    assert row["nba"] == pytest.approx((models[0].answers == models[1].answers).mean())
    compared = PairedComparison().run(nli.data, models, nli.cues)
    pair = compared.tables["paired_comparison"].row(0, named=True)
    assert pair["low"] < pair["difference"] < pair["high"] < 0
    assert "strong is more accurate than weak" in [finding.title for finding in compared.findings]
    assert compared.tables["paired_by_cue"].height == len(nli.cues)


def test_two_models_that_did_not_answer_do_not_agree(nli):
    first, second = nli.model(0.0, name="a"), nli.model(0.0, seed=1, name="b")
    answers = [model.answers.copy() for model in (first, second)]
    answers[0][:400], answers[1][:500] = UNANSWERED, UNANSWERED
    models = [replace(m, answers=a) for m, a in zip((first, second), answers, strict=True)]
    found = AgreementOfModels().run(nli.data, models)
    row = found.tables["agreement"].row(0, named=True)
    assert (row["n"], row["left_out"]) == (len(nli.examples) - 500, 500)
    assert row["nba"] == pytest.approx((first.answers[500:] == second.answers[500:]).mean())
    assert "500 examples without an answer from both models" in found.findings[0].text
    silent = replace(second, answers=np.full(len(second.answers), UNANSWERED))
    with pytest.raises(Skip, match="No example has an answer from both"):
        AgreementOfModels().run(nli.data, [first, silent])


def test_one_model_is_not_compared(nli):
    for probe, inputs in ((AgreementOfModels(), {}), (PairedComparison(), {"cues": nli.cues})):
        with pytest.raises(Skip, match="at least two models"):
            probe.run(nli.data, [nli.model(0.0)], **inputs)


def test_unanswered_examples_are_wrong_and_leave_the_distribution_test(nli):
    model = nli.model(0.0)
    answers = model.answers.copy()
    answers[::10] = UNANSWERED
    partly = replace(model, answers=answers)
    result = AccuracyTest().run(nli.data, [partly], nli.cues).summary["models"]["model"]
    assert result["unanswered"] == len(answers[::10])
    assert result["accuracy"] <= 0.9
    shares = DistributionTest().tested(partly, nli.cues)[0].drop_nulls("predicted_share")
    assert shares.group_by("feature").agg(pl.col("predicted_share").sum())["predicted_share"].to_numpy() == (
        pytest.approx(1.0)
    )


def test_a_named_cue_that_was_not_tested_is_an_error(nli):
    with pytest.raises(UsageError, match="was not tested"):
        nli.cue("zebra")
