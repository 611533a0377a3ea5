"""Workers go on while the daemon is killed again and again: nothing that was
acknowledged is lost, no completion is applied twice, no pair is leased twice at a
time, and `argiope items check` finds nothing.
"""
from items_peer import *

N, KILLS, WORKERS, LEASE_MS = 1500, 8, 4, 3000
CONFIG = {"tags": {"count": ["k:count"]}, "tasks": {"k:count": {
    "version": "1", "remote": True, "retries": 100, "backoff": "100ms",
    "backoffMax": "200ms"}}}
s = Items("kills", config=CONFIG)
same("items are made", s.ask("POST", "/items/add", "".join(json.dumps({
    "id": f"kill:{i}", "tags": ["count"], "data": {"n": 0}}) + "\n"
    for i in range(N)), LINES)[1]["new"], N)
held = {}                   # item -> (worker, until)
applied, twice, odd = set(), [], []
over = threading.Event()


def insist(*question):
    """Asks until there is an answer."""
    while not over.is_set():
        try:
            status, value = s.ask(*question)
            if status == 200:
                return value
            if status != 503:
                odd.append((question[1], status, value))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.05)
    return None


def take(number, leases):
    """Notes what was leased; a lease that is held must have ended before."""
    now = time.monotonic()
    with lock:
        for x in leases:
            other, until = held.get(x["item"]["id"], (None, 0))
            if until > now:
                twice.append((x["item"]["id"], other, number, until - now))
            held[x["item"]["id"]] = (number, now + LEASE_MS / 1000)


def work(number):
    while not over.is_set():
        asked = time.monotonic()
        found = insist("POST", "/worker/claim", {
            "worker": f"w{number}", "max": 10, "wait_ms": 500,
            "lease_ms": LEASE_MS})
        leases = found["leases"] if found else []
        take(number, leases)
        time.sleep(random.random() * 0.3)
        # What came so late that it may have ended is left alone.
        if not leases or time.monotonic() - asked > LEASE_MS / 2000:
            continue
        found = insist("POST", "/worker/complete", {"completions": [
            {"lease": x["lease"], "outcome": "success", "mutations": [
                {"op": "updateData", "id": x["item"]["id"],
                 "rev": x["item"]["rev"],
                 "data": {"n": x["item"]["data"]["n"] + 1}}]}
            for x in leases]})
        for x, r in zip(leases, found["results"] if found else []):
            with lock:
                if r["status"] == "applied":
                    applied.add(x["item"]["id"])
                elif r["status"] != "lease_lost":
                    odd.append(r)
                held.pop(x["item"]["id"], None)


threads = [threading.Thread(target=work, args=(i,)) for i in range(WORKERS)]
for t in threads:
    t.start()
during = 0
for _ in range(KILLS):
    time.sleep(0.3 + random.random() / 2)
    during += len(applied) < N
    s.restart(kill=True)
check("most kills came during the work", during > KILLS / 2, during)
check("all are done", wait_until(lambda: insist(
    "GET", "/tasks/k:count")["counts"]["fresh"] == N, 60), len(applied))
over.set()
for t in threads:
    t.join()
same("nothing odd was answered", odd[:3], [])
same("no pair was leased twice at a time", twice[:3], [])
got = [json.loads(x) for x in s.ask(
    "GET", "/items?prefix=kill:", Accept=LINES)[1].splitlines()]
same("each was applied once", [x["id"] for x in got if x["data"]["n"] != 1],
     [])
same("none that was acknowledged is lost", sorted(applied - {
    x["id"] for x in got if x["data"]["n"] == 1}), [])
note(f"{len(applied)} acknowledged of {N}, {KILLS} kills")
same("the end", s.stop(), 0)
code, out, err = run(program(), "items", "check", "--data", s.data)
check("argiope items check finds nothing", code == 0, out + err)
done()
