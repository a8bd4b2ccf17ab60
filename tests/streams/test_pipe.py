"""Standard input: formats, one pass only, and rows as soon as they are there."""

import gzip
import io
import os
import subprocess
import sys
import threading

import pytest
from children import started
from numpy.testing import assert_array_equal

from nystream import streams


def piped(text, **options):
    return streams.stdin(file=io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def run(program, text):
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, check=False)
    return done.stdout.decode(), done.stderr.decode()


def test_a_process_reads_its_standard_input():
    program = "from nystream import streams\nX, y = streams.stdin(target='y').load()\nprint(X.tolist(), y.tolist())"
    out, err = run(program, b"y,a,b\n1,2,3\n4,5,6\n")
    assert (out, err) == ("[[2.0, 3.0], [5.0, 6.0]] [1.0, 4.0]\n", "")


def test_compressed_input_is_unpacked_on_the_way():
    out, err = run(
        "from nystream import streams\nprint(streams.stdin().load()[1].sum())", gzip.compress(b"1,2\n3,4\n" * 500)
    )
    assert (out, err) == ("3000.0\n", "")


def test_rows_and_small_blocks_come_before_the_pipe_is_closed():
    """The child must answer each line before it gets the next one: reading ahead would hang it."""
    program = (
        "from nystream import streams\nfor x, y in streams.stdin().rows():\n    print(x.tolist(), y, flush=True)\n"
    )
    with started([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b"a,y\n")
        for i in range(5):
            child.stdin.write(f"{i},{i * i}\n".encode())
            child.stdin.flush()
            assert child.stdout.readline().decode() == f"[{float(i)}] {float(i * i)}\n"
        child.stdin.close()


def test_a_second_pass_is_an_error_that_says_why():
    stream = piped("1,2\n3,4\n")
    stream.load()
    with pytest.raises(ValueError, match="standard input can be read only once; save it to a file"):
        stream.load()


def test_the_format_is_found_or_stated():
    X, y = piped("1 1:2 3:4\n-1 2:1\n", d=3).load()
    assert_array_equal(X, [[2.0, 0.0, 4.0], [0.0, 1.0, 0.0]])
    assert_array_equal(y, [1.0, -1.0])
    X, y = piped("1 2 3\n4 5 6\n").load()
    assert_array_equal(y, [3.0, 6.0])
    assert piped("5\n", format="libsvm", d=1).load()[0].shape == (1, 1)


def test_flush_lines_bounds_a_block():
    lines = "".join(f"{i},{i}\n" for i in range(10))
    assert [len(X) for X, _ in piped(lines, flush_lines=4).blocks(1000)] == [4, 4, 2]
    assert [len(X) for X, _ in piped(lines, flush_lines=4).blocks(3)] == [3, 3, 3, 1]


class Counting(io.RawIOBase):
    """A pipe that gives one line per read and counts them."""

    given = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.given += 1
        buffer[:4] = b"1,2\n"
        return 4


def test_of_an_endless_pipe_no_more_is_read_than_was_asked_for():
    source = Counting()
    stream = streams.stdin(file=io.BufferedReader(source))
    assert source.given <= 3  # two lines to find the format
    assert sum(len(X) for X, _ in stream.take(30).blocks(10)) == 30
    assert source.given <= 31


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "standard input is empty"),
        ("a,b\n", {}, "standard input has a header but no rows"),
        ("1,2\n3,x\n", {}, "standard input:2: target '1' is 'x'"),
        ("1 1:2\n", {}, "standard input cannot be searched for the number of features; pass d="),
        ("1 1:2\n1 5:2\n", {"d": 3}, "standard input:2: has index 5, beyond the d = 3 features"),
        ("@relation r\n", {}, "standard input looks like ARFF, which is read from files only"),
        ("1,2\n", {"format": "json"}, "format must be one of 'auto', 'csv', 'libsvm'; got 'json'"),
        ("1 1:2\n", {"d": 1, "target": 0}, r"standard input \(libsvm\) has no option 'target'; it has d, zero_based"),
        ("1,2\n", {"flush_lines": 0}, "flush_lines must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input_is_said_to_come_from_standard_input(text, options, message):
    with pytest.raises(ValueError, match=message):
        piped(text, **options).load()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["rows", "rows.csv"])
@pytest.mark.parametrize("open_it", [streams.open_stream, streams.csv])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_named_pipe_gives_all_its_rows_once(tmp_path, name, open_it, pack):
    path = tmp_path / name
    os.mkfifo(path)
    content = pack(b"a,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(3000)))
    thread = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    thread.start()
    stream = open_it(path)
    X, y = stream.load()
    thread.join(300)
    assert not thread.is_alive()
    assert_array_equal(X[:, 0], range(3000))
    assert_array_equal(y, X[:, 0] ** 2)
    with pytest.raises(ValueError, match=r"rows.* can be read only once; save it to a file"):
        stream.load()


def test_an_arff_pipe_is_refused_by_its_name(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes here")
    os.mkfifo(tmp_path / "rows")
    thread = threading.Thread(target=(tmp_path / "rows").write_text, args=("@relation a\n@data\n",), daemon=True)
    thread.start()
    with pytest.raises(ValueError, match="rows looks like ARFF, which is read from files only"):
        streams.open_stream(tmp_path / "rows")
    thread.join(300)
