"""Small networks for the tests of file formats, and what they must have in common after a round trip."""

from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import FormatError
from tunbridge.formats import NetworkParts
from tunbridge.probability import CPT, SparseCPT

RAIN = Variable("Rain", ["no", "yes"])
SPRINKLER = Variable("Sprinkler", ["off", "on"])
GRASS = Variable("Grass", ["dry", "damp", "wet"])

LAWN = NetworkParts(
    "lawn",
    [
        CPT(RAIN, [], [0.8, 0.2]),
        CPT(SPRINKLER, [RAIN], [[0.6, 0.4], [0.99, 0.01]]),
        CPT(GRASS, [RAIN, SPRINKLER], np.arange(12).reshape(2, 2, 3) / [[[3], [12]], [[21], [30]]]),
    ],
)

ODD = Variable('2nd "test", näive; {x}', ["<5", "5-12", 'a "b"', "", " c ", "line\nbreak", "吸烟", "default"])
PLAIN = Variable("node", ["yes", "no"])
ODD_NETWORK = NetworkParts(
    'an "odd"\nnetwork',
    [
        CPT(ODD, [], np.full(8, 0.125)),
        CPT(PLAIN, [ODD], np.linspace(0.1, 0.9, 8)[:, None] * [1, -1] + [0, 1]),
        CPT(Variable(" spaced ", ["property", "table"]), [PLAIN], [[1.0, 0.0], [1e-300, 1.0]]),
    ],
    {"": ["author = me", "semi;colon"], "node": ["position = (1 2)", 'two "quotes', "", "tunbridge_name = x"]},
)

TENTHS = Variable("Tenths", [f"t{i}" for i in range(10)])
SPARSE_NETWORK = NetworkParts(
    "",
    [
        CPT(TENTHS, [], np.full(10, 0.1)),
        CPT(RAIN, [TENTHS], np.tile([0.3, 0.7], (10, 1))),
        SparseCPT(GRASS, [TENTHS, RAIN], {("t3", "yes"): [0.1, 0.2, 0.7], ("t0", "no"): [1, 0, 0]}, [0.5, 0.25, 0.25]),
    ],
)


DIALECTS = {
    "bif": [
        'network { property author = "me, myself"; property two\r\nlines; property; }\n'
        'variable A { property first; type discrete { a0 "a 1" }; } // comment\r'
        "variable B { type discrete [1] { b }; };\n"
        "probability ( A ) { table 0.3 0.7; property late = (1, 2); }\n"
        'probability ( B, A ) { default 1; ("a 1") +1e0; }',
    ],
    "net": [
        'net { node_size = (50 50); name = "a b"; }\n'
        'node A { states = ("a0" a1); label = "100% sure?"; % a comment; {\r position = (25 275); }\n'
        'discrete node B { states = (b0 "b 1" 2); } potential (A | ) { data = 0.3 0.7; }\n'
        'potential (B | A) { model_nodes = (A); model_data = ( if (A == "a0", Normal(1, 2), % no\n 3) );\n'
        "data = (( 0.1 0.2 0.7 ) ( 0.5 0.25 0.25 )); experience = (10 20); }",
        "net { } node A { states = (a b); } continuous node X { } continuous node Y { label = y; }\n"
        "potential (A) { data = (0.25 0.75); } potential (X) { data = normal ( -1.5, 2 ); }\n"
        "potential (Y | A X) { data = ( normal ( 1+2*X, 1 ) normal ( -X * .5 - -1e-1 + 0.5, 0.5 ) ); }",
    ],
    "dsc": [
        'diagnostic network "a" properties { type MS_label = choice of [other, x], "text"; MS_label = other; }\n'
        'node A { name : "Age, or so"; type is discrete[2] = { "a0", a1 }; position : (218, 171); }\n'
        "node B { type : discrete = { b0 b1 }; } node C { type : discrete = { c0 c1 }; }\n"
        "probability (A) { 0.3, 0.7; }\n"
        "probability (B | A) { (0,0): 0.1, 0.9; (0,0): 0.2, 0.8; }\n"
        'probability (C | A, B) { default = 0.1 0.9; (0, "b1") is 0.5 0.5; (a1, 0) : 1 0; (1, 1) 0 1; }',
        "belief network b node A { type : discrete = { a0 a1 }; } node B { type : discrete = { b0 b1 }; }\n"
        "probability (A) { (0) : 0.3, 0.7; } probability (B | A) { 0.1, 0.9; 0.2, 0.8; }",
    ],
    "xmlbif": [
        "<BIF><NETWORK><NAME>n</NAME><PROPERTY/><PROPERTY>p</PROPERTY>\n"
        "<DEFINITION><FOR>A</FOR><TABLE kind='x'>0.3<!-- a\n -->, <![CDATA[0.7]]></TABLE>\n"
        "<PROPERTY>q</PROPERTY></DEFINITION>\n"
        "<VARIABLE TYPE='nature'><NAME> A </NAME><OUTCOME>a&#48;</OUTCOME><VALUE>&lt;</VALUE><x>y</x></VARIABLE>\n"
        "</NETWORK></BIF>",
        ' \n<?XML VERSION="1.0"?><BIF><NETWORK><VARIABLE><NAME>A</NAME><TYPE>discrete</TYPE><VALUE>a</VALUE>\n'
        "<VALUE>b</VALUE></VARIABLE><VARIABLE TYPE='discrete' NAME='B'><VALUE>0</VALUE><VALUE>1</VALUE></VARIABLE>\n"
        "<PROBABILITY><FOR>A</FOR><DEFAULT><TABLE>.5 .5</TABLE></DEFAULT></PROBABILITY><PROBABILITY><FOR>B</FOR>\n"
        "<GIVEN>A</GIVEN><ENTRY><VALUE>b</VALUE><TABLE>0.2 0.8</TABLE></ENTRY><DEFAULT><TABLE>1 0</TABLE></DEFAULT>\n"
        "</PROBABILITY></NETWORK></BIF>",
    ],
    "xdsl": [
        "<smile id='s'><nodes><cpt id='A'><state id='a0'/><state id='a1'/><probabilities>0.3 0.7</probabilities>\n"
        "<property id='k'>v</property></cpt><deterministic id='D'><state id='x'/><state id='y'/><parents>A</parents>\n"
        "<resultingstates>y x</resultingstates></deterministic><noisymax id='N'><state id='t'/><state id='f'/>\n"
        "<parents>A D</parents><strengths>1 0 0 1</strengths><parameters>.8 .2 0 1 .6 .4 0 1 .1 .9</parameters>\n"
        "</noisymax></nodes><extensions><genie name='n'><node id='A'><name>x y</name></node></genie></extensions>\n"
        "</smile>",
    ],
    "dsl": [
        'net "a b" { // comment\n HEADER = { ID = s; };\n'
        'submodel M { node A { TYPE = CPT; HEADER = { NAME = "x \\"y\\" \\\n z"; };\n'
        "PARENTS = (); DEFINITION = { NAMESTATES = (a0, a1); PROBABILITIES = (0.3, 0.7); }; }; };\n"
        "node D { TYPE = TRUTHTABLE; PARENTS = (A);\n"
        "DEFINITION = { NAMESTATES = (x, y); RESULTINGSTATES = (y, x); }; };\n"
        "node N { TYPE = NOISY_MAX; PARENTS = (A, D); DEFINITION = { NAMESTATES = (t, f); STRENGTHS = (1, 0, 0, 1);\n"
        "PROBABILITIES = (.8, .2, 0, 1, .6, .4, 0, 1, .1, .9); }; USER_PROPERTIES = { k = v; }; }; };",
    ],
    "uai": ["BAYES 1 2 1 1 0 2 0.5 0.5", "bayes # model\r2\r2 2\r2\r1 0\r2 0 1\r2 .5 .5 4\r1 0 0 1 # end"],
    "evidence": ["2 0 1 4 0", "2\n1 0 1\n1 4 0", "2 # samples\r0\r1 1 0", "0"],
}
"""Texts as other programs and people write them, of which a network or its evidence can be read."""


def described(parts: NetworkParts) -> list[object]:
    """Return all that text files hold of a network: names, states as text, dense probabilities, properties."""
    nodes = [
        (
            cpt.variable.name,
            [str(state) for state in cpt.variable.states or ()],
            [parent.name for parent in cpt.parents],
            cpt.table().tolist(),
        )
        for cpt in parts.cpts
    ]
    return [parts.name, nodes, dict(parts.properties)]


def refused(read, text: str, *words: str) -> FormatError:
    """Return the error about a text, which must have a place and say these words."""
    with pytest.raises(FormatError) as caught:
        read(text)
    message = str(caught.value)
    assert caught.value.line is not None, message
    assert caught.value.column is not None, message
    for word in words:
        assert word in message, message
    return caught.value
