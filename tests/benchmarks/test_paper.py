"""The page of the paper's experiments."""

from benchmarks.pages import read_origin
from benchmarks.paper import main


def test_a_small_run_writes_the_page_and_its_figures(tmp_path, capsys):
    out = tmp_path / "page"
    size = ["--repeats", "1", "--rounds", "2", "--datasets", "Titanic"]
    main([*size, "--jobs", "1", "--store", str(tmp_path / "run"), "--out", str(out)])
    text = (out / "report.md").read_text()
    assert str(out / "report.md") in capsys.readouterr().out
    assert "1 repeats of 2 rounds" in text
    assert read_origin(text).is_current
    assert (out / "figures" / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in out.iterdir()) == ["figures", "report.md"]
