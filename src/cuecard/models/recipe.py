"""What is to be trained: a model by name, its parameters, and what it may read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.debiasing import Debias, fit_debiased
from cuecard.models.text_model import CONDITIONS, MODELS, Condition, FitJob, TextModel, Watch
from cuecard.registry import unknown_name


@dataclass(frozen=True)
class Recipe:
    """A registered model with the parameters that differ from its defaults, and the part of the input it reads.

    `debias` says how it is kept from using cues, if it is.
    """

    model: str
    condition: Condition = "full"
    options: Mapping[str, Any] = field(default_factory=dict)
    debias: Debias | None = None

    def __post_init__(self) -> None:
        """Check names and values at once, so that a typo costs no time."""
        if self.condition not in CONDITIONS:
            raise UsageError(f"Unknown condition {self.condition!r}: choose one of {', '.join(CONDITIONS)}.")
        checked = checked_options(self.model, self.options)
        object.__setattr__(self, "options", dict(sorted(checked.items())))

    @property
    def name(self) -> str:
        """What to call it beside others: "bilstm", or "bilstm-hypothesis"."""
        return self.model if self.condition == "full" else f"{self.model}-{self.condition}"

    @property
    def contents(self) -> dict[str, Any]:
        """Everything that what it learns depends on, besides the data.

        A model that also learns from files which its parameters only name has a method `outside`, which
        returns what they hold.
        """
        model = self.new()
        outside: dict[str, str] = getattr(model, "outside", dict)()
        return {
            "model": self.model,
            "parameters": all_parameters(model),
            "condition": self.condition,
            **({"outside": outside} if outside else {}),
            **({"debias": self.debias.contents} if self.debias is not None else {}),
        }

    @property
    def lasting_contents(self) -> dict[str, Any]:
        """The same without what may change when an interrupted run resumes, such as a smaller batch.

        A model declares those parameters as its `free_parameters`.
        """
        contents, free = self.contents, getattr(MODELS.get(self.model), "free_parameters", ())
        lasting = {name: value for name, value in contents["parameters"].items() if name not in free}
        return {**contents, "parameters": lasting}

    def new(self) -> TextModel:
        """Return the model, not yet fitted."""
        model: TextModel = MODELS.get(self.model)(**self.options)
        return model

    def fit(
        self,
        data: Instances,
        *,
        weights: npt.ArrayLike | None = None,
        validation: Instances | None = None,
        dynamics: bool = False,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
    ) -> TextModel:
        """Return the model, fitted; see `TextModel.fit`."""
        job = FitJob(data, weights, self.condition, validation, dynamics, checkpoint, watch)
        return job.fit(self.new()) if self.debias is None else fit_debiased(self, self.debias, job)

    def with_options(self, **options: Any) -> Recipe:
        """Return the same recipe with other parameters; those that the model does not have are left out."""
        names = parameter_names(self.model)
        accepted = {name: value for name, value in options.items() if name in names and value is not None}
        return replace(self, options={**self.options, **accepted})

    def with_defaults(self, **options: Any) -> Recipe:
        """Return the same as `with_options`, but what the recipe itself says about a parameter stays."""
        return self.with_options(**{k: v for k, v in options.items() if k not in self.options})


def parameter_names(model: str) -> list[str]:
    """Return the names of a registered model's parameters."""
    return [f.name for f in fields(MODELS.get(model)) if f.init]


def all_parameters(model: TextModel) -> dict[str, Any]:
    """Return the parameters of a model as JSON can hold them."""
    values = {f.name: getattr(model, f.name) for f in fields(model) if f.init}  # type: ignore[arg-type]
    return {
        name: value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
        for name, value in values.items()
    }


def checked_options(model: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters in the types that the model declares, or raise an error that names the right ones."""
    kind = MODELS.get(model)
    names = parameter_names(model)
    hints = get_type_hints(kind)
    checked = {}
    for name, value in options.items():
        if name not in names:
            raise unknown_name(f"parameter of the model {model!r}", name, names)
        typed = None if isinstance(value, str) and value.lower() == "none" else value
        try:
            checked[name] = TypeAdapter(hints[name]).validate_python(typed)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise UsageError(
                f"The parameter {name!r} of the model {model!r} cannot be {value!r}: {reason}."
            ) from None
    return checked


def parse_model_settings(settings: Iterable[str]) -> list[tuple[str | None, str, str]]:
    """Return (model or None, parameter, value) of texts such as "epochs=3" and "bilstm.epochs=3"."""
    parsed = []
    for text in settings:
        path, equals, value = text.partition("=")
        model, dot, name = path.strip().rpartition(".")
        if not (equals and name and value.strip()):
            raise UsageError(f"--set takes PARAMETER=VALUE, such as epochs=3, not {text!r}.")
        parsed.append((model if dot else None, name, value.strip()))
    return parsed


def recipes(
    models: Iterable[str], settings: Iterable[str] = (), *, condition: Condition = "full"
) -> list[Recipe]:
    """Return a recipe per model; a setting without a model goes to every one that has such a parameter.

    A setting that no model has is an error, as is one for a model that is not trained.
    """
    names = list(dict.fromkeys(models))
    parsed = parse_model_settings(settings)
    for model, name, _ in parsed:
        if model is not None and model not in names:
            raise unknown_name("model in --set", model, names)
        if model is None and not any(name in parameter_names(other) for other in names):
            parameters = sorted({model_name for other in names for model_name in parameter_names(other)})
            raise unknown_name("parameter", name, parameters)
    return [
        Recipe(
            model_name,
            condition,
            {
                name: value
                for model, name, value in parsed
                if model == model_name or (model is None and name in parameter_names(model_name))
            },
        )
        for model_name in names
    ]


#: Called with the title of a training run; the run happens inside the context it returns, which gives what to tell
#: of the progress.
Tell = Callable[[str], AbstractContextManager[Watch | None]]


def seedless_recipes(models: Iterable[str], settings: Iterable[str]) -> list[Recipe]:
    """Return a recipe per model, each to be trained with several seeds; a setting that gives one is an error."""
    settings = list(settings)
    if any(name == "seed" for _, name, _ in parse_model_settings(settings)):
        raise UsageError(
            "An experiment trains with several seeds: give the first with --seed, not with --set."
        )
    return recipes(models, settings)


def silently(title: str) -> AbstractContextManager[Watch | None]:
    """Tell nobody."""
    del title
    return nullcontext(None)
