"""Google's client of the Data API, as it is, lists the simulated YouTube."""
from peer import check, done, same
from simulated import Platforms, check_known, lead, raised, run_with

run_with(__file__, "google-api-python-client==2.202.0")

HOST = "www.googleapis.com"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "300")
lead(sim, HOST)

# The authority is read when this is imported.
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

world = sim.world(HOST)


def client(key=world["key"]):
    return build("youtube", "v3", developerKey=key, static_discovery=True,
                 client_options={"api_endpoint": "https://" + HOST})


def pages(calls, **query):
    """All entries of a list, by the client's own way from page to page."""
    request, found = calls.list(**query), []
    while request is not None:
        answer = request.execute()
        found += answer["items"]
        request = calls.list_next(request, answer)
    return found


def refused(request):
    e = raised(HttpError, request.execute)
    return e and (e.status_code, e.error_details[0]["reason"])


api = client()
PARTS = "snippet,contentDetails,statistics"

# ---- Channels and videos -----------------------------------------------------------

for told in world["channels"]:
    name = "@" + told["handle"]
    by_name = api.channels().list(part=PARTS, forHandle=name).execute()
    by_id = api.channels().list(part=PARTS, id=told["id"]).execute()
    if told["gone"]:
        check(f"{name} is gone", "items" not in by_name and
              "items" not in by_id)
        continue
    channel = by_name["items"][0]
    same(f"{name}: the id", channel["id"], told["id"])
    same(f"{name}: the same by its id", by_id["items"], [channel])
    uploads = channel["contentDetails"]["relatedPlaylists"]["uploads"]
    if not told["videos"]:
        same(f"{name} has no list", refused(api.playlistItems().list(
            part="id", playlistId=uploads)), (404, "playlistNotFound"))
        continue
    found = pages(api.playlistItems(), part="snippet,contentDetails,status",
                  playlistId=uploads, maxResults=50)
    public = [x["contentDetails"]["videoId"] for x in found
              if x["status"]["privacyStatus"] == "public"]
    same(f"{name}: all videos, the newest first", public, told["videos"])
    dates = [x["snippet"]["publishedAt"] for x in found]
    same(f"{name}: their dates", dates, sorted(dates, reverse=True))
    same(f"{name}: private ones are listed", {
        x["contentDetails"]["videoId"] for x in found} - set(public),
        set(told["private"]))
    videos = api.videos().list(part=PARTS, id=",".join(
        (told["private"] + public)[:50])).execute()["items"]
    same(f"{name}: ... and not shown", [x["id"] for x in videos],
         (told["private"] + public)[len(told["private"]):50])
    check(f"{name}: of that channel", all(
        x["snippet"]["channelId"] == told["id"] for x in videos))

ada = world["channels"][0]
check("a long list has several pages", len(ada["videos"]) > 200 and
      ada["private"])

# ---- Comments ------------------------------------------------------------------------


def comments(video):
    """Ids of all comments of a video: those that threads show, and where that
    is not all the replies of comments.list."""
    found, asked = [], 0
    for thread in pages(api.commentThreads(), part="snippet,replies",
                        videoId=video, order="time", textFormat="plainText",
                        maxResults=100):
        top = thread["snippet"]["topLevelComment"]
        found.append(top["id"])
        shown = thread.get("replies", {}).get("comments", [])
        if thread["snippet"]["totalReplyCount"] > len(shown):
            asked += 1
            shown = pages(api.comments(), part="snippet", parentId=top["id"],
                          textFormat="plainText", maxResults=100)
        found += [x["id"] for x in shown]
    return found, asked


long = max(world["comments"], key=lambda x: len(world["comments"][x]))
few = [v for v in world["comments"] if 0 < len(world["comments"][v]) < 20][:5]
for video in [long] + few:
    found, asked = comments(video)
    same(f"comments on {video}", sorted(found),
         sorted(world["comments"][video]))
    same(f"... replies that are asked for", asked, int(video == long))
check("pages of comments and of replies",
      len(world["comments"][long]) > 280)

silent = [v for c in world["channels"] if not c["gone"] for v in c["videos"]
          if v not in world["comments"]]
same("a video has its comments disabled", len(silent), 1)
same("... and says so", refused(api.commentThreads().list(
    part="id", videoId=silent[0])), (403, "commentsDisabled"))
check("... and has no count of them", "commentCount" not in api.videos().list(
    part=PARTS, id=silent[0]).execute()["items"][0]["statistics"])
same("a video that is not there", refused(api.commentThreads().list(
    part="id", videoId="nothing")), (404, "videoNotFound"))
same("a comment that is not there", refused(api.comments().list(
    part="id", parentId="nothing")), (404, "commentNotFound"))

# ---- Changes ---------------------------------------------------------------------------


def uploads(**query):
    return api.playlistItems().list(
        part="snippet,contentDetails", playlistId="UU" + ada["id"][2:],
        **query).execute()


def videos(answer):
    return [x["contentDetails"]["videoId"] for x in answer["items"]]


sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 2}})
now = sim.world(HOST)["channels"][0]["videos"]
same("new videos come first", videos(uploads())[:2], now[:2])
check("they are new", not set(now[:2]) & set(ada["videos"]))
sim.own("change", {"host": HOST, "delete": now[0]})
same("a deleted one is gone", videos(uploads())[0], now[1])
same("... from its comments, too", refused(api.commentThreads().list(
    part="id", videoId=now[0])), (404, "videoNotFound"))
sim.own("change", {"host": HOST, "comment": {"video": now[1], "n": 3}})
same("new comments", len(comments(now[1])[0]), 3)
sim.own("change", {"host": HOST, "rename": {"account": "ada", "to": "adele"}})
same("a handle changes", api.channels().list(part=PARTS, id=ada["id"]).execute(
)["items"][0]["snippet"]["customUrl"], "@adele")
sim.own("change", {"host": HOST, "suspend": "bob"})
check("a channel goes", "items" not in api.channels().list(
    part=PARTS, forHandle="bob").execute())

# ---- Pages that are not as they should be ----------------------------------------------

first = uploads(maxResults=10)
second = uploads(maxResults=10, pageToken=first["nextPageToken"])


def spoilt(what):
    sim.faults({"match": {"path": "/youtube/v3/playlistItems"},
                "fault": {"page": what}})
    return uploads(maxResults=10, pageToken=first["nextPageToken"])


same("a page twice", videos(spoilt("duplicate")), videos(first))
check("pages that overlap", len(set(videos(spoilt("overlap"))) &
                                set(videos(first))) == 3)
same("a page in another order", videos(spoilt("reordered")),
     videos(second)[::-1])
a = spoilt("empty")
check("an empty page with a cursor", videos(a) == [] and
      a["nextPageToken"] == second["nextPageToken"])
same("a cursor that loops", spoilt("loop")["nextPageToken"],
     first["nextPageToken"])
same("a cursor that is none", refused(api.playlistItems().list(
    part="id", playlistId="UU" + ada["id"][2:], pageToken="x")),
    (400, "invalidPageToken"))

# ---- The key and its quota -------------------------------------------------------------

sim.faults({"match": {}, "fault": {"status": 403}})
same("a status by the plan", refused(api.videos().list(part="id", id="x")),
     (403, "forbidden"))
sim.faults()
same("a key that is wrong", refused(client("wrong").videos().list(
    part="id", id="x")), (400, "keyInvalid"))
one = api.videos().list(part="id", id="x")
sim.own("budget", {"limit": 2})
one.execute(), one.execute()
same("a quota that is used up", refused(one), (403, "quotaExceeded"))
# 9:00 UTC is 1:00 in Los Angeles.
sim.own("clock", {"advance": 23 * 3600 - 1})
same("... until midnight there", refused(one), (403, "quotaExceeded"))
sim.own("clock", {"advance": 1})
same("... and no longer", one.execute()["items"], [])
sim.own("budget", {"limit": 0})
sim.faults({"match": {}, "fault": {"credential": "expires"}})
same("a key that expires", refused(one), (400, "keyInvalid"))
check_known(sim, same)
done()
