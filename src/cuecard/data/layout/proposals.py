"""What to type for columns that are not recognised: readings by names and values, tried on the first rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import polars as pl

from cuecard.data.instances import LABELLED_TASKS, TASKS, Task
from cuecard.data.layout.matching import (
    READ_SHARE,
    SAMPLE,
    few_values,
    fill,
    flagged_columns,
    holds_options,
    is_prose,
    looks_headless,
    name_line,
    preview,
    repeats_itself,
    texts_and_labels,
)
from cuecard.data.layout.open_answers import (
    ends_with_answer,
    open_roles,
    possible_answers,
    reads_as_open,
)
from cuecard.data.layout.option_texts import inside_question, share_read, split_options
from cuecard.data.layout.roles import (
    NAMES,
    ONE_HOT_WINNERS,
    RESPONSE_STEMS,
    RIGHT_NAMES,
    WRONG_STEMS,
    Role,
    missing_roles,
    normal_name,
)
from cuecard.data.layout.scores import scores
from cuecard.data.layout.texts import has_speakers, is_chat
from cuecard.errors import InputError, UnrecognisedError
from cuecard.wording import listed

Roles = Mapping[Role, tuple[str, ...]]

#: An option value as typed; each task's line is shown when nothing is recognised.
_OPTION: Mapping[Task, str] = {
    "pair": "--columns premise=…,hypothesis=…,label=…",
    "choice": "--columns question=…,choices=…+…,answer=…",
    "preference": "--columns prompt=…,chosen=…,rejected=…",
    "text": "--columns text=…,label=…",
    "open": "--task open --columns question=…,answer=…",
}
_NUMBERED = re.compile(r"^(.*?[^\W\d_]?)[ _.]?([0-9]|[a-eA-E])$")
_VERDICT = (
    r"(?i)^\W*(?:(?:model|response|assistant|answer)?[ _]?[ab12]|tie.*|both.*|[ab]\s*[<>=]+\s*[ab])\W*$"
)
#: Columns of texts that explain an answer, so that they are neither a question nor a context.
ASIDE = re.compile(
    r"explan|rational|reason|solution|hint|lecture|note|comment|feedback|source|cot|remark|url|title|meta"
)
#: What stands above a text, and is compared with nothing.
_HEADING = re.compile("^(sub)?(title|headline|heading|header|subject)$")
#: Lists beside a question and its answer that are no wrong answers.
_BESIDE = re.compile(
    "alias|context|document|evidence|fact|image|keyword|passage|session|support|tag|title|_ids?$"
)
_ANSWER = re.compile("answer|correct|gold|label|target|key")
#: Columns that say who labelled an example or where it is from.
_NO_LABEL = re.compile("annot|author|genre|source|split|worker|_?ids?$")
#: Readings that are tried, at most.
MOST_TRIED = 12
#: Columns of a wide table that readings are made of: those found by name, and the first ones.
WIDEST = 24


@dataclass(frozen=True)
class Reading:
    """A way to read a table: a task, the columns of its roles, and how much speaks for it."""

    task: Task
    roles: Roles
    score: float


@dataclass(frozen=True)
class Proposer:
    """The readings that the values of a table allow; `by_name` has the roles that each task finds by name."""

    frame: pl.DataFrame
    by_name: Mapping[Task, Roles]

    @cached_property
    def _texts(self) -> list[str]:
        return unused_texts(self.frame, ())

    @cached_property
    def _labels(self) -> list[str]:
        return texts_and_labels(self.frame)[1]

    @cached_property
    def _lists(self) -> list[str]:
        passages = [c for c, d in self.frame.schema.items() if is_chat(d) and not has_speakers(d)]
        return [c for c, d in self.frame.schema.items() if d == pl.List(pl.String) or c in passages]

    @cached_property
    def _options(self) -> list[str]:
        """Columns that hold the options of a question, all in one."""
        frame = self.frame

        def several(column: str) -> bool:
            dtype = frame.schema[column]
            if repeats_itself(frame[column]) or "alias" in normal_name(column):
                return False
            if normal_name(column) in (*NAMES["chosen"], *NAMES["rejected"]) or has_speakers(dtype):
                return False
            if dtype.is_nested():
                return isinstance(dtype, pl.List) or holds_options(dtype)
            return share_read(frame[column], split_options) >= READ_SHARE

        flagged = flagged_columns(frame)
        return [*flagged, *(c for c in frame.columns if c not in flagged and several(c))]

    def readings(self) -> list[Reading]:
        """Return the readings, those first for which most speaks."""
        found = [*self._choices(), *self._preferences(), *self._labelled()]
        return sorted(found, key=lambda reading: -reading.score)

    def is_sure(self, reading: Reading) -> bool:
        """Return whether no column is left that could have a role of a reading as well."""
        used = {c for columns in reading.roles.values() for c in columns}
        left = [c for c in self.frame.columns if c not in used and not ASIDE.search(normal_name(c))]
        if any(c in self._texts for c in left):
            return False
        if "label" not in reading.roles:
            return True
        [label] = reading.roles["label"]
        rivals = [c for c in left if c in self._labels or is_label_list(self.frame[c])]
        strings = [c for c in left if self.frame.schema[c] == pl.String and normal_name(c) not in NAMES["id"]]
        varied = [c for c in strings if c not in rivals and self.frame[c].n_unique() > 1]
        return not varied and (not rivals or normal_name(label) in NAMES["label"])

    def _named(self, task: Task, role: Role) -> list[str]:
        return list(self.by_name[task].get(role, ()))

    def _reading(self, task: Task, score: float, **roles: Sequence[str]) -> Reading:
        """Return a reading, with a point for each role found by name and one less for each text that it leaves out."""
        filled: dict[Role, tuple[str, ...]] = {role: tuple(c) for role, c in roles.items() if c}  # type: ignore[misc]
        used = {c for columns in filled.values() for c in columns}
        left = [c for c in self._texts if c not in used and not ASIDE.search(normal_name(c))]
        names = sum(normal_name(columns[0]) in NAMES.get(role, ()) for role, columns in filled.items())
        return Reading(task, filled, score + names - len(left))

    def _choices(self) -> Iterator[Reading]:
        frame, context = self.frame, self._named("choice", "context")
        questions = self._named("choice", "question") or [c for c in self._texts if c not in context]
        named = self._named("choice", "answer")
        aside = {*self._texts, *self._options, *context}
        others = [c for c in frame.columns if c not in aside and normal_name(c) not in NAMES["id"]]
        varied = [c for c in others if frame[c].head(SAMPLE).n_unique() > 1]
        answers = named or sorted([*self._lists, *varied], key=lambda c: not _ANSWER.search(normal_name(c)))
        inside = [c for c in self._texts if share_read(frame[c], inside_question) >= READ_SHARE]

        def reading(score: float, question: str, choices: Sequence[str], answer: str) -> Reading:
            before = [c for c in context if c not in (question, *choices)]
            asked = [question] if question else []
            return self._reading(
                "choice", score, context=before, question=asked, choices=choices, answer=[answer]
            )

        alone = [
            (4 + 2 * (c in self._named("choice", "choices")), [c]) for c in self._options if c not in inside
        ]
        for base, choices in (*alone, *self._series()):
            marked = choices if choices[0] in flagged_columns(frame) else []
            for question in [q for q in questions if q not in choices][:3] or ([""] if context else []):
                for answer in marked or [c for c in answers if c not in choices][:6]:
                    yield reading(base, question, choices, answer)
        for question in inside:
            for answer in answers[:6]:
                yield reading(7, question, [question], answer)
        wrong = [c for c in frame.columns if _stem(c) in WRONG_STEMS or normal_name(c) in WRONG_STEMS]
        rights = [c for c in frame.columns if normal_name(c) in RIGHT_NAMES]
        pairs = [(right, wrong) for right in (*rights, *frame.columns) if wrong]
        lists = [c for c in self._lists if c not in rights and not _BESIDE.search(normal_name(c))]
        lists = [c for c in lists if frame[c].list.len().max() != 1]
        pairs += [(right, [column]) for right in rights[:1] for column in lists]
        for question in questions:
            for right, rest in pairs:
                if right not in (question, *rest) and (right in rights or not few_values(frame[right])):
                    yield reading(3, question, [right, *rest], right)

    def _series(self) -> Iterator[tuple[float, list[str]]]:
        """Yield columns called after one stem, and how much speaks for them; a column of another name fills a gap."""
        aside = {*RESPONSE_STEMS, "model", "winner_model", "winner"} - {"answer"}
        for columns in self._stems(lambda stem: normal_name(stem) not in aside):
            numbers = [_NUMBERED.match(c)[2].lower() for c in columns]  # type: ignore[index]
            symbols = "abcde" if numbers[0] in "abcde" else "0123456789"
            places = [symbols.index(n) for n in numbers if n in symbols]
            if places == list(range(places[0], places[0] + len(places))):
                yield 6, columns
            for column in self.frame.columns:
                plain = self.frame.schema[column] == pl.String and column not in columns
                plain = plain and normal_name(column) not in NAMES["id"]
                plain = plain and 2 * self.frame[column].n_unique() >= self.frame[columns[0]].n_unique()
                if plain and not any(column in roles for roles in self.by_name["choice"].values()):
                    gap = next((i for i, p in enumerate(places) if p != places[0] + i), None)
                    for at in [gap] if gap is not None else [0, len(columns)]:
                        yield 3 if gap is None else 8, [*columns[:at], column, *columns[at:]]

    def _stems(self, suits: Callable[[str], bool]) -> Iterator[list[str]]:
        groups: dict[str, list[str]] = {}
        for column in self.frame.columns:
            if (
                (stem := _stem(column)) is not None
                and suits(stem)
                and not self.frame.schema[column].is_numeric()
            ):
                groups.setdefault(stem, []).append(column)
        yield from (columns for columns in groups.values() if len(columns) > 1)

    def _preferences(self) -> Iterator[Reading]:
        named = self.by_name["preference"]
        verdicts = [
            c
            for c in self.frame.columns
            if self.frame.schema[c] == pl.String
            and self.frame[c].head(SAMPLE).drop_nulls().str.contains(_VERDICT).mean() == 1
        ]
        winners = [[c] for c in dict.fromkeys([*verdicts, *named.get("winner", ()), *self._labels])]
        names = {normal_name(c): c for c in self.frame.columns}
        one_hot = [
            [names[n] for n in each if n in names] for each in ONE_HOT_WINNERS if {*each[:2]} <= {*names}
        ]
        winners = one_hot or winners
        texts = self._texts
        prompts = [c for c in named.get("prompt", ()) if c in texts]
        for first, second in combinations(texts, 2):
            stems = {_stem(c) for c in (first, second)} & {*RESPONSE_STEMS}
            alike = self.frame.schema[first] == self.frame.schema[second]
            if not alike or not (stems or verdicts) or {first, second} & {*prompts}:
                continue
            prompt = prompts or [c for c in texts if c not in (first, second)][:1]
            for winner in winners[:3]:
                score = 4 + 2 * (winner[0] in verdicts or winner in one_hot) + 2 * bool(stems)
                yield self._reading(
                    "preference", score, prompt=prompt, responses=[first, second], winner=winner
                )
        both: tuple[tuple[Role, Role], ...] = (("chosen", "rejected"), ("rejected", "chosen"))
        for role, other in both:
            for one in [
                c for c in self._named("preference", role) if c in {*texts, *self._lists, *self._options}
            ]:
                for column in [c for c in (*self._lists, *texts) if c != one and c not in prompts]:
                    prompt = prompts or [c for c in texts if c not in (one, column)][:1]
                    yield self._reading("preference", 5, prompt=prompt, **{role: [one], other: [column]})

    def _labelled(self) -> Iterator[Reading]:
        responses = {*NAMES["chosen"], *NAMES["rejected"]}
        texts = [c for c in self._texts if normal_name(c) not in responses and _stem(c) not in RESPONSE_STEMS]
        pair = self.by_name["pair"]
        lists = [
            c
            for c, dtype in self.frame.schema.items()
            if isinstance(dtype, pl.List) and is_label_list(self.frame[c])
        ]
        labels = self._named("pair", "label") or sorted(
            dict.fromkeys([*lists, *self._labels]), key=self._doubt
        )
        premises, hypotheses = list(pair.get("premise", ())), list(pair.get("hypothesis", ()))
        for label in labels[:3]:
            if premises and hypotheses:
                yield self._reading("pair", 4, premise=premises, hypothesis=hypotheses, label=[label])
            bodies = [c for c in texts if not _HEADING.search(normal_name(c))]
            for first, second in combinations([c for c in bodies if c != label][:4], 2):
                yield self._reading("pair", 3, premise=[first], hypothesis=[second], label=[label])
            alone = self._named("text", "text") or (bodies or texts)[:3]
            for column in alone if len(texts) == len(self._texts) else []:
                if column != label:
                    yield self._reading("text", 2, text=[column], label=[label])

    def _doubt(self, column: str) -> tuple[bool, bool, bool, int]:
        """Return what speaks against a column of labels, by its name; labels are often the last column."""
        name = normal_name(column)
        gold, answer = "gold" in name, bool(_ANSWER.search(name))
        return bool(_NO_LABEL.search(name)), not gold, not answer, -self.frame.columns.index(column)

    def open_readings(self) -> Iterator[Reading]:
        """Yield a question and its answer where the name of one of them says so, and no label is beside them."""
        roles, frame = self.by_name["open"], self.frame
        context = list(roles.get("context", ()))
        texts = [c for c in self._texts if c not in context]
        questions = [list(roles["question"])] if "question" in roles else []
        questions += [[c] for c in texts] if "answer" in roles else []
        classes = [
            c for c in self._labels if normal_name(c) in ("label", "gold_label", "target", "target_text")
        ]
        likely = possible_answers(frame) if "question" in roles and not classes else []
        answers = list(dict.fromkeys([*roles.get("answer", ()), *likely]))
        pairs = [(q, a) for q in questions[:4] for a in [c for c in answers if c not in (*q, *context)][:4]]
        pairs += [([c], c) for c in texts if ends_with_answer(frame[c])]
        placed = {"question", "answer"} & roles.keys() or "hypothesis" in self.by_name["pair"]
        if not pairs and not placed and len(self._texts) == 2 and not self._labels and not self.threshold({}):
            pairs, context = [([self._texts[0]], self._texts[1])], []
        for question, answer in pairs:
            chosen: Roles = {"question": tuple(question), "answer": (answer,)}
            if reads_as_open(chosen, frame):
                score = 4 + int(bool(_ANSWER.search(normal_name(answer))))
                yield self._reading("open", score, context=context, question=question, answer=[answer])

    def threshold(self, taken: Roles) -> str | None:
        """Return where a column of scores could be cut into two classes; None if there is no such column."""
        used = {column for names in taken.values() for column in names}
        for values in self.frame.head(SAMPLE):
            numbers = values.cast(pl.Float64, strict=False) if not values.dtype.is_nested() else values
            if (
                values.name in used
                or numbers.dtype != pl.Float64
                or numbers.null_count() > values.null_count()
            ):
                continue
            if isinstance(median := numbers.median(), float) and (numbers != numbers.floor()).any():
                return f"{values.name}>{median:.3g}"
        return None


def unused_texts(frame: pl.DataFrame, used: Collection[str], *, words: bool = True) -> list[str]:
    """Return the columns that hold texts and are not used; lists of options are none.

    Without `words`, single words count too, where most rows have one of their own.
    """
    if not words:
        kept = [c for c in frame.columns if c not in used and frame.schema[c] == pl.String]
        return [c for c in kept if not few_values(frame[c]) and frame[c].n_unique() > 1]
    return [
        c
        for c in frame.columns
        if c not in used
        and frame.schema[c] != pl.List(pl.String)
        and (has_speakers(frame.schema[c]) or not is_chat(frame.schema[c]))
        and is_prose(frame[c])
        and share_read(frame[c], _bracketed) < READ_SHARE
    ]


def is_label_list(values: pl.Series) -> bool:
    """Return whether a column holds lists of a few labels that many rows share."""
    inner = values.dtype.inner if isinstance(values.dtype, pl.List) else None
    if inner is None or not (inner == pl.String or inner.is_integer()):
        return False
    members = values.head(SAMPLE).explode().drop_nulls()
    return 1 < members.n_unique() <= max(3, len(members) // 4)


def _bracketed(text: str) -> bool:
    return text.strip()[:1] in "[{(" and len(split_options(text) or ()) > 1


def _stem(column: str) -> str | None:
    match = _NUMBERED.match(column)
    return normal_name(match[1]) if match else None


@dataclass(frozen=True)
class Nearest:
    """A table whose columns fill no task by their names, and the reading by which its first rows can be read."""

    frame: pl.DataFrame
    where: str
    task: Task | None
    said: Roles
    headless: bool
    filled: Mapping[Task, Roles]
    proposer: Proposer
    reading: Reading | None

    @property
    def is_open(self) -> bool:
        """Whether it surely holds a question and its answer in words."""
        asked = self.task == "open" or (
            self.task is None and {*self.said} <= {"question", "answer", "context", "id"}
        )
        if not asked or self.headless or missing_roles("open", self.filled["open"]):
            return False
        if self.task == "open":
            return True
        likely = self.reading is None or self.reading.task in ("pair", "text", "open")
        return likely and reads_as_open(self.filled["open"], self.frame)


def nearest_reading(
    frame: pl.DataFrame,
    where: str,
    task: Task | None,
    said: Roles,
    names: Mapping[str, str],
    *,
    headless: bool,
    works: Callable[[Roles], bool],
) -> Nearest:
    """Return what a table comes nearest to; `works` says whether the first rows can be read with some roles.

    `headless` says whether the format of the file may lack a header line.
    """
    filled: dict[Task, Roles] = {each: fill(each, said, names, frame) for each in LABELLED_TASKS}
    filled["open"] = open_roles(said, names, frame)
    named = [c for roles in filled.values() for columns in roles.values() for c in columns]
    looked_at = list(dict.fromkeys([*named, *frame.columns[:WIDEST]]))[:WIDEST]
    first_rows = frame.select(c for c in frame.columns if c in looked_at).head(SAMPLE)
    proposer = Proposer(first_rows, filled)
    if headless and looks_headless(frame):
        return Nearest(frame, where, task, said, True, filled, proposer, None)
    reading = _tried(proposer.readings(), task, said, works) if frame.height else None
    if frame.height and (reading is None or reading.task in ("pair", "text")):
        opened = _tried(proposer.open_readings(), task, said, works)
        if opened is not None and (reading is None or opened.score > reading.score):
            reading = opened
    return Nearest(frame, where, task, said, False, filled, proposer, reading)


def unrecognised(found: Nearest, labels_beside: Callable[[], str | None] | None) -> UnrecognisedError:
    """Return the error about columns that fill no task, with a reading that works where there is one."""
    message, reading = str(_unrecognised(found, labels_beside)), found.reading
    if reading is not None:
        return UnrecognisedError(message, reading.task, reading.roles)
    nearest = found.task or _nearest(found.filled)
    return UnrecognisedError(message, nearest, {} if nearest is None else found.filled[nearest])


def _lists_right_answers(reading: Reading, opened: Roles) -> bool:
    """Return whether what could be options is called the possible answers, all of which may be right."""
    lists = reading.roles.get("choices", ())
    return lists == opened["answer"] and normal_name(lists[0]) == "possible_answers"


def _unrecognised(found: Nearest, labels_beside: Callable[[], str | None] | None) -> InputError:
    frame, where, task, filled, reading = found.frame, found.where, found.task, found.filled, found.reading
    start = f"The columns of {where} are not recognised: {name_line(frame.columns)}"
    rows = f" First rows: {preview(frame)}." if frame.height else ""
    if found.headless:
        return InputError(
            f"{start}; they look like a row of data: type --header none if the file has no header line, "
            f"or name its columns with --header NAME,NAME,…{rows}"
        )
    proposer = found.proposer
    opened = filled["open"]
    labelled = task is None and not found.said and not missing_roles("open", opened)
    if labelled and reading is not None and reading.task in ("pair", "text"):
        question, answer = opened["question"][0] if "question" in opened else "", opened["answer"][0]
        otherwise = f"if they are open answers, type --task open.{rows}"
        if question and not few_values(frame[answer]):
            return InputError(
                f"{where} may hold open answers ({question!r} is the question and {answer!r} its answer in words) or "
                f"label them: if a column labels the answers, type --columns {_typed(reading.roles)}; {otherwise}"
            )
    if labelled and reading is not None and _lists_right_answers(reading, opened):
        return InputError(
            f"{where} may hold open answers ({opened['answer'][0]!r} lists those that are right) or options: if they "
            f"are open answers, type --task open; if they are options, type --columns {_typed(reading.roles)}.{rows}"
        )
    nearest = task or (reading.task if reading else _nearest(filled))
    by_name = filled[nearest] if nearest is not None else {}
    lacking = missing_roles(nearest, by_name) if nearest is not None else []
    texts = tuple(unused_texts(proposer.frame, ()))
    paired = {"premise", "hypothesis"} <= filled["pair"].keys() or (reading is None and len(texts) == 2)
    scored: Task = "pair" if paired else "text"
    placed = paired or "text" in filled["text"]
    by_class: Roles = {
        role: columns
        for role, columns in filled[scored].items()
        if role != "label" or scores(frame[columns[0]]) is None
    }
    threshold = proposer.threshold(by_class) if placed and task in (None, scored) else None
    if threshold is not None and "label" not in by_class and (paired or reading is None):
        nearest, by_name, lacking = scored, by_class, ["label"]
    else:
        threshold = None
    beside = labels_beside() if labels_beside is not None and lacking in (["label"], ["answer"]) else None
    if beside is not None:
        option = f"--label-file {shlex.quote(beside)}"
    elif threshold is not None:
        option = f"--labels {shlex.quote(threshold)}"
        if paired and by_name.keys() < {"premise", "hypothesis"}:
            option = f"--columns {_typed({'premise': texts[:1], 'hypothesis': texts[1:]})} {option}"
    elif reading is not None:
        option = f"--columns {_typed(reading.roles)}"
    else:
        option = " or ".join(_OPTION[each] for each in ((nearest,) if nearest else TASKS))
        if task is None and texts:
            option += "; without labels or answers, only `cuecard overlap` applies"
    guessed = reading is not None and option.startswith("--columns") and threshold is None
    if guessed and reading is not None and not proposer.is_sure(reading):
        asked = listed([role for role in reading.roles if role != "id"])
        return InputError(
            f"{start}; which of them are {asked}? If the first rows agree, type {option}.{rows}"
        )
    if nearest is None or not lacking or not (by_name or task):
        return InputError(f"{start}; name them with {option}.{rows}")
    roles = ", ".join(f"{role} ({' + '.join(names)})" for role, names in by_name.items())
    recognised = f"recognised {roles}; " if roles else ""
    return InputError(
        f"{start} (the task {nearest!r} needs {', '.join(lacking)}); {recognised}missing {', '.join(lacking)}: "
        f"type {option}.{rows}"
    )


def _tried(
    readings: Iterable[Reading], task: Task | None, said: Roles, works: Callable[[Roles], bool]
) -> Reading | None:
    """Return the first reading by which the first rows can be read, and which has the roles that the user named."""
    tried: list[Roles] = []
    for reading in readings:
        agrees = all(reading.roles.get(role) == columns for role, columns in said.items() if role != "id")
        if not agrees or task not in (None, reading.task) or reading.roles in tried:
            continue
        tried.append(reading.roles)
        if works(reading.roles):
            return reading
        if len(tried) >= MOST_TRIED:
            return None
    return None


def _nearest(filled: Mapping[Task, Roles]) -> Task | None:
    """Return the task with the fewest roles missing, of those that find any by name besides an id."""
    possible = [task for task in LABELLED_TASKS if filled[task].keys() - {"id"}]
    if not possible:
        return None
    return min(possible, key=lambda task: (len(missing_roles(task, filled[task])), -len(filled[task])))


def with_roles(roles: Roles) -> str:
    """Return the option that names the columns of roles."""
    return f"--columns {_typed(roles)}"


def _typed(roles: Roles) -> str:
    text = ",".join(f"{role}={'+'.join(names)}" for role, names in roles.items())
    return text if set(text.replace("…", "")).isdisjoint(" \t'\"\\$`!*?#&;|<>()[]{}") else shlex.quote(text)
