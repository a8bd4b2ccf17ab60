"""The registry: complete, consistent with itself, and with the files where they are."""

import os
import pathlib
import re
import urllib.parse

import pytest

from nystream import datasets
from nystream.datasets import DATASETS
from nystream.datasets.store import content_sha256

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data"))
SMALL = 3_000_000  # bytes of a file whose checksum is compared here; `nystream datasets --check` compares all
HOMES = {"www.csie.ntu.edu.tw", "archive.ics.uci.edu", "yann.lecun.com", "downloads.sourceforge.net"}

FILES = [(d, f) for d in DATASETS.values() for f in d.files]


def test_all_the_promised_datasets_are_there():
    promised = "ijcnn1 cod-rna covtype casp cpusmall usps mnist susy webspam elec2 weather a9a highway light-switch"
    assert set(promised.split()) <= set(DATASETS)
    assert all(name == d.name for name, d in DATASETS.items())


@pytest.mark.parametrize("name", DATASETS)
def test_an_entry_says_everything(name):
    d = DATASETS[name]
    assert d.rows > 0
    assert d.columns > 0
    assert d.licence
    assert d.citation.endswith(".")
    assert d.home.startswith("http")
    assert d.preparation.text
    assert (d.read is None) == (d.task == "video") == bool(d.frames)
    for part in d.parts:
        assert sum(f.rows or 0 for f in d.of_part(part)) > 0


@pytest.mark.parametrize(("d", "file"), FILES, ids=[f.path for _, f in FILES])
def test_a_file_has_a_checksum_or_is_published(d, file):
    assert file.sha256 is not None or file.url is not None
    assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
    assert file.served is None or file.served == "same" or re.fullmatch("(md5|sha256):[0-9a-f]+", file.served)
    assert file.served != "same" or file.sha256 is not None
    assert not file.path.startswith("/")
    assert file.url is None or urllib.parse.urlparse(file.url).hostname in HOMES


def test_no_two_files_are_the_same():
    assert len({f.path for _, f in FILES}) == len(FILES)
    checksums = [f.sha256 for _, f in FILES if f.sha256]
    assert len(set(checksums)) == len(checksums)


@pytest.mark.parametrize("file", [f for _, f in FILES if f.sha256], ids=lambda f: f.path)
def test_small_files_have_their_checksum(file):
    path = DATA / file.path
    if not path.exists():
        pytest.skip(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
    if path.stat().st_size > SMALL:
        pytest.skip(f"{path} is large; `nystream datasets --check` compares it")
    assert content_sha256(path) == file.sha256


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ValueError, match="did you mean covtype"):
        datasets.find("covtyp")
    with pytest.raises(ValueError, match="there are ijcnn1, cod-rna"):
        datasets.find("zzz")


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="ijcnn1 has no part 'tset'; its parts are train, test and all"):
        DATASETS["ijcnn1"].of_part("tset")
    with pytest.raises(ValueError, match="casp has no part 'train'; it has no parts"):
        DATASETS["casp"].of_part("train")
