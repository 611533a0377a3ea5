"""Writes WARC files of social media answers, for tests of exports."""
import gzip
import json
import random
import zlib

SEARCH = "https://api.twitter.com/1.1/search/tweets.json?q=x"
FILTER = "https://stream.twitter.com/1.1/statuses/filter.json"
RECENT = "https://api.twitter.com/2/tweets/search/recent?query=x"
WEIBO = "https://api.weibo.com/2/statuses/friends_timeline.json"


def record(uri, body, kind="response", content_type="application/json",
           more=""):
    """A gzip member with an answer, or with a resource's body; `more`: lines of
    the answer's head."""
    if kind == "response":
        body = (f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{more}"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        content_type = "application/http;msgtype=response"
    head = (f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\n"
            "WARC-Date: 2016-06-01T10:00:00Z\r\nWARC-Record-ID: <urn:uuid:"
            f"00000000-0000-0000-0000-{zlib.crc32(body):012}>\r\n"
            f"Content-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    return gzip.compress(head.encode() + body + b"\r\n\r\n", 1, mtime=0)


def write(path, records):
    with open(path, "wb") as f:
        for r in records:
            f.write(r)


def pack(value, ascii_only=False):
    return json.dumps(value, ensure_ascii=ascii_only,
                      separators=(",", ":")).encode("utf-8", "surrogatepass")


# ---- Random items ----------------------------------------------------------------

PIECES = ("a", "Z", "7", " ", "\n", "\r\n", "\t", '"', "'", ",", ";", "\\",
          "/", "#tag", "@user", "=1+1", "<b>&amp;", "\u00e9", "\u96ea",
          "\ud55c", "\U0001F600", "\u2028", "\x0b", "\x7f", "\x1b", "\ufeff",
          "\uffff", "http://t.cn/aB1", "#a b#", "##", "True", "None", "1.0")


def text(rng, most=12):
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(most)))


def number(rng):
    return rng.choice((
        rng.randrange(100), -rng.randrange(10 ** 6), rng.getrandbits(63),
        rng.getrandbits(100), rng.random(), rng.uniform(-180, 180),
        rng.random() * 10 ** rng.randrange(-12, 25), 0.0, -0.0, 1e16, 1e-5))


def value(rng, depth=0):
    kind = rng.randrange(8 if depth < 3 else 6)
    if kind < 2:
        return text(rng)
    if kind < 4:
        return number(rng)
    if kind < 6:
        return rng.choice((None, True, False))
    if kind == 6:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {text(rng, 4) + str(i): value(rng, depth + 1)
            for i in range(rng.randrange(4))}


def sometimes(rng, made):
    return made if rng.random() < 0.5 else None


def user1(rng):
    n = rng.randrange(50)
    return {"id": n, "id_str": str(n), "screen_name": f"user{n}",
            "name": text(rng), "location": sometimes(rng, text(rng)),
            "description": sometimes(rng, text(rng, 30)),
            "created_at": "Mon Jan 02 03:04:05 +0000 2012",
            "followers_count": rng.randrange(10 ** 6),
            "friends_count": rng.randrange(1000), "verified": n == 3,
            "time_zone": sometimes(rng, text(rng)),
            "entities": rng.choice((
                {}, {"url": {"urls": [{"expanded_url": sometimes(
                    rng, "http://example.org/" + text(rng))}
                    for _ in range(rng.randrange(3))]}}))}


def entities1(rng):
    made = {"hashtags": [{"text": text(rng, 4)}
                         for _ in range(rng.randrange(3))],
            "urls": [{"expanded_url": sometimes(rng, "http://x/" + text(rng))}
                     for _ in range(rng.randrange(3))]}
    if rng.random() < 0.3:
        made["media"] = [{"media_url_https": f"https://p/{i}"}
                         for i in range(rng.randrange(3))]
    return made


def tweet1(rng, n, depth=0):
    """A tweet of API v1.1 from which twarc makes a row."""
    made = {"created_at": f"Thu Jun {rng.randrange(1, 29):02} "
            f"{rng.randrange(24):02}:00:{n % 60:02} +0000 2016",
            "id": 7 * 10 ** 17 + n, "id_str": str(7 * 10 ** 17 + n),
            "user": user1(rng), "entities": entities1(rng),
            "favorite_count": rng.randrange(100),
            "retweet_count": sometimes(rng, rng.randrange(100)),
            "in_reply_to_status_id": sometimes(rng, rng.getrandbits(62)),
            "in_reply_to_user_id": sometimes(rng, rng.getrandbits(40)),
            "in_reply_to_screen_name": sometimes(rng, text(rng)),
            "lang": sometimes(rng, "ja"), "source": text(rng),
            "coordinates": sometimes(rng, {"type": "Point", "coordinates": [
                rng.uniform(-180, 180), rng.uniform(-90, 90)]}),
            "place": sometimes(rng, {"full_name": text(rng)}),
            "extra": value(rng)}
    made[rng.choice(("text", "full_text"))] = text(rng, 40)
    if rng.random() < 0.2:
        made["extended_tweet"] = {"full_text": text(rng, 40)}
    if rng.random() < 0.2:
        made["possibly_sensitive"] = rng.random() < 0.5
    if rng.random() < 0.2:
        made["extended_entities"] = {"media": [
            {"media_url_https": f"https://e/{i}"} for i in range(3)]}
    if depth == 0 and rng.random() < 0.3:
        made["retweeted_status"] = tweet1(rng, n + 10 ** 6, 1)
    if depth == 0 and rng.random() < 0.3:
        made["quoted_status"] = sometimes(rng, tweet1(rng, n + 10 ** 7, 1))
    return made


def user2(rng, n):
    made = {"id": str(n), "username": f"two{n}", "name": text(rng),
            "created_at": "2012-01-02T03:04:05.000Z",
            "description": text(rng, 30), "url": "", "verified": n == 3,
            "protected": False, "profile_image_url": f"https://p/{n}.jpg",
            "public_metrics": {"followers_count": n, "following_count": 2 * n,
                               "tweet_count": 3, "listed_count": 0}}
    if rng.random() < 0.5:
        made["location"] = text(rng)
    if rng.random() < 0.3:
        made["pinned_tweet_id"] = str(rng.randrange(40))
    if rng.random() < 0.4:
        about = entities2(rng)
        about.pop("annotations", None)
        made["entities"] = {"url": {"urls": [link2(rng)]},
                            "description": about}
    return made


def link2(rng):
    made = {"start": 0, "end": 1, "url": "https://t.co/a"}
    if rng.random() < 0.7:
        made["expanded_url"] = "https://example.org/" + text(rng)
    return made


def entities2(rng):
    made = {}
    if rng.random() < 0.5:
        made["hashtags"] = [{"tag": text(rng, 4)} for _ in range(2)]
    if rng.random() < 0.3:
        made["cashtags"] = [{"tag": "GW"}]
    if rng.random() < 0.5:
        n = rng.randrange(14)
        made["mentions"] = [{"start": 0, "end": 3, "username": f"two{n}",
                             "id": str(n)}]
    if rng.random() < 0.5:
        made["urls"] = [link2(rng), dict(link2(rng), media_key="3_1",
                                         display_url="pic.example.org/x")]
    if rng.random() < 0.3:
        made["annotations"] = [{"start": 0, "probability": rng.random(),
                                "normalized_text": text(rng)}]
    return made


def tweet2(rng, n, others):
    """A tweet of API v2; `others`: ids that it may refer to."""
    others = [i for i in others if i != n]
    made = {"id": str(n), "text": text(rng, 40),
            "author_id": str(rng.randrange(14)), "conversation_id": str(n),
            "created_at": f"2023-03-{rng.randrange(1, 29):02}T12:00:00.000Z",
            "edit_history_tweet_ids": [str(n)],
            "public_metrics": {"retweet_count": rng.randrange(9),
                               "reply_count": 0, "like_count": 1,
                               "quote_count": 2}}
    if rng.random() < 0.7:
        made["public_metrics"]["impression_count"] = rng.randrange(10 ** 6)
    if rng.random() < 0.7:
        made["entities"] = entities2(rng)
    if rng.random() < 0.5:
        made["referenced_tweets"] = [
            {"type": kind, "id": str(rng.choice(others))} for kind in
            rng.sample(("retweeted", "quoted", "replied_to"),
                       rng.randrange(1, 3))]
    if rng.random() < 0.3:
        made["in_reply_to_user_id"] = str(rng.randrange(14))
    if rng.random() < 0.3:
        made["attachments"] = rng.choice((
            {"media_keys": ["3_1", "7_2", "3_missing"]},
            {"poll_ids": ["7001"]}))
    if rng.random() < 0.3:
        made["geo"] = rng.choice((
            {"place_id": "pl1"}, {"place_id": "gone"},
            {"coordinates": {"type": "Point", "coordinates": [
                rng.uniform(-180, 180), rng.uniform(-90, 90)]}}))
    if rng.random() < 0.3:
        made["context_annotations"] = [{"domain": {"id": "1", "name":
                                                   text(rng)}}]
    return made


def page2(rng, first, n):
    """An answer of API v2 whose included tweets refer to one another."""
    included = list(range(20, 40))
    others = included + [98, 99]
    return {"data": [tweet2(rng, 1000 + first + i, others)
                     for i in range(n)],
            "includes": {
                "users": [user2(rng, i) for i in range(10)],
                "tweets": [tweet2(rng, i, others) for i in rng.sample(
                    included, len(included))],
                "media": [{"media_key": "3_1", "type": "photo", "width": 10},
                          {"media_key": "7_2", "type": "video",
                           "public_metrics": {"view_count": 5}}],
                "polls": [{"id": "7001", "duration_minutes": 1440,
                           "options": [{"position": 1, "label": text(rng)}],
                           "voting_status": "closed"}],
                "places": [{"id": "pl1", "full_name": "Washington, DC",
                            "name": "Washington", "country": "US",
                            "geo": {"type": "Feature",
                                    "bbox": [-77.12, 38.79]}}]},
            "meta": {"result_count": n}}


def generator(seed):
    return random.Random(seed)
