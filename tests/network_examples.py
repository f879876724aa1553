"""Small networks for the tests of file formats, and what they must have in common after a round trip."""

from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import FormatError
from tunbridge.formats.parts import NetworkParts
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
