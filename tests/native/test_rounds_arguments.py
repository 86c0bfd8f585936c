"""What the native rounds refuse: one sentence, never a crash."""

import numpy as np
import pytest

native = pytest.importorskip("rboost.native._native")

N_ROWS, N_FEATURES = 30, 3
KINDS = pytest.mark.parametrize(
    ("kind", "dtype"),
    [(native.FloatRounds, np.float32), (native.DoubleRounds, np.float64)],
    ids=["float32", "float64"],
)


def arrays(dtype, **changed):
    random = np.random.RandomState(0)
    return {
        "X": random.standard_normal((N_ROWS, N_FEATURES)).astype(dtype),
        "labels": np.where(random.uniform(size=N_ROWS) < 0.5, -1.0, 1.0),
        "sample_weight": None,
        "trusted": None,
        "votes": np.zeros(N_ROWS),
        "missed": None,
        "last_vote": np.zeros(N_ROWS, dtype=np.float32),
        **changed,
    }


def rounds(kind, dtype, into_1=0.1, **changed):
    return kind(
        **arrays(dtype, **changed), C=1.0, fit_intercept=True, estimate_noise=True, into_1=into_1,
        into_0=0.1, max_iter=20, tol=1e-3, probability=True, flip_negative=True, total_step=0.0,
        n_threads=1,
    )  # fmt: skip


def refused(caught):
    assert str(caught.value).endswith(".")
    assert str(caught.value).count(".") == 1


TOO_SHORT, TOO_LONG = N_ROWS - 1, N_ROWS + 1
WRONG_ROWS = {
    "no rows": {"X": (0, N_FEATURES)},
    "no columns": {"X": (N_ROWS, 0)},
    "fewer rows": {"X": (TOO_SHORT, N_FEATURES)},
    "more rows": {"X": (TOO_LONG, N_FEATURES)},
    "labels": {"labels": TOO_SHORT},
    "sample_weight": {"sample_weight": TOO_LONG},
    "trusted": {"trusted": TOO_SHORT},
    "votes": {"votes": TOO_SHORT},
    "missed": {"missed": TOO_SHORT},
    "last_vote": {"last_vote": TOO_SHORT},
}
TYPES = {"trusted": bool, "last_vote": np.float32}


@KINDS
@pytest.mark.parametrize("case", WRONG_ROWS)
def test_wrong_lengths(kind, dtype, case):
    changed = {
        name: np.zeros(shape, dtype=dtype if name == "X" else TYPES.get(name, np.float64))
        for name, shape in WRONG_ROWS[case].items()
    }
    with pytest.raises(ValueError, match="must have") as caught:
        rounds(kind, dtype, **changed)
    refused(caught)


@KINDS
def test_rates_and_ways_that_contradict_each_other(kind, dtype):
    with pytest.raises(ValueError, match="must sum to less than 1") as caught:
        rounds(kind, dtype, into_1=0.95)
    refused(caught)


ONE_START = np.zeros((1, N_FEATURES + 3))
SAMPLES = {"a row too many": [0, 1, N_ROWS], "negative": [0, -1], "far": [2**62], "no rows": []}


@KINDS
@pytest.mark.parametrize("case", SAMPLES)
def test_samples_that_name_no_rows(kind, dtype, case):
    sample = np.array(SAMPLES[case], dtype=np.int64)
    with pytest.raises(ValueError, match="sample must hold") as caught:
        rounds(kind, dtype).fit_learner(np.eye(2), sample, ONE_START)
    refused(caught)


@KINDS
@pytest.mark.parametrize("shape", [(0, N_FEATURES + 3), (2, N_FEATURES + 1), (1, N_FEATURES + 4)])
def test_starts_that_do_not_fit(kind, dtype, shape):
    with pytest.raises(ValueError, match="starts must hold") as caught:
        rounds(kind, dtype).fit_learner(np.eye(2), None, np.zeros(shape))
    refused(caught)


@KINDS
def test_matrices_of_another_size(kind, dtype):
    with pytest.raises(ValueError, match="2 by 2") as caught:
        rounds(kind, dtype).fit_learner(np.eye(3), None, ONE_START)
    refused(caught)


@KINDS
@pytest.mark.parametrize("name", ["votes", "missed", "last_vote"])
@pytest.mark.parametrize("wrong", ["strided", "of another type", "read-only"])
def test_what_is_changed_in_place_is_never_a_copy(kind, dtype, name, wrong):
    state = np.zeros(2 * N_ROWS, dtype=TYPES.get(name, np.float64))[::2]
    if wrong != "strided":
        state = np.zeros(N_ROWS, dtype=np.int64 if wrong == "of another type" else state.dtype)
    state.setflags(write=wrong != "read-only")
    with pytest.raises(TypeError):
        rounds(kind, dtype, **{name: state})


@KINDS
def test_rounds_keep_their_arrays_alive(kind, dtype):
    held = rounds(kind, dtype, missed=np.zeros(N_ROWS))
    for sample in np.random.RandomState(0).randint(N_ROWS, size=(5, 12)):
        held.fit_learner(np.eye(2), sample, ONE_START)
        assert np.isfinite(held.judge()).all()
        held.move(0.1)
    coefs, numbers = held.kept()
    assert (coefs.shape, numbers.shape) == ((5, N_FEATURES), (5, 5))
    assert np.isfinite(coefs).all()
    held.settle()
