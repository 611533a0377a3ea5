"""Texts that nobody may find: where they are looked for, and in which forms.

    canaries = Canaries(password="...", planted="...")
    canaries.look("store", bytes)           notes what is found, by place
    canaries.compare("store", ...)          only what is planted was found; and
                                            that was, in each of these places
"""
import base64
import json
import os
import urllib.parse
import zlib

from peer import check


def forms(text):
    """The text as JSON, a URL, hexadecimal and base64 at each of three places
    may have it."""
    raw = text.encode()
    found = {raw, json.dumps(text)[1:-1].encode(), raw.hex().encode(),
             urllib.parse.quote(text, safe="").encode(),
             urllib.parse.quote_plus(text).encode()}
    for before in range(3):
        coded = base64.b64encode(b"x" * before + raw)
        # Less the characters that its neighbours share.
        found.add(coded[4 if before else 0:-4])
    return found


def members_of(bytes):
    """A file that is gzipped, and may be cut, without that; others as they are."""
    out = b""
    while bytes[:2] == b"\x1f\x8b":
        z = zlib.decompressobj(31)
        try:
            out += z.decompress(bytes)
        except zlib.error:
            break
        bytes = z.unused_data
    return out + bytes


class Canaries:
    def __init__(self, **texts):
        self.texts = texts
        self.hits = {}                # place: names of what was found there

    def look(self, place, bytes):
        found = self.hits.setdefault(place, set())
        for name, text in self.texts.items():
            if any(form in bytes for form in forms(text)):
                found.add(name)

    def look_at_files(self, folder, place_of):
        """`place_of`: from a file's path, None to leave it out."""
        for path, _, names in os.walk(folder):
            for name in names:
                place = place_of(os.path.join(path, name))
                if place is None:
                    continue
                with open(os.path.join(path, name), "rb") as f:
                    self.look(place, members_of(f.read()))

    def look_at_process(self, pid):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as f:
                self.look("/proc: " + name, f.read())

    def compare(self, *planted):
        for place in sorted(self.hits):
            check(f"{place}: no secret", self.hits[place] <= {"planted"},
                  self.hits[place])
        for place in planted:
            check(f"{place}: what is planted is found",
                  "planted" in self.hits.get(place, ()), sorted(self.hits))
