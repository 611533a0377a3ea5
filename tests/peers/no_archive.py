"""A daemon on the data directory of `argiope crawl --no-archive`: it lists the
crawl, says that there is no archive when a client asks for a body, and resumes
a crawl that was killed.  It never reports the missing records as damage.
"""
from realtime_peer import *

begin("no_archive")
PAGES = 40
DATA = os.path.join(PLACE, "data")


def crawl(*words, **more):
    """A crawl in the foreground, ended or not."""
    return start([program(), "crawl", "--data", DATA, "--json", *words],
                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                 **more)


def events_of(child, until=None):
    """Its lines; with `until`, it is killed after so many items."""
    events, items = [], 0
    for line in child.stdout:
        events.append(json.loads(line))
        items += events[-1]["event"] == "item"
        if items == until:
            child.kill()
            break
    child.wait()
    return events


web = Web()
web.chain("127.0.0.1", PAGES, size=2000, delay=0.02)
SEED = f"http://127.0.0.1:{web.port}/0"
archived = events_of(crawl("--max-pages", "5", "--name", "archived", SEED))
whole = events_of(crawl("--no-archive", "--name", "whole", SEED))
killed = events_of(crawl("--no-archive", "--name", "killed", SEED), until=7)
same("three crawls begin", [e[0]["event"] for e in (archived, whole, killed)],
     ["started"] * 3)
same("one ends", whole[-1]["counts"]["items"], PAGES)
had = {e["url"] for e in killed if e["event"] == "item"}
asked = len(web.requests())

server = Server("server", data=DATA)


def post(command, **args):
    """(success, data, code) of one command."""
    status, _, body = server.http(
        "/realtime/command", "POST", {"Content-Type": "application/json"},
        json.dumps({"command_id": 1, "command": command,
                    "args": args}).encode())
    answer = json.loads(body)
    return answer["success"], answer["data"], answer.get("code")


# ---- The killed crawl is resumed ----------------------------------------------

def is_complete():
    return post("get_crawl", crawl_id=2)[1]["status"] == "complete"


check("the daemon resumes the crawl that was killed",
      wait_until(is_complete, 30))
rows = {c["crawl_id"]: c for c in post("list_crawls")[1]["crawls"]}
same("which crawls have an archive", [rows[i]["archive"] for i in range(3)],
     [True, False, False])
same("each page is counted", [rows[i]["items"] for i in range(3)],
     [5, PAGES, PAGES])
again = [u for u in had if sum(
    f"http://127.0.0.1:{web.port}{path}" == u
    for path, _, _ in web.requests()[asked:])]
same("nothing that was told is asked for again", again, [])
check("it writes no file", not os.path.exists(
    os.path.join(DATA, "archive", "crawl-2")) and not any(
    "crawl-1" in f or "crawl-2" in f
    for f in os.listdir(os.path.join(DATA, "archive"))),
    os.listdir(os.path.join(DATA, "archive")))

# ---- Lists and single pages ----------------------------------------------------

for crawl_id in (1, 2):
    pages = post("list_pages", crawl_id=crawl_id, size=100)[1]["pages"]
    same(f"crawl {crawl_id}: all pages are listed, once each",
         [p["number"] for p in pages], list(range(1, PAGES + 1)))
    same("... with their titles", {p["title"] for p in pages},
         {f"127.0.0.1 {i}" for i in range(PAGES)})
    good, page, _ = post("get_page", crawl_id=crawl_id, number=3)
    check("... one of them", good and page["archived"] is False and
          page["digest"].startswith("sha1:") and page["hops"] == [] and
          page["body"] == "" and page["body_damaged"] is False and
          page["truncated"] is False and page["body_length"] > 2000, page)
    for what in ("record", "body"):
        status, _, body = server.http(f"/crawls/{crawl_id}/pages/3/{what}")
        check(f"... its {what} is absent", status == 404 and
              b"the page is not archived" in body, (status, body))
    status, _, body = server.http(f"/crawls/{crawl_id}/files/")
    same("... no files", (status, json.loads(body)), (200, {
        "crawl_id": crawl_id, "archive": False, "files": [], "wacz": None}))
    status, _, body = server.http(
        f"/crawls/{crawl_id}/files/crawl-{crawl_id}.wacz")
    check("... and no package", status == 409 and b"--no-archive" in body,
          (status, body))
    good, found, _ = post("find_url", crawl_id=crawl_id, url=SEED)
    check("... a URL is found", good and found["state"] == "done" and
          found["outcome"] == "item" and found["number"] == 1, found)
    good, found, _ = post("list_pages", crawl_id=crawl_id, links_to=SEED)
    check("... no page that links to one", good and found["pages"] == [],
          found)

# ---- Subscriptions -------------------------------------------------------------

client = server.client()
answer = client.ask("subscribe_crawl_items", crawl_id=1)
same("items of it are refused", (answer["success"], answer.get("code")),
     (False, "bad_state"))
check("... saying why", "--no-archive" in answer["error"], answer)
answer = client.ask("subscribe_crawl_items", crawl_id=0)
check("... not those of the other", answer["success"], answer)
answer = client.ask("subscribe_crawl_stats", crawl_id=1)
check("... nor its statistics", answer["success"], answer)
answer = client.ask("subscribe_crawl_log", crawl_id=1)
check("... nor its log", answer["success"], answer)

# ---- Doors begin crawls with an archive -----------------------------------------

good, again, _ = post("job.rerun", crawl_id=1)
check("run again at a door", good, again)
check("... it has an archive", wait_until(lambda: post(
    "get_crawl", crawl_id=again["crawl_id"])[1]["archive"]), again)
good, data, code = post("start_crawl", seeds=[SEED], archive=False)
same("a door cannot ask for none", (good, code), (False, "bad_args"))
good, data, code = post("start_crawl", seeds=[SEED],
                        policy={"archive": False})
same("... nor by a policy", (good, code), (False, "bad_policy"))
with open(server.log) as f:
    log = f.read()
check("the log tells of no damage", "unreadable" not in log and
      "corrupt" not in log.lower(), log[-500:])
same("the daemon ends", server.stop(), 0)
status = subprocess.run([program(), "status", "--data", DATA],
                        capture_output=True, text=True).stdout
same("status names what has no archive", status.count("no archive"), 2)
same("what has one is sound", subprocess.run(
    [program(), "archive", "check", "--strict", "--quiet", "--data", DATA],
    capture_output=True).returncode, 0)
done()
