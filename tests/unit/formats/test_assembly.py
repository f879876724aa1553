"""What all readers share: bounded products, numbers of configurations, the memory that texts take."""

from __future__ import annotations

import tracemalloc
from string import ascii_letters

import numpy as np
import pytest

from tunbridge._core.registry import entry
from tunbridge.errors import FormatError, MemoryForecastError
from tunbridge.formats import _assembly as assembly
from tunbridge.formats._assembly import Declared, Draft, Given, Rows, assemble, product_up_to

NAMES = [a + b + c for a in ascii_letters for b in ascii_letters for c in ascii_letters][:1500]
WORDS = " ".join(NAMES)
ZEROS = " 0" * (len(NAMES) - 1)

HOSTILE = {
    "bif": [
        "".join(f"variable {a}{{type discrete{{a}};}}probability({a}){{table 1;}}" for a in NAMES),
        f"variable a{{type discrete{{{WORDS}}};}}probability(a){{table 1{ZEROS};}}variable c{{type discrete{{a}};}}"
        + f"probability(c|a){{{''.join(f'({a})1;' for a in NAMES)}}}",
        "probability(a){}" * 5000,
        "network{}" + "(" * 50_000,
    ],
    "net": [
        "".join(f"node {a}{{states=(a);}}potential({a}){{data=1;}}" for a in NAMES),
        f"net{{{'a=;' * 20_000}}}",
        f"node a{{states=({WORDS});}}potential(a){{data=(1{ZEROS});}}",
    ],
    "dsc": [
        "".join(f"node {a}{{type:discrete={{a}};}}probability({a}){{1;}}" for a in NAMES),
        f"node a{{type:discrete={{{WORDS}}};}}probability(a){{1{ZEROS};}}node c{{type:discrete={{a}};}}"
        + f"probability(c|a){{{''.join(f'({i})1;' for i in range(len(NAMES)))}}}",
        f"properties{{{'a=b;' * 10_000}}}",
    ],
    "uai": [
        f"BAYES 2000 {'1 ' * 2000}2000 {''.join(f'1 {i} ' for i in range(2000))}{'1 1 ' * 2000}",
        f"BAYES 2000 {'1 ' * 2000}2000 {'1 0 ' * 2000}{'1 1 ' * 2000}",
        f"BAYES 1 20000 1 1 0 20000 1{' 0' * 19_999}",
        "BAYES " + "10 " * 30_000,
    ],
    "xmlbif": [
        "<BIF><NETWORK><VARIABLE>" + "<a/>" * 20_000,
        "<BIF><NETWORK><VARIABLE>" + "<VALUE/>" * 20_000,
        "<BIF><NETWORK><VARIABLE>" + "<a>ab\n</a>" * 10_000,
        "<BIF><NETWORK>" + "<DEFINITION><FOR/><TABLE/><GIVEN/></DEFINITION>" * 3000 + "</NETWORK></BIF>",
        "<BIF><NETWORK><VARIABLE><NAME>a</NAME><VALUE/></VARIABLE><DEFINITION><FOR>a</FOR><TABLE>"
        + "10 " * 20_000
        + "</TABLE></DEFINITION></NETWORK></BIF>",
        "<BIF><NETWORK><DEFINITION><FOR/><TABLE>" + "10<!---->" * 9000 + "</TABLE></DEFINITION></NETWORK></BIF>",
    ],
}


@pytest.mark.parametrize(("format", "n"), [(name, n) for name, texts in HOSTILE.items() for n in range(len(texts))])
def test_no_text_takes_more_memory_than_was_forecast(format, n, monkeypatch):
    text, forecasts = HOSTILE[format][n], []
    monkeypatch.setattr(assembly, "check_memory", lambda _, n_bytes, **__: forecasts.append(n_bytes))
    assembly.check_size(len(text))
    tracemalloc.start()
    try:
        entry("network_format", format).load().read(text)
    except FormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak + len(text) < max(forecasts)


def test_a_network_that_would_not_fit_is_not_built(monkeypatch):
    text = HOSTILE["uai"][0]
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", str(60 * len(text)))
    assembly.check_size(len(text))
    with pytest.raises(MemoryForecastError, match="reading the network would need"):
        entry("network_format", "uai").load().read(text)


def test_a_product_is_not_taken_further_than_needed():
    sizes = iter([10] * 1000)
    assert product_up_to(100, sizes) == 1000
    assert len(list(sizes)) == 997
    assert product_up_to(6, [2, 3]) == 6
    assert product_up_to(6, []) == 1


@pytest.mark.parametrize("default", [None, np.array([0.5, 0.5])])
def test_a_configuration_that_the_parents_do_not_have_is_refused(default):
    draft = Draft(
        0,
        declared=[Declared("a", ("x", "y"), 1), Declared("b", ("x", "y"), 2)],
        given=[Given("a", (), 3), Given("b", ("a",), 4)],
    )

    def rows(family):
        root = Rows(np.array([[0.5, 0.5]]), lambda row: row)
        return Rows(np.full((2, 2), 0.5), lambda row: 10 + row, [0, 2], default) if family.given.parents else root

    with pytest.raises(FormatError, match="a row of 'b' must be of a configuration that its parents have") as caught:
        assemble(draft, rows, lambda message, place: FormatError(message, line=place))
    assert caught.value.line == 11
