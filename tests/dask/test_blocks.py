import pickle

import dask.array as da
import numpy as np
import pandas as pd
from dask.sizeof import sizeof
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost.dask.blocks import make_blocks, sample_rows, summarize
from rboost.dask.partitions import partitions_of
from rboost.table.columns import read_columns
from rboost.table.features import learn_encoder
from tests.dask.tables import Here, cut, make_table, on_a_cluster, write_files

TABLE = make_table(300)
FEATURES = TABLE[["number", "whole", "word", "day"]]
CUTS = st.lists(st.integers(0, 300), max_size=5)


class Ranks:
    """Stands in for bins: a few codes of each column, 255 where it is missing."""

    edges = (None,) * 7  # three of them are parts of the date

    def codes(self, columns):
        codes = np.where(np.isnan(columns), 255, np.abs(columns * 10) % 200)
        return codes.astype(np.uint8)


def blocks_of(client, *table, **settings):
    partitions = partitions_of(*table, **settings)
    summary = summarize(client, partitions)
    encoder = learn_encoder(read_columns(sample_rows(client, partitions, summary)))
    return summary, client.gather(make_blocks(client, partitions, summary, encoder, Ranks()))


def together(blocks):
    """The rows of all blocks."""
    names = ("codes", "observed", "weight", "trusted")
    return {name: np.concatenate([getattr(block, name) for block in blocks]) for name in names}


@given(CUTS)
@settings(max_examples=15)
def test_blocks_are_the_encoded_rows_wherever_the_table_is_cut(cuts):
    encoder = learn_encoder(read_columns(FEATURES))
    table = TABLE.assign(y=TABLE["y"].where(TABLE["id"] % 7 > 0))
    summary, blocks = blocks_of(Here(), cut(table, cuts), "y", "weight", drop=["id"])
    assert [block.first_row for block in blocks] == [0, *sorted(cuts)]
    found = together(blocks)
    np.testing.assert_array_equal(found["codes"], Ranks().codes(encoder.features(FEATURES).trees))
    is_missing = table["y"].isna().to_numpy()
    np.testing.assert_array_equal(found["observed"] == -1, is_missing)
    np.testing.assert_array_equal(
        summary.classes[found["observed"][~is_missing]], table["y"][~is_missing]
    )
    weight = np.where(is_missing, 0, TABLE["weight"])
    np.testing.assert_array_equal(found["weight"], weight)
    assert not found["trusted"].any()
    assert [found[name].dtype for name in ("codes", "observed", "weight")] == [
        np.uint8, np.int16, np.float64,
    ]  # fmt: skip


@given(CUTS, CUTS, st.integers(0, 5), st.sampled_from([30, 150, 300, 1000]))
@settings(max_examples=15)
def test_the_sample_is_the_same_wherever_the_table_is_cut(cuts, others, seed, n_rows):
    samples = []
    for at in (cuts, others):
        partitions = partitions_of(cut(TABLE, at), "y", drop=["weight"])
        summary = summarize(Here(), partitions)
        samples.append(sample_rows(Here(), partitions, summary, n_rows, seed))
    ids = samples[0]["id"].tolist()
    assert ids == samples[1]["id"].tolist() == sorted(ids) == samples[0].index.tolist()
    pd.testing.assert_frame_equal(*samples)
    if n_rows >= 300:
        assert len(ids) == 300
    else:
        assert abs(len(ids) - n_rows) < 5 * np.sqrt(n_rows)


def test_arrays_and_files_give_the_same_blocks_on_a_cluster(tmp_path):
    X = np.random.RandomState(0).normal(size=(200, 3))
    X[3, 1] = np.nan
    y = np.where(X[:, 0] > 0, 5, 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    folder = write_files(frame, tmp_path, [0, 33, 150])
    array = da.from_array(X, chunks=(70, 2))
    with on_a_cluster() as client:
        of_array, blocks = blocks_of(client, array, da.from_array(y, chunks=200))
        of_files, others = blocks_of(client, folder, "y")
    assert of_array.classes.tolist() == of_files.classes.tolist() == [2, 5]
    found, other = together(blocks), together(others)
    for name, values in found.items():
        np.testing.assert_array_equal(values, other[name])
    np.testing.assert_array_equal(found["observed"], y == 5)


def test_a_block_says_how_large_it_is_and_can_be_sent():
    _, (block,) = blocks_of(Here(), da.ones((400, 9), chunks=400), da.arange(400) % 2)
    assert 0 <= sizeof(block) - 400 * (9 + 2 + 4 + 1) < 400
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(block)).codes, block.codes)
