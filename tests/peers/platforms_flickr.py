"""flickrapi, as it is, lists the simulated Flickr and finds the same photos."""
import re

from peer import check, done, same
from simulated import Platforms, check_known, lead, raised, run_with

run_with(__file__, "flickrapi==2.4.0")

import flickrapi

HOST = "api.flickr.com"
sim = Platforms("--items", "1200")
lead(sim, HOST)
world = sim.world(HOST)


def client(key=world["key"], secret=world["secret"]):
    return flickrapi.FlickrAPI(key, secret, format="parsed-json",
                               store_token=False, cache=False)


api = client()


def failed(call, **query):
    """The code of a failure, or the status where there is no answer."""
    e = raised(flickrapi.exceptions.FlickrError, call, **query)
    status = re.search("Status code ([0-9]+)", str(e))
    return int(status[1]) if status else e and e.code


def pages(user, per_page=500):
    """All pages of a list."""
    found, page = [], 1
    while True:
        photos = api.people.getPublicPhotos(
            user_id=user, page=page, per_page=per_page)["photos"]
        found.append(photos)
        if page >= photos["pages"]:
            return found
        page += 1


def listed(user, per_page=500):
    return [x["id"] for p in pages(user, per_page) for x in p["photo"]]


# ---- People ------------------------------------------------------------------------

for told in world["people"]:
    name = told["name"]
    if told["gone"]:
        same(f"{name} is gone", (
            failed(api.people.findByUsername, username=name),
            failed(api.people.getInfo, user_id=told["id"]),
            failed(api.people.getPublicPhotos, user_id=told["id"])),
            (1, 1, 1))
        continue
    same(f"{name}: the id", api.people.findByUsername(
        username=name)["user"]["nsid"], told["id"])
    same(f"{name}: the name", api.people.getInfo(
        user_id=told["id"])["person"]["username"]["_content"], name)
    found = listed(told["id"])
    same(f"{name}: all photos", sorted(found),
         sorted(told["photos"] + told["closed"]))
    same(f"{name}: the newest first", found,
         sorted(found, key=int, reverse=True))
    same(f"{name}: the same by small pages", listed(told["id"], 100), found)
    same(f"{name}: how many, as a text", {
        x["total"] for x in pages(told["id"])}, {str(len(found))})

ada = world["people"][0]
first = pages(ada["id"])
same("a page has 500 at most", [len(p["photo"]) for p in first[:2]],
     [500, 500])
same("the last page comes again behind itself", api.people.getPublicPhotos(
    user_id=ada["id"], page=99, per_page=500)["photos"], first[-1])
check("some photos are closed", ada["closed"])

# ---- Photos --------------------------------------------------------------------------

for entry in first[0]["photo"][:40]:
    if entry["id"] in ada["closed"]:
        continue
    photo = api.photos.getInfo(photo_id=entry["id"],
                               secret=entry["secret"])["photo"]
    check(f"photo {entry['id']}", (photo["id"], photo["owner"]["nsid"]) ==
          (entry["id"], ada["id"]) and photo["title"]["_content"] ==
          entry["title"] and int(photo["dates"]["posted"]))
sizes = api.photos.getSizes(photo_id=ada["photos"][0])["sizes"]["size"]
check("its sizes", {"Thumbnail", "Large"} < {x["label"] for x in sizes} and
      all(ada["photos"][0] in x["source"] for x in sizes))
same("a closed photo", (failed(api.photos.getInfo, photo_id=ada["closed"][0]),
                        failed(api.photos.getSizes,
                               photo_id=ada["closed"][0])), (1, 1))
same("a photo that is not there", failed(api.photos.getInfo, photo_id="1"), 1)

# ---- Changes ---------------------------------------------------------------------------

before = listed(ada["id"])
sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 2}})
now = listed(ada["id"])
check("photos are added", now[2:] == before and len(now) == len(before) + 2)
sim.own("change", {"host": HOST, "delete": now[0]})
same("and deleted", listed(ada["id"]), now[1:])
same("... altogether", failed(api.photos.getInfo, photo_id=now[0]), 1)
sim.own("change", {"host": HOST, "rename": {"account": "ada", "to": "adele"}})
same("a name changes", (failed(api.people.findByUsername, username="ada"),
                        api.people.findByUsername(username="adele")["user"]
                        ["nsid"]), (1, ada["id"]))
sim.own("change", {"host": HOST, "suspend": "eve"})
same("a person goes", failed(api.people.findByUsername, username="eve"), 1)

# ---- Pages that are not as they should be -------------------------------------------


def page(n):
    return [x["id"] for x in api.people.getPublicPhotos(
        user_id=ada["id"], page=n, per_page=100)["photos"]["photo"]]


def spoilt(what):
    sim.faults({"match": {}, "fault": {"page": what}})
    found = page(2)
    sim.faults()
    return found


same("a page twice", spoilt("duplicate"), page(1))
same("pages that overlap", spoilt("overlap"), page(1)[-3:] + page(2)[:97])
same("a page in another order", spoilt("reordered"), page(2)[::-1])
same("an empty page", spoilt("empty"), [])

# ---- The credential and its budget -------------------------------------------------------

same("a secret that is wrong", failed(
    client(secret="0" * 16).people.findByUsername, username="adele"), 401)
same("a key that is wrong", failed(
    client(key="0" * 32).people.findByUsername, username="adele"), 401)
sim.own("budget", {"limit": 1})
api.people.findByUsername(username="adele")
same("a budget that is used up", failed(
    api.people.findByUsername, username="adele"), 429)
sim.own("clock", {"advance": 3600})
check("... is full an hour later", api.people.findByUsername(
    username="adele"))
sim.own("budget", {"limit": 0})
sim.faults({"match": {}, "fault": {"status": 503}})
same("a status by the plan", failed(api.people.findByUsername,
                                    username="adele"), 503)
sim.faults({"match": {}, "fault": {"credential": "expires"}})
same("a credential that expires", failed(api.people.findByUsername,
                                         username="adele"), 401)
check_known(sim, same)
done()
