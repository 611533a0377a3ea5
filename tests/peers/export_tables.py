"""Exports random posts of Mastodon, Bluesky, YouTube and a declared platform, and
compares the tables with those that are built from what other people's libraries
read in the same answers."""
import datetime
import warnings

import social_posts as posts
import social_warc as warc
from export_peer import *

SEED = int(os.environ.get("SEED", "1"))
MASTODON = """uri created_at edited_at url account_id account_acct
account_display_name account_followers_count text content spoiler_text language
visibility sensitive in_reply_to_id in_reply_to_account_id reblog_uri reblog_acct
hashtags mentions urls media_urls replies_count reblogs_count
favourites_count""".split()
BLUESKY = """uri cid created_at indexed_at post_url author_did author_handle
author_display_name text langs reply_parent_uri reply_root_uri quoted_uri
reposted_by_did reposted_at hashtags mentions urls media_urls reply_count
repost_count like_count quote_count""".split()
VIDEOS = """video_id url channel_id channel_title title description published_at
duration tags category_id default_language live_broadcast_content view_count
like_count comment_count privacy_status made_for_kids topic_categories""".split()
COMMENTS = """comment_id url video_id parent_id author_channel_id author_name text
published_at updated_at like_count reply_count""".split()
DECLARED = {"id": "/id", "text": "/text", "author": "/by/name",
            "first": "/list/0", "odd": "/a~1b/m~0n", "list": "/list",
            "by": "/by", "any": "/any", "none": "/none/0"}
rng = warc.generator(SEED)
openpyxl = module("openpyxl", "xlsx against openpyxl")


def have(what, name, *packages):
    """Whether these packages of PyPI can be imported from now on."""
    if python_with(name, *packages) is None:
        skip(what, f"{packages[0]} cannot be had from PyPI")
        return False
    sys.path.insert(0, os.environ["PYTHONPATH"])
    return True


def written(name, records):
    warc.write(name + ".warc.gz", records)
    return name + ".warc.gz"


def one_line(text):
    return text and text.replace("\r", "").replace("\n", " ")


def joined(values):
    return " ".join(v for v in values if v)


def date(value):
    """As a table has it: of a client's text, or of its own date."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    return value


def in_json(value):
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def scalar(value):
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def in_csv(value):
    return "" if value is None else str(scalar(value))


def in_sheet(value):
    """Numbers that are beyond a machine's keep their digits as texts."""
    beyond = type(value) is int and not -2 ** 63 <= value < 2 ** 64
    return str(value) if beyond else scalar(value)


def compare(what, columns, want, files, *more):
    """All forms of a table of files against its rows, which are dictionaries."""
    check(f"{what}: there are rows", len(want) > 100)
    note(f"{what}: {len(want)} rows")
    jsons = [{c: in_json(row[c]) for c in columns} for row in want]
    made = export("json", *files, *more).decode().splitlines()
    wrong = [f"{c} of row {n}: {row[c]!r} is not {jsons[n][c]!r}"
             for n, row in enumerate(map(json.loads, made[:len(jsons)]))
             for c in columns if row.get(c) != jsons[n][c]]
    check(f"{what}: cells", not wrong, f"{len(wrong)}, {wrong[:1]}")
    same_lines(f"{what}: json", made, [json.dumps(row) for row in jsons])
    cells = [columns] + [[in_csv(row[c]) for c in columns] for row in want]
    for form, dialect in ("csv", "excel"), ("tsv", "excel-tab"):
        made = [export(form, *files, *more, "--jobs", n) for n in "13"]
        same_lines(f"{what}: {form}", made[0].split(b"\r\n"),
                   written_csv(cells, dialect).split(b"\r\n"))
        check(f"{what}: the same {form} of one thread and of three",
              made[0] == made[1])
    same_lines(f"{what}: html", read_html(export("html", *files, *more)),
               shown_in_html(cells))
    if openpyxl:
        export("xlsx", *files, *more, "--into", "sheets")
        with open("sheets/sheets_001.xlsx", "rb") as f:
            same_lines(f"{what}: xlsx", read_xlsx(openpyxl, f.read()),
                       cells_of([{c: in_sheet(v) for c, v in row.items()}
                                 for row in jsons]))


# ---- Mastodon --------------------------------------------------------------------

BLOCKS = ("p", "li", "ul", "blockquote", "pre", "hr", "h2")


def text_of(html):
    soup = BeautifulSoup(html, "html5lib")
    for tag in soup(["br"]):
        tag.replace_with("\n")
    for tag in soup(BLOCKS):
        tag.insert_before("\n")
        tag.insert_after("\n")
    return " ".join(x for x in re.split("[ \t\n\r\f]+", soup.get_text()) if x)


def links_of(html):
    return joined(a["href"] for a in BeautifulSoup(html, "html5lib")("a")
                  if a.get("href") and
                  not {"mention", "hashtag"} & set(a.get("class", [])))


def row_of_status(own):
    s = own.reblog or own
    return {
        "uri": own.uri, "created_at": date(own.created_at),
        "edited_at": date(own.get("edited_at")), "url": own.get("url"),
        "account_id": own.account.id, "account_acct": own.account.acct,
        "account_display_name": one_line(own.account.get("display_name")),
        "account_followers_count": own.account.get("followers_count"),
        "text": text_of(s.content), "content": one_line(s.content),
        "spoiler_text": one_line(s.get("spoiler_text")),
        "language": s.get("language"), "visibility": own.get("visibility"),
        "sensitive": s.sensitive, "in_reply_to_id": own.get("in_reply_to_id"),
        "in_reply_to_account_id": own.get("in_reply_to_account_id"),
        "reblog_uri": own.reblog and s.uri,
        "reblog_acct": own.reblog and s.account.acct,
        "hashtags": joined(t.name for t in s.tags),
        "mentions": joined(m.acct for m in s.mentions),
        "urls": links_of(s.content),
        "media_urls": joined(m.url for m in s.media_attachments),
        "replies_count": s.get("replies_count"),
        "reblogs_count": s.get("reblogs_count"),
        "favourites_count": s.get("favourites_count")}


def mastodon():
    from mastodon import Mastodon, StreamListener
    import requests

    class Answers(requests.adapters.BaseAdapter):
        """Gives the client what the WARC file has."""

        def send(self, request, **more):
            answer = requests.Response()
            answer.status_code, answer.url = 200, request.url
            # It asks which version the server has, too.
            answer.raw = io.BytesIO(
                b'{"version":"4.5.0"}' if "/instance" in request.url else
                bodies.pop(0))
            answer.headers["Content-Type"] = "application/json"
            return answer

        def close(self):
            pass

    class Heard(StreamListener):
        def __init__(self):
            self.posts, self.gone = [], set()

        def on_update(self, status):
            self.posts.append(status)

        on_status_update = on_update

        def on_delete(self, status_id):
            self.gone.add(str(status_id))

    session = requests.Session()
    session.mount("https://", Answers())
    client = Mastodon(api_base_url=posts.INSTANCE, session=session)
    at = posts.INSTANCE + "/api/v1/"
    bodies = [warc.pack([posts.status(rng, 40 * i + k) for k in range(40)],
                        i % 2) for i in range(8)]
    uris = [at + "accounts/7/statuses?limit=40&min_id=1",
            at + "timelines/tag/cats?limit=40&min_id=1"]
    files = [written(f"mastodon{i}", [
        warc.record(uris[i % 2], b) for b in bodies[2 * i:2 * i + 2]])
        for i in range(4)]
    want = [row_of_status(s) for i in range(4) for _ in range(2)
            for s in (client.account_statuses(7) if i % 2 == 0 else
                      client.timeline_hashtag("cats"))]
    compare("Mastodon's lists", MASTODON, want, files)

    streams = [posts.events(rng, 10 ** 4 + 100 * i, 100) for i in range(3)]
    files = [written(f"streamed{i}", [warc.record(
        at + "streaming/public", body, content_type="text/event-stream")])
        for i, body in enumerate(streams)]
    heard = Heard()
    for body in streams:
        answer = requests.Response()
        answer.raw = io.BytesIO(body)
        heard.handle_stream(answer)
    check("posts of the stream were deleted", len(heard.gone) > 10)
    compare("Mastodon's stream", MASTODON,
            [row_of_status(s) for s in heard.posts
             if str(s.id) not in heard.gone], files)
    compare("Mastodon's stream with what was deleted", MASTODON,
            [row_of_status(s) for s in heard.posts], files,
            "--honour-deletes", "no")


# ---- Bluesky ---------------------------------------------------------------------

def row_of_record(uri, cid, record):
    """What its author wrote."""
    did, key = uri.split("/")[2], uri.split("/")[4]
    features = [f for facet in record.facets or [] for f in facet.features]
    of = "app.bsky.richtext.facet#"
    embed, quoted = record.embed, None
    kind = embed.py_type if embed else ""
    if kind == "app.bsky.embed.recordWithMedia":
        quoted, embed = embed.record.record.uri, embed.media
        kind = embed.py_type
    elif kind == "app.bsky.embed.record":
        quoted = embed.record.uri
    urls = [f.uri for f in features if f.py_type == of + "link"]
    if kind == "app.bsky.embed.external" and embed.external.uri not in urls:
        urls.append(embed.external.uri)
    if quoted and posts.POST not in quoted:
        quoted = None
    return dict.fromkeys(BLUESKY, None) | {
        "uri": uri, "cid": cid, "created_at": date(record.created_at),
        "post_url": f"https://bsky.app/profile/{did}/post/{key}",
        "author_did": did, "text": one_line(record.text),
        "langs": joined(record.langs or []),
        "reply_parent_uri": record.reply and record.reply.parent.uri,
        "reply_root_uri": record.reply and record.reply.root.uri,
        "quoted_uri": quoted,
        "hashtags": joined([f.tag for f in features
                            if f.py_type == of + "tag"] + (record.tags or [])),
        "mentions": joined(f.did for f in features
                           if f.py_type == of + "mention"),
        "urls": joined(urls)}


def row_of_entry(item):
    p, reason = item.post, item.reason
    shown = p.embed
    if shown and shown.py_type == "app.bsky.embed.recordWithMedia#view":
        shown = shown.media
    kind = shown.py_type.split(".")[-1] if shown else ""
    media = [i.fullsize for i in shown.images] if kind == "images#view" else \
        [i.fullsize for i in shown.items] if kind == "gallery#view" else \
        [shown.playlist] if kind == "video#view" else []
    made = row_of_record(p.uri, p.cid, p.record)
    if p.author.handle != "handle.invalid":
        made["post_url"] = made["post_url"].replace(p.author.did,
                                                    p.author.handle)
    made |= {
        "indexed_at": date(p.indexed_at), "author_did": p.author.did,
        "author_handle": p.author.handle,
        "author_display_name": one_line(p.author.display_name),
        "media_urls": joined(media), "reply_count": p.reply_count,
        "repost_count": p.repost_count, "like_count": p.like_count,
        "quote_count": p.quote_count}
    if reason and reason.py_type.endswith("Repost"):
        made |= {"reposted_by_did": reason.by.did,
                 "reposted_at": date(reason.indexed_at)}
    return made


def bluesky():
    from atproto import models
    from atproto_client.models.utils import get_or_create
    from atproto_jetstream.models import parse_frame, \
        parse_subscribe_events_message

    at = "https://public.api.bsky.app/xrpc/app.bsky.feed.getAuthorFeed?actor=x"
    addresses = [posts.address(rng) for _ in range(600)]
    bodies = [warc.pack({"feed": [posts.entry(rng, a)
                                  for a in addresses[i:i + 50]],
                         "cursor": "x"}, i % 100) for i in range(0, 300, 50)]
    feed = [written(f"feed{i}", [warc.record(at, b) for b in
                                 bodies[2 * i:2 * i + 2]]) for i in range(3)]
    listed = [row_of_entry(e) for b in bodies for e in get_or_create(
        json.loads(b), models.AppBskyFeedGetAuthorFeed.Response).feed]
    compare("Bluesky's feed", BLUESKY, listed, feed)

    streams, came, gone = [], [], set()
    for i, host in enumerate(("jetstream2.us-east.bsky.network/subscribe",
                              "jetstream.us-east.bsky.network/xrpc/"
                              "network.bsky.jetstream.subscribeEvents")):
        frames = [(posts.frame1, posts.frame2)[i](n, *change) for n, change in
                  enumerate(posts.changes(rng, addresses[150 * i:][:300]))]
        streams.append(written(f"jetstream{i}", [warc.record(
            f"https://{host}?x=y", posts.lines(frames), "resource",
            "application/x-ndjson")]))
        for frame in frames:
            if i == 1:
                said = parse_subscribe_events_message(
                    parse_frame(json.dumps(frame)))
                commit = said if said.py_type.endswith("#commit") else None
                account = getattr(said, "account", None)
            else:
                # Its first protocol has no model of its own.
                said = commit = frame.get("commit") and get_or_create(
                    dict(frame["commit"], did=frame["did"], seq=1,
                         time="2024-01-01T00:00:00Z"),
                    models.NetworkBskyJetstreamSubscribeEvents.Commit)
                account = frame.get("account") and get_or_create(
                    frame["account"],
                    models.ComAtprotoSyncSubscribeRepos.Account)
            if account and account.status == "deleted":
                gone.add(f"at://{account.did}/")
            if not commit or commit.collection != posts.POST:
                continue
            uri = f"at://{commit.did}/{posts.POST}/{commit.rkey}"
            if commit.operation == "delete":
                gone.add(uri)
            else:
                came.append(row_of_record(uri, commit.cid, commit.record))
    for row in came:
        row["media_urls"] = None

    def left(rows):
        return [row for row in rows if row["uri"] not in gone and
                row["uri"][:row["uri"].index("/", 5) + 1] not in gone]

    check("posts of Jetstream were deleted", len(left(came)) < len(came) - 20)
    compare("Jetstream", BLUESKY, left(came), streams)
    compare("a feed beside Jetstream", BLUESKY, left(listed + came),
            feed + streams)
    compare("Jetstream with what was deleted", BLUESKY, came, streams,
            "--honour-deletes", "no")


# ---- YouTube ---------------------------------------------------------------------

def row_of_video(v):
    snippet, details, counts, status, topics = (
        x or {} for x in (v.snippet, v.contentDetails, v.statistics, v.status,
                          v.topicDetails))

    def of(part, name):
        return getattr(part, name, None)

    def text_or_none(number):
        return None if number is None else str(number)

    return {
        "video_id": v.id, "url": "https://www.youtube.com/watch?v=" + v.id,
        "channel_id": of(snippet, "channelId"),
        "channel_title": one_line(of(snippet, "channelTitle")),
        "title": one_line(of(snippet, "title")),
        "description": one_line(of(snippet, "description")),
        "published_at": date(of(snippet, "publishedAt")),
        "duration": of(details, "duration"),
        "tags": ", ".join(of(snippet, "tags") or []),
        "category_id": of(snippet, "categoryId"),
        "default_language": of(snippet, "defaultLanguage"),
        "live_broadcast_content": of(snippet, "liveBroadcastContent"),
        # Texts, as they come; the client makes numbers of them.
        "view_count": text_or_none(of(counts, "viewCount")),
        "like_count": text_or_none(of(counts, "likeCount")),
        "comment_count": text_or_none(of(counts, "commentCount")),
        "privacy_status": of(status, "privacyStatus"),
        "made_for_kids": of(status, "madeForKids"),
        "topic_categories": ", ".join(
            of(topics, "topicCategories") or [])}


def row_of_comment(c, video=None, replies=None):
    s = c.snippet
    video = s.videoId or video
    return {
        "comment_id": c.id, "video_id": video, "parent_id": s.parentId,
        "url": video and f"https://www.youtube.com/watch?v={video}&lc={c.id}",
        "author_channel_id": s.authorChannelId and s.authorChannelId.value,
        "author_name": one_line(s.authorDisplayName),
        "text": one_line(s.textDisplay if s.textOriginal is None else
                         s.textOriginal), "published_at": date(s.publishedAt),
        "updated_at": date(s.updatedAt), "like_count": s.likeCount,
        "reply_count": replies}


def youtube():
    from pyyoutube.models import CommentListResponse, \
        CommentThreadListResponse, VideoListResponse

    at = "https://www.googleapis.com/youtube/v3/"
    bodies = [warc.pack({"items": [posts.video(rng, i + k)
                                   for k in range(50)]}, i % 100)
              for i in range(0, 300, 50)]
    files = [written(f"videos{i}", [warc.record(at + "videos?part=snippet", b)
                                    for b in bodies[2 * i:2 * i + 2]])
             for i in range(3)]
    compare("YouTube's videos", VIDEOS, [
        row_of_video(v) for b in bodies
        for v in VideoListResponse.from_json(b).items], files)

    threads = [warc.pack({"items": [posts.thread(rng, i + k)
                                    for k in range(50)]}, i % 100)
               for i in range(0, 200, 50)]
    replies = [warc.pack({"items": [
        posts.comment(rng, f"Ug{i}.x{k}", parentId=f"Ug{i}")
        for k in range(50)]}) for i in range(2)]
    files = [written(f"threads{i}", [
        warc.record(at + "commentThreads?part=snippet,replies", threads[i]),
        *(warc.record(at + "comments?part=snippet&parentId=x", b)
          for b in replies[i:i + 1])]) for i in range(4)]
    want = []
    for i, body in enumerate(threads):
        for t in CommentThreadListResponse.from_json(body).items:
            want.append(row_of_comment(t.snippet.topLevelComment,
                                       t.snippet.videoId,
                                       t.snippet.totalReplyCount))
            want += [row_of_comment(c, t.snippet.videoId) for c in
                     (t.replies and t.replies.comments) or []]
        for b in replies[i:i + 1]:
            want += map(row_of_comment, CommentListResponse.from_json(b).items)
    compare("YouTube's comments", COMMENTS, want, files)


# ---- A declared platform ---------------------------------------------------------

def declared():
    from jsonpointer import resolve_pointer

    at = "https://forum.example/topics"
    description = warc.record("urn:argiope:json_api", warc.pack({
        "url": at, "label": "topics", "items": "/of/list", "id": "/id",
        "columns": [{"name": c, "at": p} for c, p in DECLARED.items()]}),
        "metadata")
    items = [posts.maybe(
        rng, 0.8, {"id": n}, text=warc.text(rng), any=warc.value(rng),
        by=posts.maybe(rng, 0.8, {"n": n}, name=warc.text(rng)),
        list=posts.some(rng, 3, lambda: warc.value(rng)),
        **{"a/b": {"m~n": warc.number(rng)}}) for n in range(300)]
    files = [written(f"declared{i}", [description] + [
        warc.record(f"{at}?page={k}", warc.pack(
            {"of": {"list": items[k:k + 50]}}, k % 100))
        for k in (100 * i, 100 * i + 50)]) for i in range(3)]
    compare("a declared platform", list(DECLARED), [
        {c: resolve_pointer(item, p, None) for c, p in DECLARED.items()}
        for item in items], files)


if have("Mastodon's tables", "html-1", "beautifulsoup4==4.15.0",
        "html5lib==1.1") and \
        have("Mastodon's tables", "mastodon-1", "Mastodon.py==2.3.3"):
    from bs4 import BeautifulSoup
    # That some texts are addresses.
    warnings.simplefilter("ignore")
    mastodon()
if have("Bluesky's tables", "atproto-1", "atproto==0.0.73"):
    bluesky()
if have("YouTube's tables", "pyyoutube-1", "python-youtube==0.9.9"):
    youtube()
if have("a declared platform's tables", "jsonpointer-1", "jsonpointer==3.12"):
    declared()
done()
