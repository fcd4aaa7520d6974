"""What `--set` sets: a parameter of a section, or of a model that is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def split_settings(
    texts: Iterable[str] | None, sections: Sequence[str], trained: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the settings of sections, such as "pair_graph.forest=paper", and those of models, such as "epochs=3".

    Args:
        texts: as the user typed them.
        sections: names of the sections that can be set.
        trained: names of the models that are trained.
    """
    from cuecard.errors import UsageError
    from cuecard.models import MODELS
    from cuecard.registry import unknown_name

    of_sections, of_models = [], []
    for text in texts or ():
        owner, dot, _ = text.partition("=")[0].strip().partition(".")
        if dot and owner in sections:
            of_sections.append(text)
        elif dot and owner not in MODELS.names():
            raise unknown_name("section or model in --set", owner, [*sections, *MODELS.names()])
        elif not trained:
            raise UsageError(
                f"--set {text} names no section, and this command trains no model: type SECTION.PARAMETER=VALUE, such "
                "as pair_graph.forest=paper."
            )
        else:
            of_models.append(text)
    return of_sections, tuple(of_models)
