"""A task of the external door with a kill -9 after the n-th change of a file since
it was posted (tests/peers/faults.c): in the commit that accepts it, between that
and the answer, in a commit of documents, between an upload and its
acknowledgement, before the closing status and after it.  Each time a new process
goes on, the back end repeats a POST that was not answered, and a ledger of what
it has seen is compared.

usage: external_points.sh [POINTS]

POINTS are spread over all changes of a task that nobody kills; 0: each of them.
"""
from external_door_peer import *

WORDS = [int(x) for x in sys.argv[1:] if x.isdigit()]
POINTS = WORDS[0] if WORDS else 24
DOCUMENTS = 45
PARAMS = {"kind": "a"}
GO, TRACE = (os.path.join(PLACE, x) for x in ("go", "trace"))
UNDER = os.path.join(PLACE, "under")
library = faults()
if library is None:
    skip("external_points", "there is no compiler")
    done()


def dying(at):
    return {"LD_PRELOAD": library, "FAULT_UNDER": UNDER,
            "FAULT_TRACE": "/dev/null", "FAULT_KILL_AT": str(at),
            "FAULT_KILL_FROM": GO}


def restart(s, env):
    if os.path.exists(GO):
        os.unlink(GO)
    s.env = env
    s.start()
    open(GO, "w").close()


def post(s, fid):
    """False: no answer came."""
    try:
        s.task(fid, b.endpoint(fid), PARAMS)
    except (OSError, http.client.HTTPException):
        return False
    return True


def name_of(fid, answered):
    """Where in a task's life its daemon has died."""
    uploads, codes = b.of(UPLOADS, fid), b.codes(fid)
    if not answered:
        return "before the answer to POST"
    if 200 in codes:
        return "after the closing status"
    if len(b.ids(fid)) == DOCUMENTS:
        return "before the closing status"
    return "between uploads" if uploads else "before the first upload"


def judge(fid, at):
    same(f"{at}: done", s.ends(fid), "done")
    same(f"{at}: each document, once by id", b.ids(fid),
         list(range(1, DOCUMENTS + 1)))
    keys = {c.key: c.body for c in b.of(UPLOADS, fid)}
    same(f"{at}: under one key", sum(len(body.split(b"\n"))
                                     for body in keys.values()), DOCUMENTS)
    codes = b.codes(fid)
    same(f"{at}: the closing status is the last, under one key",
         (codes[-1], len({c.key for c in b.of(STATUSES, fid)
                          if c.status["code"] == 200}),
          set(codes[codes.index(200):])), (200, 1, {200}))
    look = s.look(fid)
    same(f"{at}: uploaded, spooled, rejected", (
        look["uploaded"], look["spooled"], look["rejected"]),
        (DOCUMENTS, 0, 0))


def count_changes():
    """Of a task that nobody kills, from its POST to its end."""
    restart(s, {**dying(1 << 30), "FAULT_TRACE": TRACE,
                "FAULT_TRACE_NOW": "1"})
    at, changes = os.path.getsize(TRACE), 0
    post(s, "whole")
    same("a task that nobody kills is done", s.ends("whole"), "done")
    s.kill()
    with open(TRACE, "rb") as f:
        f.seek(at)
        # "kind number offset bytes path", and as many bytes.
        while line := f.readline():
            f.seek(int(line.split()[3]), os.SEEK_CUR)
            changes += 1
    os.unlink(TRACE)
    return changes


def die_at(at):
    fid = f"d{at}"
    restart(s, dying(at))
    answered = post(s, fid)
    try:
        died = s.child.wait(20) == -9
    except subprocess.TimeoutExpired:
        died = False
        s.kill()
    where = name_of(fid, answered)
    points[where] = points.get(where, 0) + 1
    seen = len({c.key for c in b.of(UPLOADS, fid)})
    s.env = {}
    s.start()
    known = s.ask("GET", f"/external/things/task/{fid}")[0] == 200
    if not answered:
        points["... of which accepted"] = points.get(
            "... of which accepted", 0) + known
        check(f"{at}: the back end repeats its POST", post(s, fid))
    else:
        check(f"{at}: what was answered is there", known)
    judge(fid, f"{at} ({where})")
    again = len(b.of(UPLOADS, fid)) > len({c.key
                                           for c in b.of(UPLOADS, fid)})
    if again and seen:
        points["an upload came again"] = points.get(
            "an upload came again", 0) + 1
    s.kill()
    if not died:
        note(f"{at}: the task was done before")
    return died


os.makedirs(UNDER)
points = {}
api, b = Api(), Back()
s = External("door", connectors("connectors", api.connector()),
             data=UNDER + "/data")
s.stop()
changes = count_changes()
wanted = range(1, changes + 1) if POINTS == 0 else sorted({
    1 + i * (changes - 1) // max(1, POINTS - 1) for i in range(POINTS)})
note(f"{changes} changes of files for a task; killed after {len(wanted)}")
kills = sum(die_at(at) for at in wanted)
check("nearly all were killed by a change", kills >= 0.8 * len(wanted), kills)
for where in sorted(points):
    note(f"{where}: {points[where]}")
if len(wanted) >= 24:
    for where in ("before the answer to POST", "before the first upload",
                  "before the closing status", "an upload came again"):
        check(f"some died {where}", points.get(where, 0) > 0, points)
done()
