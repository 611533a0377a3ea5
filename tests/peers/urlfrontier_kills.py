"""kill -9 of the URL Frontier door under load; urlfrontier_ledger.py says what is
compared.

usage: urlfrontier_kills.sh [KILLS [SEED]]

Every second run is one of `relaxed` durability, which kill -9 must not hurt.
"""
from urlfrontier_ledger import *

begin("urlfrontier_kills")
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)


def settings(run):
    return ["ledger.segment_bytes=1MiB", "urlfrontier.durability=" +
            ("relaxed" if run % 2 else "sync")]


def synced_in():
    """Seconds that this disk needs now for a little; others may use it."""
    began = time.monotonic()
    with open("little", "wb") as f:
        for _ in range(5):
            f.write(b"x" * 4096)
            f.flush()
            os.fdatasync(f.fileno())
    return (time.monotonic() - began) / 5


def forgetful(server, workers):
    """The ledger sees it when a disk has lost what was written last."""
    server.stop()
    shutil.copytree(server.data, server.data + ".old")
    server.start()
    verify(workers)
    killed_at_work(server, workers, 1)
    shutil.rmtree(server.data)
    os.rename(server.data + ".old", server.data)
    server.start()
    before = len(found.faults)
    found.planted = True
    verify(workers)
    check("a disk that forgets is noticed", len(found.faults) > before)
    del found.faults[before:]


def main():
    rng = random.Random(SEED)
    note(f"seed {SEED}")
    server = Server("kills", *settings(0))
    workers = hire(server, rng)
    starts = []
    # Short lives may have done little: then there are more of them.
    for k in range(4 * KILLS):
        if k >= KILLS and not thin(20 * KILLS):
            break
        killed_at_work(server, workers, rng.choice((
            rng.uniform(0, 0.1), rng.uniform(0.1, 2))))
        if rng.random() < 0.15:
            # Killed again while it starts.
            server.start(ready=False)
            time.sleep(rng.uniform(0, 0.3))
            server.kill()
        server.settings = settings(k + 1)
        starts.append(server.start())
        if starts[-1] > 2:
            note(f"start {k + 1} took {starts[-1]:.2f} s: "
                 f"{server.said()[-800:]}")
        verify(workers)
        if (k + 1) % 10 == 0:
            note(f"{k + 1} kills, {len(found.faults)} faults, {tally}")
    same("SIGTERM ends it", server.stop(), 0)
    server.start()
    verify(workers)
    disk = synced_in()
    note(f"{tally}; starts up to {max(starts):.2f} s; fdatasync {disk:.3f} s")
    check("there was something to check", not thin(20 * KILLS), tally)
    check("no start takes 5 s", max(starts) < 5,
          f"one took {max(starts):.2f} s, half of them up to "
          f"{sorted(starts)[len(starts) // 2]:.2f} s; an fdatasync takes "
          f"{disk:.3f} s")
    check(f"{len(starts)} kills, seed {SEED}: no fault", not found.faults,
          found.faults)
    forgetful(server, workers)


main()
done()
