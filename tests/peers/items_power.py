"""Power cuts, and syncs that fail, below the items door.

usage: items_power.sh [CUTS [SEED]]

The daemon runs with faults.c before it, which records its writes and syncs.  It
is killed while a worker adds items and completes runs.  The disk is put
together from what had been synced by then, with nothing, a part or random
pieces of the rest, and the daemon is started on that: what was acknowledged is
there, no pair is stuck, and `items check` finds nothing.
"""
import threading

from disk_trace import *
from items_peer import *

CUTS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
BATCH = 5
LEASE_MS = 2000
TASK = "demo:words"

need("items_power", "cc")
library = faults()
if library is None:
    skip("items_power", "cc builds no shared library")
    done()


class Faulty(Items):
    """A daemon with faults.c before it, on a disk of its own."""

    def __init__(self, name, **more):
        self.under = os.path.join(PLACE, name)
        os.makedirs(self.under)
        self.disk = Disk(self.under)
        self.more = {"LD_PRELOAD": library, "FAULT_UNDER": self.under, **more}
        super().__init__(name, data=self.under + "/data")

    def start(self, ready=True):
        self.env = self.more
        return super().start(ready)


class Load(threading.Thread):
    """A worker that adds items and completes runs, until it is told to stop."""

    def __init__(self, server):
        super().__init__()
        self.server, self.added, self.applied = server, set(), {}
        self.ends, self.refused = False, []

    def run(self):
        try:
            while not self.ends:
                self.add()
                self.work()
        except (OSError, http.client.HTTPException):
            pass                # it was killed

    def ask(self, path, body, type=JSON):
        status, said = self.server.ask("POST", path, body, type)
        if status != 200:
            self.refused.append((status, said))
        return said if status == 200 else {}

    def add(self):
        ids = [f"w:{len(self.added) + i}" for i in range(BATCH)]
        if self.ask("/items/add", "\n".join(json.dumps(
                {"id": i, "tags": ["words"], "data": {"n": 0}})
                for i in ids), LINES):
            self.added.update(ids)

    def work(self):
        claimed = self.ask("/worker/claim", {
            "worker": "test", "tasks": [TASK], "max": BATCH,
            "lease_ms": LEASE_MS})
        for lease in claimed.get("leases", []):
            item = lease["item"]
            n = item["data"]["n"] + 1
            answer = self.ask("/worker/complete", {"completions": [
                {"lease": lease["lease"], "outcome": "success",
                 "mutations": [{"op": "updateData", "id": item["id"],
                                "rev": item["rev"], "data": {"n": n}}]}]})
            if answer and answer["results"][0]["status"] == "applied":
                self.applied[item["id"]] = n


def judge(name, server, load):
    """What was acknowledged is there, and all that is due can be done."""
    _, text = server.ask("GET", "/items?tags=words&limit=1000", Accept=LINES)
    found = {i["id"]: i["data"] for i in map(json.loads, text.splitlines())}
    check(f"{name}: every acknowledged item", load.added <= set(found),
          sorted(load.added - set(found))[:5])
    wrong = {k: (n, found.get(k)) for k, n in load.applied.items()
             if found.get(k, {}).get("n") != n}
    check(f"{name}: every acknowledged run, once", not wrong, wrong)
    # Work off what is due.  Leases of before expire, and their pairs wait to
    # be tried again; there are none but those of the last claim.
    wait_until(lambda: not work_off(server) and not counts(server)["leased"],
               20)
    n = counts(server)
    check(f"{name}: no pair is stuck", n["fresh"] + n["retry"] == len(found)
          and n["retry"] <= BATCH, n)


def work_off(server):
    leases = server.claim(TASK, max=1000)
    for lease in leases:
        server.complete(lease["lease"])
    return leases


def counts(server):
    return server.ask("GET", "/tasks/" + TASK)[1]["counts"]


def items_are_sound(name, server):
    code, out, err = ours("items", "check", "--data", server.data)
    check(f"{name}: items check finds nothing", code == 0, out + err)


def cut(k, rng):
    trace = f"{PLACE}/trace-{k}"
    server = Faulty(f"cut-{k}", FAULT_TRACE=trace, FAULT_TRACE_NOW="1")
    load = Load(server)
    load.start()
    time.sleep(rng.uniform(0.3, 1))
    server.kill()
    load.join()
    mode = rng.choice(["nothing", "part", "pieces"])
    ops = read_trace(trace)
    for op in ops:
        server.disk.step(op)
    shutil.rmtree(server.under)
    server.disk.write(server.under, rng, mode)
    name = f"cut {k}, {mode}"
    server.more = {}
    server.start()
    judge(name, server, load)
    same(f"{name}: it stops", server.stop(), 0)
    items_are_sound(name, server)
    note(f"{name}: {len(load.added)} items and {len(load.applied)} runs "
         f"acknowledged, {len(ops)} operations")
    return len(load.applied)


def failing_sync():
    """What could not be stored is not acknowledged; a new start has the rest."""
    server = Faulty("sync", FAULT_MATCH="/items.db", FAULT_SYNC_AT="60")
    load = Load(server)
    load.start()
    check("sync: there was a fault", wait_until(
        lambda: os.path.exists(server.under + ".failed"), 20))
    time.sleep(0.5)
    load.ends = True
    load.join()
    said = server.said()
    check("sync: it was refused", load.refused or not server.runs(),
          said[-300:])
    note(f"sync: {load.refused[:1]}, {len(load.added)} items acknowledged; "
         f"{said[-300:]}")
    server.kill()
    server.more = {}
    server.start()
    judge("sync", server, load)
    same("sync: it stops", server.stop(), 0)
    items_are_sound("sync", server)


note(f"SEED={SEED}")
rng = random.Random(SEED)
runs = [cut(k, rng) for k in range(1, CUTS + 1)]
check("cuts: there was something to check", sum(runs) > 5 * CUTS, runs)
failing_sync()
done()
