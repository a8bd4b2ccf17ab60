"""Files that are here, and downloads from a server on this machine: right, wrong, absent, packed."""

import bz2
import hashlib
import io
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nystream.datasets import check, fetch, locate
from nystream.datasets.entry import Dataset, File
from nystream.datasets.store import content_sha256, data_folder

TEXT = b"+1 1:0.5 2:1\n-1 2:0.25\n"
SHA = hashlib.sha256(TEXT).hexdigest()


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return packed.getvalue()


SERVED = {
    "/tiny": TEXT,
    "/tiny.bz2": bz2.compress(TEXT),
    "/tiny.arff.zip": zipped("tiny.arff"),
    "/two.zip": zipped("a", "b"),
    "/broken.zip": b"PK no",
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)  # before the answer, after which the test goes on
        body = SERVED.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.delenv("NYSTREAM_DATA", raising=False)
    monkeypatch.setenv("NYSTREAM_CACHE", str(tmp_path / "cache"))


def tiny(*files):
    return Dataset("tiny", "classification", 2, files, licence="none", citation="None.", home="http://nowhere.invalid")


def left(tmp_path):
    return [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_download_with_the_right_checksum_is_kept_and_not_asked_for_again(server, tmp_path):
    pytest.importorskip("pooch")
    file = File("tiny/tiny.xz", 2, sha256=SHA, url=f"{server.address}/tiny", served="same")
    path = fetch(tiny(file), file)
    assert path == tmp_path / "cache" / "tiny" / "tiny"
    assert path.read_bytes() == TEXT
    assert fetch(tiny(file), file) == path
    assert server.asked == ["/tiny"]
    assert check(tiny(file)) == {"tiny/tiny.xz": True}


def test_the_checksum_is_of_the_content_whatever_packs_it(server):
    pytest.importorskip("pooch")
    file = File("tiny/tiny.xz", 2, sha256=SHA, url=f"{server.address}/tiny.bz2", served="same")
    path = fetch(tiny(file), file)
    assert path.name == "tiny.bz2"
    assert content_sha256(path) == SHA


def test_a_single_zipped_file_is_unzipped(server):
    pytest.importorskip("pooch")
    file = File("tiny/tiny.arff.xz", 2, sha256=SHA, url=f"{server.address}/tiny.arff.zip", served="same")
    path = fetch(tiny(file), file)
    assert path.name == "tiny.arff"
    assert path.read_bytes() == TEXT


@pytest.mark.parametrize("served", ["same", "md5:" + "0" * 32, "sha256:" + "0" * 64])
def test_a_download_with_another_checksum_leaves_nothing_behind(server, tmp_path, served):
    pytest.importorskip("pooch")
    file = File("tiny/tiny", 2, sha256="0" * 64, url=f"{server.address}/tiny", served=served)
    with pytest.raises(ValueError, match=r"tiny: http\S+/tiny has another checksum .* was not kept; try again"):
        fetch(tiny(file), file)
    assert left(tmp_path) == []
    assert locate(file) is None


def test_a_hash_of_the_bytes_as_served_is_compared(server):
    pytest.importorskip("pooch")
    served = "md5:" + hashlib.md5(SERVED["/tiny.bz2"]).hexdigest()
    file = File("tiny/other.bz2", 2, sha256="0" * 64, url=f"{server.address}/tiny.bz2", served=served)
    assert content_sha256(fetch(tiny(file), file)) == SHA
    assert check(tiny(file)) == {"tiny/other.bz2": None}  # another text than the copy that was examined


@pytest.mark.parametrize(("name", "message"), [("two.zip", "holds 2 files"), ("broken.zip", "is no zip archive")])
def test_a_strange_zip_is_refused(server, tmp_path, name, message):
    pytest.importorskip("pooch")
    file = File("tiny/tiny", 2, url=f"{server.address}/{name}")
    with pytest.raises(ValueError, match=message):
        fetch(tiny(file), file)
    assert left(tmp_path) == []


def test_what_the_server_does_not_have_is_one_line_that_says_what_to_do(server, tmp_path):
    pytest.importorskip("pooch")
    file = File("tiny/tiny.bz2", 2, url=f"{server.address}/absent")
    with pytest.raises(FileNotFoundError, match=r"put it into a folder DIR as DIR/tiny/tiny.bz2") as caught:
        fetch(tiny(file), file)
    assert "(HTTPError)" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert left(tmp_path) == []


def test_without_a_network_the_line_is_the_same():
    pytest.importorskip("pooch")
    file = File("tiny/tiny.bz2", 2, url="http://127.0.0.1:1/tiny.bz2")  # nothing listens on port 1
    with pytest.raises(FileNotFoundError, match=r"could not be downloaded \(ConnectionError\).*set NYSTREAM_DATA=DIR"):
        fetch(tiny(file), file)


def test_without_a_public_location_the_page_is_named():
    file = File("tiny/tiny.bz2", 2, sha256=SHA)
    with pytest.raises(
        FileNotFoundError, match=r"no public download of it is known; get it from http://nowhere.invalid"
    ):
        fetch(tiny(file), file)


def test_downloading_can_be_forbidden(server):
    file = File("tiny/tiny", 2, url=f"{server.address}/tiny")
    with pytest.raises(FileNotFoundError, match="downloading was not asked for"):
        fetch(tiny(file), file, download=False)
    assert server.asked == []


def test_without_pooch_the_extra_is_named(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    file = File("tiny/tiny", 2, url=f"{server.address}/tiny")
    with pytest.raises(FileNotFoundError, match=r"pip install 'nystream\[datasets\]'"):
        fetch(tiny(file), file)


def test_the_data_folder_comes_before_the_downloads(server, tmp_path, monkeypatch):
    file = File("tiny/tiny.bz2", 2, sha256=SHA, url=f"{server.address}/tiny")
    for folder, name in (("cache", "tiny"), ("data", "tiny.bz2")):
        (tmp_path / folder / "tiny").mkdir(parents=True)
        (tmp_path / folder / "tiny" / name).write_bytes(b"damaged")
    assert locate(file) == tmp_path / "cache" / "tiny" / "tiny"
    monkeypatch.setenv("NYSTREAM_DATA", str(tmp_path / "data"))
    assert fetch(tiny(file), file) == tmp_path / "data" / "tiny" / "tiny.bz2"
    assert check(tiny(file)) == {"tiny/tiny.bz2": False}
    assert server.asked == []
    monkeypatch.delenv("NYSTREAM_DATA")
    assert fetch(tiny(file), file, tmp_path / "data") == tmp_path / "data" / "tiny" / "tiny.bz2"


def test_a_data_folder_that_does_not_exist_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"the data folder is '.*nowhere', which is not a folder"):
        data_folder(tmp_path / "nowhere")
    monkeypatch.setenv("NYSTREAM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"NYSTREAM_DATA is '.*nowhere', which is not a folder"):
        data_folder()
