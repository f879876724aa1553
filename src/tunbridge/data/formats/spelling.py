"""How the numbers and dates of a column of text are written: ``1.234,50 €``, ``12 %``, ``24.12.2025 18:30``.

Arrow reads plain numbers and ISO dates. A column that it leaves as text is looked at here, by its distinct texts: it is
read as numbers, or dates, if *all* of them are, apart from missing markers. Where a column can be read in two ways
(``1,234``, ``03/04/2025``), the other columns of the file and its delimiter decide; the report says so.

What only looks like numbers stays text: codes with leading zeros, telephone numbers, versions, network addresses,
integers of equal length with several separators.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tunbridge.data.reading import NumberForm, Reading, is_odd

_UNIT = r"[€$£¥₹₽₺₩%‰]|US\$|EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|Kč|zł|kr\.?|Fr\.|R\$|Rs\.?"
_EURO = frozenset({"€", "EUR"})
_SPACE = "[ \u00a0\u202f\u2009]"
_PARTS = re.compile(
    rf"(?P<open>\()?(?P<sign>[-−–+])?{_SPACE}?(?P<before>{_UNIT})?{_SPACE}?(?P<inner>[-−–])?"
    rf"(?P<core>[0-9][0-9.,'’ \u00a0\u202f\u2009]*(?:[eE][-+]?[0-9]+)?|[.,][0-9]+)"
    rf"{_SPACE}?(?P<after>{_UNIT})?(?P<behind>-)?(?P<close>\))?"
)
_CORES = {
    (".", ""): r"[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?",
    (",", ""): r"[0-9]*,?[0-9]*(?:[eE][-+]?[0-9]+)?",
    (".", ","): r"(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]*)?",
    (",", "."): r"(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]*)?",
    (".", " "): r"(?:[0-9]+|[1-9][0-9]{0,2}(?: [0-9]{3})+)(?:\.[0-9]*)?",
    (",", " "): r"(?:[0-9]+|[1-9][0-9]{0,2}(?: [0-9]{3})+)(?:,[0-9]*)?",
    (".", "'"): r"(?:[0-9]+|[1-9][0-9]{0,2}(?:'[0-9]{3})+)(?:\.[0-9]*)?",
    (",", "'"): r"(?:[0-9]+|[1-9][0-9]{0,2}(?:'[0-9]{3})+)(?:,[0-9]*)?",
}
_FORMS = {pair: re.compile(pattern) for pair, pattern in _CORES.items()}
_DIGIT = re.compile("[0-9]")
_PROBES = 12
_SAMPLE = 4000  # distinct texts that decide; all are checked when they are converted
_FEW_DIGITS = 7
_MOST_DIGITS = 18  # of an integer of 64 bits
_FEW_NUMBERS = 3  # distinct plain numbers beside a marker: "0", "1" and "-" may be categories

POINTS_IN_DOUBT = "points might be between thousands; decimal ',' reads them so"

_ISO_FORMS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMERIC_DATE = re.compile(
    r"(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{1,2})"
    r"(?P<gap>,? |T)?(?P<time>\d{1,2}:\d{2}(?P<seconds>:\d{2})?(?P<half> ?[AaPp][Mm])?)?"
)
_WORD_DATE = re.compile(
    r"(?P<first>\d{1,2}|[A-Za-z]{3,9})(?P<m1>[ -]|\. )(?P<second>[A-Za-z]{3,9}|\d{1,2})"
    r"(?P<m2>, |[ -])(?P<year>\d{4}|\d{2})"
    r"(?P<gap> )?(?P<time>\d{1,2}:\d{2}(?P<seconds>:\d{2})?)?"
)


class Spelling(NamedTuple):
    """How the texts of a column are written: as numbers of a form, or as dates; and its further missing markers.

    ``doubt`` says which other way there is to read them.
    """

    numbers: NumberForm | None
    date: str | None
    markers: tuple[str, ...]
    doubt: str = ""


class Habits(NamedTuple):
    """What the rest of a file says about how its numbers and dates are written; None is no evidence.

    ``german`` says that there are dates such as 24.12.2025 between semicolons, beside which 1.234 is an integer.
    """

    decimal: str | None = None
    day_first: bool | None = None
    delimiter: str = ","
    german: bool = False


def spelling_of(texts: Sequence[str], habits: Habits, *, guess_markers: bool = True) -> Spelling | None:
    """Return how distinct texts are written if all are numbers, or all are dates; None if they are text.

    Examples
    --------
    >>> spelling_of(["1.234,5 €", "7 €", "n/a"], Habits())
    Spelling(numbers=NumberForm(decimal=',', thousands='.', unit='€'), date=None, markers=('n/a',), doubt='')
    >>> spelling_of(["24.12.2025", "6.1.2026"], Habits()).date
    '%d.%m.%Y'
    >>> spelling_of(["007", "012"], Habits()), spelling_of(["1.2.3", "1.10.0"], Habits())
    (None, None)
    """
    probes = texts[:: max(1, len(texts) // _PROBES)]
    if any(not _DIGIT.search(t) and not (guess_markers and is_odd(t)) for t in probes):
        return None
    probes = [t.strip() for t in probes if not (guess_markers and is_odd(t))]
    if not probes or not any(all(map(each.fullmatch, probes)) for each in (_PARTS, _NUMERIC_DATE, _WORD_DATE)):
        return None
    odd = [t for t in texts if is_odd(t)] if guess_markers else []
    known = frozenset(odd)
    rest = [t for t in texts if t not in known] if odd else list(texts)
    some = rest[:: -(-len(rest) // _SAMPLE)] if rest else []
    found = (_numbers(some, habits) or _dates(some, habits)) if some else None
    if found is None or (odd and len(rest) < _FEW_NUMBERS and found.numbers == NumberForm()):
        return None
    return found._replace(markers=tuple(odd))


def parsed(texts: pa.ChunkedArray | pa.Array, spelling: Spelling) -> pa.ChunkedArray | pa.Array:
    """Return texts, of which some may be null, as numbers or dates; what does not fit stays as it is, in text."""
    return _parsed_numbers(texts, spelling.numbers) if spelling.numbers else _parsed_dates(texts, spelling.date or "")


def known_spellings(known: Reading | None) -> dict[str, Spelling]:
    """Return how the columns of numbers and dates of a table were written that was read before."""
    if known is None:
        return {}
    return {
        name: Spelling(
            None if name in known.dates else NumberForm(*known.numbers.get(name, ())),
            known.dates.get(name),
            tuple(known.markers.get(name, ())),
        )
        for name in {*known.numbers, *known.dates, *known.markers}
    }


def misfit(texts: pa.ChunkedArray | pa.Array, spelling: Spelling) -> int:
    """Return the place of the first text that is not written like that; −1 if all are, or are null."""
    good = (
        _plain_numbers(texts, spelling.numbers)[1]
        if spelling.numbers
        else pc.coalesce(_as_times(texts, spelling.date or ""), _iso_times(texts)).is_valid()
    )
    return int(pc.index(pc.or_(good, texts.is_null()), False).as_py())


def day_first(texts: Iterable[str]) -> bool | None:
    """Return whether dates have the day before the month; None if they do not tell."""
    found = [m for t in texts if (m := _NUMERIC_DATE.fullmatch(t.strip())) and len(m["a"]) <= 2]
    if any(int(m["a"]) > 12 for m in found):
        return True
    return False if any(int(m["b"]) > 12 for m in found) else None


class OddDates(NamedTuple):
    """The few texts of a column that are no dates of the form that all its other texts have."""

    form: str
    texts: list[str]


def odd_dates(texts: Sequence[str], most: int = 5) -> OddDates | None:
    """Return the texts of a column that are no dates, if they are few and all others are dates; None if they are not.

    Examples
    --------
    >>> days = [f"2025-03-{day:02}" for day in range(1, 31)]
    >>> odd_dates([*days, "05.04.2025", "2025-04-31"])
    OddDates(form='%Y-%m-%d', texts=['05.04.2025', '2025-04-31'])
    >>> odd_dates(days), odd_dates(["red", "blue"])
    (None, None)
    """
    probes = [text.strip() for text in texts[:: max(1, len(texts) // _PROBES)]]
    dated = [text for text in probes if _NUMERIC_DATE.fullmatch(text) or _WORD_DATE.fullmatch(text)]
    if 2 * len(dated) < len(probes) or len(texts) <= 3 * most:
        return None
    shapes = [_shape(text) for text in texts]
    usual = max(set(shapes), key=shapes.count)
    alike = [text.strip() for text, shape in zip(texts, shapes, strict=True) if shape == usual]
    if len(texts) - len(alike) > most:
        return None
    is_numeric = all(map(_NUMERIC_DATE.fullmatch, alike))
    form = _numeric_form(alike, Habits())[0] if is_numeric else _word_form(alike[0]) if dated else None
    if form is None:
        return None
    known = _as_times(pa.array(texts, pa.string()), form).is_valid().to_pylist()
    odd = [text for text, is_date in zip(texts, known, strict=True) if not is_date]
    return OddDates(form, odd) if 0 < len(odd) <= most else None


def _shape(text: str) -> str:
    """Return a text with its words and numbers replaced by what they may be: a word, a year, or another number."""
    return re.sub(r"[A-Za-z]+", "a", re.sub(r"[0-9]+", lambda found: "y" if len(found[0]) == 4 else "0", text.strip()))


def date_words(form: str) -> str:
    """Return a form of dates in words.

    Examples
    --------
    >>> date_words("%d.%m.%Y %H:%M"), date_words("%b %d, %Y")
    ('day.month.year hour:minute', 'month day, year')
    """
    words = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year", "%H": "hour",
             "%I": "hour", "%M": "minute", "%S": "second", "%p": "am/pm"}  # fmt: skip
    return re.sub("%[A-Za-z]", lambda each: words[each[0]], form)


# Numbers


def _numbers(texts: list[str], habits: Habits) -> Spelling | None:
    probes = texts[:: max(1, len(texts) // _PROBES)]
    if not all(_PARTS.fullmatch(text.strip()) for text in probes):
        return None
    parts = [_PARTS.fullmatch(text.strip()) for text in texts]
    if not all(parts):
        return None
    with_unit = [unit for m in parts if m and (unit := m["before"] or m["after"])]
    units = {*with_unit, *(m["after"] for m in parts if m and m["after"])}
    cores = [_plain(m["core"]) for m in parts if m]
    is_amount = bool(units or habits.decimal == "," or any(m["sign"] or m["behind"] or m["open"] for m in parts if m))
    if (
        len(units) > 1
        or _are_codes(cores, is_amount)
        or any(m["sign"] == "+" and len(m["core"]) > _FEW_DIGITS for m in parts if m)
    ):
        return None
    if any((m["open"] is None) != (m["close"] is None) for m in parts if m):
        return None
    fitting = [pair for pair, form in _FORMS.items() if all(map(form.fullmatch, cores))]
    pair, doubt = _chosen(fitting, cores, habits, units)
    if "%" in units and len(with_unit) < len(cores):
        doubt = "; ".join(filter(None, [doubt, "values without % might be fractions"]))
    return pair and Spelling(NumberForm(*pair, units.pop() if units else ""), None, (), doubt)


def _chosen(
    fitting: list[tuple[str, str]], cores: list[str], habits: Habits, units: Collection[str] = ()
) -> tuple[tuple[str, str] | None, str]:
    """Return the decimal mark and the separator of thousands of numbers, and the other way to read them."""
    if not fitting or not any(mark in core for core in cores for mark in ".,' "):
        return (fitting[0], "") if fitting else (None, "")
    points, commas = ([pair for pair in fitting if pair[0] == mark] for mark in ".,")
    if not points or not commas or not any("," in core or "." in core for core in cores):
        return fitting[0], ""
    grouped = (".", ",") if any("," in core for core in cores) else (",", ".")
    plain = (grouped[1], "")
    is_german = habits.delimiter == ";" and (habits.german or not _EURO.isdisjoint(units))
    by_delimiter = {",": ".", ";": ","}.get(habits.delimiter) if plain[0] == "," else "," if is_german else "."
    decimal = habits.decimal or by_delimiter
    if decimal is None:
        return None, ""
    pair = plain if plain[0] == decimal else grouped
    mark, other = ("commas", ".") if plain[0] == "," else ("points", ",")
    doubt = f"{mark} might be between thousands; decimal {other!r} reads them so"
    if pair == grouped:
        doubt = f"they might be decimal {mark}; decimal {plain[0]!r} reads them so"
    return (pair if pair in fitting else None), ("" if habits.decimal else doubt)


def _are_codes(cores: list[str], is_amount: bool) -> bool:
    """Return whether numbers are codes: too long, with leading zeros, or all of them in several groups.

    Groups between points or blanks are those of network addresses, versions and telephone numbers, too: they are codes,
    unless a decimal mark, a sign or a unit shows amounts. Others are codes if they are of equal length.
    """
    if any(len(core) > _MOST_DIGITS and core.isdigit() for core in cores):
        return True
    led = [core[0] == "0" and core[1:2].isdigit() for core in cores]
    digits = {sum(map(str.isdigit, core)) for core in cores}
    if any(led) and (all(led) or len(digits) == 1 or not all(map(str.isdigit, cores))):
        return True
    if not all(len(re.findall("[., ']", core)) > 1 for core in cores) or len(set(cores)) == 1:
        return False
    marks = {mark for core in cores for mark in core if not mark.isdigit()}
    return (len(digits) == 1 and max(digits) >= _FEW_DIGITS) or (not is_amount and marks in ({"."}, {" "}))


def _plain(core: str) -> str:
    return re.sub(_SPACE, " ", core).replace("’", "'").strip()


def _parsed_numbers(texts: pa.ChunkedArray | pa.Array, form: NumberForm) -> pa.ChunkedArray | pa.Array:
    """Return texts as integers or floats; the texts themselves if one of them is not of this form."""
    plain, good = _plain_numbers(texts, form)
    if not pc.all(good).as_py() and pc.any(good.is_valid()).as_py():
        return texts
    plain = pc.replace_substring(plain, form.thousands, "") if form.thousands else plain
    plain = pc.replace_substring(pc.replace_substring(plain, ".", ""), ",", ".") if form.decimal == "," else plain
    try:
        whole = form.unit == "" and pc.all(pc.match_substring_regex(plain, r"^-?[0-9]{1,18}$")).as_py()
        return plain.cast(pa.int64() if whole else pa.float64())
    except pa.ArrowInvalid:
        return texts


def _plain_numbers(texts: pa.ChunkedArray | pa.Array, form: NumberForm) -> tuple[Any, Any]:
    """Return texts without blanks, units and brackets, and which of them are numbers of this form.

    Where decimals have commas, points may be between thousands, whether there were any so far or not.
    """
    core = _CORES[form.decimal, form.thousands]
    core = f"(?:{core})|(?:{_CORES[',', '.']})" if (form.decimal, form.thousands) == (",", "") else core
    plain = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    plain = pc.replace_substring_regex(plain, rf"{_UNIT}", "") if form.unit else plain
    plain = pc.utf8_trim_whitespace(pc.replace_substring_regex(plain, "[−–]", "-"))
    plain = pc.replace_substring_regex(plain, r"^\((.*)\)$", r"-\1")
    plain = pc.replace_substring_regex(plain, r"^([^-].*)-$", r"-\1")
    plain = pc.replace_substring_regex(plain, rf"^([-+]?){_SPACE}+", r"\1")
    plain = pc.replace_substring_regex(pc.replace_substring(plain, "’", "'"), _SPACE, " ")
    plain = pc.replace_substring_regex(plain, r"^\+", "")
    good = pc.match_substring_regex(plain, rf"^-?(?:{core})$")
    return plain, pc.and_(good, pc.match_substring_regex(plain, r"[0-9]"))


# Dates


def _dates(texts: list[str], habits: Habits) -> Spelling | None:
    probes = [text.strip() for text in texts[:: max(1, len(texts) // _PROBES)]]
    if all(_NUMERIC_DATE.fullmatch(text) for text in probes):
        form, doubt = _numeric_form([text.strip() for text in texts], habits)
    elif all(_WORD_DATE.fullmatch(text) for text in probes):
        form, doubt = _word_form(texts[0].strip()), ""
    else:
        return None
    if form is None:
        return None
    if "%y" in form:
        doubt = "; ".join(filter(None, [doubt, "the years 00 to 68 are taken as 2000 to 2068"]))
    known = _as_times(pa.array(texts, pa.string()), form)
    return None if known.null_count else Spelling(None, form, (), doubt)


def _numeric_form(texts: list[str], habits: Habits) -> tuple[str | None, str]:
    found = [_NUMERIC_DATE.fullmatch(text) for text in texts]
    marks = {m["mark"] for m in found if m}
    if not all(found) or len(marks) > 1:
        return None, ""
    first, (mark,) = found[0], marks
    assert first is not None
    time = _time_form(first)
    if all(m and len(m["a"]) == 4 and len(m["c"]) <= 2 for m in found):
        return f"%Y{mark}%m{mark}%d{time}", ""
    widths = {len(m["c"]) for m in found if m}
    if widths not in ({2}, {4}) or any(m and len(m["a"]) > 2 for m in found):
        return None, ""
    if widths == {2} and not all(m and len(m["a"]) == len(m["b"]) == 2 for m in found):
        return None, ""  # a version, perhaps
    order, doubt = _order(texts, mark, habits)
    return mark.join(["%d", "%m"] if order else ["%m", "%d"]) + f"{mark}%{'Y' if widths == {4} else 'y'}{time}", doubt


def _order(texts: list[str], mark: str, habits: Habits) -> tuple[bool, str]:
    """Return whether the day comes first, and a doubt if neither the column nor the file tells."""
    own = day_first(texts)
    if own is not None:
        return own, ""
    if mark == ".":
        return True, ""
    if habits.day_first is not None:
        return habits.day_first, ""
    first = habits.decimal == "," or habits.delimiter == ";"
    return first, f"{'month/day' if first else 'day/month'} is possible too; the option day_first decides"


def _time_form(found: re.Match[str]) -> str:
    if not found["time"]:
        return ""
    half = found.groupdict().get("half")
    seconds = ":%S" if found["seconds"] else ""
    clock = f"%I:%M{seconds}{' ' if half and half[0] == ' ' else ''}%p" if half else f"%H:%M{seconds}"
    return (found["gap"] or " ") + clock


def _word_form(text: str) -> str | None:
    found = _WORD_DATE.fullmatch(text)
    assert found is not None
    words = [w for w in (found["first"], found["second"]) if w.isalpha()]
    if len(words) != 1 or words[0][:3].lower() not in _MONTHS:
        return None
    parts = [("%d" if w.isdigit() else "%b" if len(w) == 3 else "%B") for w in (found["first"], found["second"])]
    year = "%Y" if len(found["year"]) == 4 else "%y"
    return f"{parts[0]}{found['m1']}{parts[1]}{found['m2']}{year}{_time_form(found)}"


def _as_times(texts: pa.Array, form: str) -> pa.Array:
    """Return texts as times; null where a text is none, or its month does not have that day."""
    plain = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    times = pc.strptime(plain, format=form, unit="s", error_is_null=True)
    before = sum(form.index(each) < form.index("%d") for each in ("%m", "%Y", "%y") if each in form)
    days = pc.struct_field(pc.extract_regex(plain, rf"^\D*(?:\d+\D+){{{before}}}(?P<day>\d+)"), [0])
    same = pc.equal(pc.day(times), pc.cast(days, pa.int64()))
    return pc.if_else(pc.fill_null(same, False), times, pa.scalar(None, times.type))


def _iso_times(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return texts in ISO form as times; null where a text is none."""
    plain = pc.replace_substring(pc.utf8_trim_whitespace(texts.cast(pa.string())), "T", " ")
    found = [_as_times(plain, form) for form in _ISO_FORMS]
    return pc.coalesce(*found)


def _parsed_dates(texts: pa.ChunkedArray | pa.Array, form: str) -> pa.ChunkedArray | pa.Array:
    """Return texts as dates or times; the texts themselves if one of them is not of this form."""
    times = _as_times(texts, form)
    if times.null_count > texts.null_count:  # ISO dates cannot be misread, whatever the form of the others
        times = pc.coalesce(times, _iso_times(texts))
    if times.null_count > texts.null_count:
        return texts
    return times if "%M" in form else times.cast(pa.date32())
