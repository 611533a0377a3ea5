"""A disk that forgets: what faults.c has recorded of a program's writes and syncs,
and what may be found on the disk when the power goes between two of them.
"""
import os

PAGE = 4096


class File:
    """Bytes that will last, and changes that may."""

    def __init__(self, data=b""):
        self.lasting = bytearray(data)
        self.changes = []           # (kind, offset or size, data)
        self.settled = 0            # changes that became lasting

    def settle(self, upto):
        while self.settled < upto:
            apply(self.lasting, self.changes.pop(0))
            self.settled += 1

    def content(self, rng, mode):
        """What may be found of it."""
        data = bytearray(self.lasting)
        if mode == "nothing":
            return data
        upto = rng.randint(0, len(self.changes))
        for i, change in enumerate(self.changes):
            if mode == "part" and i < upto:
                apply(data, change)
            elif mode == "part" and i == upto and change[0] == "W":
                torn = change[2][:rng.randint(0, len(change[2]))]
                apply(data, ("W", change[1], torn))
            elif mode == "pieces":
                some_pages(data, change, rng)
        return data


class Folder:
    def __init__(self, names=None):
        self.names = dict(names or {})


def apply(data, change):
    kind, at, more = change
    if kind == "W":
        if len(data) < at:
            data.extend(bytes(at - len(data)))
        data[at:at + len(more)] = more
    elif len(data) < at:
        data.extend(bytes(at - len(data)))
    elif kind == "T":
        del data[at:]


def some_pages(data, change, rng):
    kind, at, more = change
    if kind != "W":
        if rng.random() < 0.5:
            apply(data, change)
        return
    end = at + len(more)
    while at < end:
        n = min(PAGE - at % PAGE, end - at)
        if rng.random() < 0.5:
            apply(data, ("W", at, more[:n]))
        at, more = at + n, more[n:]


class Disk:
    """A folder as it was at first, with a trace of changes applied to it."""

    def __init__(self, under):
        self.under = under
        self.inodes = {}
        self.root = self.scan(under)
        self.first = {}             # folder: its names at first
        for node in self.inodes.values():
            if isinstance(node, Folder):
                self.first[node] = dict(node.names)
        self.moves = []             # [folders, effects, lasting]
        self.syncs = {}
        self.told = 0

    def scan(self, path):
        if os.path.isdir(path):
            node = Folder({n: self.scan(os.path.join(path, n))
                           for n in os.listdir(path)})
        else:
            node = File(open(path, "rb").read())
        self.inodes[os.stat(path).st_ino] = node
        return node

    def find(self, path):
        """(the folder of this path, its name there)"""
        parts = os.path.relpath(os.path.normpath(path),
                                self.under).split("/")
        folder = self.root
        for part in parts[:-1]:
            folder = folder.names[part]
        return folder, parts[-1]

    def effect(self, *pairs):
        """[(folder, name, what is there then)], all at once."""
        for folder, name, node in pairs:
            if node is None:
                folder.names.pop(name, None)
            else:
                folder.names[name] = node
        self.moves.append([{p[0] for p in pairs}, pairs, False])

    def step(self, op):
        kind, number, offset, data, paths = op
        if kind in "CM":
            folder, name = self.find(paths[0])
            node = self.inodes[number] = File() if kind == "C" else Folder()
            self.effect((folder, name, node))
        elif kind in "RLU":
            folder, name = self.find(paths[0])
            node = folder.names.get(name)
            if node is None:        # made by stdio: not seen
                return
            gone = (folder, name, None)
            there = kind != "U" and self.find(paths[1]) + (node,)
            self.effect(*{"R": [gone, there], "L": [there],
                          "U": [gone]}[kind])
        elif kind in "WTA":
            if number in self.inodes:
                self.inodes[number].changes.append((kind, offset, data))
        elif kind == "B":
            self.syncs[offset] = self.promised(number)
        elif kind == "E":
            self.keep(self.syncs.pop(offset))
        else:
            self.told = offset

    def promised(self, inode):
        """What a sync that begins now will have made lasting."""
        nodes = list(self.inodes.values()) if inode == 0 else \
            [self.inodes[inode]] if inode in self.inodes else []
        return [(n, n.settled + len(n.changes) if isinstance(n, File)
                 else len(self.moves)) for n in nodes]

    def keep(self, promised):
        for node, upto in promised:
            if isinstance(node, File):
                node.settle(upto)
                continue
            for move in self.moves[:upto]:
                move[2] |= node in move[0]

    def write(self, place, rng, mode):
        """What is found when the power is back."""
        names = {f: dict(n) for f, n in self.first.items()}
        upto = 0 if mode == "nothing" else rng.randint(0, len(self.moves))
        for i, (_, pairs, lasting) in enumerate(self.moves):
            for folder, name, node in pairs if lasting or i < upto else ():
                names.setdefault(folder, {})
                names[folder].pop(name, None)
                if node is not None:
                    names[folder][name] = node

        def put(node, path):
            if isinstance(node, File):
                with open(path, "wb") as f:
                    f.write(node.content(rng, mode))
                return
            os.makedirs(path, exist_ok=True)
            for name, child in names.get(node, {}).items():
                put(child, os.path.join(path, name))

        put(self.root, place)


def read_trace(path):
    """[(kind, number, offset, data, paths)]; a cut end is left."""
    data = open(path, "rb").read()
    at, ops = 0, []
    while True:
        end = data.find(b"\n", at)
        if end < 0:
            return ops
        kind, number, offset, n, paths = data[at:end].decode().split(" ", 4)
        at = end + 1 + int(n)
        if at > len(data):
            return ops
        ops.append((kind, int(number), int(offset), data[end + 1:at],
                    paths.split("\t")))
