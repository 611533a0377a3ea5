"""The conformance suite of Social Feed Manager's exporters: its cases, and
whether files equal those that SFM wrote.
"""
import csv
import io
import json
import lzma
import os
import zlib

import xlsx
from peer import PLACE, suite

SUITE = suite("sfm")
KINDS = ("twitter1-rest", "twitter1-stream", "twitter2-rest",
         "twitter2-stream", "flickr", "tumblr", "weibo")

csv.field_size_limit(1 << 30)


def load(path):
    with open(os.path.join(SUITE, path), "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def without_x_com(path):
    """The WARC without answers of api.x.com, which SFM does not read."""
    copy = os.path.join(PLACE, "warcs", os.path.basename(path))
    if os.path.exists(copy) or not os.path.exists(path):
        return copy
    with open(path, "rb") as f:
        data = f.read()
    kept = b""
    while data:
        d = zlib.decompressobj(31)
        member = d.decompress(data)
        packed = data[:len(data) - len(d.unused_data)]
        data = d.unused_data
        if b"WARC-Target-URI: https://api.x.com/" not in member:
            kept += packed
    with open(copy, "wb") as f:
        f.write(kept)
    return copy


def files_in(folder):
    out = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as f:
            out[name] = f.read()
    return out


def first_difference(got, want):
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return f"at {i}: {got[i:i + 60]!r}, not {want[i:i + 60]!r}"
    return "the same" if len(got) == len(want) else \
        f"{len(got)} bytes, not {len(want)}"


def value(x):
    """Numbers as numbers: pandas writes 10.0 where another row lacks one."""
    if x is None or isinstance(x, bool):
        return x
    try:
        number = float(x) if not isinstance(x, str) or len(x) < 16 else x
        return number if number == number else x    # "nan" is a text
    except ValueError:
        return x


def table(data, form):
    text = data.decode()
    if form == "json":
        return [{k: value(v) for k, v in json.loads(line).items()}
                for line in text.splitlines()]
    return [[value(c) for c in row] for row in csv.reader(
        io.StringIO(text, newline=""),
        delimiter="\t" if form == "tsv" else ",")]


def cells_of(data):
    """The suite's list of cells: a formula of SFM's is a text of ours."""
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))[1:]
    return [[int(row), int(column), "s" if kind == "f" else kind,
             value(text) if kind == "n" else text]
            for _, row, column, kind, text in rows]


def is_equal(case, got, want):
    """Byte for byte; tables that pandas writes, and cells, by their value."""
    form = case["message"]["format"]
    if form == "xlsx":
        return xlsx.cells(got) == cells_of(want)
    if not case["case"].startswith("twitter2") or \
            form not in ("csv", "tsv", "json"):
        return got == want
    return table(got, form) == table(want, form)


def cases():
    for kind in KINDS:
        for case in json.loads(load(f"expected/{kind}/cases.json")):
            yield case
