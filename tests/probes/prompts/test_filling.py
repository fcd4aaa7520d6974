from __future__ import annotations

import pytest

from cuecard.errors import InputError
from cuecard.probes.prompts.filling import LONGEST, filled

VALUES = {"premise": "A dog.", "choices": ["x", "y"], "labels": ["no", "yes"], "letters": "ABC"}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for c in choices %}{{ letters[loop.index0] }}. {{ c|upper }}{% if loop.last %};{% endif %}{% endfor %}",
         "A. XB. Y;"),
        ("{{ premise.lower().replace('dog', 'cat')|trim }} {{ labels|join(' or ') }}", "a cat. no or yes"),
        ("{% set n = choices|length %}{{ n + 1 }} {{ 'a' ~ n }} {{ '-' * 3 }}", "3 a2 ---"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(premise) }}", "<A dog.>"),
    ],
)  # fmt: skip
def test_ordinary_templates_are_filled_in(template, text):
    assert filled(template, VALUES, "The prompt 'p'") == text


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("a\nb {{ nothing }}", r"line 2, cannot be filled in \('nothing' is undefined\): correct it"),
        ("{{ premise }}\n{{ choices[7] }}", r"line 2, cannot be filled in"),
        ("\n\n{{ 1 / 0 }}", r"line 3, cannot be filled in \(division by zero\)"),
        ("{{ letters + 3 }}", "line 1, cannot be filled in"),
        ("{{ premise.__class__ }}", "line 1, cannot be filled in .*unsafe"),
        ("a\n{% if %}", "line 2, is not valid Jinja"),
        (r"{{ '\ud800' }}", "makes half of a character"),
        ("{{ " + "[" * 3000 + "]" * 3000 + " }}", "nested too deeply"),
    ],
)
def test_every_fault_is_a_sentence_with_its_line(template, says):
    with pytest.raises(InputError, match=f"^The prompt 'p', {says}|{says}"):
        filled(template, VALUES, "The prompt 'p'")


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
        "{% for a in range(10**9) %}{% endfor %}",
        "{{ 'a' * 10**10 }}",
        "{{ 9 ** (9 ** 9) }}",
        "{{ '%9999999999d' % 3 }}",
        "{{ '{:9999999999}'.format(3) }}",
        "{{ premise|center(10**11) }}",
        "{{ premise.zfill(10**11) }}",
        "{{ ('x' * 900000)|replace('', 'x' * 900000) }}",
        "{{ (' ' * 900000).join(range(90000)|list) }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% for i in range(90000) %}{{ 'x' * 90 }}{% endfor %}",
        "{% for i in range(90000) %}{% set s = range(90000)|sum %}{% endfor %}",
    ],
)
def test_loops_and_sizes_are_bounded(template):
    with pytest.raises(InputError, match="cannot be filled in"):
        filled(template, VALUES, "The prompt 'p'")


def test_a_long_text_of_the_data_still_fits():
    assert len(filled("{{ premise }}", {"premise": "x" * (LONGEST - 1)}, "p")) == LONGEST - 1
