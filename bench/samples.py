"""samples -- what perf has recorded: each sample's thread, function and file."""
import collections
import os
import re
import subprocess

import bench


class Symbols:
    """Functions of the program to their source files.

    Static functions of one name stand in many files; the program's own table
    tells which by the address, and perf gives the address but for the base of
    the mapping, which any function with a name of its own betrays.
    """

    def __init__(self, program):
        self.files = {}                       # address to file
        self.addresses = collections.defaultdict(list)
        self.folders = self.objects(os.path.dirname(program))
        self.base = None
        done = subprocess.run(["readelf", "-sW", program],
                              capture_output=True, text=True)
        current = ""
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) < 8 or not words[0].endswith(":"):
                continue
            kind, binding, name = words[3], words[4], words[7]
            if kind == "FILE":
                current = name
            elif kind == "FUNC" and int(words[1], 16):
                address = int(words[1], 16)
                self.addresses[name].append(address)
                self.files[address] = self.place(
                    name, current if binding == "LOCAL" else "")

    def objects(self, folder):
        """From the build's object files: function to its files."""
        found = collections.defaultdict(set)
        for top in (folder, os.path.dirname(folder), bench.build_folder()):
            if os.path.exists(os.path.join(top, "build.ninja")):
                break
        else:
            return found
        for place, _, names in os.walk(top):
            objects = [os.path.join(place, n) for n in names
                       if n.endswith(".c.o")]
            if not objects:
                continue
            done = subprocess.run(["nm", "-A", "--defined-only"] + objects,
                                  capture_output=True, text=True)
            for line in done.stdout.splitlines():
                path, rest = line.split(":", 1)
                words = rest.split()
                if len(words) == 3 and words[1] in "tTwW":
                    # .../engine/fetcher/libfetcher.a.p/page.c.o
                    where = os.path.dirname(os.path.relpath(path, top))
                    found[words[2]].add(os.path.join(
                        os.path.dirname(where), os.path.basename(path)[:-2]))
        return found

    def place(self, name, file):
        """The one file that holds it; of several the one named `file`."""
        found = self.folders.get(name, set())
        if file:
            file = os.path.basename(file)
            found = {p for p in found
                     if os.path.basename(p) == file} or {file}
        return sorted(found)[0] if found else ""

    def file_of(self, symbol, address):
        """`address`: where the function began in the process."""
        found = self.addresses.get(symbol, [])
        if len(found) == 1:
            if self.base is None:
                self.base = address - found[0]
            return self.files[found[0]]
        if self.base is not None:
            return self.files.get(address - self.base, "")
        return ""


SAMPLE = re.compile(r"^\s*(.+?)\s+([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? "
                    r"\((.*)\)$")


def samples(path):
    """(thread, address of the function, function, library) of each sample."""
    done = subprocess.run(["perf", "script", "-i", path, "-F",
                           "comm,ip,sym,symoff,dso"], capture_output=True,
                          text=True, errors="replace")
    for line in done.stdout.splitlines():
        match = SAMPLE.match(line)
        if match:
            start = int(match[2], 16) - int(match[4] or "0", 16)
            library = os.path.basename(match[5]).strip("[]")
            yield match[1], start, match[3], library
