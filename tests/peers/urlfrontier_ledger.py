"""A ledger of what the URL Frontier door said to workers that keep it busy.

Workers put (Known and Discovered, by streams and batches), lease, set delays,
blocks and limits, delete queues and crawls, each in a crawl of its own, and note
what they were told.  After the server was killed and started again, verify()
compares, by all that can be read:

    nothing that was acknowledged is lost, and what was not is there wholly or
    not at all, with the updates of one URL in order
    what was deleted stays deleted
    counts are those of a recount; creation dates stay
    no URL is served while its lease lives, is not due or completed; no queue
    before its delay is over, while it is blocked, or beyond its limit
    what may be served is served
"""
import types

from urlfrontier_peer import *

WORKERS = 4
KEYS = 8
URLS = 150                       # of a key
SLACK_S = 0.002
LATER = 100000

# `planted`: faults are what is wanted now.
found = types.SimpleNamespace(faults=[], planted=False)
tally = dict.fromkeys(("acks", "unknown", "served", "controls", "deletes",
                       "checked", "ready", "cut"), 0)


def fault(text):
    with lock:
        found.faults.append(text)
        if not found.planted:
            note(f"FAULT {text}")


def count(name, n=1):
    with lock:
        tally[name] += n


def thin(least):
    """Too little happened for a test to have shown anything."""
    return min(tally[x] for x in ("acks", "served", "checked")) <= least


class Record:
    """What a URL is for certain, and the updates that nobody answered."""
    __slots__ = ("state", "pending", "lease", "lease_max")

    def __init__(self):
        # (least date, greatest, version, least creation, greatest) or None.
        self.state = None
        self.pending = []        # (kind, date, version, when it was sent)
        self.lease = 0           # it lives at least until then ...
        self.lease_max = 0       # ... and at most; monotonic

    def active(self):
        return self.state is not None and self.state[0] > 0

    def completed(self):
        return self.state is not None and self.state[0] == 0

    def may_be_due(self):
        return self.active() and self.state[0] <= now()

    def due(self):
        return self.active() and self.state[1] <= now()


def after(state, update, latest):
    """What an update makes of a state; it was applied until `latest`."""
    kind, date, version, sent = update
    if kind == "D":
        if state is not None:
            return state
        return int(sent), int(latest) + 1, version, int(sent), \
            int(latest) + 1
    made = state[3:] if state else (int(sent), int(latest) + 1)
    return (date, date, version) + made


class Queue:
    def __init__(self):
        self.records = {}
        self.forget_control()

    def forget_control(self):
        # Each what it is for certain; a set when two are possible.
        self.delay, self.block, self.limit = {None}, {0}, {0}
        self.served = None       # the last time, at least; monotonic

    def there(self):
        return any(r.state for r in self.records.values())

    def record(self, url):
        return self.records.setdefault(url, Record())


class Worker:
    """One crawl; one thing at a time, many updates under way in a stream."""

    def __init__(self, number, client, rng):
        self.crawl = f"crawl_{number}"
        self.rng, self.c = rng, client
        self.queues = {f"key{i}.org": Queue() for i in range(KEYS)}
        self.seen = set()        # keys that are queues
        self.versions = 0
        self.deleting = None     # keys that may be gone
        self.cut_lease = 0       # of a call that is under way, or was cut
        self.unsure_until = 0    # leases of a call whose answer was cut

    # -- doing

    def work(self):
        """Until the server is gone."""
        verbs = ((30, self.put), (12, self.put_batches), (30, self.get),
                 (10, self.control), (1.5, self.delete_queue),
                 (0.3, self.delete_crawl))
        weights = [w for w, _ in verbs]
        try:
            while True:
                self.rng.choices([f for _, f in verbs], weights)[0]()
        except grpc.RpcError as e:
            if e.code().name not in ("UNAVAILABLE", "CANCELLED") and \
                    e.details() != "Stream removed":
                fault(f"{self.crawl}: {e.code().name} {e.details()}")
        except Exception:
            fault(f"{self.crawl}: {traceback.format_exc()[-400:]}")

    def url(self):
        key = self.rng.choice(list(self.queues))
        return key, f"http://{key}/{self.rng.randrange(URLS)}"

    def put(self):
        """A stream of updates, some of the same URL."""
        sent, gate, opened = [], threading.Lock(), [True]

        def items():
            for _ in range(self.rng.choice((1, 20, 300))):
                key, url = self.url()
                self.versions += 1
                version = str(self.versions)
                if self.rng.random() < 0.45:
                    kind, date, make = "D", 0, D
                else:
                    kind, make = "K", K
                    date = self.rng.choice((0, 1, 5, now() - 3, now() + 1,
                                            now() + LATER))
                record = self.queues[key].record(url)
                with gate:
                    if not opened:
                        return
                    record.pending.append((kind, date, version, time.time()))
                    sent.append((key, url, record))
                more = {"date": date} if make is K else {}
                yield make(url, key, self.crawl, ID=version, v=version,
                           **more)

        at = 0
        try:
            for ack in self.c.PutURLs(items(), timeout=60):
                key, url, record = sent[at]
                at += 1
                if record.pending[0][2] != ack.ID:
                    fault(f"{self.crawl}: ack {ack.ID} for "
                          f"{record.pending[0]}")
                self.acked(key, url, record, ack.status)
        finally:
            # gRPC's thread may still ask for items when the call is over.
            with gate:
                opened.clear()
        if at != len(sent):
            fault(f"{self.crawl}: {len(sent)} items, {at} acks")

    def put_batches(self):
        batches, sent = [], []
        for i in range(self.rng.choice((1, 5))):
            items, keys = [], []
            for _ in range(self.rng.choice((1, 30))):
                key, url = self.url()
                self.versions += 1
                record = self.queues[key].record(url)
                record.pending.append(("D", 0, str(self.versions),
                                       time.time()))
                items.append(info(url, key, self.crawl,
                                  v=str(self.versions)))
                keys.append((key, url, record))
            batches.append(M.DiscoveredBatch(ID=str(i), items=items))
            sent.append(keys)
        for ack in self.c.PutDiscovered(iter(batches), timeout=60):
            keys = sent[int(ack.ID)]
            if len(ack.statuses) != len(keys):
                fault(f"{self.crawl}: {len(ack.statuses)} statuses")
            for (key, url, record), status in zip(keys, ack.statuses):
                self.acked(key, url, record, status)

    def acked(self, key, url, record, status):
        count("acks")
        update = record.pending.pop(0)
        known = record.state is not None
        want = "SKIPPED" if update[0] == "D" and known else "OK"
        if STATUS[status] != want:
            fault(f"{self.crawl}: {STATUS[status]} for {update} of {url}, "
                  f"which is {record.state}")
        if STATUS[status] != "FAIL":
            record.state = after(record.state, update, time.time())
            self.seen.add(key)
            if update[0] == "K":
                record.lease = record.lease_max = 0

    def get(self):
        key = self.rng.choice([""] + list(self.queues))
        n, lease = self.rng.choice((1, 5, 0)), self.rng.choice((1, 2, 60))
        began, last = time.monotonic(), None
        self.cut_lease = lease
        for i in self.c.getting(n, self.rng.choice((1, 3, 0)), lease, key,
                                self.crawl):
            came = time.monotonic()
            queue = self.queues[i.key]
            if i.key != last:
                self.may_serve(i.key, queue, n, came)
                queue.served, last = began, i.key
            record = queue.record(i.url)
            count("served")
            if not record.may_be_due():
                fault(f"{self.crawl}: {i.url} served, is {record.state}")
            elif metadata_of(i)["v"] != [record.state[2]]:
                fault(f"{self.crawl}: {i.url} with {metadata_of(i)}, not "
                      f"{record.state}")
            if came < record.lease - SLACK_S:
                fault(f"{self.crawl}: {i.url} served {record.lease - came} s "
                      "before its lease ends")
            record.lease, record.lease_max = began + lease, came + lease
        self.cut_lease = 0

    def may_serve(self, key, queue, n, came):
        """What the queue forbids, as far as it is certain."""
        where = f"{self.crawl} {key}"
        delay = min(1 if d is None else d for d in queue.delay)
        if queue.served is not None and \
                came < queue.served + delay - SLACK_S:
            fault(f"{where}: served {came - queue.served} s after the last "
                  f"time, its delay is {queue.delay}")
        if time.time() < min(queue.block) + 1 - SLACK_S:
            fault(f"{where}: served, blocked until {queue.block}")
        done = sum(r.completed() for r in queue.records.values())
        if 0 not in queue.limit and done >= max(queue.limit):
            fault(f"{where}: served, {done} completed of {queue.limit}")
        leased = sum(r.lease > came for r in queue.records.values())
        if n and leased >= n:
            fault(f"{where}: served {n} with {leased} leased")

    def control(self):
        key = self.rng.choice(list(self.queues))
        queue = self.queues[key]
        what = self.rng.randrange(3)
        count("controls")
        if what == 0:
            value = self.rng.choice((0, 1, 2, 100000))
            queue.delay = queue.delay | {value}
            self.c.delay(key, value, self.crawl)
            queue.delay = {value}
        elif what == 1:
            value = self.rng.choice((0, 0, now() + 1, now() + LATER))
            queue.block = queue.block | {value}
            self.c.block(key, value, self.crawl)
            queue.block = {value}
        else:
            value = self.rng.choice((0, 0, 1, 50, 100))
            before = queue.limit
            queue.limit = before | {value}
            try:
                self.c.limit(key, value, self.crawl)
                queue.limit = {value}
                if key not in self.seen:
                    fault(f"{self.crawl} {key}: a limit, and no such queue")
            except grpc.RpcError as e:
                if e.code().name != "UNKNOWN":
                    raise
                queue.limit = before
                if key in self.seen:
                    fault(f"{self.crawl} {key}: no limit for a queue")

    def delete_queue(self):
        key = self.rng.choice(list(self.queues))
        self.deleting = {key}
        self.deleted(self.c.delete(key, self.crawl))

    def delete_crawl(self):
        self.deleting = set(self.queues)
        self.deleted(self.c.delete_crawl(self.crawl))

    def deleted(self, n):
        count("deletes")
        there = sum(r.state is not None for key in self.deleting
                    for r in self.queues[key].records.values())
        if n != there:
            fault(f"{self.crawl}: {n} deleted of {there}")
        self.forget(self.deleting)
        self.deleting = None

    def forget(self, keys):
        for key in keys:
            self.queues[key] = Queue()
            self.seen.discard(key)

    # -- checking, after a start

    def verify(self):
        """The server's lists against the ledger, which is certain then."""
        wait_until(lambda: self.c.healthy() == 1)
        if self.cut_lease:
            self.unsure_until = max(self.unsure_until, time.monotonic() +
                                    self.cut_lease + 2)
            self.cut_lease = 0
        listed = {}
        for i in self.c.items(self.crawl):
            url = i.known.info.url
            if url in listed:
                fault(f"{self.crawl}: {url} is listed twice")
            listed[url] = (i.known.info.key, i.known.refetchable_from_date,
                           metadata_of(i.known.info).get("v", [""])[0],
                           i.creation_date)
        names = set(self.c.queues(self.crawl, inactive=True))
        self.settle_deletion(names)
        for key, queue in self.queues.items():
            for url, record in queue.records.items():
                self.settle(url, record, listed.pop(url, None))
            if queue.there():
                self.seen.add(key)
        for url in listed:
            fault(f"{self.crawl}: {url} was never put")
        if names != self.seen:
            fault(f"{self.crawl}: queues {sorted(names)}, not "
                  f"{sorted(self.seen)}")
        self.counts()
        if time.monotonic() > self.unsure_until:
            self.serves()

    def settle_deletion(self, names):
        """Cut deletions: a queue is gone with all, or is there with all."""
        if self.deleting is None:
            return
        was = {k for k in self.deleting if self.queues[k].there()}
        gone = {k for k in was if k not in names}
        if gone and gone != was:
            fault(f"{self.crawl}: of a crawl {sorted(gone)} is deleted, "
                  f"not {sorted(was - gone)}")
        if gone:
            self.forget(self.deleting)
        elif not was:
            # Nothing tells whether what was set is forgotten.
            for key in self.deleting:
                queue = self.queues[key]
                queue.delay |= {None}
                queue.block |= {0}
                queue.limit |= {0}
        self.deleting = None

    def settle(self, url, record, told):
        """What is listed must be one of what is possible."""
        count("checked")
        count("unknown", len(record.pending))
        possible = [record.state]
        for update in record.pending:
            possible.append(after(possible[-1], update, time.time()))
        fits = [s for s in possible if self.fits(s, told)]
        if not fits:
            fault(f"{self.crawl}: {url} is {told}, should be one of "
                  f"{possible}")
        changed = record.pending and fits and fits[0] != record.state
        if changed or (record.pending and len(fits) > 1):
            record.lease = 0     # an update may have ended it
        record.pending = []
        record.state = told and (told[1], told[1], told[2], told[3], told[3])

    @staticmethod
    def fits(state, told):
        if state is None or told is None:
            return state is told
        _, date, version, made = told
        return state[0] <= date <= state[1] and version == state[2] and \
            state[3] <= made <= state[4]

    def counts(self):
        """GetStats of the crawl and of each queue."""
        for key in [""] + sorted(self.seen):
            queues = [self.queues[key]] if key else [
                self.queues[k] for k in self.seen]
            records = [r for q in queues for r in q.records.values()]
            before = time.monotonic()
            s = self.c.stats(key, self.crawl)
            later = time.monotonic()
            want = (sum(r.active() for r in records),
                    sum(r.completed() for r in records),
                    sum(any(r.active() for r in q.records.values())
                        for q in queues), len(queues))
            got = (s["size"], s["completed"], s["active"], s["queues"])
            if got != want:
                fault(f"{self.crawl} {key}: counts {got}, not {want}")
            least = sum(r.lease > later for r in records)
            most = sum(r.lease_max > before - 1.5 for r in records)
            if s["leased"] < least or (s["leased"] > most and
                                       before > self.unsure_until):
                fault(f"{self.crawl} {key}: {s['leased']} leased, not "
                      f"{least} to {most}")

    def serves(self):
        """A queue of which all is known and that nothing holds back."""
        for key in sorted(self.seen):
            queue = self.queues[key]
            ready = [u for u, r in queue.records.items() if r.due() and
                     r.lease_max < time.monotonic() - 1.5]
            if ready and queue.delay == {0} and queue.block == {0} and \
                    queue.limit == {0}:
                began = time.monotonic()
                got = self.c.got(0, 1, 1, key, self.crawl)
                came = time.monotonic()
                count("ready", len(ready))
                missing = set(ready) - set(got)
                if missing:
                    fault(f"{self.crawl} {key}: {len(missing)} of "
                          f"{len(ready)} due URLs are not served")
                for u in got:
                    record = queue.record(u)
                    if not record.may_be_due() or \
                            record.lease > came + SLACK_S:
                        fault(f"{self.crawl}: {u} is served too early")
                    record.lease, record.lease_max = began + 1, came + 1
                if got:
                    queue.served = began


# ---- All workers ----------------------------------------------------------------

def hire(server, rng):
    return [Worker(i, Client(server.port), random.Random(
        rng.randrange(1 << 30))) for i in range(WORKERS)]


def verify(workers):
    def one(i):
        try:
            workers[i].verify()
        except Exception:
            fault(f"{workers[i].crawl}: {traceback.format_exc()[-400:]}")

    at_once(WORKERS, one)


def killed_at_work(server, workers, seconds):
    threads = [threading.Thread(target=w.work) for w in workers]
    for t in threads:
        t.start()
    time.sleep(seconds)
    server.kill()
    for t in threads:
        t.join()
    count("cut", sum(w.cut_lease > 0 for w in workers))
