"""A killed run resumes and ends as if nothing had happened; a checkpoint of anything else is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, Step, load_model
from planted_cues import TINY, cue_choices, cue_pairs

pytest.importorskip("torch")

#: Five batches per epoch; the state is written after the second and the fourth, and the kill comes later.
SCRIPT = """
import sys, time
from pathlib import Path
from planted_cues import TINY, cue_pairs
from cuecard.models import MODELS

def stop_at(step):
    if step.done == {stop}:
        print("there", flush=True)
        time.sleep(600)

MODELS.get("{name}")(**TINY, checkpoint_every=2).fit(
    cue_pairs(150), dynamics=True, checkpoint=Path(sys.argv[1]), watch=stop_at
)
"""


@pytest.mark.parametrize(("name", "stop"), [("siamese-lstm", 10), ("esim", 13)])
def test_a_killed_run_goes_on_to_exactly_the_same_predictions(name: str, stop: int, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(name=name, stop=stop), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"there\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL

    data, unseen, steps = cue_pairs(150), cue_pairs(40, seed=1), []
    resumed = MODELS.get(name)(**TINY).fit(data, dynamics=True, checkpoint=tmp_path, watch=steps.append)
    whole = MODELS.get(name)(**TINY).fit(data, dynamics=True)
    assert 5 < steps[0].done <= stop
    assert (resumed.predict_proba(unseen) == whole.predict_proba(unseen)).all()
    assert (resumed.dynamics_.probability == whole.dynamics_.probability).all()
    assert (resumed.dynamics_.correct == whole.dynamics_.correct).all()
    assert [e.loss for e in resumed.history_] == [e.loss for e in whole.history_]
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


def interrupted(tmp_path: Path, *, stop: int = 7, **parameters: Any) -> None:
    """Train until a step, then stop as if by a key."""

    def stop_at(step: Step) -> None:
        if step.done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MODELS.get("siamese-lstm")(**{**TINY, **parameters}).fit(
            cue_pairs(150), checkpoint=tmp_path, watch=stop_at
        )


def test_nothing_is_pickled_or_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    import torch

    for module, names in ((pickle, ("dump", "dumps", "load", "loads")), (torch, ("save", "load"))):
        for name in names:
            monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("something was pickled"))
    interrupted(tmp_path / "checkpoint", checkpoint_every=1)
    data = cue_pairs(150)
    model = MODELS.get("siamese-lstm")(**TINY).fit(data, checkpoint=tmp_path / "checkpoint")
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict_proba(data) == model.predict_proba(data)).all()


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    data, steps = cue_choices(30), []
    first = MODELS.get("esim")(**TINY).fit(data, checkpoint=tmp_path)
    again = MODELS.get("esim")(**TINY).fit(data, checkpoint=tmp_path, watch=steps.append)
    assert steps == []
    assert (first.predict_proba(data) == again.predict_proba(data)).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": cue_pairs(150, seed=5)}, "training data was"),
        ({"condition": "hypothesis"}, "condition was 'full', now 'hypothesis'"),
        ({"weights": np.arange(150.0)}, "weights was"),
        ({"hidden": 5}, "hidden was 12, now 5"),
        ({"name": "esim"}, "batch"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    interrupted(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    data, name = change.pop("data", cue_pairs(150)), change.pop("name", "siamese-lstm")
    fit = {key: change.pop(key) for key in ("condition", "weights") if key in change}
    with pytest.raises(UsageError, match=said if name == "siamese-lstm" else "to another run"):
        MODELS.get(name)(**{**TINY, **change}).fit(data, checkpoint=tmp_path, **fit)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_another_batch_size_goes_on_from_the_same_share_of_the_epoch(tmp_path: Path) -> None:
    interrupted(tmp_path, stop=10, checkpoint_every=4)
    steps: list[Step] = []
    model = MODELS.get("siamese-lstm")(**{**TINY, "batch_size": 16})
    model.fit(cue_pairs(150), checkpoint=tmp_path, watch=steps.append)
    assert (steps[0].epoch, steps[0].done) == (2, 9 + 8 + 1)
    assert len(model.history_) >= 2


def test_what_a_kill_leaves_half_written_is_ignored(tmp_path: Path) -> None:
    interrupted(tmp_path)
    (tmp_path / "state-1-3-32.safetensors").write_bytes(b"cut short")
    (tmp_path / ".state-2-0-32-abc.safetensors").write_bytes(b"cut short")
    data = cue_pairs(150)
    resumed = MODELS.get("siamese-lstm")(**TINY).fit(data, checkpoint=tmp_path)
    whole = MODELS.get("siamese-lstm")(**TINY).fit(data)
    assert (resumed.predict_proba(data) == whole.predict_proba(data)).all()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("file", "said"), [("checkpoint.json", "JSON"), ("state-1-0-32.safetensors", "damaged")]
)
def test_a_damaged_checkpoint_is_said_to_be_one(file: str, said: str, tmp_path: Path) -> None:
    interrupted(tmp_path)
    (tmp_path / file).write_bytes(b"cut short")
    with pytest.raises(InputError, match=said):
        MODELS.get("siamese-lstm")(**TINY).fit(cue_pairs(150), checkpoint=tmp_path)


def test_predictions_that_were_stopped_go_on_with_a_smaller_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuecard.models.fitted import fitted
    from cuecard.models.recipe import Recipe

    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    data, recipe, steps = cue_pairs(150), Recipe("siamese-lstm", options={**TINY, "epochs": 3}), []

    def stop(step: Step) -> None:
        if step.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(recipe, data, [data], watch=stop)
    fitted(recipe.with_options(batch_size=16), data, [data], watch=steps.append)
    assert steps[0].epoch == 2
    steps.clear()
    fitted(recipe, data, [data], watch=steps.append)
    assert steps[0].epoch == 1  # what larger batches learn is not what smaller ones learned
