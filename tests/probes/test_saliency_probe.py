"""Token relevance agreement of a full and a partial model, and its maps to look at."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.errors import UsageError
from cuecard.models import FastText, LinearText
from cuecard.probes import token_relevance
from cuecard.report.html.chart_page import saliency_html, saliency_page, write_saliency_page
from cuecard.stats import token_relevance_agreement
from small_sets import choice_instances, pair_instances

NOUNS = ["dog", "cat", "house", "tree", "boat", "lake"]


def told(n: int = 240, *, by_both: bool = False, seed: int = 0):
    """Pairs whose label is told by `never`, or by whether the premise has the noun of the hypothesis."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        first, second = (str(noun) for noun in generator.choice(NOUNS, size=2, replace=False))
        if by_both:
            rows.append(
                ("test", f"the {first} stands", f"the {first if i % 2 else second} stands", "ab"[i % 2])
            )
        else:
            rows.append(
                ("test", f"the {first} stands", f"the {second} {['moves', 'never'][i % 2]}", "ab"[i % 2])
            )
    return pair_instances(rows)


def both_models(data, kind=LinearText):
    return kind().fit(data), kind().fit(data, condition="hypothesis")


def test_models_agree_more_where_the_hypothesis_tells_the_label():
    leaking, sound = told(), told(by_both=True)
    leaks, fair = (token_relevance(*both_models(data), data) for data in (leaking, sound))
    assert leaks.agreement.tra > 0.9 > fair.agreement.tra
    assert leaks.agreement.low <= leaks.agreement.tra <= leaks.agreement.high
    assert leaks.agreement.even == pytest.approx((3 / 6) ** 0.5)
    assert f"{leaks.agreement.tra:.2f}" in leaks.finding.text


def test_the_mean_is_that_of_the_plain_function_on_padded_maps():
    data = told(60)
    found = token_relevance(*both_models(data, FastText), data).agreement
    full = np.hstack([found.full.premise, found.full.hypothesis])
    partial = np.hstack([np.zeros_like(found.full.premise), found.partial.hypothesis])
    assert found.tra == pytest.approx(token_relevance_agreement(full, partial))


def test_shown_maps_hold_the_tokens_and_zeros_for_what_is_not_read():
    data = told(60)
    found = token_relevance(*both_models(data), data, show=5, which="least")
    assert found.maps.height == 5
    assert found.maps["cosine"].is_sorted()
    for row in found.maps.iter_rows(named=True):
        assert len(row["premise"]) == len(row["full_premise"]) == len(row["partial_premise"])
        assert not any(row["partial_premise"])
        assert sum(row["full_premise"]) + sum(row["full_hypothesis"]) == pytest.approx(1)
        assert sum(row["partial_hypothesis"]) == pytest.approx(1)
    assert found.examples.height == 60


def test_choices_are_compared_by_example():
    questions = [
        ("test", "where", [f"in the {a} surely", f"in the {b}"], 0) for a in NOUNS for b in NOUNS if a != b
    ]
    data = choice_instances(questions)
    full, partial = LinearText().fit(data), LinearText().fit(data, condition="choices")
    found = token_relevance(full, partial, data, show=3)
    assert len(found.agreement.cosines) == len(questions)
    assert found.maps["label"].to_list() == ["right"] * 3


def test_examples_without_known_words_are_left_out_and_counted():
    data = told(60)
    asked = pair_instances(
        [("test", "quagga", "okapi", "a"), ("test", "the dog stands", "the cat never", "b")]
    )
    found = token_relevance(*both_models(data), asked)
    assert found.agreement.left_out == 1
    assert found.examples["cosine"].null_count() == 1
    assert "1 example without a map" in found.finding.text


def test_models_of_two_kinds_are_not_compared():
    data = told(60)
    with pytest.raises(UsageError, match="different tokens"):
        token_relevance(LinearText().fit(data), FastText().fit(data, condition="hypothesis"), data)


def test_the_view_colours_by_relevance_and_escapes_what_the_data_says(tmp_path):
    data = told(60)
    maps = token_relevance(*both_models(data), data, show=4).maps
    page = saliency_html(maps, full="reads <all>", partial="reads half")
    assert page.count('<figure class="saliency">') == 4
    assert "reads &lt;all&gt;" in page
    assert page.count("not seen") == 4
    assert page.count("--r:45%") >= 8  # the strongest token of every map
    assert "<script" not in saliency_page(maps, "<script>alert(1)</script>")
    write_saliency_page(tmp_path / "maps.html", maps, "Two models.")
    assert (tmp_path / "maps.html").read_text(encoding="utf-8").count("<figure") == 4


def test_maps_of_different_tokens_are_not_compared():
    data = told(40)
    full, partial = LinearText().fit(data), LinearText(tokens="chars").fit(data, condition="hypothesis")
    with pytest.raises(
        UsageError, match=r"different tokens \(in row 1 'the' and 't'\).*same parameters and tokeniser"
    ):
        token_relevance(full, partial, data)
