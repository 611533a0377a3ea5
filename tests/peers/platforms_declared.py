"""The declared platforms of examples/json_api: dlt's client of paged JSON APIs
goes through the lists that the descriptions name, and finds the same items."""
import json
import os

from peer import SOURCE, check, done, same
from simulated import Platforms, check_known, lead, run_with

run_with(__file__, "dlt==1.31.0")

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
HOSTS = "forum.example", "issues.example", "articles.example"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "300")
lead(sim, *HOSTS)

from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import APIKeyAuth, BearerTokenAuth
from dlt.sources.helpers.rest_client.paginators import (
    HeaderLinkPaginator, JSONLinkPaginator, JSONResponseCursorPaginator,
    OffsetPaginator, PageNumberPaginator)

world = sim.world("forum.example")


def described(name):
    with open(f"{SOURCE}/examples/json_api/{name}.json") as f:
        return json.load(f)


def path_of(place):
    """A JSON Pointer as JSONPath; of the whole document it is $."""
    return place[1:].replace("/", ".") or "$"


def paginator(d):
    n = d["next"]
    if "cursor" in n:
        return JSONResponseCursorPaginator(
            cursor_path=path_of(n["cursor"]), cursor_param=n["parameter"])
    if "link" in n:
        return HeaderLinkPaginator(links_next_key=n["link"])
    if "url" in n:
        return JSONLinkPaginator(next_url_path=path_of(n["url"]))
    if "offset" in n:
        return OffsetPaginator(limit=n["by"], offset=n.get("first", 0),
                               offset_param=n["offset"],
                               limit_param="per_page", total_path="total")
    return PageNumberPaginator(base_page=n.get("first", 1),
                               page_param=n["page"], total_path=None,
                               maximum_page=40)


def auth(d):
    a = d.get("auth", {"kind": "none"})
    return {"none": lambda: None,
            "bearer": lambda: BearerTokenAuth(world["token"]),
            "header": lambda: APIKeyAuth(name=a["name"], location="header",
                                         api_key=world["key"])}[a["kind"]]()


def at(item, place):
    for name in place.split("/")[1:]:
        item = item[int(name)] if isinstance(item, list) else item[name]
    return item


def items(d, seed="", **query):
    """All items of a list, and how many pages had them."""
    base, _, rest = d["url"].partition("://")[2].partition("/")
    path, _, fixed = rest.replace("{seed}", seed).partition("?")
    query.update(x.split("=") for x in fixed.split("&") if x)
    found, pages = [], 0
    for page in RESTClient("https://" + base, auth=auth(d)).paginate(
            path, params=query, paginator=paginator(d),
            data_selector=path_of(d["items"])):
        ids = [str(at(x, d["id"])) for x in page]
        if ids and found[-len(ids):] == ids:
            break                # the last page comes again
        found += ids
        pages += 1
    return found, pages


# ---- The examples --------------------------------------------------------------------

forum, issues, articles = (described(x) for x in ("forum", "issues",
                                                  "articles"))
for d, seed, most in ((forum, "cats", 50), (forum, "owls", 50),
                      (issues, "birds", 50), (articles, "articles", 30)):
    wanted = world["lists"][seed][::-1]
    got, pages = items(d, seed)
    same(f"{d['label']}, {seed}: all of them, the newest first", got, wanted)
    same(f"{d['label']}, {seed}: so many pages", pages,
         -(-len(wanted) // most))

first = sim.ask("articles.example", "/articles").json()["articles"][0]
check("columns are where the description says", all(
    at(first, c["at"]) for c in articles["columns"]))
day = {"since": "2026-11-19T09:00:00Z"}
got, _ = items(forum, "cats", **day)
check("what is new by its date", got == world["lists"]["cats"][::-1][
    :len(got)] and 80 < len(got) < 100, len(got))
got, pages = items(issues, "birds", **day)
check("... through links, too", 80 < len(got) < 100 and pages == 2, pages)

# ---- Other ways from page to page ----------------------------------------------------

wanted = world["lists"]["articles"][::-1]
offsets = dict(articles, url=articles["url"].replace("/articles?",
                                                     "/offsets?"),
               next={"offset": "offset", "by": 30})
same("a list by offsets", items(offsets)[0], wanted)
addresses = dict(articles, url=articles["url"].replace("/articles?",
                                                       "/addresses?"),
                 next={"url": "/next"})
same("a list by addresses", items(addresses)[0], wanted)

# ---- Who may ask, changes, faults ------------------------------------------------------


def status(host, path, **more):
    return sim.ask(host, path, **more).status


CATS = "/c/cats.json"
same("a forum wants its key", (status("forum.example", CATS), status(
    "forum.example", CATS, Api_Key="x"), status(
    "forum.example", CATS, Api_Key=world["key"])), (401, 401, 200))
same("issues want a token", (
    status("issues.example", "/api/v1/repos/ada/birds/issues"),
    status("issues.example", "/api/v1/repos/ada/birds/issues",
           token=world["token"])), (401, 200))
same("a list that is not there", (
    status("forum.example", "/c/no.json", Api_Key=world["key"]),
    status("issues.example", "/api/v1/repos/ada/no/issues",
           token=world["token"])), (404, 404))
before = len(world["lists"]["cats"])
sim.own("change", {"host": "forum.example", "add": {"account": "cats",
                                                    "n": 2}})
now = sim.world("forum.example")["lists"]["cats"]
same("entries are added", items(forum, "cats")[0], now[::-1])
check("two of them", len(now) == before + 2)
sim.own("change", {"host": "forum.example", "delete": now[-1]})
same("and deleted", items(forum, "cats")[0], now[-2::-1])


def topics(query=""):
    return sim.ask("forum.example", CATS + "?per_page=10" + query,
                   Api_Key=world["key"]).json()


def ids(page):
    return [x["id"] for x in page["topic_list"]["topics"]]


one = topics()
two = topics("&after=" + one["meta"]["next"])


def spoilt(what):
    sim.faults({"match": {}, "fault": {"page": what}})
    page = topics("&after=" + one["meta"]["next"])
    sim.faults()
    return page


same("a page twice", ids(spoilt("duplicate")), ids(one))
same("pages that overlap", ids(spoilt("overlap")), ids(one)[-3:] +
     ids(two)[:7])
same("a page in another order", ids(spoilt("reordered")), ids(two)[::-1])
page = spoilt("empty")
same("an empty page with a cursor", (ids(page), page["meta"]),
     ([], two["meta"]))
same("a cursor that loops", spoilt("loop")["meta"], one["meta"])
sim.own("budget", {"limit": 2})
a = [sim.ask("articles.example", "/articles") for _ in range(3)]
same("a budget by its fields", [(x.status, x.fields["RateLimit-Remaining"])
                                for x in a], [(200, "1"), (200, "0"),
                                              (429, "0")])
sim.own("budget", {"limit": 0})
sim.faults({"match": {}, "fault": {"credential": "expires"}})
same("a key that expires", status("forum.example", CATS,
                                  Api_Key=world["key"]), 401)
check_known(sim, same)
done()
