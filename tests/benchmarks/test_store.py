import pytest

from benchmarks.store import ResultStore


def test_results_survive(tmp_path):
    store = ResultStore(tmp_path / "deep" / "results.jsonl")
    store.add("a", {"error": 1.5})
    store.add("b", {"error": 2.5})
    assert ResultStore(store.path).results == {"a": {"error": 1.5}, "b": {"error": 2.5}}


@pytest.mark.parametrize("rest", [b'{"key": "c", "res', b'{"key": "c", "result": {}}', b"\xff\xfe"])
def test_half_a_line_is_cut_off(tmp_path, rest):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add("a", {"error": 1.5})
    with store.path.open("ab") as file:
        file.write(rest)
    before = store.path.read_bytes()
    recovered = ResultStore(store.path)
    assert store.path.read_bytes() == before  # reading changes nothing
    assert recovered.results == {"a": {"error": 1.5}}
    recovered.add("b", {"error": 2.5})
    assert set(ResultStore(store.path).results) == {"a", "b"}


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "a", "result": {}}\nnonsense\n')
    with pytest.raises(ValueError, match=r"Line 2 of .* is damaged; delete that line"):
        ResultStore(path)
