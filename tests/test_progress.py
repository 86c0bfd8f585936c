from rboost.progress import track


def test_items_pass_through(capsys):
    assert list(track(range(3), 3, "Counting", enabled=False)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_bar_on_standard_error(capsys):
    assert list(track(range(3), 3, "Counting", enabled=True)) == [0, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Counting" in captured.err
    assert "3/3" in captured.err
