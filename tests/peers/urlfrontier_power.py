"""Power cuts of the URL Frontier door under load (case G5).

usage: urlfrontier_power.sh [CUTS [SEED]]

The server runs with faults.c before it, which records its writes and syncs, and
is killed.  The disk is put together from what had been synced by then, with
nothing, a part or random pieces of the rest; the server is started on that.  In
`sync` mode all holds that holds after a kill; urlfrontier_ledger.py says what.
In `relaxed` mode at most the last second is lost.
"""
from disk_trace import *
from urlfrontier_ledger import *

begin("urlfrontier_power")
CUTS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
SETTINGS = ("ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB")
# A sync each second, and one that is under way.
LOST_S_MAX = 1.5

need("urlfrontier_power", "cc")
library = faults()
if library is None:
    skip("urlfrontier_power", "cc builds no shared library")
    done()


class Recorded(Server):
    """A server whose disk can lose its power."""

    def __init__(self, name, *settings):
        self.under = os.path.join(PLACE, name)
        self.trace = self.under + ".trace"
        os.makedirs(self.under)
        self.disk = Disk(self.under)
        super().__init__(name, *settings, data=self.under + "/data", env={
            "LD_PRELOAD": library, "FAULT_UNDER": self.under,
            "FAULT_TRACE": self.trace, "FAULT_TRACE_NOW": "1"})

    def lose_power(self, rng):
        """It is killed already; what is left of its disk, and a new start."""
        mode = rng.choice(["nothing", "part", "pieces"])
        ops = read_trace(self.trace)
        for op in ops:
            self.disk.step(op)
        shutil.rmtree(self.under)
        self.disk.write(self.under, rng, mode)
        os.unlink(self.trace)
        self.disk = Disk(self.under)
        self.start()
        return f"{mode}, {len(ops)} operations"


def synced(rng):
    server = Recorded("sync", *SETTINGS, "urlfrontier.durability=sync")
    workers = hire(server, rng)
    for k in range(4 * CUTS):
        if k >= CUTS and not thin(20 * CUTS):
            break
        killed_at_work(server, workers, rng.uniform(0.1, 1.2))
        before = len(found.faults)
        how = server.lose_power(rng)
        verify(workers)
        check(f"G5 sync, cut {k + 1}: {how}", len(found.faults) == before,
              found.faults[before:])
    note(f"{tally}")
    check("G5 sync: there was something to check", not thin(20 * CUTS), tally)
    server.stop()


def relaxed(rng):
    """Serial puts with the time of their acks."""
    server = Recorded("relaxed", *SETTINGS, "urlfrontier.durability=relaxed")
    told = {}

    def put():
        stream = Stream(server.client)
        for i in range(1000000):
            url = f"http://r/{len(told)}"
            if stream.put(D(url, "r", "relaxed")) != "OK":
                break
            told[url] = time.monotonic()

    for k in range(CUTS):
        writer = threading.Thread(target=put)
        writer.start()
        time.sleep(rng.uniform(2, 3.5))
        server.kill()
        killed = time.monotonic()
        writer.join()
        how = server.lose_power(rng)
        there = set(server.client.urls("relaxed"))
        lost = [killed - at for u, at in told.items() if u not in there]
        check(f"G5 relaxed, cut {k + 1}: {how}", told and
              max(lost, default=0) <= LOST_S_MAX, max(lost, default=0))
        note(f"relaxed: {len(lost)} of {len(told)} lost, the oldest "
             f"{max(lost, default=0):.2f} s old")
        for u in set(told) - there:
            del told[u]
        # What is there and was not acknowledged may be put again.
        told.update(dict.fromkeys(there - set(told), killed))
    server.stop()


def main():
    rng = random.Random(SEED)
    note(f"seed {SEED}")
    synced(rng)
    relaxed(rng)


main()
done()
