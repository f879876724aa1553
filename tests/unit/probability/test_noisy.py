from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

from oracles.noisy_max import noisy_max_row
from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.probability import CPT, NoisyMaxCPT, noisy_max, noisy_or

YES_NO = ["no", "yes"]
FEVER, COLD, FLU, MALARIA = (Variable(name, YES_NO) for name in ["Fever", "Cold", "Flu", "Malaria"])
HARM, DOSE = Variable("Harm", ["none", "some", "much"]), Variable("Dose", ["0", "low", "high"])


def fever(**kwargs) -> NoisyMaxCPT:
    return noisy_or(FEVER, {COLD: 0.4, FLU: 0.8, MALARIA: 0.9}, **kwargs)


def random_table(rng: np.random.Generator, n_states: list[int], r: int, order: list[int] | None = None) -> NoisyMaxCPT:
    parents = [Variable(f"p{i}", range(n)) for i, n in enumerate(n_states)]
    effects = [rng.dirichlet(np.full(r, 0.5), n) for n in n_states]
    return NoisyMaxCPT(Variable("x", range(r)), parents, effects, rng.dirichlet(np.ones(r)), order=order)


def by_definition(cpt: NoisyMaxCPT) -> np.ndarray:
    out = np.empty(cpt.shape)
    for codes in itertools.product(*map(range, cpt.shape[:-1])):
        rows = [cpt.leak, *(effect[code] for effect, code in zip(cpt.effects, codes, strict=True))]
        out[codes] = noisy_max_row(rows, cpt.order)
    return out


def product_of(cpt: NoisyMaxCPT) -> np.ndarray:
    """Return the product of the factors, summed over the auxiliary variables."""
    names = [*(p.name for p in cpt.parents), cpt.variable.name]
    axis = {name: i for i, name in enumerate(names)}
    operands = []
    for axes, array in cpt.factors():
        operands += [array, [axis[a] if isinstance(a, str) else len(names) + a for a in axes]]
    return np.einsum(*operands, list(range(len(names))))


CASES = [([2, 2, 2], 2, None), ([3, 2], 3, None), ([2, 4, 3, 2], 3, [2, 0, 1]), ([3], 4, [3, 2, 1, 0]), ([], 3, None)]


@pytest.mark.parametrize(("n_states", "r", "order"), CASES)
def test_the_table_is_the_distribution_of_the_highest_effect(n_states, r, order):
    cpt = random_table(np.random.default_rng(1), n_states, r, order)
    np.testing.assert_allclose(cpt.table(), by_definition(cpt), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("n_states", "r", "order"), CASES)
def test_the_factors_multiply_to_the_table(n_states, r, order):
    cpt = random_table(np.random.default_rng(2), n_states, r, order)
    np.testing.assert_allclose(product_of(cpt), cpt.table(), rtol=1e-13, atol=0)


def test_axes_and_shapes_of_the_factors():
    cpt = random_table(np.random.default_rng(3), [2, 3, 4], 5)
    assert [(axes, array.shape) for axes, array in cpt.factors()] == [
        (("p0", 0), (2, 5)),
        ((0, "p1", 1), (5, 3, 5)),
        ((1, "p2", "x"), (5, 4, 5)),
    ]
    for _, array in cpt.factors():
        np.testing.assert_allclose(array.sum(axis=-1), 1.0, rtol=1e-12)
    assert [axes for axes, _ in cpt.reduced({"p0": 0, "p1": 2}).factors()] == [("p2", "x")]
    assert [axes for axes, _ in cpt.reduced({"p0": 0, "p1": 2, "p2": 1}).factors()] == [("x",)]


@pytest.mark.parametrize(("n_states", "r", "order"), CASES)
def test_rows_and_reduced_agree_with_the_table(n_states, r, order):
    cpt = random_table(np.random.default_rng(4), n_states, r, order)
    codes = np.array(list(itertools.product(*map(range, n_states))), int).reshape(math.prod(n_states), len(n_states))
    np.testing.assert_allclose(cpt.rows(codes), cpt.table().reshape(-1, r), rtol=1e-13)
    for i, n in enumerate(n_states):
        found = cpt.reduced({f"p{i}": n - 1})
        np.testing.assert_allclose(found.table(), cpt.table().take(n - 1, axis=i), rtol=1e-12)


def test_noisy_or_by_its_formula():
    cpt = fever(leak=0.01)
    for cold, flu, malaria in itertools.product([0, 1], repeat=3):
        none = 0.99 * 0.6**cold * 0.2**flu * 0.1**malaria
        found = cpt.rows([[cold, flu, malaria]])[0]
        np.testing.assert_allclose(found, [none, 1 - none], rtol=1e-12)
    assert cpt.n_parameters == 4
    assert fever().rows([[0, 0, 0]]).tolist() == [[1.0, 0.0]]


def test_small_probabilities_keep_their_digits():
    cpt = noisy_or(FEVER, {COLD: 1e-20, FLU: 3e-20}, leak=0.0)
    assert cpt.rows([[1, 1]])[0, 1] == pytest.approx(4e-20, rel=1e-12)


def test_absent_states_other_than_the_first():
    backwards = {v: Variable(v.name, ["yes", "no"]) for v in (FEVER, COLD, FLU)}
    cpt = noisy_or(
        backwards[FEVER],
        {backwards[COLD]: 0.4, backwards[FLU]: 0.8},
        0.01,
        absent={"Fever": "no", "Cold": "no", "Flu": "no"},
    )
    plain = noisy_or(FEVER, {COLD: 0.4, FLU: 0.8}, 0.01)
    np.testing.assert_allclose(cpt.table(), plain.table()[::-1, ::-1, ::-1], rtol=1e-12)
    np.testing.assert_allclose(product_of(cpt), cpt.table(), rtol=1e-12)
    with pytest.raises(DataError, match="the first state of 'Cold' must be the absent one; got 'yes'"):
        noisy_or(FEVER, {backwards[COLD]: 0.4})
    with pytest.raises(DataError, match="the first state of 'Fever' must be the absent one"):
        noisy_or(backwards[FEVER], {COLD: 0.4})
    with pytest.raises(DataError, match=r"the first state of 'Fever' must .*got 'yes'.*order=\['no', 'yes'\]"):
        noisy_max(backwards[FEVER], {COLD: {"yes": [0.4, 0.6]}})
    ordered = noisy_max(backwards[FEVER], {COLD: {"yes": [0.4, 0.6]}}, order=["no", "yes"])
    assert ordered.table().tolist() == [[0, 1], [0.4, 0.6]]
    assert noisy_max(backwards[FEVER], {COLD: {"yes": [0.4, 0.6]}}, order=["yes", "no"]).table()[0].tolist() == [1, 0]


def test_noisy_or_of_a_parent_with_several_states():
    cpt = noisy_or(FEVER, {DOSE: {"low": 0.2, "high": 0.7}, COLD: 0.5})
    np.testing.assert_allclose(cpt.table()[:, 0, 1], [0.0, 0.2, 0.7], rtol=1e-12)
    np.testing.assert_allclose(cpt.table()[:, 1, 0], [0.5, 0.4, 0.15], rtol=1e-12)


def test_noisy_max_with_dicts_and_arrays():
    by_state = noisy_max(HARM, {DOSE: {"low": [0.8, 0.2, 0.0], "high": {"some": 0.5, "much": 0.5}}})
    by_array = noisy_max(HARM, {DOSE: [[1, 0, 0], [0.8, 0.2, 0.0], [0, 0.5, 0.5]]})
    assert by_state == by_array
    assert by_state == NoisyMaxCPT(HARM, [DOSE], [[[1, 0, 0], [0.8, 0.2, 0.0], [0, 0.5, 0.5]]])
    assert by_state.table().tolist() == [[1, 0, 0], [0.8, 0.2, 0.0], [0, 0.5, 0.5]]
    turned = noisy_max(HARM, {DOSE: {"low": [0, 0.2, 0.8], "0": [1, 0, 0]}}, absent={"Dose": "high"},
                       order=["much", "some", "none"])  # fmt: skip
    assert turned.table().tolist() == [[1, 0, 0], [0, 0.2, 0.8], [0, 0, 1]]


def test_many_parents_need_no_table():
    causes = {Variable(f"c{i}", YES_NO): 0.1 for i in range(200)}
    cpt = noisy_or(FEVER, causes, 0.01)
    assert cpt.n_configurations == 2**200
    assert cpt.n_parameters == 201
    np.testing.assert_allclose(cpt.rows(np.ones((1, 200), int))[0, 0], 0.99 * 0.9**200, rtol=1e-12)
    assert max(array.size for _, array in cpt.factors()) == 8
    with pytest.raises(MemoryForecastError, match="the dense table of 'Fever'"):
        cpt.table()
    assert "about 10^60 rows" in repr(cpt)
    assert "… and about 10^60 more rows" in str(cpt)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noisy_or(HARM, {COLD: 0.5}), "must have two states"),
        (lambda: noisy_or(FEVER, {COLD: 1.5}), "the effect of 'Cold' on 'Fever' must be at most 1; got 1.5"),
        (lambda: noisy_or(FEVER, {COLD: 0.5}, leak=-0.1), "the leak of 'Fever' must be at least 0"),
        (lambda: noisy_or(FEVER, {DOSE: 0.5}), "must be a mapping from state to probability, as it has 3 states"),
        (lambda: noisy_or(FEVER, {DOSE: {"lo": 0.5}}), "Did you mean 'low'"),
        (lambda: noisy_or(FEVER, {DOSE: {"low": 0.5}}), "given for every state except the absent one; 'high' has none"),
        (lambda: noisy_or(FEVER, {DOSE: {}}), "given for every state except the absent one; 'low', 'high' have none"),
        (lambda: noisy_or(FEVER, {COLD: {"no": 0.5}}), "given for every state except the absent one; 'yes' has none"),
        (
            lambda: noisy_or(FEVER, {DOSE: {"0": 0.5, 0: 0.4, "low": 0.1, "high": 0.2}}),
            "the effects of 'Dose' on 'Fever' must be given once for a state; got 0 again",
        ),
        (lambda: noisy_or(FEVER, {"Cold": 0.5}), "a cause must be a Variable; got 'Cold'. A name needs its states"),
        (
            lambda: noisy_or("Ache", {COLD: 0.5}),
            "the effect of a noisy-OR must be a Variable; got 'Ache'. A name needs",
        ),
        (lambda: noisy_max("Ache", {COLD: 0.5}), "the effect of a noisy-MAX must be a Variable; got 'Ache'"),
        (lambda: noisy_or(FEVER, {3: 0.5}), "a cause must be a Variable; got 3.$"),
        (
            lambda: noisy_or(FEVER, {COLD: 0.5}, absent="no"),
            "absent must be a dict from parent to state, such as {'Cold': 'no'}; got 'no'",
        ),
        (
            lambda: noisy_max(HARM, {COLD: np.eye(2)}, absent=[]),
            r"absent must be a dict from parent to state; got \[\]",
        ),
        (lambda: noisy_or(FEVER, [COLD]), "causes must map parents to their effects"),
        (lambda: noisy_or(FEVER, {COLD: 0.5}, absent={"Flu": "no"}), "absent must name variables of the table"),
        (lambda: noisy_max(HARM, {DOSE: {"low": [1, 0, 0]}}), "every state except the absent one; 'high' has none"),
        (lambda: noisy_max(HARM, {DOSE: np.eye(2)}), r"must have the shape \(3, 3\); got \(2, 2\)"),
        (
            lambda: noisy_max(HARM, {COLD: [[1, 0, 0], [0.5, 0.2, 0.2]]}),
            "'Harm' given Cold='yes' must sum to 1; got 0.9",
        ),
        (lambda: noisy_max(HARM, {COLD: [[1, 0, 0]] * 2}, leak=[1, 1, 0]), "the leak: .* must sum to 1; got 2"),
        (lambda: noisy_max(HARM, {COLD: [[1, 0, 0]] * 2}, order=["none", "some"]), "must name each of them once"),
        (lambda: NoisyMaxCPT(HARM, [COLD], []), "must be 1 table, one for each parent; got 0"),
        (lambda: fever().with_counts(np.ones(2)), "counts must be those of stored rows"),
    ],
)
def test_bad_noisy_tables(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_into_a_dense_table():
    cpt = fever(leak=0.01)
    assert np.array_equal(CPT(FEVER, cpt.parents, cpt.table()).table(), cpt.table())
    assert cpt.with_counts(None) is cpt
    assert cpt.counts is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies(again):
    cpt = again(fever(leak=0.01))
    assert cpt == fever(leak=0.01)
    assert cpt != fever(leak=0.02)
    assert not cpt.leak.flags.writeable
    assert not any(effect.flags.writeable for effect in cpt.effects)
