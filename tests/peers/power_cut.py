"""Power cuts: what is on the disk then is enough for all that was reported.

A crawl runs with faults.c before it, which records its writes and syncs.  The
disk of a moment is put together from what had been synced by then, with
nothing, a part or random pieces of the rest: of bytes, sizes and names.  There
the crawl goes on, and must have all that it had reported, once, in order.
Some of the second runs lose their power, too.
"""
import random

from peer import *

PAGES = 400
CUTS = int(os.environ.get("CUTS", "16"))
SEED = int(os.environ.get("SEED", "0")) or int(time.time())
PAGE = 4096

need("power_cut", "nginx", "cc")
library = faults()
if library is None:
    skip("power_cut", "cc builds no shared library")
    done()


# ---- A disk that forgets -------------------------------------------------------

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


# ---- A crawl that is recorded ----------------------------------------------------

pages = small_site("site", PAGES)
web = Nginx("nginx", PLACE + "/site")
good = sorted(web.url + p for p in pages)
UNDER = PLACE + "/disk"
DATA = "disk/data"
SETTINGS = ["--set", "ledger.segment_bytes=1MiB", "--set",
            "ledger.write_buffer=4MiB", "--set",
            "ledger.group_records_max=30", "--set",
            "warc.rollover_bytes=64KiB"]
runs = 0


def recorded(args, resume):
    """The disk before it, what it did to it, and the crawl."""
    global runs
    runs += 1
    disk = Disk(UNDER)
    trace = f"{PLACE}/trace-{runs}"
    c = crawl(args + SETTINGS, DATA, seconds=30, resume=resume, env={
        "LD_PRELOAD": library, "FAULT_UNDER": UNDER, "FAULT_TRACE": trace})
    c.text = open(c.out, "rb").read()
    ops = read_trace(trace)
    os.unlink(trace)
    return disk, ops, c


def events_of(text):
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def cut(disk, ops, at, mode, rng):
    """The disk as it is found; and how much had been reported."""
    for op in ops[:at]:
        disk.step(op)
    shutil.rmtree(UNDER)
    disk.write(UNDER, rng, mode)
    return disk.told


def judge(name, told, resumed, started):
    """After the last run: `told` is what all of them had reported."""
    reported = {e["seq"]: e["url"] for e in told if e["event"] == "item"}
    twice = sum(e["event"] == "item" for e in told) - len(reported)
    if not started and resumed.code in (65, 66):
        note(f"{name}: nothing had begun")
        return check(f"{name}: nothing was reported", not reported,
                     len(reported))
    ended = [e for e in told if e["event"] == "completed"]
    _, status, _ = ours("status", "--data", PLACE + "/" + DATA, "--json")
    fine = len(ended) == 1 and (resumed.code == 0 or
                                '"complete"' in status) or \
        resumed.code in (66, 69) and '"complete"' in status
    stored = captures(PLACE + "/" + DATA)
    code, out, err = ours("archive", "check", "--strict", "--data",
                          PLACE + "/" + DATA)
    gone = lost(reported, stored)
    for what, fine, why in (
            ("it goes on, to the end", fine, f"{resumed.code}: {len(ended)} "
             f"{resumed.said()[-300:]} {status[-200:]}"),
            ("no number was reported twice", twice == 0, twice),
            ("what was reported is there, once", not gone, gone),
            ("numbers without a gap",
             sorted(stored) == list(range(1, len(stored) + 1)), len(stored)),
            ("every page once", sorted(u for v in stored.values()
                                       for u in v) == good, len(stored)),
            ("archive check", code == 0, f"{code}: {out[-300:]} {err}")):
        if not fine:
            return check(f"{name}: {what}", False, why)
    return check(f"{name}: nothing is lost, all is there once", True)


def moment(ops, rng):
    """Anywhere; or just when something was reported, the hardest time."""
    reports = [i + 1 for i, op in enumerate(ops) if op[0] == "O"]
    if reports and rng.random() < 0.5:
        return rng.choice(reports)
    # Half of a trace is the log's making.
    return rng.randint(0 if rng.random() < 0.2 else (reports + [0])[0],
                       len(ops))


def scene(i):
    rng = random.Random(f"{SEED} {i}")
    mode = rng.choice(["nothing", "part", "pieces", "pieces"])
    shutil.rmtree(UNDER, ignore_errors=True)
    os.makedirs(UNDER)
    disk, ops, c = recorded([web.url + "0.html", "--delay", "0"], False)
    same(f"cut {i}: the recorded crawl is whole",
         (c.killed, c.code, c.last().get("event")), (False, 0, "completed"))
    at = moment(ops, rng)
    length = cut(disk, ops, at, mode, rng)
    told = events_of(c.text[:length])
    started = any(e["event"] == "started" for e in told)
    name = f"cut {i} at {at} of {len(ops)}, {mode}"
    if rng.random() < 0.4 and started:
        disk, ops, c = recorded([], True)
        at = moment(ops, rng)
        length = cut(disk, ops, at, mode, rng)
        told += events_of(c.text[:length])
        name += f"; again at {at} of {len(ops)}"
    c = crawl([], DATA, resume=True, seconds=30)
    judge(name, told + c.events(), c, started)
    note(f"{name}: {sum(e['event'] == 'item' for e in told)} were reported")


note(f"SEED={SEED}")
os.makedirs(UNDER)
for i in range(CUTS):
    scene(i)
done()
