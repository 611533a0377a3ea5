"""What is in our WARC files, read without a line of argiope's own code.

    captures(folder) -> Archive

Every member is unpacked and its checksum compared; the number of a capture
comes from the gzip member's extra field `AR` (wire/gzip.h).
"""
import mmap
import os
import struct
import zlib

PIECE = 1 << 16


class Archive:
    """The numbered captures of a folder: (crawl, number) to URL."""

    def __init__(self):
        self.urls = {}
        self.repeated = []        # numbers that stand there twice
        self.files, self.records = 0, 0
        self.open_files = []      # not closed: below .argiope
        self.set_aside = 0        # never committed, so not of the archive
        self.faults = []          # "file: what"

    def of_crawl(self, crawl=0):
        return {seq: url for (c, seq), url in self.urls.items() if c == crawl}

    def gaps(self, crawl=0):
        """Numbers between 1 and the last that are missing."""
        seqs = self.of_crawl(crawl)
        return sorted(set(range(1, max(seqs, default=0) + 1)) - set(seqs))


def number_of(extra):
    """The capture's number in an extra field; 0: none."""
    at = 0
    while at + 4 <= len(extra):
        size = struct.unpack_from("<H", extra, at + 2)[0]
        if extra[at:at + 2] == b"AR" and size == 16:
            return struct.unpack_from(">Q", extra, at + 4)[0]
        at += 4 + size
    return 0


def members(data):
    """(number, unpacked bytes) of each gzip member; ValueError at damage."""
    at = 0
    while at < len(data):
        if data[at:at + 4] != b"\x1f\x8b\x08\x04" or at + 12 > len(data):
            raise ValueError(f"no member of ours at {at}")
        size = struct.unpack_from("<H", data, at + 10)[0]
        extra = data[at + 12:at + 12 + size]
        at += 12 + size
        unpack, text = zlib.decompressobj(-15), []
        while not unpack.eof:
            piece = data[at:at + PIECE]
            if not piece:
                raise ValueError("the last member is cut")
            text.append(unpack.decompress(piece))
            at += len(piece) - len(unpack.unused_data)
        text = b"".join(text)
        if data[at:at + 8] != struct.pack("<II", zlib.crc32(text), len(text)):
            raise ValueError(f"wrong checksum before {at}")
        at += 8
        yield number_of(extra), text


def fields_of(text):
    head = text.split(b"\r\n\r\n", 1)[0].decode("utf-8", "replace")
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:]
                if ": " in line)


def take_file(path, found):
    with open(path, "rb") as f:
        if os.fstat(f.fileno()).st_size == 0:
            return
        with mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for number, text in members(data):
                found.records += 1
                fields = fields_of(text)
                if fields.get("WARC-Type") not in ("response", "revisit") \
                        or number == 0:
                    continue
                words = fields["Argiope-Capture"].split(" ", 5)
                key = (int(words[0]), number)
                # Hops of a redirect share the number of their capture.
                if words[1] != "0" and found.urls.get(key) == words[5]:
                    continue
                if key in found.urls:
                    found.repeated.append(key)
                found.urls[key] = words[5]


def captures(folder):
    found = Archive()
    for place, _, files in os.walk(folder):
        for name in sorted(files):
            if ".warc" not in name or name.endswith(".cdxj"):
                continue
            path = os.path.join(place, name)
            if place.endswith("/.argiope/quarantine"):
                found.set_aside += 1
                continue
            found.files += 1
            if "/.argiope" in place[len(folder):]:
                found.open_files.append(path[len(folder):])
            try:
                take_file(path, found)
            except (ValueError, KeyError, zlib.error) as e:
                found.faults.append(f"{name}: {e}")
    return found
