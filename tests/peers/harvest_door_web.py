"""Scenes of harvest_door.py: harvests whose URLs become web harvests, as the
specification of SFM's messages tells it, and web harvests that others order.
The web is a server of this script's, over TLS and without.
"""
import glob
import http.server
import json
import os
import ssl
import subprocess
import threading
import uuid

from peer import PLACE, check, program, same, wait_until

FLICKR, TWITTER = "api.flickr.com", "api.twitter.com"
NAMES = "live.staticflickr.com", "pbs.twimg.example", "news.example"
STATUS = "harvest.status.web"
# As in the specification.
OWNERS = {"collection_set": {"id": "3989a5f99e41487aaef698680537c3f5"},
          "collection": {"id": "6980fac666c54322a2ebdbcb2a9510f5"}}


class Site:
    """Each path is a page of its own."""

    def __init__(self):
        self.asked = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path != "/robots.txt":
                    site.asked.append((self.headers["Host"], self.path))
                body = f"{self.headers['Host']} {self.path}".encode()
                self.send_response(404 if self.path == "/robots.txt" else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:      # the asker was killed
                    pass

            def log_message(self, *_):
                pass

        self.plain, self.secure = (
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            for _ in range(2))
        key, self.ca = PLACE + "/site.key", PLACE + "/site.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=site", "-keyout", key, "-out", self.ca, "-addext",
             "subjectAltName=" + ",".join("DNS:" + n for n in NAMES)],
            check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.ca, key)
        self.secure.socket = tls.wrap_socket(self.secure.socket,
                                             server_side=True)
        for server in self.plain, self.secure:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def resolve(self):
        return ",".join(
            f"{name}:{port}:127.0.0.1:{server.server_port}" for name in NAMES
            for port, server in ((80, self.plain), (443, self.secure)))


def sum_of(status):
    return sum(n for day in status["stats"].values() for n in day.values())


class Web:
    def __init__(self, make_door, sfm, sim, root):
        self.sfm, self.sim, self.root = sfm, sim, root
        self.site = Site()
        data, ca = PLACE + "/webdoor", PLACE + "/both.pem"
        with open(ca, "w") as out:
            for path in sim.ca, self.site.ca:
                out.write(open(path).read())
        # Without it a host is asked once in five seconds; without any delay
        # a stop would find all pages begun.
        subprocess.run([program(), "policy", "put", "default", "-", "-d", data],
                       input=b'{"rate_limit":0.05}', check=True)
        self.door = make_door("webdoor", data=data, more=[
            "harvest.web_messages=on", "fetch.address_delay_ms=0",
            f"fetch.ca_file={ca}", "fetch.resolve=" + ",".join([self.site.resolve()] + [
                f"{h}:443:127.0.0.1:{sim.port}" for h in (FLICKR, TWITTER)])])

    def order(self, type, seeds, **more):
        harvest = uuid.uuid4().hex
        return {"id": harvest, "type": type, "seeds": seeds, "options": {},
                "path": f"/sfm-data/collections/{OWNERS['collection']['id']}",
                **OWNERS, **more}

    def files(self, harvest):
        return [self.root + w["warc"]["path"].removeprefix("/sfm-data")
                for w in self.sfm.of(harvest, "warc_created")]

    def flow(self, name, key, o):
        """REST harvest: web harvest message, warc_created, final status; then
        what becomes of the former.  Returns the latter's start message."""
        self.sfm.publish(key, o)
        status = key.replace(".start.", ".status.", 1)
        final = self.sfm.final(o["id"], key=status)
        if not check(f"{name}: it ends", final is not None, self.door.said()):
            return None
        same(f"{name}: success, without a word", (
            final["status"], final["warnings"], final["errors"]),
            ("completed success", [], []))
        words = []
        for k, b, *_ in self.sfm.got:
            if k == "harvest.start.web" and b["parent_id"] == o["id"]:
                words.append(k)
            elif b in self.sfm.of(o["id"]):
                words.append(b.get("status", k))
        same(f"{name}: the messages in their order",
             [w for i, w in enumerate(words) if i == 0 or w != "running"],
             ["running", "harvest.start.web", "warc_created",
              "completed success"])
        (w,) = [b for k, b, *_ in self.sfm.got if k == "harvest.start.web" and
                b["parent_id"] == o["id"]]
        same(f"{name}: the web harvest is of the same collection",
             {k: w[k] for k in ("type", "path", *OWNERS)},
             {"type": "web", "path": o["path"], **OWNERS})
        ids = [s["id"] for s in w["seeds"]] + [w["id"]]
        check(f"{name}: ids are 32 hex", all(
            len(i) == 32 and int(i, 16) for i in ids))
        same(f"{name}: each URL once", len({s["token"] for s in w["seeds"]}),
             len(w["seeds"]))
        return w

    def harvested(self, name, w, revisits=0):
        """Our own web harvester has taken it."""
        final = self.sfm.final(w["id"], 60, STATUS)
        if not check(f"{name}: the web harvest ends", final is not None,
                     self.door.said()):
            return None
        same(f"{name}: as a success that counts its pages",
             (final["status"], final["warnings"], sum_of(final)),
             ("completed success", [], len(w["seeds"]) - revisits))
        same(f"{name}: revisits are told", [
            i["message"].split()[0] for i in final["infos"]
            if i["code"] == "web_revisits"],
            [str(revisits)] if revisits else [])
        same(f"{name}: by", final["service"], "Argiope Web Harvester")
        same(f"{name}: statuses", set(self.sfm.statuses(w["id"], STATUS)),
             {"running", "completed success"})
        made = self.sfm.of(w["id"], "warc_created")
        same(f"{name}: its files are announced", [m["harvest"] for m in made],
             [{"id": w["id"], "type": "web"}] * final["warcs"]["count"])
        check(f"{name}: and lie below the collection's path", made and all(
            m["warc"]["path"].startswith(w["path"] + "/20") and
            {k: m[k] for k in OWNERS} == OWNERS for m in made) and
            all(map(os.path.exists, self.files(w["id"]))), made)
        return final

    def flickr(self):
        """The specification's flickr_photo, by two photos."""
        world = self.sim.world(FLICKR)
        ids = world["people"][0]["photos"][:2]
        o = self.order("flickr_photo", [
            {"id": uuid.uuid4().hex, "uid": i} for i in ids],
            options={"sizes": ["Thumbnail", "Large", "Original"]},
            credentials={k: world[k] for k in ("key", "secret")})
        key = "harvest.start.flickr.flickr_photo"
        w = self.flow("flickr", key, o)
        if w is None:
            return
        tokens = {s["token"] for s in w["seeds"]}
        check("flickr: URLs of both photos", len(tokens) >= 4 and all(
            any(f"/65535/{i}_" in t for t in tokens) for i in ids), tokens)
        self.harvested("flickr", w)
        same("flickr: each was asked once", sorted(
            "https://" + h + p for h, p in self.site.asked), sorted(tokens))
        w = self.flow("flickr again", key, dict(o, id=uuid.uuid4().hex))
        if w is not None:
            self.harvested("flickr again", w, revisits=len(tokens))

    def twitter(self):
        """The specification's twitter_search, with two seeds."""
        world = self.sim.world(TWITTER)
        credentials = {k: world["credentials"][k] for k in (
            "consumer_key", "consumer_secret", "access_token",
            "access_token_secret")}
        # The specification's "gwu" and "gelman" are not in this world.
        seeds = [{"id": "32786222ef374eb38f1c5d56321c99e8", "token": "cats"},
                 {"id": "0e789cddd0fb41b5950f569676702182", "token": "dogs"}]
        o = self.order("twitter_search", seeds, id="test:1", options={
            "web_resources": True, "media": True, "limit": 60},
            credentials=credentials)
        w = self.flow("twitter", "harvest.start.twitter.twitter_search", o)
        if w is None:
            return
        tokens = {s["token"] for s in w["seeds"]}
        check("twitter: links and media", {t.split("/")[2] for t in tokens} ==
              {"news.example", "pbs.twimg.example"}, tokens)
        self.harvested("twitter", w)

    def orders(self):
        """Of others: seeds without ids as sfm-ui 1.11 has them, seeds that are
        no URLs or lead into this machine."""
        bad = f"http://127.0.0.1:{self.site.plain.server_port}/private"
        o = self.order("web", [{"token": t} for t in (
            "https://news.example/plain", "no URL", "ftp://news.example/",
            bad, "http://[::1]/")], parent_id="sfmui:46")
        self.sfm.publish("harvest.start.web", o)
        final = self.sfm.final(o["id"], key=STATUS)
        if not check("orders: it ends", final is not None, self.door.said()):
            return
        same("orders: success", (final["status"], sum_of(final)),
             ("completed success", 1))
        same("orders: by cause", sorted((x["code"], x["message"].split()[0])
             for x in final["warnings"]), [("web_failures", "2")] * 2)
        check("orders: of no seed", not any(
            "seed_id" in x for x in final["warnings"]), final["warnings"])
        check("orders: with URLs", bad in json.dumps(final["warnings"]) and
              "ftp://news.example/" in json.dumps(final["warnings"]),
              final["warnings"])
        check("orders: nothing private was asked",
              not any(p == "/private" for _, p in self.site.asked))
        o = self.order("web", [])
        self.sfm.publish("harvest.start.web", o)
        final = self.sfm.final(o["id"], key=STATUS)
        same("orders: without seeds it is refused", final and (
            final["status"], [e["code"] for e in final["errors"]]),
            ("completed failure", ["bad_request"]))

    def many(self, n=40):
        return self.order("web", [
            {"token": f"http://news.example/many/{uuid.uuid4().hex}"}
            for _ in range(n)])

    def stopped(self):
        o = self.many()
        self.sfm.publish("harvest.start.web", o)
        wait_until(lambda: any(p.startswith("/many")
                               for _, p in self.site.asked), 20)
        self.sfm.publish("harvest.stop.web", {"id": o["id"]})
        final = self.sfm.final(o["id"], 40, STATUS)
        if not check("stop: it ends", final is not None, self.door.said()):
            return
        same("stop: as a success that says so", (
            final["status"], [i["code"] for i in final["infos"]]),
            ("completed success", ["harvest_stopped"]))
        check("stop: it says stopping",
              "stopping" in self.sfm.statuses(o["id"], STATUS))

    def killed(self):
        """SIGKILL in the middle, and SIGTERM: each page is there once."""
        for end in self.door.kill, lambda: self.door.stop(40):
            o = self.many()
            before = len(self.site.asked)
            self.sfm.publish("harvest.start.web", o)
            wait_until(lambda: len(self.site.asked) > before + 15, 20)
            end()
            self.door.start()
            final = self.sfm.final(o["id"], 60, STATUS)
            if not check("killed: it is taken up", final is not None,
                         self.door.said()):
                continue
            same("killed: all are counted, once",
                 (final["status"], sum_of(final)), ("completed success", 40))
            # In order, it may have come to its end.
            check("killed: it says so", [
                x["code"] for x in final["warnings"]] in (
                [["harvest_resumed"]] if end == self.door.kill else
                [["harvest_resumed"], []]), final["warnings"])
            listed = subprocess.run(
                [program(), "archive", "ls", *self.files(o["id"])],
                capture_output=True, text=True).stdout
            same("killed: each is archived once",
                 [listed.count(s["token"]) for s in o["seeds"]], [1] * 40)
            there = set(glob.glob(f"{self.root}{o['path'][9:]}/20*/*/*/*/"
                                  f"{o['id']}-*.warc.gz"))
            same("killed: each file is announced", set(self.files(o["id"])),
                 there)

    def rebuilt(self):
        """A data directory that is made of the files knows the collection."""
        data, into = PLACE + "/rebuilt", PLACE + "/rebuilt-into"
        o = self.order("web", [{"token": "http://news.example/many/once"}])
        self.sfm.publish("harvest.start.web", o)
        final = self.sfm.final(o["id"], key=STATUS)
        same("rebuilt: it was new", final and sum_of(final), 1)
        subprocess.run([program(), "archive", "reindex", "--rebuild", "-d",
                        data, self.root + "/collections"], check=True,
                       capture_output=True)
        told = subprocess.run(
            [program(), "harvest", "run", "--message", "-", "-d", data,
             "--json", "--into", into, "--set", "fetch.resolve=" +
             self.site.resolve()], input=json.dumps(o).encode(),
            capture_output=True).stdout
        same("rebuilt: it is a revisit", [n["message"].split()[0]
             for n in json.loads(told)["notes"]
             if n["code"] == "web_revisits"], ["1"])

    def run(self):
        self.flickr()
        self.twitter()
        self.orders()
        self.stopped()
        self.killed()
        self.rebuilt()
        same("the daemon of web harvests ends in order", self.door.stop(40),
             0)
