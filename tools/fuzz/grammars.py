"""Mutations that know the grammar of a format: whole blocks, elements, rows, keywords and columns change.

A text format is described by what its blocks look like and by its keywords. A block that is moved, repeated or left out
passes the scanner and reaches the checks behind it: nodes without tables, tables of other nodes, rows of other lengths.
JSON lines are changed as JSON. Parquet and Arrow files are written anew with columns of any type: damaged bytes rarely
get past the checksums of their own readers.
"""

from __future__ import annotations

import io
import json
import re
from copy import deepcopy
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tools.fuzz.mutations import NUMBERS, WORDS, Mutation, mutate_bytes, mutate_text

LONGEST = 200_000


class Grammar(NamedTuple):
    """A text format: a pattern of its blocks, and its keywords and marks."""

    block: re.Pattern[bytes]
    words: tuple[str, ...]


_BRACES = re.compile(rb"[^{};]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|;|$)")
_ELEMENTS = re.compile(rb"<(\w+)[^<>]*>[^<]*</\1>|<[^<>]*>|[^<]+")
_LINES = re.compile(rb"[^\n]*\n?")

GRAMMARS = {
    "bif": Grammar(_BRACES, (
        "network", "variable", "probability", "property", "type discrete", "table", "default", "(a | b, c)", "{ }",
        "[ 2 ]", "|",
    )),
    "xmlbif": Grammar(_ELEMENTS, (
        "<VARIABLE>", "</VARIABLE>", "<OUTCOME>x</OUTCOME>", "<VALUE>x</VALUE>", "<GIVEN>a</GIVEN>", "<FOR>a</FOR>",
        "<TABLE>0.5 0.5</TABLE>", "<!-- x -->", "<![CDATA[x]]>", "&lt;", "&#0;", "&x;", '<!ENTITY x "y">', "<?xml?>",
    )),
    "net": Grammar(_BRACES, (
        "net", "node", "potential", "states", "data", "continuous", "decision", "utility", "normal(", "model_nodes",
        "class", "%",
    )),
    "dsc": Grammar(_BRACES, (
        "belief network", "node", "probability", "type : discrete", "state", "default", "_",
    )),
    "uai": Grammar(_LINES, (
        "BAYES", "MARKOV", "2", "0", "99999999999", "-1", "1e-400",
    )),
    "xdsl": Grammar(_ELEMENTS, (
        '<cpt id="x">', "</cpt>", '<state id="x"/>', "<parents>a b</parents>",
        "<probabilities>0.5 0.5</probabilities>", '<noisymax id="n">', "<strengths>1 0</strengths>",
        '<deterministic id="d">', "<resultingstates>s</resultingstates>", '<decision id="d"/>', '<utility id="u"/>',
        '<equation id="e"/>', "<dynamic/>", "<genie/>", "&amp;", "<!-- x -->",
    )),
    "dsl": Grammar(_BRACES, (
        "net", "node", "TYPE = CPT;", "TYPE = NOISY_MAX;", "TYPE = TRUTHTABLE;", "TYPE = LIST;", "PARENTS = ();",
        "NAMESTATES = ();", "PROBABILITIES = ();", "RESULTINGSTATES = ();", "STRENGTHS = ();", "HEADER = {};", "//",
        '"',
    )),
    "csv": Grammar(_LINES, (
        ",", ";", "\t", '"', '""', "\r", "\r\n", "\n\n", "NA", "?", "sep=;", "# x", "1,5", "1e5", "\ufeff",
    )),
    "tsv": Grammar(_LINES, (
        "\t", ",", '"', "\r", "NA", "?", "\\t", "\ufeff",
    )),
    "arff": Grammar(_LINES, (
        "@relation", "@attribute x numeric", "@attribute y {a,b}", "@attribute z string", "@attribute d date 'yyyy'",
        "@data", "{0 1}", "{0 a, 3 b}", "?", "%", "'", "\\", "{5}", "@attribute r relational", "@end r",
    )),
}  # fmt: skip


def mutate_blocks(grammar: Grammar, data: bytes, rng: Random) -> bytes:
    """Return a text with blocks moved, repeated or left out, or with keywords put into them."""
    blocks = [match.group() for match in grammar.block.finditer(data) if match.group()]
    for _ in range(rng.randint(1, 3)):
        if not blocks:
            break
        at, other, change = rng.randrange(len(blocks)), rng.randrange(len(blocks)), rng.randrange(6)
        if change == 0:
            blocks[at], blocks[other] = blocks[other], blocks[at]
        elif change == 1:
            del blocks[at : at + rng.choice((1, 1, 2, 5))]
        elif change == 2:
            blocks[at:at] = [blocks[other]] * rng.choice((1, 1, 2, 30))
        elif change == 3:
            blocks[at] = blocks[other]
        else:
            word = rng.choice(grammar.words if rng.random() < 0.8 else (*NUMBERS, *WORDS))
            place = rng.randrange(len(blocks[at]) + 1)
            blocks[at] = blocks[at][:place] + word.encode("utf-8", "surrogatepass") + blocks[at][place:]
    return b"".join(blocks)[:LONGEST]


def text_mutation(name: str) -> Mutation:
    """Return the mutation of a text format: by its grammar, by tokens, or by bytes."""
    grammar = GRAMMARS.get(name)

    def mutate(data: bytes, rng: Random) -> bytes:
        if grammar is None or rng.random() < 0.4:
            return mutate_text(data, rng)
        data = mutate_blocks(grammar, data, rng)
        return mutate_text(data, rng) if rng.random() < 0.3 else data

    return mutate


_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**40, 2**70, 1e308, "", "x", "NA", "é" * 50, [], {}, [1, [2]], {"a": 1}, "\x00", "1,5",
)  # fmt: skip


def mutate_json_lines(data: bytes, rng: Random) -> bytes:
    """Return JSON lines with values, keys or rows changed; sometimes the text only."""
    if rng.random() < 0.4:
        return mutate_text(data, rng)
    rows = []
    for line in data.splitlines():
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            return mutate_text(data, rng)
    for _ in range(rng.randint(1, 3)):
        row = rng.choice(rows) if rows else {}
        if not isinstance(row, dict) or not row or rng.random() < 0.1:
            rows.insert(rng.randrange(len(rows) + 1), deepcopy(rng.choice(_VALUES)))
            continue
        key, change = rng.choice(list(row)), rng.randrange(4)
        if change == 0:
            del row[key]
        elif change == 1:
            row[rng.choice((*WORDS, *row))] = row.get(key)
        else:
            row[key] = deepcopy(rng.choice(_VALUES))
    return "\n".join(json.dumps(row) for row in rows).encode("utf-8", "surrogatepass")[:LONGEST]


_COLUMNS: tuple[tuple[pa.DataType, tuple[Any, ...]], ...] = (
    (pa.int64(), (0, -1, 2**62, None)), (pa.uint64(), (0, 2**64 - 1, None)), (pa.int8(), (0, -128, None)),
    (pa.float64(), (0.5, float("nan"), float("inf"), 1e-320, None)), (pa.float16(), (0.5, 1.5, 2.5)),
    (pa.string(), ("a", "", "é\x00", "x" * 3000, None)), (pa.large_string(), ("a", "b", None)),
    (pa.string_view(), ("a", "b" * 40, None)), (pa.binary(), (b"\xff\xfe", b"", None)), (pa.bool_(), (True, None)),
    (pa.null(), (None,)), (pa.date32(), (0, -800_000, 2_900_000, None)), (pa.timestamp("ns", "UTC"), (-(2**62), None)),
    (pa.timestamp("s"), (0, 2**50, None)), (pa.duration("us"), (0, 2**60, None)), (pa.time64("ns"), (0, 1, None)),
    (pa.decimal128(38, 5), (Decimal("0.00001"), Decimal("9" * 30), None)), (pa.list_(pa.int64()), ([1], [], None)),
    (pa.struct([("a", pa.int64())]), ({"a": 1}, None)), (pa.map_(pa.string(), pa.int64()), ([("k", 1)], None)),
    (pa.dictionary(pa.int8(), pa.string()), ("a", "b", None)), (pa.dictionary(pa.int32(), pa.int64()), (5, 6, None)),
)  # fmt: skip


def table_mutation(is_parquet: bool) -> Mutation:
    """Return the mutation of Arrow or Parquet files: columns of other types, names and lengths, or bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        if rng.random() < 0.5:
            return mutate_bytes(data, rng)
        n_rows, arrays, names = rng.choice((0, 1, 3, 40)), [], []
        for i in range(rng.choice((0, 1, 2, 5))):
            kind, values = rng.choice(_COLUMNS)
            arrays.append(pa.array([rng.choice(values) for _ in range(n_rows)], kind))
            names.append(rng.choice((f"c{i}", f"c{i}", *WORDS, "a")))
        out = io.BytesIO()
        try:
            table = pa.Table.from_arrays(arrays, names)
            if is_parquet:
                pyarrow.parquet.write_table(table, out)
            else:
                pyarrow.feather.write_feather(table, out, compression="uncompressed")
        except (pa.ArrowException, ValueError):  # what the writer does not take
            return mutate_bytes(data, rng)
        return out.getvalue()

    return mutate
