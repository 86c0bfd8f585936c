"""Models in a process that was forked after a fit, and rows that change during one."""

import os
import signal
import threading

import numpy as np
import pytest

from rboost import RBoostClassifier

X = np.random.RandomState(0).normal(size=(600, 4))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("engine", ["trees", "pool", "linear", "logistic"])
def test_a_fork_after_a_fit_predicts_the_same(engine):
    model = RBoostClassifier(engines=engine, max_iter=9, random_state=0, n_jobs=2).fit(X, Y)
    expected = model.predict_proba(X)
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that waits forever is a failure
        os._exit(0 if np.array_equal(model.predict_proba(X), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ["trees", "pool", "linear", "logistic"])
def test_rows_that_another_thread_changes_end_in_a_model_or_a_sentence(engine):
    rows, ended = X.copy(), threading.Event()

    def change():
        random = np.random.RandomState(0)
        while not ended.wait(1e-4):
            rows[random.randint(len(rows), size=20)] = random.choice([np.nan, 1e300, 0.0, -1.0])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        with np.errstate(all="ignore"):
            model = RBoostClassifier(engines=engine, max_iter=9, random_state=0).fit(rows, Y)
        assert model.predict_proba(X).shape == (600, 2)
    except ValueError as error:
        said = str(error)
    else:
        said = "a model"
    finally:
        ended.set()
        thread.join()
    assert said
