"""What the papers print, from their own tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

# ICQ, Table 2: accuracy gaps of FastText, ESIM, BERT and RoBERTa for the top cues of ten datasets.
ICQ_TABLE_2 = """
30.3 6.81 5.34 4.87; 18.09 3.32 2.05 2.6; 18.89 4.88 5.61 4.31; 22.96 6.66 3.51 3.05; 16.64 0.06 9.47 -0.19
9.78 -0.06 4.97 10.56; 13.59 7.14 2.23 3.11; 4.85 6.43 4.67 2.55; 7.16 15.64 -1.65 -6.65; 3.44 12.0 0.89 -1.23
29.15 26.41 9.86 10.6; 19.49 20.17 1.2 3.32; 25.5 26.84 5.11 4.32; 20.4 19.39 7.76 3.74; 18.43 15.74 3.31 1.14
1.28 4.69 10.88 0.97; -10.01 14.51 1.75 5.69; -2.31 4.45 5.12 -3.13; 2.43 0.74 1.05 5.51; 4.77 10.06 8.81 1.67
-10.83 6.46 7.92 1.04; 5.45 -9.89 -12.52 -10.3; 10.11 -1.89 9.05 11.58; -15.64 -6.98 3.3 13.82; -12.46 -2.33 3.8 -8.22
6.13 8.55 1.2 1.55; 7.55 -4.67 -6.66 -1.67; 12.6 4.58 8.27 -5.66; -2.77 0.49 8.43 3.49; 2.79 5.3 -0.92 -0.04
8.73 -8.43 -0.22 -1.92; 16.97 -4.8 3.52 -3.45; 15.69 -6.94 8.6 -7.6; 9.91 -0.06 -3.8 2.86; 7.75 -3.45 -6.67 -1.8
1.76 -2.94 -1.35 -4.12; -3.29 -2.69 -1.78 -3.7; -6.33 -1.73 -2.76 -7.24; -5.64 -4.69 2.37 -2.16; 4.54 -2.98 -14.36 -3.7
-2.54 7.45 -0.97 -11.96; 3.49 10.04 6.28 -8.23; 10.3 5.89 9.49 4.84; -4.66 38.21 -4.35 -8.26; -0.73 -3.69 -1.15 -7.22
1.65 -0.25 2.73 0.57
"""


@pytest.fixture(scope="module")
def tables(oracle):
    return json.loads(oracle("paper_tables.json").read_text())


def test_model_weakness_is_the_sum_of_absolute_gaps_that_icq_prints(tables):
    rows = [row.split() for row in ICQ_TABLE_2.replace("\n", ";").split(";") if row.strip()]
    gaps = np.array(rows, dtype=float)
    assert gaps.shape == (46, 4)
    assert np.abs(gaps).sum(axis=0).round(1).tolist() == tables["icq"]["model_weakness"]


def test_accuracy_gaps_of_icqs_prompts_are_the_difference_of_its_accuracies(tables):
    printed = tables["icq"]["table3"]
    for with_cue, without_cue, gap in printed.values():
        assert with_cue - without_cue == pytest.approx(gap, abs=0.0051)
    smallest = min(printed, key=lambda prompt: abs(printed[prompt][2]))
    assert smallest == "P2+CoT"


def _pcc(a, b):
    return float(np.corrcoef(a, b)[0, 1])


def test_correlations_of_peco_follow_from_its_tables(tables):
    peco = tables["peco"]
    third, fourth = peco["table3_ssc_rr_dmaj_as_printed"], peco["table4_nba_nbr_tra_peco"]
    names = list(third)
    recovered = [third[name][1] for name in names]
    corrected = [_number(peco["table3_ssc_corrected"].get(name, third[name][0])) for name in names]
    _, nbr, tra, score = np.array([fourth[name] for name in names], dtype=float).T
    assert _pcc(nbr, recovered) == pytest.approx(0.690, abs=0.0006)
    assert _pcc(score, recovered) == pytest.approx(0.637, abs=0.0006)
    assert _pcc(tra, corrected) == pytest.approx(0.566, abs=0.0006)
    sota, ours, _ = np.array(list(peco["table2_psc_sota_ours_maj"].values())).T
    assert _pcc(sota, ours) == pytest.approx(0.969, abs=0.0006)


def _number(value):
    return float(str(value).split()[0])
