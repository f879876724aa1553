"""Invariants of network files: any network comes back whatever its names, and any text is read or refused in order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from network_examples import DIALECTS, LAWN, ODD_NETWORK, SPARSE_NETWORK, described
from tunbridge.data import Variable
from tunbridge.errors import DataWarning, FormatError
from tunbridge.formats import NetworkParts
from tunbridge.formats.bif import read_bif, write_bif
from tunbridge.formats.dsc import read_dsc, write_dsc
from tunbridge.formats.dsl import read_dsl, write_dsl
from tunbridge.formats.net import read_net, write_net
from tunbridge.formats.network_files import read_network_parts, write_network_parts
from tunbridge.formats.uai import read_uai, read_uai_evidence, write_uai
from tunbridge.formats.xdsl import read_xdsl, write_xdsl
from tunbridge.formats.xmlbif import read_xmlbif, write_xmlbif
from tunbridge.probability import CPT, SparseCPT

NAMED = {
    "bif": (read_bif, write_bif),
    "xmlbif": (read_xmlbif, write_xmlbif),
    "net": (read_net, write_net),
    "dsc": (read_dsc, write_dsc),
    "xdsl": (read_xdsl, write_xdsl),
    "dsl": (read_dsl, write_dsl),
}
READERS = {**{name: read for name, (read, _) in NAMED.items()}, "uai": read_uai, "evidence": read_uai_evidence}

UTF_8 = st.characters(codec="utf-8")
NASTY = st.sampled_from(
    [
        *('"', "\\", "a b", "a,b", "3c", "node", "net", "property", "default", "table", "a;b", "{", "}", "|", "%41"),
        *(
            "//",
            "/*",
            "*/",
            "a//b",
            "<5",
            "&amp;",
            "]]>",
            "é",
            "吸烟",
            "\n",
            "\r\n",
            "\0",
            " ",
            "\t",
            "x = y",
            "unknown",
        ),
        *(
            "n_1",
            "a_b",
            "tunbridge_name = x",
            "tunbridge_states = y",
            "label = x",
            "position = (1 2)",
            "type t = x",
            "fading = 1",
            "model_data = (a == b, 1)",
        ),
        *(
            "states = (a b)",
            "name = n",
            "property x",
            "\u2028",
            "\ufeff",
            "x =",
            "= x",
            "(a)",
            "1",
            "0",
            "is",
            "name = n_1",
            "comment = c",
            "k = a  b",
            "a\\",
        ),
    ]
)
TEXTS = NASTY | st.text(UTF_8, max_size=8)
NAMES = TEXTS.filter(bool)


@st.composite
def networks(draw: st.DrawFn) -> NetworkParts:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    states = st.lists(TEXTS, min_size=1, max_size=3, unique=True)
    variables = [Variable(name, draw(states)) for name in names]
    cpts = []
    for i, variable in enumerate(variables):
        parents = draw(st.lists(st.sampled_from(variables[:i]), unique=True, max_size=2)) if i else []
        cpts.append(_table(draw, variable, parents))
    order = draw(st.permutations(cpts))
    lines = st.lists(TEXTS, max_size=3).map(tuple)
    properties = {name: draw(lines) for name in ("", *names)}
    return NetworkParts(draw(TEXTS), order, properties)


def _table(draw: st.DrawFn, variable: Variable, parents: list[Variable]) -> CPT | SparseCPT:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (*(p.n_states for p in parents), variable.n_states)
    weights = rng.random(shape) ** draw(st.sampled_from([1, 50])) + 1e-300
    table = weights / weights.sum(axis=-1, keepdims=True)
    if not parents or draw(st.booleans()):
        return CPT(variable, parents, table)
    codes = draw(st.lists(st.tuples(*(st.integers(0, p.n_states - 1) for p in parents)), unique=True))
    rows = np.array([table[code] for code in codes]).reshape(-1, variable.n_states)
    codes = np.array(codes, np.int64).reshape(-1, len(parents))
    return SparseCPT.from_codes(variable, parents, codes, rows, default=table[(0,) * len(parents)])


@pytest.mark.parametrize("format", NAMED)
@given(parts=networks())
def test_a_network_comes_back_whatever_its_names(format, parts):
    read, write = NAMED[format]
    back = read(write(parts))
    assert described(back) == described(parts)
    if format == "bif":
        assert back == parts


@given(parts=networks())
def test_numbers_come_back_from_uai(parts):
    back = read_uai(write_uai(parts))
    assert [cpt.table().tolist() for cpt in back.cpts] == [cpt.table().tolist() for cpt in parts.cpts]


@given(parts=networks())
def test_a_native_file_keeps_everything(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("native") / "network.tb"
    write_network_parts(path, parts)
    assert read_network_parts(path) == parts


SEEDS = {
    name: [*(write(parts) for parts in (LAWN, ODD_NETWORK, SPARSE_NETWORK)), *DIALECTS[name]]
    for name, (_, write) in NAMED.items()
}
SEEDS |= {"uai": [write_uai(LAWN), *DIALECTS["uai"]], "evidence": DIALECTS["evidence"]}


@st.composite
def mutated(draw: st.DrawFn, seeds: list[str]) -> str:
    """Draw a text that was once valid: pieces of it are cut out, repeated, replaced or swapped."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = start + draw(st.integers(0, 12))
        piece = text[start:stop]
        other = draw(st.sampled_from(["", piece * 2, piece * 40, text[:60]]) | NASTY | st.text(max_size=3))
        text = text[:start] + other + text[stop:]
    return text


def mistake(format: str, text: str) -> FormatError | None:
    """Return the error about a text; any other exception goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a mutated number may be off by rounding
        try:
            READERS[format](text)
        except FormatError as error:
            return error
    return None


@pytest.mark.parametrize("format", READERS)
def test_the_seeds_are_read(format):
    assert [mistake(format, text) for text in SEEDS[format]] == [None] * len(SEEDS[format])


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=200)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_with_its_place(format, data):
    error = mistake(format, data.draw(mutated(SEEDS[format])))
    assert error is None or (error.line is not None and error.column is not None)


@pytest.mark.parametrize("format", READERS)
@given(text=st.text())
def test_any_text_is_read_or_refused_with_its_place(format, text):
    error = mistake(format, text)
    assert error is None or (error.line is not None and error.column is not None)
