"""Models on disk: `model.json` says what a folder holds, safetensors hold the numbers, nothing is unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cuecard.errors import InputError
from cuecard.models.text_model import MODELS, TextModel

DESCRIPTION = "model.json"
WEIGHTS = "model.safetensors"

#: Suffixes under which other programs pickle weights.
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


def load_model(folder: Path | str) -> TextModel:
    """Return the model that was saved to a folder, whichever kind it is."""
    folder = Path(folder)
    name = read_description(folder).get("model")
    if not isinstance(name, str):
        raise InputError(
            f"{folder / DESCRIPTION} has no key 'model': give a folder that `cuecard train` wrote."
        )
    model: TextModel = MODELS.get(name).load(folder)
    return model


def read_description(folder: Path) -> dict[str, Any]:
    """Return what `model.json` says, or raise if the folder has none that can be read."""
    file = folder / DESCRIPTION
    if not file.is_file():
        raise InputError(
            f"{folder} holds no saved model ({DESCRIPTION}): give a folder that `cuecard train` wrote."
        )
    return read_json(file)


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or raise if it is cut short or something else."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read as JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{file} holds no JSON object.")
    return content


def safe_weights(folder: Path) -> Path:
    """Return the file of weights, or raise; pickled weights are refused with the line that converts them."""
    file = folder / WEIGHTS
    if file.is_file():
        return file
    pickled = sorted(path for path in folder.glob("*") if path.suffix in PICKLED)
    if not pickled:
        raise InputError(f"{folder} holds no {WEIGHTS}: the weights are missing.")
    raise InputError(
        f"{folder} holds {pickled[0].name} but no {WEIGHTS}; pickled weights are not loaded because that can run "
        f'code. If you trust the file, convert it in that folder: python -c "import torch, safetensors.torch as s; '
        f"s.save_file({{k: v.clone() for k, v in torch.load('{pickled[0].name}', weights_only=True).items()}}, "
        f"'{WEIGHTS}')\""
    )
