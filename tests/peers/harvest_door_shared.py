"""A scene of harvest_door.py: two daemons and one broker share harvests.  One
daemon is killed, stays away while the other one goes on, and comes back on its
data.  Every harvest ends once.
"""
import collections
import glob
import os

from harvest_peer import FINAL, HOST, KEY, posts_of, sha1_of, urls_of
from peer import check, note, same, wait_until

STATUS = KEY.replace("start", "status", 1)
OUTBOX = "argiope_harvest_door_outbox_messages"
ACCOUNT = "bob"
# The one that is killed harvests so many at once, and each asks for one page at a
# time.
SLOTS = 4


class Shared:
    def __init__(self, make_door, one, sfm, sim, root, make_order):
        self.make_door, self.one, self.sfm, self.sim = make_door, one, sfm, sim
        self.root, self.make_order = root, make_order
        account = next(a for a in sim.world(HOST)["accounts"]
                       if a["name"] == ACCOUNT)
        self.posts = collections.Counter(account["posts"])
        self.lists = f"/api/v1/accounts/{account['id']}/statuses"
        self.tally = collections.Counter()

    def place(self, o):
        return self.root + o["path"].removeprefix("/sfm-data")

    def owner(self, o):
        """The daemon that has claimed it, or None."""
        try:
            with open(f"{self.place(o)}/.argiope/{o['id']}.claim") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def messages(self, o):
        """(body, message id) of all that was said about it."""
        return [(body, properties["message_id"])
                for _, body, properties, _ in self.by_harvest[o["id"]]]

    def sort_messages(self):
        self.by_harvest = collections.defaultdict(list)
        for message in self.sfm.got:
            body = message[1]
            harvest = body.get("id", body.get("harvest", {}).get("id"))
            self.by_harvest[harvest].append(message)

    def is_over(self, o):
        return any(m[1].get("status") in FINAL
                   for m in self.by_harvest[o["id"]])

    def all_over(self, orders):
        self.sort_messages()
        return all(map(self.is_over, orders))

    # -- What must hold in the end --

    def ends_once(self, o):
        """One success, under one id, and nothing after it.  A start that the
        broker sends again is answered again."""
        said = [(b["status"], i) for b, i in self.messages(o)
                if "status" in b]
        finals = [x for x in said if x[0] in FINAL]
        again = self.logs.count(f'harvest.known harvest="{o["id"]}"')
        check("shared: one success, under one message id", 1 <= len(set(
            finals)) <= 1 + again and {x[0] for x in finals} == {FINAL[0]},
              finals)
        check("shared: nothing follows it", finals and all(
            x[0] in FINAL for x in said[said.index(finals[0]):]), said)
        self.tally["final statuses that came again"] += len(finals) - 1
        body = next(b for b, _ in self.messages(o)
                    if b.get("status") in FINAL)
        same("shared: counted", sum(n for day in body["stats"].values()
                                    for n in day.values()),
             sum(self.posts.values()))
        self.tally["taken up after the kill"] += any(
            w["code"] == "harvest_resumed" for w in body["warnings"])

    def files_are_whole(self, o):
        """Each was announced under one id; together they have each post and
        each page once."""
        files, ids = {}, collections.defaultdict(set)
        for body, message in self.messages(o):
            if "warc" in body:
                path = self.root + body["warc"]["path"].removeprefix(
                    "/sfm-data")
                files[path] = body["warc"]
                ids[path].add((body["warc"]["id"], message))
        there = sorted(glob.glob(self.place(o) + "/20*/*/*/*/*.warc.gz"))
        check("shared: each file is announced, under one id", there and
              sorted(files) == there and all(len(x) == 1
                                             for x in ids.values()),
              (ids, there))
        check("shared: as it was announced", all(
            sha1_of(p) == w["sha1"] for p, w in files.items()))
        same("shared: each post once", collections.Counter(
            p for f in there for p in posts_of(f)), self.posts)
        urls = collections.Counter(u for f in there for u in urls_of(f))
        check("shared: no page is there twice", set(urls.values()) == {1},
              urls)
        self.tally["files"] += len(there)
        self.tally["posts"] += sum(self.posts.values())
        self.tally["pages in files"] += sum(self.lists in u for u in urls)

    def pages_are_asked_once(self):
        """What was asked for and is in no file was cut by the kill: of each
        harvest a page that was being made durable, and the next one."""
        asked = sum(x["path"] == self.lists for x in self.sim.log())
        cut = asked - self.tally["pages in files"]
        check("shared: no page was asked for again that was durable",
              0 <= cut <= 2 * SLOTS, cut)
        self.tally["pages asked for"] = asked
        self.tally["pages cut by the kill"] = cut

    # -- The story --

    def run(self, n):
        door, sfm = self.one, self.sfm
        two = self.make_door("two", more=(
            f"harvest.concurrency=mastodon_harvester={SLOTS}",))
        channel = sfm.connection.channel()
        wait_until(lambda: channel.queue_declare(
            "mastodon_harvester", passive=True).consumer_count == 2, 30)
        self.sim.own("forget", {})
        orders = [self.make_order(ACCOUNT) for _ in range(n)]
        # So that some are under way when it is killed, on a quick machine too.
        self.sim.faults({"match": {"path": self.lists},
                         "fault": {"stall": 200, "at": 0}})
        for o in orders[:n // 2]:
            sfm.publish(KEY, o)
        check("shared: both work", sfm.wait(lambda: {
            self.owner(o) for o in orders} >= {"one", "two"} and sum(
            bool(sfm.of(o["id"])) for o in orders) >= n // 6, 30 + n))
        two.kill()
        self.sim.faults()
        for o in orders[n // 2:]:
            sfm.publish(KEY, o)

        def goes_on():
            self.sort_messages()
            return [o for o in orders if not self.is_over(o) and
                    self.owner(o) != "two"]
        check("shared: one goes on with all that the other one has not",
              sfm.wait(lambda: not goes_on(), 60 + n), len(goes_on()))
        left = [o for o in orders if not self.is_over(o)]
        note(f"shared: {len(left)} of {n} wait for the one that is away")
        two.start()
        check("shared: each ends", sfm.wait(lambda: self.all_over(orders),
                                            60 + n), two.said())
        for d in door, two:
            check("shared: the outbox is empty", sfm.wait(
                lambda: d.metric(OUTBOX) == 0, 30))
        same("shared: the other one ends in order", two.stop(40), 0)
        sfm.quiet(0.2)
        self.sort_messages()
        owners = collections.Counter(self.owner(o) for o in orders)
        same("shared: both have worked", set(owners), {"one", "two"})
        for name, harvests in owners.items():
            self.tally[f"harvests of {name}"] = harvests
        self.logs = "".join(open(d.log, errors="replace").read()
                            for d in (door, two))
        for o in orders:
            self.ends_once(o)
            self.files_are_whole(o)
        self.pages_are_asked_once()
        check("shared: some were taken up after the kill",
              self.tally["taken up after the kill"] > 0)
        self.tally["starts that the other one had"] = self.logs.count(
            "harvest.claimed")
        for what, number in sorted(self.tally.items()):
            note(f"shared: {what}: {number}")
