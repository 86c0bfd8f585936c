"""The methods of other papers on the paper's seven sets, and on Long & Servedio's construction."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from benchmarks import long_servedio
from benchmarks.literature import LITERATURE
from benchmarks.suites import SETTINGS, SUITES, draw_trial
from rboost import AdaRBoostClassifier, NoiseAwareClassifier

N_ROWS = 120
# Every set at two settings, every setting on two sets or three.
TRIALS = [
    (dataset, list(SETTINGS)[(number + later) % len(SETTINGS)])
    for number, dataset in enumerate(SUITES["paper"].names)
    for later in (0, 3)
]
SMALL = {"n_estimators": 10, "n_bags": 3, "error_goal": 0.2, "max_removed": 0.2}


def small(name):
    """The method of the leaderboard with few rounds, no search for a goal, EM of naive Bayes."""
    build, _ = LITERATURE[name]
    model = build(None, 0)
    if isinstance(model, NoiseAwareClassifier):
        model.set_params(estimator=GaussianNB(), cv=2)
    known = model.get_params()
    return model.set_params(**{key: value for key, value in SMALL.items() if key in known})


@pytest.mark.parametrize("name", LITERATURE)
def test_all_converge_and_stay_finite_on_the_seven_sets_and_at_all_settings(name):
    for dataset, setting in TRIALS:
        trial = draw_trial("paper", dataset, setting, repeat=0, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", ConvergenceWarning)
            model = small(name).fit(trial.X[:N_ROWS], trial.observed[:N_ROWS])
        probability = model.predict_proba(trial.X_test[:500])
        assert np.all(np.isfinite(probability)), (dataset, setting)
        assert np.all(np.abs(probability.sum(axis=1) - 1) < 1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LITERATURE)
def test_any_of_them_can_be_boosted(name):
    trial = draw_trial("paper", "Twonorm", "sym10", repeat=0, seed=0)
    learner = small(name)
    # A pipeline takes no weights.
    options = {"sampling": "weights"} if hasattr(learner, "steps") else {}
    model = AdaRBoostClassifier(learner, n_estimators=4, random_state=0, **options)
    model.fit(trial.X[:200], trial.observed[:200])
    assert np.mean(model.predict(trial.X_test) == trial.y_test) > 0.75


def test_a_small_run_says_who_survives(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(long_servedio, "N_ROUNDS", 60)
    monkeypatch.setattr(long_servedio, "GOALS", (0.3,))
    names = ["AdaBoost", "rLR"]
    long_servedio.main(["--draws", "1", "--methods", *names, "--out", str(tmp_path)])
    paths = [tmp_path / f"long_servedio.{kind}" for kind in ("md", "png")]
    assert capsys.readouterr().out.split() == [str(paths[0])]
    rows = {
        cells[1].strip(): [float(cell) for cell in cells[2:-1]]
        for cells in (line.split("|") for line in paths[0].read_text().splitlines())
        if len(cells) == 6 and cells[1].strip() in names
    }
    assert rows["rLR"][1] < long_servedio.SURVIVAL < rows["AdaBoost"][1]
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_fewer_than_one_draw_end_in_one_sentence(capsys):
    with pytest.raises(SystemExit):
        long_servedio.main(["--draws", "0"])
    assert "--draws must be at least 1" in capsys.readouterr().err
