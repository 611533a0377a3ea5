"""Power cuts: what is on the disk then is enough for all that was reported.

A crawl runs with faults.c before it, which records its writes and syncs.  The
disk of a moment is put together from what had been synced by then, with
nothing, a part or random pieces of the rest: of bytes, sizes and names.  There
the crawl goes on, and must have all that it had reported, once, in order.
Some of the second runs lose their power, too.
"""
import random

from disk_trace import *
from peer import *

PAGES = 400
CUTS = int(os.environ.get("CUTS", "16"))
SEED = int(os.environ.get("SEED", "0")) or int(time.time())

need("power_cut", "nginx", "cc")
library = faults()
if library is None:
    skip("power_cut", "cc builds no shared library")
    done()


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
