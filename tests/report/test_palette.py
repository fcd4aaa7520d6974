from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from cuecard.report.palette import DARK, LIGHT, Palette, css_variables, vega_config

Vector = npt.NDArray[np.float64]

# Severe deficiencies in linear RGB, after Machado, Oliveira and Fernandes (2009).
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> Vector:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    xyz = TO_XYZ @ rgb.clip(0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(a: str, b: str) -> float:
    light, dark = sorted((float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (a, b)), reverse=True)
    return light / dark


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_first_labels_stay_apart_for_colour_blind_readers(palette: Palette, deficiency: str) -> None:
    seen = [lab(np.array(DEFICIENCIES[deficiency]) @ linear(colour)) for colour in palette.labels[:4]]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_reaches_contrast_aa(palette: Palette) -> None:
    colours = [palette.ink, palette.muted, palette.accent, *palette.severity.values()]
    assert min(contrast(c, ground) for c in colours for ground in (palette.ground, palette.surface)) >= 4.5
    assert contrast(palette.ink, palette.mark) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_of_labels_stand_out_from_their_ground(palette: Palette) -> None:
    assert min(contrast(colour, palette.surface) for colour in palette.labels) >= 2.9


def test_charts_and_pages_share_their_colours() -> None:
    assert f"--label-0: {LIGHT.labels[0]};" in css_variables(LIGHT)
    assert vega_config(LIGHT)["range"]["category"][0] == LIGHT.labels[0]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_lines_and_titles_of_legends_have_a_colour_of_the_scheme(palette: Palette) -> None:
    config = vega_config(palette)
    assert config["rule"]["color"] == palette.muted
    assert config["legend"]["titleColor"] == palette.muted
