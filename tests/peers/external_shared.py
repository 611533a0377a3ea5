"""Two daemons share a store: a task has one owner, whatever daemon is asked; one of
them is killed again and again, stays away for longer than its lease, or is
suspended meanwhile.  No document is lost, none is stored twice, every task ends.

usage: external_shared.sh [KILLS [TASKS [SEED]]]
"""
import collections
import random
import signal
import urllib.parse

from external_door_peer import *

WORDS = [int(x) for x in sys.argv[1:] if x.isdigit()]
KILLS, TASKS = (WORDS + [20, 12][len(WORDS):])[:2]
SEED = WORDS[2] if len(WORDS) > 2 else random.randrange(1 << 30)
DOCUMENTS, PAGE = 800, 20
LEASE_S = 15
PG = os.environ["ITEMS_PG"]
rng = random.Random(SEED)
asked = []                       # (kind, when), of the source


class Pages(Api):
    """DOCUMENTS items for any kind, PAGE a page, slowly."""

    def answer(self, request):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
            request.path).query))
        first = int(query.get("after", query.get("since", 0)))
        last = min(first + PAGE, DOCUMENTS)
        body = {"items": [{"id": i, "name": f"n {i}"}
                          for i in range(first + 1, last + 1)]}
        if last < DOCUMENTS:
            body["next"] = str(last)
        asked.append((request.path.split("?")[0][1:], time.monotonic()))
        time.sleep(self.delay_s)
        self.send(request, 200, body)


def reply(call, number):
    """Some uploads are refused for a moment, and some answers are lost."""
    at = rng.random()
    if call.kind == UPLOADS and at < 0.05:
        return 503, {"Retry-After": "1"}, None
    return (None, {}, None) if call.kind == UPLOADS and at < 0.1 else None


def database():
    subprocess.run([os.environ["ITEMS_PG_BIN"] + "/createdb", "-h", PG, "-U",
                    "argiope", "shared"], check=True)
    return f"store.url=postgresql://argiope@/shared?host={PG}"


def one_owner(one, two):
    """Each daemon answers for the other one's task."""
    first = one.task("o1", b.endpoint("o1"), {"kind": "o1"})
    again = two.task("o1", b.endpoint("o1"), {"kind": "o1"})
    same("a repeat at the other one: a status", again["status"]["code"] in
         (0, 102), True)
    same("... of the same task", first["callback"].split("/")[-1],
         again["callback"].split("/")[-1])
    same("... other parameters: 409", two.ask(
        "POST", "/external/things/task", {"fid": "o1", "endpoint":
        b.endpoint("o1"), "params": {"kind": "other"}})[0], 409)
    check("... it is seen there", wait_until(lambda: two.look("o1")[
        "uploaded"] > 0), two.look("o1"))
    answers = []

    def post(s):
        answers.append(s.ask("POST", "/external/things/task", {
            "fid": "o2", "endpoint": b.endpoint("o2"),
            "params": {"kind": "o2"}})[0])
    both = [threading.Thread(target=post, args=(s,)) for s in (one, two)]
    for t in both:
        t.start()
    for t in both:
        t.join()
    same("one fid at both at a time", answers, [200, 200])


def obeys(one, two):
    """A PATCH at the other daemon, within a second."""
    slowest = 0
    for i in range(5):
        fid = f"p{i}"
        one.task(fid, b.endpoint(fid), {"kind": fid})
        wait_until(lambda: b.of(UPLOADS, fid))
        at = time.monotonic()
        same("PATCH at the other one", two.ask(
            "PATCH", f"/external/things/task/{fid}/status",
            {"code": 408, "message": "Task is timeout"})[0], 200)
        time.sleep(2.5)
        later = [c.at - at for c in b.of(UPLOADS, fid) + b.of(STATUSES, fid)
                 if c.at > at] + [t - at for kind, t in asked
                                  if kind == fid and t > at]
        slowest = max([slowest, *later])
    note(f"the last call, to the back end or the source, after a PATCH at the "
         f"other daemon: {slowest:.2f} s")
    check("it is obeyed within a second", slowest <= 1.1, slowest)
    same("... and its state is seen at both", (one.state("p0"),
                                               two.state("p0")),
         ("timeout", "timeout"))


def wound(s, i):
    """Kill it; every fifth stays away, every seventh is suspended, both for
    longer than the lease."""
    if i % 7 == 6:
        s.child.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S + 3)
        s.child.send_signal(signal.SIGCONT)
        return "suspended"
    s.kill()
    if i % 5 == 4:
        time.sleep(LEASE_S + 3)
    s.start()
    return "away" if i % 5 == 4 else "killed"


def taken_up(s):
    with open(s.log, errors="replace") as f:
        return f.read().count("external.taken_up")


note(f"{KILLS} kills, {TASKS} tasks of {DOCUMENTS} documents, seed {SEED}")
api, b = Pages(), Back()
api.delay_s = 0.05
place = connectors("connectors", api.connector())
store = database()
pair = [External(name, place, store, "store.node=" + name,
                 "external.tasks_max=1000", "external.call_ms=5s")
        for name in ("one", "two")]
one_owner(*pair)
api.delay_s = 0.4
obeys(*pair)
same("the first tasks are done", {pair[0].ends(f, 90) for f in ("o1", "o2")},
     {"done"})
same("... each once", [b.codes(f).count(200) for f in ("o1", "o2")], [1, 1])
same("... whose source was asked once for each page", collections.Counter(
    kind for kind, _ in asked)["o2"], DOCUMENTS // PAGE)
fids = [f"s{i}" for i in range(TASKS)]
b.reply = reply
for i, fid in enumerate(fids):
    pair[i % 2].task(fid, b.endpoint(fid), {"kind": fid})
began, ways = time.monotonic(), {}
for i in range(KILLS):
    time.sleep(rng.uniform(0.05, 0.6))
    way = wound(pair[rng.randrange(2)], i)
    ways[way] = ways.get(way, 0) + 1
api.delay_s = 0
for s in pair:
    check("both serve", wait_until(s.serves, 20))
ended = {f: pair[i % 2].ends(f, 120) for i, f in enumerate(fids)}
same("every task ends well", ended, {f: "done" for f in fids})
missing = {f: DOCUMENTS - len(b.ids(f)) for f in fids + ["o1", "o2"]}
same("no document is lost", {f: n for f, n in missing.items() if n}, {})
same("none came twice under another key", b.repeated, 0)
same("a key has one content", b.contradicted, 0)
same("the closing status is the last", {b.codes(f)[-1] for f in fids}, {200})
same("nothing is left in the spool", sum(pair[0].look(f)["spooled"]
                                         for f in fids), 0)
check("tasks were taken up from the other one", ways.get("away", 0) == 0 or
      sum(map(taken_up, pair)) > 0)
note(f"{ways} in {time.monotonic() - began:.0f} s: {len(b.of(UPLOADS))} "
     f"uploads, {sum(map(taken_up, pair))} tasks taken up")
same("they end", [s.stop() for s in pair], [0, 0])
done()
