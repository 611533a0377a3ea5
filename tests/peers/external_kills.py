"""kill -9 of the daemon while tasks run under faults of the back end: 429, 503,
413, lines refused by 406, lost replies, redirects. No document is lost, a key
never has two contents, and every task ends.

usage: external_kills.sh [KILLS [TASKS [DOCUMENTS [SEED]]]]
"""
import random
import urllib.parse

from external_door_peer import *

WORDS = [int(x) for x in sys.argv[1:] if x.isdigit()]
KILLS, TASKS, DOCUMENTS = (WORDS + [5, 8, 1000][len(WORDS):])[:3]
SEED = WORDS[3] if len(WORDS) > 3 else random.randrange(1 << 30)
PAGE = 100
UPLOAD_MAX = 250                     # More documents are too large.
REFUSED = 499                        # Every such id is refused, always.
# After a redirect an upload waits for five minutes, or until the next kill.
FAULTS = (("slow down", 0.05), ("busy", 0.05), ("lost reply", 0.08),
          ("redirect", 0.002 if KILLS > 20 else 0), ("no JSON", 0.01))

rng = random.Random(SEED)


class Pages(Api):
    """DOCUMENTS items for any kind, PAGE a page."""

    def answer(self, request):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
            request.path).query))
        first = int(query.get("after", query.get("since", 0)))
        last = min(first + PAGE, DOCUMENTS)
        body = {"items": [{"id": i, "name": f"n {i}"}
                          for i in range(first + 1, last + 1)]}
        if last < DOCUMENTS:
            body["next"] = str(last)
        self.send(request, 200, body)


def fault():
    """One of the faults, each as often as it is given."""
    with lock:
        at = rng.random()
    for name, share in FAULTS:
        if at < share:
            return name
        at -= share
    return None


def reply(call, number):
    wrong = fault()
    if call.kind == STATUSES:
        return (503, {}, None) if wrong == "busy" else None
    bad = [i for i, d in enumerate(call.documents, 1)
           if d["id"] % REFUSED == 0]
    if wrong == "slow down":
        return 429, {"Retry-After": "1"}, None
    if wrong == "busy":
        return 503, {}, None
    if len(call.documents) > UPLOAD_MAX:
        return 413, {}, None
    if wrong == "redirect":
        return 307, {"Location": "http://127.0.0.1:9/"}, None
    if bad:
        back.store(call.path, Kept(call, bad))
        return 406, {}, json.dumps({"success": False, "messages": ["odd"],
            "payload": {"errors": [{"line": i, "error": "odd"}
                                   for i in bad]}})
    if wrong == "lost reply":
        return None, {}, None
    return (200, {}, "fine") if wrong == "no JSON" else None


api, back = Pages(), Back(reply)
place = connectors("kills-connectors", api.connector())
s = External("kills", place, "external.tasks_max=1000", "external.call_ms=5s")
note(f"{KILLS} kills, {TASKS} tasks of {DOCUMENTS} documents, seed {SEED}")
began = time.monotonic()
fids = [f"k{i}" for i in range(TASKS)]
for fid in fids:
    s.task(fid, back.endpoint(fid), {"kind": fid})
kills = 0
while kills < KILLS:
    time.sleep(rng.uniform(0.05, 0.8))
    s.restart(kill=True)
    kills += 1
ended = {}


def all_ended():
    for fid in fids:
        if fid not in ended:
            state = s.state(fid)
            if state not in ("accepted", "running", "draining"):
                ended[fid] = state
    return len(ended) == TASKS


wait_until(all_ended, 60 + TASKS * DOCUMENTS / 500, 0.5)
for f in set(fids) - set(ended):
    log = s.ask("GET", f"/external/things/task/{f}/log")[1]["payload"]
    note(f"{f} is open: {s.look(f)}; {log['lines'][-3:]}")
same("every task ends well", {f: ended.get(f) for f in fids},
     {f: "done" for f in fids})
want = [i for i in range(1, DOCUMENTS + 1) if i % REFUSED]
missing = {f: len(set(want) - set(back.ids(f))) for f in fids}
same("no document is lost", {f: n for f, n in missing.items() if n}, {})
odd = {f: set(back.ids(f)) - set(want) for f in fids}
same("none is stored that was refused", {f: n for f, n in odd.items() if n},
     {})
same("a key has one content", back.contradicted, 0)
last = [back.codes(f)[-1] for f in fids]
same("the closing status is the last", set(last), {200})
looks = [s.look(f) for f in fids]
same("nothing is left in the spool", sum(x["spooled"] for x in looks), 0)
note(f"{kills} kills in {time.monotonic() - began:.0f} s: "
     f"{len(back.of(UPLOADS))} uploads, {len(back.of(STATUSES))} statuses, "
     f"{sum(len(back.ids(f)) for f in fids)} documents, "
     f"{back.repeated} came again under another key")
same("it ends", s.stop(), 0)
done()
