"""DSL: nested blocks, texts over several lines, the kinds of nodes, and what bad files get."""

from __future__ import annotations

import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.formats.dsl import read_dsl, write_dsl
from tunbridge.probability import NoisyMaxCPT

CLINIC = r"""net clinic
{
 // a comment; with { marks
 HEADER = { ID = clinic; NAME = "The clinic"; };
 NUMSAMPLES = 1000;
 SCREEN = { POSITION = { CENTER_X = 0; }; COLOR = 16250597; };
 node A
 {
  TYPE = CPT;
  HEADER = { ID = A; NAME = "A"; COMMENT = "a \"quoted\" text, with \~
     two lines; and { a brace"; };
  PARENTS = ();
  DEFINITION = { NAMESTATES = (a0, a1); PROBABILITIES = (0.3, 0.7); };
  EXTRA_DEFINITION = { FAULT_NAMES = ("", ""); DOCUMENTATION = { }; DOCUMENTATION = { }; };
 };
 submodel S
 {
  node B
  {
   TYPE = CPT;
   HEADER = { ID = B; NAME = "The second"; };
   USER_PROPERTIES = { source = "a book"; };
   PARENTS = (A);
   DEFINITION = { NAMESTATES = (b0, b1, b2);
    PROBABILITIES = (0.1, 0.2, 0.7,
      0.5, 0.25, 0.25); };
  };
 };
 node D { TYPE = TRUTHTABLE; HEADER = { ID = D; }; PARENTS = (A, B);
  DEFINITION = { NAMESTATES = (lo, hi); RESULTINGSTATES = (lo, lo, hi, lo, hi, hi); }; };
 node N { TYPE = NOISY_MAX; PARENTS = (A);
  DEFINITION = { NAMESTATES = (yes, no); STRENGTHS = (1, 0); PROBABILITIES = (0.8, 0.2, 0, 1, 0.1, 0.9); }; };
 OBSERVATION_COST = { node A { PARENTS = (); COSTS = (0.0); }; };
};
""".replace("~", " ")  # a blank between the backslash and the end of the line, as SMILE writes it


class TestReading:
    def test_all_that_a_file_says(self):
        parts = read_dsl(CLINIC)
        a, b, d, n = parts.cpts
        assert parts.name == "clinic"
        assert parts.properties["A"] == ('comment = a "quoted" text, with two lines; and { a brace',)
        assert parts.properties["B"] == ("source = a book", "name = The second")
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
        assert d.table()[..., 1].tolist() == [[0, 0, 1], [0, 1, 1]]
        assert isinstance(n, NoisyMaxCPT)
        assert n.effects[0].tolist() == [[0, 1], [0.8, 0.2]]
        assert n.leak.tolist() == [0.1, 0.9]

    def test_as_agrum_writes_it(self):
        text = "net data\\x.bif\n{\n// property software aGrUM\n\n\tnode n1\n\t{\n\t\tDEFINITION =\n\t\t{\n"
        text += '\t\t\tNAMESTATES = (0, "1");\n\t\t\tPROBABILITIES = (2e-1, 0.8);\n\t\t};\n\t};\n\n};'
        parts = read_dsl(text)
        assert (parts.name, parts.variables[0].states) == ("data\\x.bif", ("0", "1"))


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.25, 0.25)", "0.25, 0.3)", 26, ("'B' given A='a1'", "must sum to 1")),
            ("0.25, 0.25)", "0.25, x)", 26, ("a number", "'x'")),
            ("0.25, 0.25)", "0.25)", 18, ("'B' must have 6 probabilities; got 5",)),
            ("0.25, 0.25);", "0.25, 0.25)", 25, ("must end with ';'",)),
            ("hi, hi)", "hi, high)", 30, ("'D'", "'high'", "'hi'")),
            ("hi, hi)", "hi)", 30, ("a state for each configuration", "got 5")),
            ("STRENGTHS = (1, 0)", "STRENGTHS = (1, 1)", 31, ("permutation",)),
            ("RESULTINGSTATES", "OTHERS", 29, ("'D' must have RESULTINGSTATES",)),
            ("NAMESTATES = (a0, a1)", "NAMESTATES = a0", 13, ("between '(' and ')'",)),
            ("NAMESTATES = (a0, a1);", "", 7, ("'A' must have states",)),
            ("(a0, a1);", "(a0, a1); NAMESTATES = (a0, a1);", 13, ("one 'NAMESTATES'",)),
            ("PARENTS = (A);", "PARENTS = (Q);", 18, ("declared variables", "'Q'")),
            ("TYPE = TRUTHTABLE", "TYPE = EQUATION", 29, ("'D'", "'EQUATION', which is not supported")),
            ("TYPE = TRUTHTABLE", "TYPE = LIST", 29, ("'D' (decision)", "not supported yet")),
            ("TYPE = NOISY_MAX", "TYPE = TABLE", 31, ("'N' (utility)", "not supported yet")),
            ("TYPE = CPT;", "TYPE = CPT", 10, ("';'", "'='")),
            ("TYPE = CPT;", "TYPE CPT;", 9, ("'='", "'CPT'")),
            ("TYPE = CPT;", "TYPE = (CPT);", 9, ("a word or a quoted text",)),
            ('NAME = "The clinic"', 'NAME = "The clinic', 34, ("a statement", "'}'")),
            ("net clinic", "network clinic", 1, ("'net'", "'network'")),
            ("(0.0); }; };\n};", "(0.0); }; };\n}; }", 34, ("a statement",)),
            ("(0.0); }; };\n};", "(0.0); }; };\n}; x", 34, ("the end of the file", "'x'")),
            ("(0.0); }; };\n};", "(0.0); }; };\n", 2, ("must end with '}'",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in CLINIC
        error = refused(read_dsl, CLINIC.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    @pytest.mark.parametrize("piece", ["(", "{", "net a {", "submodel a {", "a = {", '"', '\\"', "//", "a = ", ";"])
    def test_a_repeated_piece_does_not_hang(self, piece):
        refused(read_dsl, "net a {" + piece * 100_000 + "\n?")

    def test_deep_submodels(self):
        refused(read_dsl, "net a {" + "submodel a {" * 1000 + "}" * 1001, "nested")


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        assert described(read_dsl(write_dsl(parts))) == described(parts)

    def test_what_was_read_is_written_again(self):
        parts = read_dsl(CLINIC)
        assert described(read_dsl(write_dsl(parts))) == described(parts)
