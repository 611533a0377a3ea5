"""Random posts of Mastodon, Bluesky and YouTube as their APIs send them, with
what people and other servers put into them."""
import html
import json

from social_warc import pack, sometimes, text

LANGUAGES = ("en", "de", "ja", "pt-BR", "zh-Hant")


def maybe(rng, share, made, **fields):
    """Some of these fields are there, a few as null."""
    for name, value in fields.items():
        if rng.random() < share:
            made[name] = value if rng.random() < 0.95 else None
    return made


def some(rng, most, make):
    return [make() for _ in range(rng.randrange(most + 1))]


def date(rng, end="Z"):
    return (f"2024-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
            f"T{rng.randrange(24):02}:{rng.randrange(60):02}:"
            f"{rng.randrange(60):02}{end}")


# ---- Mastodon --------------------------------------------------------------------

INSTANCE = "https://mastodon.example"
ENTITIES = ("&amp;", "&lt;b&gt;", "&quot;", "&#39;", "&nbsp;", "&hellip;",
            "&#x1F600;", "&#128512;", "&eacute;", "&rsquo;", "&#x80;", "&#146;",
            "&lang;", "&x;", "&", "& ", "&;")
MARKS = ("<br>", "<br/>", "<BR />", "<p>", "</p>", "</b>", "<!-- a > b -->",
         "<hr>", "<!-->", "<h2>", "<wbr>", '<img src="a.png" alt="picture">',
         "<span class=invisible>", "<", "< b", "<3", "\t", "\n", "\r\n", "  ")


def link(rng, words):
    n = rng.randrange(20)
    plain = f"https://site.example/{n}?a=1&b=2&copy=3"
    return rng.choice((
        f'<a href="{html.escape(plain)}" target="_blank" rel="nofollow noopener'
        f'"><span class="invisible">https://</span><span class="ellipsis">'
        f'site.example/{n}</span><span class="invisible">?a=1</span></a>',
        f"<a href={plain}>{words}</a>",
        f"<A title=don't HREF = 'https://other.example/\"{n}\"'>{words}</A>",
        f'<a href="https://{n}.example/" class="u-url">{words}</a>',
        f'<a name="{n}">{words}</a>', f'<a href="">{words}</a>',
        f'<span class="h-card" translate="no"><a href="{INSTANCE}/@u{n}" '
        f'class="u-url mention">@<span>u{n}</span></a></span>',
        f'<a href="{INSTANCE}/tags/t{n}" class="mention hashtag" rel="tag">#'
        f"<span>t{n}</span></a>",
        f'<a class="hashtag" href="https://plain.example/tag/{n}">#{n}</a>'))


def content(rng, depth=0):
    made = ""
    for _ in range(rng.randrange(6 if depth == 0 else 3)):
        words = html.escape(text(rng, 6), quote=rng.random() < 0.5)
        made += rng.choice((
            lambda: words, lambda: words, lambda: rng.choice(ENTITIES),
            lambda: rng.choice(MARKS), lambda: link(rng, words),
            lambda: f"<p>{content(rng, depth + 1)}</p>" if depth < 4 else "",
            lambda: f"<em><strong>{content(rng, depth + 1)}</strong></em>"
            if depth < 4 else words,
            lambda: f"<ul><li>{words}</li><li>{content(rng, 4)}</li></ul>",
            lambda: f"<blockquote>{content(rng, 4)}</blockquote>",
            lambda: f"<pre><code>{words}\n  {words}</code></pre>"))()
    return made


def account(rng):
    n = rng.randrange(30)
    there = rng.random() < 0.5
    return maybe(rng, 0.9, {
        "id": str(n), "username": f"u{n}",
        "acct": f"u{n}@there.example" if there else f"u{n}",
        "url": f"{INSTANCE}/@u{n}"},
        display_name=text(rng), followers_count=rng.randrange(10 ** 6),
        bot=False, note=content(rng))


def mention(rng):
    n = rng.randrange(30)
    return {"id": str(n), "username": f"u{n}", "url": f"{INSTANCE}/@u{n}",
            "acct": rng.choice((f"u{n}", f"u{n}@there.example"))}


def medium(rng):
    n = rng.randrange(1000)
    return {"id": str(n), "type": rng.choice(("image", "video", "audio")),
            "url": sometimes(rng, f"https://files.example/{n}.png"),
            "preview_url": None,
            "remote_url": sometimes(rng, f"https://there.example/{n}.png"),
            "description": text(rng), "meta": {}}


def status(rng, n, depth=0):
    made = {"id": str(10 ** 17 + n), "account": account(rng),
            "uri": f"{INSTANCE}/users/u/statuses/{n}",
            "created_at": date(rng, rng.choice((".000Z", ".123Z", "Z"))),
            "content": content(rng), "reblog": None,
            "media_attachments": some(rng, 3, lambda: medium(rng)),
            "mentions": some(rng, 3, lambda: mention(rng)),
            "tags": some(rng, 3, lambda: {
                "name": rng.choice(("cats", "\u732b", "=1+1", '"q"')),
                "url": f"{INSTANCE}/tags/cats"}),
            "sensitive": rng.random() < 0.3, "emojis": [], "card": None}
    maybe(rng, 0.9, made, url=sometimes(rng, f"{INSTANCE}/@u/{n}"),
          spoiler_text=rng.choice(("", text(rng))),
          visibility=rng.choice(("public", "unlisted", "private")),
          language=sometimes(rng, rng.choice(LANGUAGES)),
          edited_at=sometimes(rng, date(rng, ".456Z")),
          replies_count=rng.randrange(9), reblogs_count=rng.randrange(10 ** 6),
          favourites_count=rng.randrange(9))
    maybe(rng, 0.3, made, in_reply_to_id=str(rng.getrandbits(60)),
          in_reply_to_account_id=str(rng.randrange(30)))
    if depth == 0 and rng.random() < 0.3:
        made["reblog"] = status(rng, n + 10 ** 6, 1)
        made["content"] = made["reblog"]["content"]
    if depth == 0 and rng.random() < 0.1:
        made["quote"] = {"state": "accepted",
                         "quoted_status": status(rng, n + 2 * 10 ** 6, 1)}
    return made


def events(rng, first, n):
    """A stream's body: posts, edits, and deletions of some."""
    made, ids = ":)\n", []
    for k in range(first, first + n):
        post = status(rng, k)
        ids.append(post["id"])
        kind = rng.choice(("update", "update", "status.update"))
        made += f"event: {kind}\ndata: {pack(post, k % 2).decode()}\n\n"
        if rng.random() < 0.2:
            made += f"event: delete\ndata: {rng.choice(ids)}\n\n"
        if rng.random() < 0.1:
            made += ":thump\n\n"
    return made.encode()


# ---- Bluesky ---------------------------------------------------------------------

POST = "app.bsky.feed.post"
DIDS = ["did:plc:" + f"{c}" * 24 for c in "abcdefgh"] + ["did:web:h.example"]


def address(rng, kind=POST):
    return f"at://{rng.choice(DIDS)}/{kind}/3k{rng.randrange(10 ** 6):06}"


def reference(uri):
    return {"uri": uri, "cid": "bafyreib" + uri[-6:]}


def profile(rng, did=None):
    did = did or rng.choice(DIDS)
    return maybe(rng, 0.8, {"did": did, "handle": rng.choice(
        (did[-4:] + ".example", "handle.invalid"))}, displayName=text(rng))


def blob(n):
    return {"$type": "blob", "ref": {"$link": f"bafkreib{n:06}"},
            "mimeType": "image/jpeg", "size": 1000}


def media(rng):
    """What a post embeds, in its record and as the server shows it."""
    n, shape = rng.randrange(10 ** 6), {"width": 4, "height": 3}
    kind = "app.bsky.embed." + rng.choice(
        ("images", "gallery", "video", "external"))
    at = f"https://cdn.example/{n}"
    if kind.endswith("images"):
        return ({"$type": kind, "images": [{"alt": text(rng), "image": blob(n)}
                                           for _ in range(2)]},
                {"$type": kind + "#view", "images": [
                    {"alt": "", "thumb": f"{at}/{i}s", "fullsize": f"{at}/{i}"}
                    for i in range(2)]})
    if kind.endswith("gallery"):
        return ({"$type": kind, "items": [
                    {"$type": kind + "#image", "alt": "", "image": blob(n),
                     "aspectRatio": shape}]},
                {"$type": kind + "#view", "items": [
                    {"$type": kind + "#viewImage", "alt": "", "aspectRatio":
                     shape, "thumbnail": f"{at}/{i}s", "fullsize": f"{at}/{i}"}
                    for i in range(3)]})
    if kind.endswith("video"):
        return ({"$type": kind, "video": blob(n)},
                {"$type": kind + "#view", "cid": f"bafkreib{n:06}",
                 "playlist": f"{at}/playlist.m3u8", "thumbnail": f"{at}/t"})
    card = {"uri": f"https://site.example/{n % 12}", "title": text(rng),
            "description": text(rng)}
    return ({"$type": kind, "external": dict(card, thumb=blob(n))},
            {"$type": kind + "#view", "external": dict(card, thumb=at)})


def quote(rng):
    kind = rng.choice((POST, POST, POST, "app.bsky.feed.generator"))
    uri, view = address(rng, kind), "app.bsky.embed.record#view"
    shown = [{"$type": view + "NotFound", "uri": uri, "notFound": True}]
    if kind == POST:
        shown += [
            {"$type": view + "Detached", "uri": uri, "detached": True},
            {"$type": view + "Blocked", "uri": uri, "blocked": True,
             "author": {"did": DIDS[0]}},
            {"$type": view + "Record", "author": profile(rng),
             "indexedAt": date(rng), **reference(uri),
             "value": {"$type": POST, "text": text(rng), "createdAt":
                       date(rng), "langs": ["fr"]}}]
    return ({"$type": "app.bsky.embed.record", "record": reference(uri)},
            {"$type": view, "record": rng.choice(shown)})


def embed(rng):
    with_media = "app.bsky.embed.recordWithMedia"
    record, shown = quote(rng)
    more, shown_more = media(rng)
    return rng.choice((
        (None, None), (record, shown), (more, shown_more), (more, shown_more),
        ({"$type": with_media, "record": record, "media": more},
         {"$type": with_media + "#view", "record": shown,
          "media": shown_more})))


def feature(rng):
    of = "app.bsky.richtext.facet#"
    return rng.choice((
        {"$type": of + "mention", "did": rng.choice(DIDS)},
        {"$type": of + "link",
         "uri": f"https://site.example/{rng.randrange(12)}"},
        {"$type": of + "tag", "tag": rng.choice(("cats", "\u732b", "=1"))},
        {"$type": "org.example.other", "tag": "x", "did": "y", "uri": "z"}))


def post(rng, embedded):
    made = {"$type": POST, "text": text(rng, 40),
            "createdAt": date(rng, rng.choice(
                ("Z", ".5Z", ".123456Z", "+09:00", ".001-03:30")))}
    if embedded:
        made["embed"] = embedded
    return maybe(
        rng, 0.4, made, langs=rng.sample(LANGUAGES, rng.randrange(4)),
        reply={"root": reference(address(rng)),
               "parent": reference(address(rng))},
        tags=rng.sample(("dogs", "cats", "x"), rng.randrange(3)),
        facets=some(rng, 3, lambda: {
            "index": {"byteStart": 0, "byteEnd": 1},
            "features": [feature(rng) for _ in range(rng.randrange(1, 3))]}),
        via=text(rng))


def entry(rng, uri):
    embedded, shown = embed(rng)
    record = post(rng, embedded)
    made = maybe(rng, 0.9, {
        **reference(uri), "author": profile(rng, uri.split("/")[2]),
        "record": record, "indexedAt": date(rng, ".789Z")},
        replyCount=rng.randrange(9), repostCount=rng.randrange(10 ** 6),
        likeCount=rng.randrange(9), quoteCount=rng.randrange(9))
    if shown:
        made["embed"] = shown
    made = {"post": made}
    if record.get("reply"):
        made["reply"] = {k: {"$type": "app.bsky.feed.defs#notFoundPost",
                             "uri": v["uri"], "notFound": True}
                         for k, v in record["reply"].items()}
    of = "app.bsky.feed.defs#reason"
    return maybe(rng, 0.3, made, reason=rng.choice((
        {"$type": of + "Pin"}, {"$type": of + "Repost", "by": profile(rng),
                                "indexedAt": date(rng, ".321Z")})))


def changes(rng, addresses):
    """Of a network's stream: (kind, did, what happened)."""
    for n, uri in enumerate(addresses):
        did, key = uri.split("/")[2], uri.split("/")[4]
        commit = {"rev": f"3l{n:06}", "collection": POST, "rkey": key}
        yield "commit", did, dict(
            commit, operation=rng.choice(("create", "create", "update")),
            cid="bafyreib" + key, record=post(rng, embed(rng)[0]))
        if rng.random() < 0.2:
            gone = rng.choice(addresses[:n + 1])
            yield "commit", gone.split("/")[2], dict(
                commit, operation="delete", rkey=gone.split("/")[4])
        if rng.random() < 0.1:
            yield "commit", did, dict(
                commit, operation="create", collection="app.bsky.feed.like",
                cid="bafyreib", record={"$type": "app.bsky.feed.like",
                                        "createdAt": date(rng),
                                        "subject": reference(uri)})
    yield "identity", DIDS[1], {"did": DIDS[1], "handle": "x.example",
                                "seq": 1, "time": date(rng)}
    for did, why in (DIDS[2], "deactivated"), (DIDS[3], "deleted"):
        yield "account", did, {"did": did, "active": False, "status": why,
                               "seq": 2, "time": date(rng)}


def frame1(n, kind, did, change):
    return {"did": did, "time_us": 1725911162329308 + n, "kind": kind,
            kind: change}


def frame2(n, kind, did, change):
    told = change if kind == "commit" else {kind: change}
    return {"$type": "message", "payload": {
        "$type": "network.bsky.jetstream.subscribeEvents#" + kind,
        "seq": n + 1, "did": did, "time": "2024-09-09T19:46:02.102561Z",
        **told}}


# ---- YouTube ---------------------------------------------------------------------

def video(rng, n):
    made = {"kind": "youtube#video", "id": f"video-{n:05}",
            "snippet": maybe(
                rng, 0.8, {"publishedAt": date(rng), "title": text(rng),
                           "channelId": f"UC{n % 5}"},
                description=text(rng, 40), channelTitle=text(rng),
                tags=some(rng, 4, lambda: text(rng, 5)), categoryId="22",
                defaultLanguage=rng.choice(LANGUAGES),
                liveBroadcastContent=rng.choice(("none", "live")))}
    return maybe(
        rng, 0.8, made, contentDetails={"duration": "PT1H2M3S"},
        statistics=maybe(
            rng, 0.8, {}, viewCount=str(rng.getrandbits(rng.choice((9, 63)))),
            likeCount=str(rng.randrange(99)), commentCount="0"),
        status=maybe(rng, 0.8, {}, privacyStatus="public",
                     madeForKids=rng.random() < 0.5),
        topicDetails=maybe(rng, 0.8, {}, topicCategories=some(
            rng, 3, lambda: "https://en.wikipedia.org/wiki/" +
            rng.choice(("Music", "A,_B", "\u732b")))))


def comment(rng, key, **more):
    return {"kind": "youtube#comment", "id": key, "snippet": maybe(
        rng, 0.9, {"textDisplay": text(rng, 40), "publishedAt": date(rng),
                   "updatedAt": date(rng), **more},
        textOriginal=text(rng), authorDisplayName="@" + text(rng),
        authorChannelId={"value": f"UC{rng.randrange(9)}"},
        likeCount=rng.randrange(10 ** 6), viewerRating="none")}


def thread(rng, n):
    key, on = f"Ug{n:05}", f"video-{n % 9:05}"
    more = {"videoId": on} if rng.random() < 0.8 else {}
    made = {"kind": "youtube#commentThread", "id": key, "snippet": {
        "channelId": "UC1", "videoId": on, "canReply": True,
        "topLevelComment": comment(rng, key, **more),
        "totalReplyCount": rng.randrange(9), "isPublic": True}}
    return maybe(rng, 0.5, made, replies={"comments": [
        comment(rng, f"{key}.{i}", parentId=key, **more)
        for i in range(rng.randrange(4))]})


def lines(frames):
    return b"".join(json.dumps(f).encode() + b"\n" for f in frames)
