"""Roots of harvests that are full, read-only, away or hang, and come back.

usage: harvest_roots.sh [KIND...]

A start message is accepted whatever its root is like.  The harvest goes on, its
files wait in the data directory, and health says so; when the root is back they
go to their places, are told of once, and state.json follows.  A root that hangs
is a FUSE file system that answers nothing.  The kind "data" is the data
directory itself, which fills up in mid-harvest, and has room again; "store" is
store.db alone, on a place of its own.  Only root may mount; others skip.
"""
import ctypes
import shutil

from harvest_peer import *

need_kombu("harvest_roots")

from peer import run
from rabbitmq import Rabbit, need_rabbitmq
from serve import Serve
from simulated import Platforms

need_rabbitmq("harvest_roots")
need("harvest_roots", "mount", "umount")
if os.geteuid() != 0:
    skip("harvest_roots", "only root may mount")
    done()
libc = ctypes.CDLL(None, use_errno=True)
ledger = []
ROOTS = {kind: f"{PLACE}/root-{kind}" for kind in (
    "full", "readonly", "away", "hangs", "good")}


def mount(place, kind, data, flags=0):
    if libc.mount(b"none", place.encode(), kind.encode(), flags,
                  data.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def unmount(place):
    libc.umount2(place.encode(), 2)


# ---- The five kinds: how it breaks, how it is mended ----------------------------

class Full:
    def __init__(self, place, mib=1):
        self.place = place
        os.makedirs(place)
        mount(place, "tmpfs", f"size={mib}m")

    def hurt(self):
        self.stuff = open(self.place + "/stuff", "wb", buffering=0)
        try:
            while True:
                self.stuff.write(b"x" * 4096)
        except OSError:
            pass

    def mend(self):
        self.stuff.close()
        os.unlink(self.place + "/stuff")

    def end(self):
        unmount(self.place)


class ReadOnly(Full):
    REMOUNT, READ_ONLY = 32, 1

    def hurt(self):
        mount(self.place, "tmpfs", "", self.REMOUNT | self.READ_ONLY)

    def mend(self):
        mount(self.place, "tmpfs", "size=1m", self.REMOUNT)


class Away:
    def __init__(self, place):
        self.place = place
        os.makedirs(place)

    def hurt(self):
        os.rename(self.place, self.place + ".gone")

    def mend(self):
        os.rename(self.place + ".gone", self.place)

    def end(self):
        pass


class Hangs(Away):
    """While it hangs nobody but the daemon may look below it."""

    def hurt(self):
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        mount(self.place, "fuse", f"fd={self.fd},rootmode=40000,user_id=0,"
              "group_id=0,allow_other")

    def mend(self):
        os.close(self.fd)
        unmount(self.place)


KINDS = {"full": Full, "readonly": ReadOnly, "away": Away, "hangs": Hangs,
         "good": Away}


# ---- The scenes -----------------------------------------------------------------

def order(kind, incremental=False):
    harvest = uuid.uuid4().hex
    return them.order(
        id=harvest, path=f"/{kind}/{harvest}",
        seeds=[{"id": "s0", "token": "ada"}],
        credentials={"instance": f"https://{HOST}", "access_token": TOKEN},
        options={"incremental": incremental})


def status_note():
    return door.http("/status")[2].decode()


def files(kind, o):
    return placed(ROOTS[kind], o)


def answers():
    return sum("/statuses" in x.get("path", "") for x in sim.log())


def came(kind, when, o, seconds=70):
    """The harvest ends, and everything is in its place."""
    began = time.monotonic()
    f = them.final(o, seconds)
    took = time.monotonic() - began
    if not check(f"{kind} {when}: it ends", f is not None, door.said()):
        return
    same(f"{kind} {when}: success", f["status"], "completed success")
    local = {ROOTS[kind] + p.removeprefix(f"/{kind}")
             for p in them.warcs(o)}
    same(f"{kind} {when}: each file is announced", sorted(local),
         files(kind, o))
    posts = sorted(p for x in local for p in posts_of(x))
    same(f"{kind} {when}: each post once", posts,
         sorted(ADA["posts"]))
    same(f"{kind} {when}: counted", counted(f), len(posts))
    check(f"{kind} {when}: a state", os.path.exists(
        f"{ROOTS[kind]}/{o['id']}/state.json"))
    ledger.append((kind, when, len(local), len(posts), round(took, 1)))


def others_go_on(kind):
    """Another root's harvest is not held up."""
    o = order("good")
    f = them.final(o, 20)
    check(f"{kind}: a harvest of another root goes on",
          f and f["status"] == "completed success", door.said())
    check(f"{kind}: the main loop answers", door.serves())


def before_the_start(kind):
    """It is hurt before the message comes."""
    roots[kind].hurt()
    o = order(kind)
    check(f"{kind} first: the start is accepted", them.wait(
        lambda: them.statuses(o), 20), door.said())
    check(f"{kind} first: it runs, or waits", them.words(o)[:1] ==
          ["running"], them.words(o))
    check(f"{kind} first: health says so", wait_until(
        lambda: "wait for their directory" in status_note(), 20),
        status_note()[-600:])
    check(f"{kind} first: nothing is final", not set(them.words(o)) &
          set(FINAL), them.words(o))
    others_go_on(kind)
    roots[kind].mend()
    came(kind, "first", o)


def afterwards(kind):
    """It is hurt while the harvest runs; the daemon is killed meanwhile."""
    sim.faults({"match": {"path": "/api/v1/accounts/*/statuses"},
                "fault": {"stall": 1500, "at": 0}})
    o = order(kind)
    check(f"{kind} later: it runs", them.wait(lambda: them.statuses(o), 20))
    roots[kind].hurt()
    check(f"{kind} later: it waits for an answer", sim.faults() != [0])
    check(f"{kind} later: health says so", wait_until(
        lambda: "wait for their directory" in status_note(), 40),
        status_note()[-600:])
    check(f"{kind} later: no file is announced", not them.warcs(o))
    door.kill()
    asked = answers()
    door.start()
    check(f"{kind} later: it waits again", wait_until(
        lambda: "wait for their directory" in status_note(), 30),
        status_note()[-600:])
    roots[kind].mend()
    came(kind, "later", o)
    same(f"{kind} later: nothing was asked for again", answers(), asked)


def at_the_end(kind):
    """SIGTERM ends the daemon though the root is hurt."""
    o = order(kind)
    roots[kind].hurt()
    them.wait(lambda: them.statuses(o), 20)
    same(f"{kind}: the daemon ends in order", door.stop(60), 0)
    roots[kind].mend()
    door.start()
    came(kind, "ended", o)


def data_is_full():
    """Harvests wait, ask for nothing, and are none the worse for it."""
    disk = Full(PLACE + "/full-data", 48)
    door = Serve("two", [
        *settings, "harvest.instance=two", "data.free_bytes_min=4MiB",
        "ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB"],
        data=disk.place + "/data")
    try:
        sim.faults({"match": {"path": "/api/v1/accounts/*/statuses"},
                    "fault": {"status": 503}})
        o = order("good")
        check("data full: it runs", them.wait(lambda: them.words(o), 20))
        disk.hurt()
        check("data full: it waits for an answer", sim.faults() != [0])
        check("data full: the log names the place and the cause", wait_until(
            lambda: "left at " + disk.place in open(door.log).read(), 20),
            door.said())
        asked = answers()
        late = order("good")
        check("data full: nothing is final",
              not them.wait(lambda: set(them.words(o) + them.words(late)) &
                            set(FINAL), 4), (them.words(o), them.words(late)))
        check("data full: what is announced is there", all(
            sha1_of(ROOTS["good"] + p.removeprefix("/good")) == w["sha1"]
            for p, w in them.warcs(o).items()), them.warcs(o))
        check("data full: at most the request in hand is made",
              answers() <= asked + 1, (asked, answers()))
        same("data full: the main loop answers, not ready",
             door.http("/readyz")[0], 503)
        disk.mend()
        for which, when in ((o, "was running"), (late, "came meanwhile")):
            came("good", "data full, " + when, which)
        same("data full: the daemon ends in order", door.stop(40), 0)
    finally:
        door.child.kill()
        door.child.wait()
        disk.end()


def store_is_full():
    """Only the store is unwritable: status, readiness and metrics say so."""
    disk = Full(PLACE + "/full-store", 8)
    door = Serve("three", [*settings, "harvest.instance=three"])
    try:
        door.stop()
        shutil.move(door.data + "/store.db", disk.place + "/store.db")
        os.symlink(disk.place + "/store.db", door.data + "/store.db")
        door.start()

        def told():
            return json.loads(door.http("/status")[2])["unwritable"]

        def command():
            code, out, err = run(program(), "status", "--data", door.data)
            return out + err

        same("store full: no failure is reported beforehand", told(), [])
        same("store full: nor counted", door.metric(
            "argiope_databases_failing"), 0)
        disk.hurt()
        o = order("good")
        check("store full: /status tells it", wait_until(told, 20),
              door.said())
        first = told()
        check("store full: ... with the file and the cause", len(first) == 1
              and "store.db: " in first[0]["why"] and "full" in
              first[0]["why"], first)
        state = door.http("/readyz")
        same("store full: not ready, without a file's name", (state[0],
             json.loads(state[2])["state"]), (503, "a database cannot be "
             "written"))
        check("store full: the command tells it", "Cannot be written since " +
              first[0]["since"] in command(), command())
        same("store full: counted", door.metric("argiope_databases_failing"),
             1)
        tries = door.metric("argiope_database_write_failures_total")
        check("store full: it is tried again", wait_until(lambda: door.metric(
            "argiope_database_write_failures_total") > tries, 20))
        same("store full: ... and has failed since the same moment",
             told()[0]["since"], first[0]["since"])
        disk.mend()
        check("store full: with room it is ready by itself", wait_until(
            door.serves, 20), told())
        same("store full: ... and nothing is told", told(), [])
        came("good", "store full", o)
        same("store full: the daemon ends in order", door.stop(40), 0)
    finally:
        door.child.kill()
        door.child.wait()
        disk.end()


rabbit = Rabbit()
sim = Platforms("--items", "120")
world = sim.world(HOST)
TOKEN = world["tokens"]["user"]
ADA = next(a for a in world["accounts"] if a["name"] == "ada")
roots = {kind: KINDS[kind](ROOTS[kind]) for kind in ROOTS}
settings = [
    f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
    "urlfrontier.listen=off", "harvest.web_messages=off",
    "harvest.concurrency=mastodon_harvester=4",
    "harvest.roots=" + ",".join(f"/{k}={p}" for k, p in ROOTS.items()),
    f"fetch.resolve={HOST}:443:127.0.0.1:{sim.port}",
    f"fetch.ca_file={sim.ca}"]
door = Serve("one", [*settings, "harvest.instance=one"])
them = Requester(rabbit)
wait_until(lambda: "argiope_dead" in rabbit.ctl("-q", "list_queues", "name"),
           30)
try:
    for kind in [k for k in ROOTS if k != "good" and (
            not sys.argv[1:] or k in sys.argv[1:])]:
        note(kind)
        before_the_start(kind)
        afterwards(kind)
        if kind == "hangs":
            at_the_end(kind)
    same("the daemon ends in order", door.stop(40), 0)
    if "data" in (sys.argv[1:] or ["data"]):
        data_is_full()
    if "store" in (sys.argv[1:] or ["store"]):
        store_is_full()
finally:
    door.child.kill()
    for root in roots.values():
        root.end()
note("kind, when, files, posts, seconds until all was in place")
for row in ledger:
    note(", ".join(str(x) for x in row))
done()
