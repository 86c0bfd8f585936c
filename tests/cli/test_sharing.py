"""``rboost review --share``: which options go together, and two reviewers over TLS."""

import re
import ssl
import subprocess
import sys
import uuid

import httpx
import pandas as pd
import pytest

from rboost.cli import main
from tests.certificates import make_certificate
from tests.cli.tables import COMMAND
from tests.review.clients import enter


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--share 127.0.0.1", "--share needs --reviewers"),
        ("--reviewers ann bob", "--reviewers needs --share"),
        ("--cert x.pem", "--cert needs --share"),
        ("--share 127.0.0.1 --reviewers ann --key x.pem", "--key needs --cert"),
        ("--second-opinions 10%", "--second-opinions needs --share"),
        ("--share 0.0.0.0 --reviewers ann", "pass the name or address by which reviewers reach it"),
        ("--share 127.0.0.1 --reviewers ann Ann", "Two reviewers have the same name"),
        ("--share 127.0.0.1 --reviewers ann --open", "--open does not go with --share"),
        ("--share 127.0.0.1 --reviewers ann --export", "--export does not go with --share"),
        ("--share 127.0.0.1 --reviewers ann --cert no.pem", "no.pem: No such file"),
    ],
)
def test_options_that_do_not_go_together_end_in_one_sentence(options, says, audited, capsys):
    assert main(["review", str(audited), *options.split()]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_two_reviewers_over_tls_from_links_to_the_file_of_answers(folder, tmp_path):
    cert, key = make_certificate(tmp_path)
    options = ["--share", "localhost", "--reviewers", "ann", "bob", "--second-opinions", "0"]
    options += ["--cert", str(cert), "--key", str(key)]
    command = [sys.executable, "-c", COMMAND, "review", str(folder), *options]
    trusted = ssl.create_default_context(cafile=cert)
    rows = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            for who in ("ann", "bob"):
                link = re.fullmatch(
                    rf"{who}: (https://localhost:\d+)/#\S+\n", process.stdout.readline()
                )
                base = link[1]
                with httpx.Client(base_url=base, verify=trusted, timeout=60) as client:
                    assert enter(client, link[0].split()[1]).json()["reviewer"] == who
                    [row] = client.get("/api/next").json()["rows"]
                    content = {"key": str(uuid.uuid4()), "row": row["row"], "answer": "keep"}
                    reply = client.post("/api/answer", json={**content, "reviewer": "ann"})
                    assert reply.status_code == 200
                    rows[who] = row["id"]
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert main(["review", str(folder), "--export"]) == 0
    written = pd.read_csv(folder / "checked.csv", dtype=str)
    assert dict(zip(written["reviewer"], written["key"], strict=True)) == rows
    assert rows["ann"] != rows["bob"]
