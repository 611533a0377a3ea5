"""The external door when its store cannot take a commit: a POST is refused with 503,
open tasks wait and go on, and nothing that was acknowledged is lost.  The disk is
full, another process holds the store's lock, or PostgreSQL is stopped; and the spool
is full, a back end never answers, two back ends name a task alike.

usage: external_store.sh
"""
import sqlite3

from external_door_peer import *
from small_disk import mount

PG = os.environ.get("ITEMS_PG")
PARAMS = {"kind": "a"}
EVERYTHING = list(range(1, 46))


def away(call, number):
    return 503, {"Retry-After": "1"}, None


def post(s, fid, connector="things", **more):
    return s.ask("POST", f"/external/{connector}/task", {
        "fid": fid, "endpoint": b.endpoint(fid), "params": PARAMS, **more})


def is_whole(name, s, fids, ids=EVERYTHING):
    same(f"{name}: the tasks are done", {f: s.ends(f, 60) for f in fids},
         {f: "done" for f in fids})
    same(f"{name}: each document, once", ({f: b.ids(f) for f in fids},
                                          b.repeated),
         ({f: ids for f in fids}, 0))
    same(f"{name}: the spool is empty", sum(s.look(f)["spooled"]
                                            for f in fids), 0)


# ---- The store ------------------------------------------------------------------

def unwritable(name, s, stop, go_on):
    """`stop()` keeps the store from committing, until `go_on()`."""
    word = name.split()[0]
    b.reply = None
    api.delay_s = 0.5
    fids = [f"{word}-{i}" for i in range(3)]
    for fid in fids:
        same(f"{name}: before", post(s, fid)[0], 200)
    check(f"{name}: documents have come", wait_until(lambda: all(
        b.of(UPLOADS, f) for f in fids), 20))
    stop()
    refused = [post(s, f"{word}-no-{i}") for i in range(2)]
    same(f"{name}: POST is refused", [code for code, _ in refused],
         [503, 503])
    check(f"{name}: ... in the envelope", all(
        said["success"] is False and said["messages"] for _, said in
        refused), refused)
    check(f"{name}: it runs", s.runs())
    time.sleep(2)
    same(f"{name}: no task is done meanwhile", [f for f in fids
                                                if 200 in b.codes(f)], [])
    go_on()
    check(f"{name}: POST is taken again", wait_until(
        lambda: post(s, f"{word}-yes")[0] == 200, 30, 0.5))
    is_whole(name, s, fids + [f"{word}-yes"])
    same(f"{name}: what was refused is unknown", [s.ask(
        "GET", f"/external/things/task/{word}-no-{i}")[0] for i in range(2)],
        [404, 404])
    api.delay_s = 0


def fill(path):
    """Until nothing is left; the daemon writes, too."""
    with open(path, "wb", 0) as f:
        for size in 1 << 20, 4096:
            try:
                while True:
                    f.write(b"\1" * size)
            except OSError:
                pass


def full_disk():
    disk = os.path.join(PLACE, "disk")
    trouble = "only root may mount" if os.geteuid() != 0 else mount(disk)
    if trouble:
        skip("a full disk", trouble)
        return
    s = External("disk", place, "data.free_bytes_min=0",
                 "ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB",
                 data=disk + "/data")
    unwritable("full disk", s, lambda: fill(disk + "/ballast"),
               lambda: os.unlink(disk + "/ballast"))
    s.restart(kill=True)
    same("full disk: done after kill -9, too", {s.state(f"full-{i}")
                                                for i in range(3)}, {"done"})
    same("full disk: it ends", s.stop(), 0)


def locked_store():
    s = External("locked", place)
    db = sqlite3.connect(s.data + "/store.db", isolation_level=None)
    unwritable("locked store", s, lambda: db.execute("BEGIN IMMEDIATE"),
               lambda: db.execute("ROLLBACK"))
    db.close()
    same("locked store: it ends", s.stop(), 0)


def pg_ctl(*words):
    command = [os.environ["ITEMS_PG_BIN"] + "/pg_ctl", "-D", PG + "/data",
               "-s", "-w", *words]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    # The server is its child, and keeps what it is given.
    done_ = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    same("pg_ctl " + words[0], done_.returncode, 0)


def stopped_server():
    subprocess.run([os.environ["ITEMS_PG_BIN"] + "/createdb", "-h", PG, "-U",
                    "argiope", "tasks"], check=True)
    s = External("postgresql", place,
                 f"store.url=postgresql://argiope@/tasks?host={PG}")
    unwritable("PostgreSQL", s, lambda: pg_ctl("stop", "-m", "immediate"),
               lambda: pg_ctl("start", "-l", PG + "/log", "-o",
                              f"-k {PG} -c listen_addresses= -c fsync=on"))
    same("PostgreSQL: it ends", s.stop(), 0)


# ---- The spool ---------------------------------------------------------------------

def full_spool():
    """A task has a quarter of it; what it has beyond is one commit's."""
    s = External("spool", place, "external.spool_bytes_max=1MiB")
    b.reply = away
    fids = [f"spool-{i}" for i in range(6)]
    for fid in fids:
        post(s, fid, "large")
    check("spool: tasks wait for room", wait_until(lambda: sum(
        s.look(f, "large").get("waiting") == "room in the spool"
        for f in fids) == len(fids), 20), [s.look(f, "large") for f in fids])
    spooled = [s.look(f, "large")["spooled"] for f in fids]
    asked = len(large.asked)
    time.sleep(1)
    same("spool: no source is asked meanwhile", len(large.asked), asked)
    note(f"spool: documents of {len(large.items[0]['name'])} bytes: "
         f"{spooled}")
    # 256 KiB are 26 documents; an answer that goes beyond it is kept whole.
    same("spool: a task has a quarter", max(spooled), 30)
    check("spool: all have the whole, and one answer more at most",
          104 <= sum(spooled) <= 104 + 10 * len(fids), spooled)
    s.restart(kill=True)
    b.reply = None
    same("spool: done", {s.ends(f, 60, connector="large") for f in fids},
         {"done"})
    same("spool: each document, once", ([b.ids(f) for f in fids],
                                        b.repeated),
         ([EVERYTHING] * len(fids), 0))
    same("spool: it ends", s.stop(), 0)


# ---- Back ends -----------------------------------------------------------------------

def silent_back_end():
    """It takes the request, and never answers; others are not held up."""
    s = External("silent", place, "external.call_ms=1s")
    quiet = threading.Event()
    b.reply = lambda call, number: quiet.wait(60) and None if "mute" in \
        call.path else None
    post(s, "mute")
    check("silent: it is called", wait_until(lambda: b.of(UPLOADS, "mute") or
                                             b.of(STATUSES, "mute")))
    post(s, "other")
    same("silent: another task is done", s.ends("other"), "done")
    check("silent: the log says so", wait_until(lambda: "no answer" in
          json.dumps(s.ask("GET", "/external/things/task/mute/log")[1])))
    check("silent: it is called again", wait_until(lambda: len(b.of(
        UPLOADS, "mute")) > 1, 20))
    same("silent: under the same key", len({c.key for c in b.of(
        UPLOADS, "mute")}), 1)
    quiet.set()
    is_whole("silent", s, ["mute"])
    same("silent: it ends", s.stop(), 0)


def two_back_ends():
    """One fid at each, documents that are not acknowledged, and a kill."""
    data = os.path.join(PLACE, "two")
    tokens = {n: token(data, n) for n in ("acme", "other")}
    path = put("backends.json", [{"name": n, "token": n,
                                  "prefix": f"{b.base}/tasks/{n}"}
                                 for n in tokens])
    os.chmod(path, 0o600)
    s = External("two", place, "external.backends_file=" + path, data=data)
    b.reply = away

    def look(n):
        return s.look("same", token=tokens[n])
    for i, n in enumerate(tokens):
        same(f"two: {n} starts it", s.ask(
            "POST", "/external/things/task", {
                "fid": "same", "endpoint": f"{b.base}/tasks/{n}/same-{n}",
                "params": {"kind": n}}, tokens[n])[0], 200)
    check("two: both have documents in the spool", wait_until(lambda: all(
        look(n)["spooled"] == 45 for n in tokens), 20),
        [look(n) for n in tokens])
    s.ask("PATCH", "/external/things/task/same/status", {"code": 408},
          tokens["other"])
    same("two: one is stopped, the other not", (
        look("acme")["spooled"], look("other")["state"],
        look("other")["spooled"]), (45, "timeout", 0))
    s.restart(kill=True)
    b.reply = None
    same("two: it is done", s.ends("same", token=tokens["acme"]), "done")
    same("two: each has its own", (b.ids("same-acme"), b.ids("same-other"),
                                   look("other")["state"]),
         (EVERYTHING, [], "timeout"))
    same("two: it ends", s.stop(), 0)


api, large, b = Api(), Api(), Back()
large.items = [{"id": i, "name": "x" * 10000} for i in EVERYTHING]
place = connectors("connectors", api.connector(), large.connector("large"))
if PG:
    stopped_server()
else:
    full_disk()
    locked_store()
    full_spool()
    silent_back_end()
    two_back_ends()
done()
