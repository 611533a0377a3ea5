"""Built-in connectors of the external door that are types of harvests: against
the simulated platforms each gives every item once as a document, the crawler's
next task gives what is new, and a kill -9 in the middle loses none.
"""
from external_door_peer import *
from simulated import Platforms

FEEDS, MASTODON, BLUESKY = ("feeds.example", "mastodon.example",
                            "public.api.bsky.app")
YOUTUBE, TUMBLR, FLICKR = ("www.googleapis.com", "api.tumblr.com",
                           "api.flickr.com")
HOSTS = (FEEDS, MASTODON, BLUESKY, YOUTUBE, TUMBLR, FLICKR)

sim = Platforms("--items", "60")
b = Back()
s = External("platforms", connectors("platforms-connectors"),
             "fetch.ca_file=" + sim.ca,
             "fetch.resolve=" + ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                                         for h in HOSTS))


def add(host, to, n):
    sim.own("change", {"host": host, "add": {"account": to, "n": n}})


def of_account(host, kind, name, name_key, items):
    return lambda: next(a for a in sim.world(host)[kind]
                        if a[name_key] == name)[items]


def wrong(connector, params, credential):
    """What the check says; and none of it is a secret."""
    code, said = s.ask("POST", f"/external/{connector}/check", {
        "params": params, "credential": credential})
    return code, said["payload"]["ok"], json.dumps(said)


key = sim.world(YOUTUBE)["key"]
flickr = sim.world(FLICKR)
channel = sim.world(YOUTUBE)["channels"][0]
cases = (
    # connector, parameters, credential, ids now, what adds more
    ("feed_entries", {"feeds": [f"https://{FEEDS}/rss.xml",
                                f"https://{FEEDS}/atom.xml"]}, None,
     lambda: [f"https://{FEEDS}{f} {i}" for f in ("/rss.xml", "/atom.xml")
              for i in sim.world(FEEDS)[f]],
     lambda: add(FEEDS, "/rss.xml", 7)),
    ("bluesky_author_feed", {"accounts": ["ada.example"]}, None,
     of_account(BLUESKY, "accounts", "ada.example", "handle", "feed"),
     lambda: add(BLUESKY, "ada.example", 7)),
    ("mastodon_account", {"instance": "https://" + MASTODON,
                          "accounts": ["ada"]}, None,
     of_account(MASTODON, "accounts", "ada", "name", "posts"),
     lambda: add(MASTODON, "ada", 7)),
    ("mastodon_hashtag", {"instance": "https://" + MASTODON,
                          "hashtags": ["cats"]}, None,
     lambda: sim.world(MASTODON)["tags"]["cats"], None),
    ("youtube_channel", {"channels": ["@" + channel["handle"]]},
     {"user": "", "password": key},
     of_account(YOUTUBE, "channels", channel["handle"], "handle", "videos"),
     lambda: add(YOUTUBE, channel["handle"], 7)),
    ("youtube_comments", {"videos": [v for v, c in sim.world(YOUTUBE)[
        "comments"].items() if c][:3]}, {"user": "", "password": key},
     lambda: [c for v in [v for v, c in sim.world(YOUTUBE)[
         "comments"].items() if c][:3]
         for c in sim.world(YOUTUBE)["comments"][v]], None),
    ("tumblr_blog_posts", {"blogs": ["ada"]},
     {"user": "", "password": sim.world(TUMBLR)["key"]},
     of_account(TUMBLR, "blogs", "ada", "name", "posts"),
     lambda: add(TUMBLR, "ada", 7)),
    ("flickr_user", {"users": ["ada"]},
     {"user": flickr["key"], "password": flickr["secret"]},
     of_account(FLICKR, "people", "ada", "name", "photos"),
     lambda: add(FLICKR, "ada", 7)),
)


def ids(fid):
    return sorted(str(i) for i in b.ids(fid))


for n, (name, params, credential, wanted, more) in enumerate(cases):
    code, said = s.ask("GET", f"/external/{name}/form")
    check(f"{name}: its form has all parameters", code == 200 and set(
        params) <= set(said["payload"]["parameters"]["properties"]), said)
    rest = {"crawler": f"c{n}"}
    if credential:
        rest["credential"] = credential
    s.task(f"a{n}", b.endpoint(f"a{n}"), params, name, **rest)
    same(f"{name}: done", s.ends(f"a{n}", 60, connector=name), "done")
    before = {str(i) for i in wanted()}
    same(f"{name}: every item", ids(f"a{n}"), sorted(before))
    if more is None:
        continue
    more()
    s.task(f"b{n}", b.endpoint(f"b{n}"), params, name, **rest)
    same(f"{name}: the next task: done", s.ends(f"b{n}", 60, connector=name),
         "done")
    # A page that has new items may have known ones, too, under their ids.
    new, came = {str(i) for i in wanted()} - before, set(ids(f"b{n}"))
    check(f"{name}: ... what is new", new and new <= came <= new | before,
          (new, came))

# Without a back end, by name.
settings = [w for x in ("fetch.ca_file=" + sim.ca, "fetch.resolve=" + ",".join(
    f"{h}:443:127.0.0.1:{sim.port}" for h in HOSTS)) for w in ("--set", x)]
for name, params, credential, wanted, _ in cases[1:3]:
    code, out, err = ours("external", "check", name, "--params", put(
        name + "-params.json", params), "--max", "1000", *settings)
    same(f"external check {name}", (code, sorted(json.loads(x)["id"]
                                                 for x in out.split("\n") if x)),
         (0, sorted(wanted())))
    code, out, err = ours("external", "tap", name, "--config", put(
        name + "-config.json", params), *settings)
    said = [json.loads(x) for x in out.split("\n") if x]
    same(f"external tap {name}", (code, sorted(
        m["record"]["id"] for m in said if m["type"] == "RECORD")),
         (0, sorted(wanted())))
code, out, err = ours("external", "check", "web_crawl", "--params", put(
    "web-params.json", {"seeds": ["http://127.0.0.1/"]}))
check("external check web_crawl says why not", code != 0 and "crawl" in err,
      err)
code, ok, text = wrong("youtube_channel", {"channels": ["@ada"]},
                       {"user": "", "password": "wrongkey-1234"})
check("a key that is refused", code == 200 and not ok and
      "wrongkey-1234" not in text, text)
code, ok, text = wrong("youtube_channel", {"channels": ["@ada"]}, {})
check("a credential that is missing", not ok and "credential" in text, text)
code, said = s.ask("POST", "/external/mastodon_account/task", {
    "fid": "x", "endpoint": b.endpoint("x"), "params": {
        "instance": "https://127.0.0.1", "accounts": ["ada"]}})
if code == 200:
    s.ends("x", 30, connector="mastodon_account")
    same("an instance that is not public is asked for nothing",
         (b.codes("x")[-1], b.ids("x")), (500, []))
else:
    same("an instance that is not public is refused", code, 400)

# Slow enough to be killed in the middle.
sim.faults({"match": {"host": MASTODON, "path": "/api/v1/accounts/*"},
            "fault": {"stall": 700, "at": 0}})
name, params, _, wanted, _ = cases[2]
s.task("k", b.endpoint("k"), params, name)
wait_until(lambda: len(ids("k")) > 0, 60)
s.restart(kill=True)
same("killed: done", s.ends("k", 60, connector=name), "done")
same("killed: every item", ids("k"), sorted(wanted()))
same("it ends", s.stop(), 0)
done()
