"""What all readers share: bounded products, numbers of configurations, the memory that texts take."""

from __future__ import annotations

import tracemalloc
from string import ascii_letters

import numpy as np
import pytest

from tunbridge._core.registry import entry
from tunbridge.data import Variable
from tunbridge.errors import DataError, DataWarning, FormatError, MemoryForecastError
from tunbridge.formats import _assembly as assembly
from tunbridge.formats._assembly import Declared, Draft, Given, NetworkParts, Rows, assemble, product_up_to
from tunbridge.probability import CPT

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
        f"node a{{states=({WORDS});}}potential(a){{data=(1{ZEROS});}}"
        + f"continuous node b{{}}potential(b|a){{data=({'normal(1 1)' * len(NAMES)});}}",
        f"continuous node b{{}}potential(b){{data=normal({'+1' * 20_000} 1);}}",
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
        "<BIF><NETWORK>" + "<FOR/>" * 20_000 + "</NETWORK></BIF>",
        "<BIF><NETWORK><PROBABILITY><FOR>a</FOR>" + "<ENTRY/>" * 9000 + "</PROBABILITY></NETWORK></BIF>",
    ],
    "xdsl": [
        "<smile><nodes>" + '<cpt id=""/>' * 9000 + "</nodes></smile>",
        "<smile><nodes><cpt id=''>" + "<state id=''/>" * 9000 + "</cpt></nodes></smile>",
        "<smile><nodes><cpt id='a'>" + "<name/>" * 20_000 + "</cpt></nodes></smile>",
        "<smile><nodes>"
        + "".join(f'<cpt id="{a}"><state id="b"/><probabilities>1</probabilities></cpt>' for a in NAMES)
        + "</nodes></smile>",
        "<smile><nodes/><extensions><genie>" + "<submodel/>" * 9000 + "</genie></extensions></smile>",
    ],
    "dsl": [
        "net a{" + "".join(f"node {a}{{DEFINITION={{NAMESTATES=(a);PROBABILITIES=(1);}}}}" for a in NAMES) + "}",
        f"net a{{node a{{DEFINITION={{NAMESTATES=({WORDS});PROBABILITIES=(1{ZEROS});}}}}}}",
        "net a{" + "b={" * 20_000 + "}" * 20_001,
        "net a{node a{" + "".join(f"{a}=1;" for a in NAMES) + "}}",
        "net a{USER_PROPERTIES={" + "a=b;" * 10_000 + "}}",
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


def assembled(rows: list[list[float]]) -> NetworkParts:
    """Return the network of a variable with three states and its parent, whose table has these rows."""
    draft = Draft(0, declared=[Declared("P", ("p", "q"), 1), Declared("X", ("a", "b", "c"), 2)])
    draft.given = [Given("P", (), 1, [[0.5, 0.5]]), Given("X", ("P",), 2, rows)]
    return assemble(
        draft, lambda f: Rows(np.array(f.given.body), lambda row: row), lambda m, p: FormatError(f"{p}: {m}")
    )


class TestRounding:
    def test_one_warning_names_the_worst_row(self):
        with pytest.warns(DataWarning) as caught:
            table = assembled([[0.2, 0.3, 0.50002], [0.333, 0.333, 0.333]]).cpts[1].table()
        text = "2 rows did not sum to 1 and were rescaled; the worst: the probabilities of "
        assert [str(each.message) for each in caught] == [f"{text}'X' given P='q', with the sum 0.999."]
        np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-15, atol=0)
        np.testing.assert_allclose(table[1], 1 / 3, rtol=1e-15, atol=0)

    def test_six_digits_are_silent(self):
        assembled([[0.2, 0.3, 0.5], [0.333333, 0.333333, 0.333333]])

    def test_beyond_a_thousandth_is_an_error_at_its_row(self):
        with pytest.raises(FormatError, match=r"^1: the probabilities of 'X' given P='q' must sum to 1; got 1\.0012"):
            assembled([[0.2, 0.3, 0.50002], [0.2, 0.3, 0.5012]])

    def test_tables_in_python_stay_strict(self):
        with pytest.raises(DataError, match="must sum to 1"):
            CPT(Variable("X", ["a", "b"]), [], [0.5, 0.50002])
