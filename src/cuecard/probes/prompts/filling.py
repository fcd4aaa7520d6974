"""Prompt templates in a sandbox: what fails is a sentence with its line, and loops and texts are limited.

Templates come from other people, too. Jinja's sandbox keeps them away from Python; here loops, calls and filters
count steps, and whatever makes a text longer is checked before it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from cuecard.errors import InputError

#: Rounds of loops, calls and items that filters read, for one prompt.
MOST_STEPS = 200_000
#: Characters of a text, or items of a list.
LONGEST = 1_000_000
#: The largest number that a filter or a method may be given, such as a width.
WIDEST = 200
#: Bits of the largest whole number.
_BITS = 4096
#: Filters without a place in a prompt: they are random, or reach into Python.
_NOT_OFFERED = ("random", "attr", "format", "pprint", "xmlattr", "urlize", "filesizeformat")
_METHODS = frozenset(
    (
        *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold", "swapcase"),
        *("split", "rsplit", "splitlines", "partition", "rpartition", "removeprefix", "removesuffix"),
        *("startswith", "endswith", "isalpha", "isdigit", "isnumeric", "isupper", "islower"),
        *("replace", "join", "index", "find", "rfind", "count", "get", "items", "keys", "values"),
    )
)


class LimitError(Exception):
    """A template does more than a prompt needs."""


def compiled(source: str, where: str) -> Template:
    """Return a template, or raise an error that names the line that is not valid."""
    if len(source) > LONGEST:
        raise InputError(f"{where} has {len(source):,} characters: shorten it to {LONGEST:,} at most.")
    try:
        return _compiled(source)
    except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, LimitError) as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else None
        raise InputError(f"{where}{_line(line)} is not valid Jinja ({_reason(error)}): correct it.") from None


def filled(source: str, values: Mapping[str, Any], where: str) -> str:
    """Return a prompt from its template, or raise an error that names the line that failed."""
    template = compiled(source, where)
    environment = template.environment
    assert isinstance(environment, _Bounded)
    environment.steps = 0
    parts: list[str] = []
    length = 0
    try:
        for part in template.generate(dict(values)):
            length += len(part)
            if length > LONGEST:
                raise LimitError(f"the prompt has more than {LONGEST:,} characters")
            parts.append(part)
    except Exception as error:  # a template may raise anything that Python does
        raise InputError(
            f"{where}{_line(_failed_line(error))} cannot be filled in ({_reason(error)}): correct it."
        ) from None
    prompt = "".join(parts).strip()
    if any("\ud800" <= character <= "\udfff" for character in prompt):
        raise InputError(
            f"{where} makes half of a character (a lone surrogate), which cannot be sent: correct it."
        )
    return prompt


@lru_cache(maxsize=16)
def _compiled(source: str) -> Template:
    return _Bounded().from_string(source)


def _line(number: int | None) -> str:
    return f", line {number:,}," if number else ""


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply or calls itself"
    return (str(error).splitlines() or [type(error).__name__])[0]


def _failed_line(error: BaseException) -> int | None:
    """Return the line of the template that was being filled in."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class _Counting(NodeTransformer):
    """Have every loop count its rounds, and every `~` check the length of what it joins."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "_rounds", [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "_joined", [], [], None, None, lineno=node.lineno)


class _Bounded(SandboxedEnvironment):
    """A sandbox that counts steps and checks lengths."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
        self.steps = 0
        filters: dict[str, Callable[..., Any]] = {
            name: self._checked_filter(name, call)
            for name, call in self.filters.items()
            if name not in _NOT_OFFERED
        }
        self.filters = {**filters, "_rounds": self._rounds, "_joined": self._joined}
        del self.globals["lipsum"]

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        return parsed

    def count(self, steps: int = 1) -> None:
        """Count steps, or raise if there are too many."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise LimitError(f"it takes more than {MOST_STEPS:,} steps")

    def _rounds(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.count()
            yield item

    def _joined(self, parts: list[Any]) -> str:
        texts = [str(part) for part in parts]
        _check_length(sum(map(len, texts)))
        return "".join(texts)

    def _checked_filter(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(call)
        def checked(*args: Any, **options: Any) -> Any:
            # Filters that need the environment or the context get it as their first argument.
            values = args[1:] if hasattr(call, "jinja_pass_arg") else args
            self._check(name, values, options)
            return call(*args, **options)

        return checked

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls: macros, methods of texts and lists, `range`."""
        __self.count()
        owner = getattr(__obj, "__self__", None)
        name = getattr(__obj, "__name__", "")
        of_value = isinstance(owner, str | bytes | list | dict)
        # The sandbox hands out `format` in a wrapper of its own.
        if (of_value and name not in _METHODS) or name in ("format", "format_map"):
            raise LimitError(f"the method {name} is not offered to prompts")
        if of_value:
            __self._check(name, (owner, *args), kwargs)
        return super().call(__context, __obj, *args, **kwargs)

    def _check(self, name: str, values: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        """Count what a filter or method reads, and raise if its result may be too long."""
        self.count(
            1 + sum(len(v) // (100 if isinstance(v, str) else 1) for v in values if isinstance(v, Sized))
        )
        arguments = [*values[1:], *options.values()]
        if any(isinstance(value, int) and abs(value) > WIDEST for value in arguments):
            raise LimitError(f"{name} takes numbers up to {WIDEST}")
        if name == "replace" and len(values) > 2:
            text, old, new = (str(value) for value in values[:3])
            _check_length(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
        if name == "join":
            separator = str(values[0]) if isinstance(values[0], str) and len(values) == 2 else ""
            separator = max(separator, *(str(v) for v in arguments if isinstance(v, str)), "", key=len)
            items = next((v for v in values[::-1] if isinstance(v, list | tuple)), [])
            _check_length(sum(len(str(item)) + len(separator) for item in items))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product, power, sum or remainder that cannot grow without limit."""
        if operator == "*":
            for items, times in ((left, right), (right, left)):
                if isinstance(items, Sized) and isinstance(times, int):
                    _check_length(len(items) * max(times, 0))
        elif operator == "+" and isinstance(left, Sized) and isinstance(right, Sized):
            _check_length(len(left) + len(right))
        elif operator == "%" and isinstance(left, str) and re.search(r"\d{4}|\*", left):
            raise LimitError("a width of that size is not offered to prompts")
        if isinstance(left, int) and isinstance(right, int):
            bits = (
                left.bit_length() * max(right, 0)
                if operator == "**"
                else left.bit_length() + right.bit_length()
            )
            if bits > _BITS and operator in ("*", "**"):
                raise LimitError("a number is too large")
        self.count()
        return super().call_binop(context, operator, left, right)


def _check_length(length: int) -> None:
    if length > LONGEST:
        raise LimitError(f"a text or list is longer than {LONGEST:,}")
