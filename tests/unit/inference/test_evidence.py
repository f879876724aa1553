from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.inference.evidence import NO_EVIDENCE, Evidence, UnknownVariableError, find_variable, read_evidence

SMOKING = Variable("Smoking", ["no", "some", "much"])
COUGH = Variable("Cough", [False, True])
VARIABLES = (SMOKING, COUGH)
INDEX = {"Smoking": 0, "Cough": 1}


def read(given, **options):
    return read_evidence(VARIABLES, INDEX, given, **options)


class TestFindings:
    def test_a_state_is_hard_evidence(self):
        found = read({"Smoking": "much", "Cough": True})
        assert found.hard == {0: 2, 1: 1}
        assert found.soft == {}
        assert found.log_factor == 0.0

    def test_a_state_may_be_given_by_its_text_or_as_numpy_value(self):
        assert read({"Cough": "True"}).hard == {1: 1}
        assert read({"Cough": np.bool_(True), "Smoking": np.str_("some")}).hard == {0: 1, 1: 1}

    @pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array, pd.Series])
    def test_several_states_leave_the_others_impossible(self, kind):
        found = read({"Smoking": kind(["much", "no"])})
        np.testing.assert_array_equal(found.soft[0], [1.0, 0.0, 1.0])
        assert found.hard == {}

    def test_likelihoods_are_scaled_and_the_scale_is_kept(self):
        found = read({"Smoking": {"no": 0.1, "some": 0.4, "much": 0.0}})
        np.testing.assert_allclose(found.soft[0], [0.25, 1.0, 0.0], rtol=1e-15, atol=0)
        assert found.log_factor == pytest.approx(math.log(0.4))

    @pytest.mark.parametrize("finding", [["some"], {"no": 0, "some": 0.5, "much": 0}])
    def test_what_leaves_one_state_possible_is_hard(self, finding):
        found = read({"Smoking": finding})
        assert found.hard == {0: 1}
        assert found.soft == {}
        assert found.log_factor == (math.log(0.5) if isinstance(finding, dict) else 0.0)

    @pytest.mark.parametrize("given", [None, {}])
    def test_nothing(self, given):
        assert read(given) is NO_EVIDENCE
        assert len(NO_EVIDENCE) == 0

    @pytest.mark.parametrize("hole", [None, math.nan, np.nan])
    def test_a_hole_in_a_row_is_no_finding(self, hole):
        assert read({"Smoking": hole, "Cough": True}).hard == {1: 1}

    def test_a_row_of_a_pandas_frame(self):
        pandas = pytest.importorskip("pandas")
        row = pandas.DataFrame({"Smoking": ["much", None], "Cough": [True, False]}).iloc[1]
        assert read(row).hard == {1: read({"Cough": False}).hard[1]}

    def test_nothing_is_changed(self):
        given = {"Smoking": {"no": 0.1, "some": 0.4, "much": 0.0}, "Cough": [True, False]}
        kept = {name: finding.copy() for name, finding in given.items()}
        read(given)
        assert given == kept


class TestMessages:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"Smoke": "no"}, "evidence must name variables of the network; got 'Smoke'. Did you mean 'Smoking'?"),
            ({3: "no"}, "evidence must name variables of the network; got 3. Known: 'Smoking', 'Cough'."),
            ({"Smoking": "mich"}, "evidence must give a state of 'Smoking'; got 'mich'. Did you mean 'much'?"),
            ({"Smoking": ["no", "zzz"]}, "evidence must give a state of 'Smoking'; got 'zzz'. Known: 'no', 'some', "),
            ({"Smoking": []}, "evidence must leave a state of 'Smoking' possible; got []."),
            ({"Smoking": ["no", ["some"]]}, "evidence must give a state of 'Smoking'; got ['some']."),
            ({"Smoking": np.ones((2, 2))}, "evidence must give a state of 'Smoking'; got array("),
            (
                {"Cough": {True: 0.5}},
                "the likelihoods of 'Cough' must name all of its states; False is missing.",
            ),
            (
                {"Cough": {True: 0, False: 0}},
                "evidence must leave a state of 'Cough' possible; got {True: 0, ",
            ),
            ({"Cough": {True: -1, False: 1}}, "the likelihood of 'Cough'=True must be at least 0; got -1."),
            ({"Cough": {True: math.nan, False: 1}}, "the likelihood of 'Cough'=True must be at least 0; got nan."),
            ({"Cough": {True: math.inf, False: 1}}, "the likelihood of 'Cough'=True must be finite; got inf."),
            ({"Cough": {True: "x", False: 1}}, "the likelihood of 'Cough'=True must be a number; got 'x'."),
            ({"Cough": {"maybe": 1}}, "evidence must give a state of 'Cough'; got 'maybe'."),
            (["Cough"], "evidence must be a dict from variable to state; got ['Cough']."),
            ([], "evidence must be a dict from variable to state; got []."),
            ("Cough", "evidence must be a dict from variable to state; got 'Cough'."),
            (np.array([1, 2]), "evidence must be a dict from variable to state; got array([1, 2])."),
            (pd.DataFrame({"Cough": [True, False]}), "evidence must be a dict from variable to state; got"),
        ],
    )
    def test_says_what_is_wrong(self, given, message):
        with pytest.raises(DataError) as caught:
            read(given)
        assert message in str(caught.value)

    def test_an_unknown_variable_is_also_a_key_error(self):
        with pytest.raises(KeyError) as caught:
            find_variable(INDEX, "Coug", "target")
        assert isinstance(caught.value, UnknownVariableError)
        assert str(caught.value) == "target must name variables of the network; got 'Coug'. Did you mean 'Cough'?"

    def test_the_subject_can_be_named(self):
        with pytest.raises(DataError, match=r"^an event must give a state of 'Cough'; got 7\."):
            read({"Cough": 7}, what="an event")


class TestRecord:
    EVIDENCE = Evidence({0: 2, 4: 0}, {3: np.array([0.5, 1.0])}, -1.5)

    def test_counts_and_lists_its_variables(self):
        assert len(self.EVIDENCE) == 3
        assert list(self.EVIDENCE) == [0, 4, 3]

    def test_codes(self):
        assert self.EVIDENCE.codes(6).tolist() == [2, -1, -1, -1, 0, -1]

    def test_parts(self):
        assert self.EVIDENCE.only([0, 3]).hard == {0: 2}
        assert list(self.EVIDENCE.only([0, 3]).soft) == [3]
        assert self.EVIDENCE.without([0, 3]).hard == {4: 0}
        assert self.EVIDENCE.without([0, 3]).soft == {}
        assert len(self.EVIDENCE) == 3
