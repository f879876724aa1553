"""DSC: what real files have, what is written, and what bad files get."""

from __future__ import annotations

import re

import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.data import Variable
from tunbridge.formats import NetworkParts
from tunbridge.formats.dsc import read_dsc, write_dsc
from tunbridge.probability import CPT, SparseCPT

AB = """belief network "a b"
properties
{
    type MS_label = choice of [other, hypothesis], "Troubleshooting category";
    MS_label = other;
}
node A
{
    name : "Age, or so";
    type : discrete[2] =
    {
        "a0",
        "a1"
    };
    position : (218, 171); // a comment
}
node default { type is discrete [ 3 ] = { b0, "b 1", "2" }; }
probability (A) { 0.3, 0.7; }
probability (default | A)
{
    (0) : 0.1, 0.2, 0.7;
    (1) : 0.5, 0.25, 0.25;
}
"""
ROWS = "(0) : 0.1, 0.2, 0.7;\n    (1) : 0.5, 0.25, 0.25;"


class TestReading:
    def test_all_that_a_file_says(self):
        parts = read_dsc(AB)
        a, b = parts.cpts
        assert parts.name == "a b"
        declaration = 'type MS_label = choice of [other, hypothesis], "Troubleshooting category"'
        assert parts.properties[""] == (declaration, "MS_label = other")
        assert parts.properties["A"] == ('name = "Age, or so"', "position = (218, 171)")
        assert (a.variable.states, b.variable.states) == (("a0", "a1"), ("b0", "b 1", "2"))
        assert (b.variable.name, b.parents) == ("default", (a.variable,))
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    @pytest.mark.parametrize(
        "rows",
        [
            '("a0") : 0.1, 0.2, 0.7; (a1) : 0.5, 0.25, 0.25;',
            "(1) : 0.5, 0.25, 0.25; (0) 0.1 0.2 0.7;",
            "0.1, 0.2, 0.7; 0.5, 0.25, 0.25;",
            "0.1, 0.2, 0.7, 0.5, 0.25, 0.25;",
            "(0, 0) : 0.1, 0.2, 0.7; (0, 0) : 0.5, 0.25, 0.25;",  # as GeNIe writes it
            "(0) = 0.1, 0.2, 0.7; (1) = 0.5, 0.25, 0.25;",
            "(0) is 0.1, 0.2, 0.7; (1) is 0.5, 0.25, 0.25;",
            "(0) is 0.1, 0.2, 0.7; (1) = 0.5, 0.25, 0.25;",
            "(0) 0.1, 0.2, 0.7; (1) 0.5, 0.25, 0.25;",
        ],
    )
    def test_other_ways_to_write_the_same(self, rows):
        assert described(read_dsc(AB.replace(ROWS, rows))) == described(read_dsc(AB))

    @pytest.mark.parametrize("kind", ["belief network", "diagnostic network", "network"])
    def test_the_kind_of_network_is_any_word(self, kind):
        assert described(read_dsc(AB.replace("belief network", kind))) == described(read_dsc(AB))

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_every_end_of_a_line_ends_a_comment(self, end):
        assert described(read_dsc(AB.replace("\n", end))) == described(read_dsc(AB))

    @pytest.mark.parametrize("sign", [":", "=", "is", ""])
    def test_a_default_row(self, sign):
        table = read_dsc(AB.replace(ROWS, f"default {sign} 0.1, 0.2, 0.7; (1) : 0.5, 0.25, 0.25;")).cpts[1]
        assert isinstance(table, SparseCPT)
        assert table.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    def test_a_state_called_like_a_number_of_another_is_the_number(self):
        text = AB.replace('"a0"', '"1"').replace('"a1"', '"0"')
        assert described(read_dsc(text))[1][1][3] == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.5, 0.25, 0.25", "0.5, 0.25, 0.3", 22, ("'default' given A='a1'", "must sum to 1")),
            ("0.5, 0.25, 0.25", "0.5, 0.25, y", 22, ("a number", "'y'")),
            ("0.5, 0.25, 0.25", "0.5, 0.25", 22, ("3 probabilities", "got 2")),
            ("(1)", "(2)", 22, ("'A' must be in one of its states", "'2'")),
            ("(1)", "(0)", 22, ("one row", "given A='a0'")),
            ("(1)", "(1, 0)", 22, ("got 2",)),
            (ROWS, "(0,0):.1 .2 .7; (0,0):.2 .2 .6; (0,0):.3 .3 .4;", 21, ("each of its parents, 1 in all; got 2",)),
            (ROWS, "(0,0):.1 .2 .7; (0,0):.2 .2 .6; default: 1 0 0;", 21, ("each of its parents, 1 in all; got 2",)),
            (ROWS, "(0,0):.1 .2 .7; (1): 1 0 0;", 21, ("each of its parents, 1 in all; got 2",)),
            (ROWS, "(0): 1 0 0;\n (0,0):.1 .2 .7;", 22, ("each of its parents, 1 in all; got 2",)),
            (ROWS, "(0,0):.1 .2 .7;", 21, ("each of its parents, 1 in all; got 2",)),
            ('"a1"\n    };', '"a1"\n    }; type : discrete[1] = { x };', 14, ("'A' must have one type",)),
            ("node A", "diagnostic network c node A", 7, ("one network",)),
            (ROWS, "function : max;", 21, ("'function'",)),
            (ROWS, "", 19, ("a row for every configuration",)),
            (ROWS, "0.1, 0.2, 0.7, 0.5, 0.25, 0.25", 22, ("';'",)),
            ("discrete[2]", "discrete[3]", 12, ("3 states, as declared",)),
            ("discrete[2]", "continuous", 10, ("'discrete'",)),
            ("belief network", "belief net", 1, ("'network'",)),
            ("node default", "utility default", 17, ("'node'", "'utility'")),
            ("(default | A)", "(default | B)", 19, ("declared variables", "'B'")),
            ("position : (218, 171);", "position : (218, 171)", 16, ("';'", "'}'")),
            ('"Age, or so"', '"Age, or so', 9, ("quote is not closed",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in AB
        error = refused(read_dsc, AB.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    @pytest.mark.parametrize("piece", ["(", "{", "node a {", '"', "/*", "a : ", "properties {", "[", "="])
    def test_a_repeated_piece_does_not_hang(self, piece):
        refused(read_dsc, piece * 100_000 + "\n?")


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        assert described(read_dsc(write_dsc(parts))) == described(parts)

    def test_a_file_comes_back_with_its_attributes(self):
        text = write_dsc(read_dsc(AB))
        assert described(read_dsc(text)) == described(read_dsc(AB))
        assert "position = (218, 171);" in text
        assert '    type MS_label = choice of [other, hypothesis], "Troubleshooting category";' in text

    @pytest.mark.parametrize("name", ["label", "potential", "states", "data", "net", "continuous"])
    def test_words_of_other_languages_are_names(self, name):
        coin = read_dsc(f"node {name} {{ type : discrete = {{ a }}; }} probability ({name}) {{ 1; }}")
        assert f"node {name}\n" in write_dsc(coin)
        assert "tunbridge" not in write_dsc(coin)

    @pytest.mark.parametrize("name", ["default", "is", "network", "type"])
    def test_words_of_the_language_are_not(self, name):
        coin = NetworkParts("", [CPT(Variable(name, ["a"]), [], [1.0])])
        assert f"node {name}\n" not in write_dsc(coin)
        assert read_dsc(write_dsc(coin)) == coin

    def test_nodes_are_identifiers_and_markers_are_declared(self):
        text = write_dsc(ODD_NETWORK)
        names = re.findall(r"^node (.*)$", text, re.MULTILINE)
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in names)
        assert 'type tunbridge_name = string, "";' in text
        assert 'name : " spaced "' in text
