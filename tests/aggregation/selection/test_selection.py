"""Methods compared on the same folds, and what is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from studies import read, table

import aggcal
from aggcal.aggregation.selection import (
    Auto,
    available,
    candidates_of,
    compared,
    folds_of,
    measured,
)
from aggcal.errors import OptionError, TooLittleDataError

PLAIN = aggcal.Terms(ties="halves", position="off", context="off", categories=False)


def labels(judgments: aggcal.Judgments) -> list[str]:
    return [each.label for each in candidates_of(judgments)]


def test_a_term_is_a_candidate_only_where_the_data_have_it() -> None:
    plain = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    assert available(plain) == ()
    assert labels(plain) == ["btl", "tcv", "hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv"]
    whole = read(table(tie_sd=1.0, contexts=5))
    assert available(whole) == ("ties", "position", "context")
    assert labels(whole) == [
        "btl", "tcv",
        "btl:ties", "hra-g:plain", "hra-e", "hra-n", "crowd-bt", "crowd-tcv",
        "btl:ties+position", "btl:ties+context", "hra-g:ties",
        "hra-g:ties+position", "hra-g:ties+context",
        "hra-g",
    ]  # fmt: skip
    columns = {**table(tie_sd=1.0), "topic": ["x", "y"] * 200}
    parted = aggcal.read_judgments(columns, by="topic")
    assert "hra-g:ties+categories" in labels(parted)
    assert "hra-g:ties+context" not in labels(parted)


def test_terms_are_those_of_the_name() -> None:
    found = {each.label: each.terms for each in candidates_of(read(table(tie_sd=1.0, contexts=5)))}
    assert found["hra-g:plain"] == PLAIN
    assert found["hra-g:ties"] == replace(PLAIN, ties="davidson")
    assert found["hra-g:ties+position"] == replace(PLAIN, ties="davidson", position="on")
    assert found["hra-g:ties+context"] == replace(PLAIN, ties="davidson", context="fit")
    assert found["hra-g"] is None
    assert found["btl"] is None


def test_the_reference_is_fitted_to_what_is_not_held_out() -> None:
    judgments = read(table(1, tie_sd=1.0))
    found = compared(judgments, ["btl"])
    parted = folds_of(judgments, 5, 0)
    chances = np.empty((len(parted.fold), 3))
    for k in range(5):
        train, test = parted.parts(k)
        fit = aggcal.aggregate(train, "btl", warn=False)
        chances[parted.fold == k] = fit.outcome_probabilities(test)
    wanted = measured(judgments, chances)
    for name, value in found.best.values.items():
        assert value.value == pytest.approx(wanted[name].value), name


@pytest.mark.parametrize(("effect", "wanted", "without"), [
    ({"position": 1.5}, "hra-g:position", {"btl", "tcv", "hra-g:plain"}),
    ({"tie_sd": 2.0}, "hra-g:ties", {"btl", "tcv", "hra-g:plain"}),
    ({"reliability_sd": 1.5, "judgments": 800}, "hra-g:plain", {"btl", "tcv"}),
])  # fmt: skip
def test_a_strong_effect_is_found(effect: dict[str, float], wanted: str, without: set[str]) -> None:
    judgments = read(table(2, **effect))  # type: ignore[arg-type]
    found = compared(judgments, ["tcv", "hra-g:plain", wanted], folds=3)
    assert found.chosen == wanted
    for one in found.measured:
        assert one.near == (one.label not in without)
    assert found.choice.differences["log_loss"].value < 0.0
    assert wanted in found.why


def test_the_simplest_near_the_best_is_taken_and_said() -> None:
    found = compared(read(table(5)), ["tcv", "hra-g:plain", "hra-g:position"], folds=3)
    assert found.chosen == "btl"
    assert found.options == {"method": "btl"}
    if found.best.label != "btl":
        assert "simplest method within one standard error of the best" in found.why
    losses = [one.values["log_loss"].value for one in found.measured]
    assert losses == sorted(losses)


def test_what_was_chosen_can_be_given_to_aggregate() -> None:
    judgments = read(table(2, position=1.5, contexts=8, judgments=200))
    found = compared(judgments, ["hra-g:position"], folds=2)
    assert found.options["terms"] == replace(PLAIN, position="on", context="errors")
    assert found.choice.candidate.words == (
        "--method hra-g --ties halves --position on --context COLUMN:errors"
    )
    fit = aggcal.aggregate(judgments, warn=False, **found.options)
    assert fit.effects is not None
    assert fit.effects.position is not None


class Wins:
    """A method without probabilities."""

    def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
        return aggcal.Consensus.of(judgments, np.arange(float(judgments.n_items)), method="wins")


class Broken:
    """A method with a fault."""

    def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
        raise ZeroDivisionError(str(judgments.n_items))


def test_what_gives_no_probabilities_is_left_out_with_a_sentence() -> None:
    found = aggcal.compare_methods(table(6), [Wins(), Broken(), aggcal.methods.TCV()], folds=2)
    assert {one.label for one in found.measured} == {"btl", "tcv"}
    assert found.left_out["Wins"] == "it gives no probabilities of judgments."
    assert "ZeroDivisionError" in found.left_out["Broken"]
    assert "Wins was left out" in str(found)


@pytest.mark.parametrize(("name", "said"), [
    ("hra-x", "method 'hra-x' is unknown"),
    ("hra-g:tie", "did you mean 'ties'"),
    ("tcv:ties", "tcv has no terms"),
    ("gppl", "needs features"),
    ("auto", "chooses among the methods"),
    ("hra-g:context", "no context was read"),
])  # fmt: skip
def test_wrong_names_are_refused(name: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        aggcal.compare_methods(table(), [name])


@pytest.mark.parametrize("rows", [
    table(7, annotators=1, judgments=100), table(7, items=3, judgments=100),
    table(7, annotators=5, judgments=60),
    table(7, annotators=1, items=2, judgments=60) | {"annotator": [f"u{k}" for k in range(60)]},
])  # fmt: skip
def test_odd_studies_are_compared(rows: dict[str, list[str]]) -> None:
    found = compared(read(rows), ["hra-g:plain", "hra-g:position"], folds=2)
    for one in found.measured:
        assert np.isfinite(one.values["log_loss"].se)
        assert np.isfinite(one.values["accuracy"].value)


def test_few_judges_are_said() -> None:
    found = compared(read(table(8, annotators=3)), ["tcv"])
    if found.best.values["log_loss"].clusters == 3:
        assert "they rest on 3 annotators" in " ".join(found.notes)


def test_a_tie_that_no_fold_was_fitted_with_costs_what_it_costs_others() -> None:
    columns = table(9)
    columns["outcome"][0] = "tie"
    found = compared(read(columns), ["hra-g:ties+position", "hra-g:plain"], folds=2)
    losses = {one.label: one.values["log_loss"].value for one in found.measured}
    assert abs(losses["hra-g:ties+position"] - losses["hra-g:plain"]) < 0.03


def test_the_same_seed_gives_the_same_bits() -> None:
    judgments = read(table(10))
    first, again = (
        compared(judgments, ["hra-g:plain"], folds=2, seed=3).to_dict() for _ in range(2)
    )
    assert first == again


def test_auto_fits_what_it_chose_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = read(table(2, position=1.5, judgments=200))
    import aggcal.aggregation.selection as module

    monkeypatch.setattr(
        module, "candidates_of", lambda j, _: candidates_of(j, ["tcv", "hra-g:position"])
    )
    fit = aggcal.aggregate(judgments, "auto", seed=1, warn=False)
    assert fit.selection is not None
    assert fit.selection["chosen"] == "hra-g:position"
    assert (fit.selection["folds"], fit.selection["seed"]) == (5, 1)
    same = aggcal.aggregate(judgments, warn=False, terms=replace(PLAIN, position="on"))
    np.testing.assert_array_equal(fit.scores, same.scores)
    assert fit.to_dict()["selection"]["why"].startswith("hra-g:position was chosen")
    assert "selection" not in same.to_dict()


def test_auto_falls_back_on_the_default_with_a_sentence() -> None:
    judgments = read(table(11, judgments=30))
    with pytest.raises(TooLittleDataError):
        compared(judgments)
    fit = Auto().fit(judgments)
    assert fit.selection is not None
    assert "hra-g was used because methods could not be compared" in fit.selection["why"]
    np.testing.assert_array_equal(fit.scores, aggcal.aggregate(judgments, warn=False).scores)


def test_auto_refuses_what_it_chooses_itself() -> None:
    for wrong in ({"prior": None}, {"estimator": "mode"}, {"terms": PLAIN}):
        with pytest.raises(OptionError, match="chooses method, estimator and terms itself"):
            aggcal.aggregate("missing.csv", "auto", **wrong)
    with pytest.raises(OptionError, match="features"):
        aggcal.aggregate("missing.csv", "auto", features="identity")
    with pytest.raises(OptionError, match="one machine"):
        aggcal.aggregate("missing.csv", "auto", engine="dask")
