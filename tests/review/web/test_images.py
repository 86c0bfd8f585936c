"""Images of cells, and cells that want to be other files."""

import os

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.review import Review
from rboost.review.web.images import LARGEST, display_of, read_image
from tests.review.audits import N_ROWS, model
from tests.review.clients import Page

IMAGES = {
    "a.png": (b"\x89PNG\r\n\x1a\n rest", "image/png"),
    "b.jpg": (b"\xff\xd8\xff rest", "image/jpeg"),
    "sub/c.gif": (b"GIF89a rest", "image/gif"),
    "sub/d.webp": (b"RIFF\0\0\0\0WEBP rest", "image/webp"),
}
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with images, and things beside and in it that are none of its images."""
    tmp_path = tmp_path_factory.mktemp("images")
    folder = tmp_path / "table"
    (folder / "sub").mkdir(parents=True)
    for name, (content, _) in IMAGES.items():
        (folder / name).write_bytes(content)
    (tmp_path / "secret.png").write_bytes(IMAGES["a.png"][0])
    (tmp_path / "table-2").mkdir()
    (tmp_path / "table-2" / "secret.png").write_bytes(IMAGES["a.png"][0])
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "out").symlink_to(tmp_path)
    (folder / "inside.png").symlink_to(folder / "a.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    (folder / "script.svg").write_bytes(SVG)
    (folder / "svg.png").write_bytes(SVG)
    (folder / "page.png").write_bytes(b"<html><script>alert(1)</script>")
    (folder / "words.txt").write_text("root:x:0:0")
    (folder / "empty.png").write_bytes(b"")
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    with (folder / "huge.png").open("wb") as huge:
        huge.write(IMAGES["a.png"][0])
        huge.truncate(LARGEST + 1)
    return folder


def attacks(root):
    outside = root.parent / "secret.png"
    return [
        str(outside), "/etc/passwd", "../secret.png", "sub/../../secret.png",
        "../table-2/secret.png", "link.png", "out/secret.png", "loop.png", "script.svg", "svg.png",
        "page.png", "words.txt",
        "empty.png", "folder.png", "pipe.png", "huge.png", f"file://{root}/a.png",
        f"file://{outside}", "http://127.0.0.1:1/a.png", "//127.0.0.1/a.png", "a.png\0",
        "a.png\0.txt", "../secret.png\0a.png", "", ".", "..", "sub", "~/a.png", "x" * 10_000,
        "%2e%2e/secret.png", "..\\secret.png", "\ud800.png", "nothing.png", "nan", "/dev/zero",
        "/proc/self/environ",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def client(root):
    """A page of a table whose first cells are images and whose next are attacks."""
    rng = np.random.RandomState(0)
    good = [*IMAGES, "inside.png", str(root / "a.png")]
    cells = good + attacks(root)
    table = pd.DataFrame({"x": rng.normal(size=N_ROWS), "text": ["word"] * N_ROWS})
    table["image"] = pd.Series(cells + ["a.png"] * (N_ROWS - len(cells)), dtype=object)
    labels = np.where(table["x"] > 0, "cat", "dog")
    audit = audit_labels(table, labels, model=model(), check_columns=False)
    return Page(Review(audit, root.parent / "audit", None, images_root=root)).open()


def test_images_beside_the_table_are_sent(client, root):
    for row, (content, media_type) in enumerate(IMAGES.values()):
        reply = client.get(f"/api/image?row={row}&column=2")
        assert (reply.status_code, reply.content) == (200, content)
        assert reply.headers["content-type"] == media_type
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    for row in (4, 5):  # a link to inside, and the whole path of a file inside
        assert client.get(f"/api/image?row={row}&column=2").status_code == 200
    assert client.get("/api/about").json()["kinds"] == ["short", "short", "image"]


def test_cells_lead_to_no_other_file(client, root):
    for place, attack in enumerate(attacks(root)):
        reply = client.get(f"/api/image?row={place + 6}&column=2")
        assert reply.status_code == 404, attack
        assert reply.headers["content-type"] == "application/json"
        assert set(reply.json()) == {"error"}
        assert str(root) not in reply.text


@pytest.mark.parametrize(
    "query",
    ["", "row=0", "column=2", "row=0&column=0", "row=0&column=3", "row=0&column=99999999999999999",
     "row=150&column=2", "row=-1&column=2", "row=x&column=2"],
)  # fmt: skip
def test_there_is_no_image_elsewhere(client, query):
    assert client.get(f"/api/image?{query}").status_code == 404


@pytest.mark.parametrize("column", ["-1", "x", "1.5", "../a.png"])
def test_a_column_is_a_number(client, column):
    assert client.get("/api/image", params={"row": 0, "column": column}).status_code == 422


def test_without_a_folder_there_are_no_images(root):
    with pytest.raises(LookupError, match="no such image"):
        read_image(None, str(root / "a.png"))
    with pytest.raises(LookupError, match="no such image"):
        read_image(root / "gone", "a.png")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, None], "short"),
        ([True, False], "short"),
        (["a", None, "b"], "short"),
        ([None, None], "short"),
        (["x" * 81] * 3 + ["y"], "long"),
        (["x" * 80, "y" * 80], "short"),
        (["a.png", "b.jpg", None, "gone.png"], "image"),
        (["a.png", "gone.png"], "short"),
        (["../secret.png"] * 3, "short"),
    ],
)
def test_columns_are_shown_as_what_they_hold(root, values, kind):
    assert display_of(pd.Series(values).array, root) == kind
