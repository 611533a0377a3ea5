"""WARC files of made-up tweets for bench/harvest, the same bytes each time.

    v1      answers of the search of API v1.1, 100 tweets each: every second is
            a retweet with the whole original in it; 5,000 bytes in the mean,
            ASCII with escapes, as Twitter wrote them
    v2      pages of API v2, 100 tweets each, with the accounts, tweets, media
            and places that these refer to
    small   a stream of API v1.1, tweets of 300 bytes; every tenth comes twice

Answers are gzip-coded, records are gzip members of their own, and the tweets are
spread over several files, as a harvester leaves them.  Beside the files of `v1`
and `v2` lies `lines.json`: the same tweets or pages unpacked, one a line, for
programs that read no WARC.
"""
import gzip
import json
import os
import random
import shutil
import sys

import bench

sys.path.insert(0, os.path.join(bench.ROOT, "tests", "peers"))
import social_warc                                            # noqa: E402

# Another number whenever other bytes are made.
EDITION = 1
PAGE = 100
USERS = 5000
SYLLABLES = ("ba", "ro", "lin", "te", "mo", "ka", "sur", "el", "an", "di", "vo",
             "ne", "shi", "par", "o", "tu", "gre", "la", "min", "ce")
SPECIAL = ("\u00e9t\u00e9", "na\u00efve", "\u96ea\u304c", "\U0001F600", "\u2026",
           "don't", "\"so\"", "&amp;", "\u041f\u0440\u0438")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
          "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
IMAGES = "https://pbs.twimg.com/"


class Tweets:
    """What both versions of the API are made from."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.words = ["".join(self.rng.choices(SYLLABLES, k=n))
                      for n in (1, 2, 2, 3, 3, 4) for _ in range(500)]

    def text(self, n):
        words = self.rng.choices(self.words, k=n)
        if self.rng.random() < 0.4:
            words[n // 2] = self.rng.choice(SPECIAL)
        return " ".join(words)

    def lines(self, n):
        """A text; every eighth on two lines."""
        text = self.text(n)
        return text.replace(" ", "\n", 1) if self.rng.random() < 0.125 else text

    def maybe(self, odds, made):
        return made if self.rng.random() < odds else None

    def link(self):
        code = f"{self.rng.getrandbits(50):x}"[:10]
        return {"url": f"https://t.co/{code}",
                "expanded_url": f"https://www.example.org/2016/06/{code}-"
                                f"{self.rng.choice(self.words)}.html",
                "display_url": f"example.org/2016/06/{code[:6]}\u2026"}


# ---- API v1.1 ------------------------------------------------------------------

def date1(seconds):
    """"Wed Jun 01 10:00:00 +0000 2016", so many seconds behind its start."""
    day, rest = divmod(seconds, 86400)
    return (f"{DAYS[(day + 2) % 7]} Jun {day % 30 + 1:02} {rest // 3600:02}:"
            f"{rest // 60 % 60:02}:{rest % 60:02} +0000 2016")


class Tweets1(Tweets):
    def __init__(self, seed):
        super().__init__(seed)
        self.users = [self.user(i) for i in range(USERS)]

    def user(self, i):
        r, number = self.rng, 10 ** 7 + 7919 * i
        link = dict(self.link(), indices=[0, 23])
        image = f"{IMAGES}profile_images/{number}/{r.getrandbits(32):x}"
        return {
            "id": number, "id_str": str(number), "name": self.text(2),
            "screen_name": f"{r.choice(self.words)}{i}",
            "location": self.text(2) if r.random() < 0.6 else "",
            "description": self.lines(r.randrange(4, 22)),
            "url": link["url"],
            "entities": {"url": {"urls": [link]}, "description": {"urls": []}},
            "protected": False, "followers_count": r.randrange(10 ** 5),
            "friends_count": r.randrange(5000),
            "listed_count": r.randrange(300),
            "created_at": f"Thu {r.choice(MONTHS)} {r.randrange(1, 29):02} "
            f"12:{r.randrange(60):02}:41 +0000 {r.randrange(2008, 2016)}",
            "favourites_count": r.randrange(20000), "utc_offset": None,
            "time_zone": self.maybe(0.5, "Eastern Time (US & Canada)"),
            "geo_enabled": r.random() < 0.5, "verified": i % 50 == 0,
            "statuses_count": r.randrange(10 ** 5), "lang": "en",
            "contributors_enabled": False, "is_translator": False,
            "is_translation_enabled": False,
            "profile_background_color": f"{r.getrandbits(24):06X}",
            "profile_background_image_url":
                "http://abs.twimg.com/images/themes/theme1/bg.png",
            "profile_background_image_url_https":
                "https://abs.twimg.com/images/themes/theme1/bg.png",
            "profile_background_tile": False,
            "profile_image_url": "http" + image[5:] + "_normal.jpg",
            "profile_image_url_https": image + "_normal.jpg",
            "profile_banner_url": f"{IMAGES}profile_banners/{number}/14",
            "profile_link_color": f"{r.getrandbits(24):06X}",
            "profile_sidebar_border_color": "C0DEED",
            "profile_sidebar_fill_color": "DDEEF6",
            "profile_text_color": "333333",
            "profile_use_background_image": True,
            "has_extended_profile": False,
            "default_profile": r.random() < 0.5,
            "default_profile_image": r.random() < 0.1, "following": False,
            "follow_request_sent": False, "notifications": False}

    def media(self, number):
        name = f"{self.rng.getrandbits(60):015x}"
        sizes = {kind: {"w": w, "h": h, "resize": how} for kind, w, h, how in (
            ("small", 680, 510, "fit"), ("large", 1024, 768, "fit"),
            ("medium", 1024, 768, "fit"), ("thumb", 150, 150, "crop"))}
        return dict(self.link(), id=number, id_str=str(number), indices=[90, 113],
                    media_url=f"http://pbs.twimg.com/media/{name}.jpg",
                    media_url_https=f"{IMAGES}media/{name}.jpg",
                    type="photo", sizes=sizes)

    def place(self):
        name = self.text(1)
        return {"id": f"{self.rng.getrandbits(60):015x}", "url":
                "https://api.twitter.com/1.1/geo/id/01fbe706f872cb32.json",
                "place_type": "city", "name": name, "country_code": "US",
                "full_name": f"{name}, DC", "country": "United States",
                "contained_within": [], "bounding_box": {
                    "type": "Polygon", "coordinates": [[
                        [-77.119401, 38.801826], [-76.909396, 38.801826],
                        [-76.909396, 38.9953797], [-77.119401, 38.9953797]]]},
                "attributes": {}}

    def entities(self):
        r = self.rng
        mentions = r.sample(range(USERS), r.randrange(3))
        return {
            "hashtags": [{"text": r.choice(self.words), "indices": [10, 18]}
                         for _ in range(r.randrange(4))], "symbols": [],
            "user_mentions": [{
                "screen_name": u["screen_name"], "name": u["name"],
                "id": u["id"], "id_str": u["id_str"], "indices": [3, 17]}
                for u in (self.users[i] for i in mentions)],
            "urls": [dict(self.link(), indices=[60, 83])
                     for _ in range(r.randrange(3))]}

    def tweet(self, number, inner=None, kind=None):
        r = self.rng
        entities = self.entities()
        text = self.lines(r.randrange(6, 40))
        reply = r.randrange(10 ** 17, 7 * 10 ** 17) if r.random() < 0.2 else None
        to = r.choice(self.users) if reply else None
        at = r.uniform(-78, -76), r.uniform(38, 39)
        made = {
            "created_at": date1(number % (30 * 86400)),
            "id": number, "id_str": str(number), "full_text": text,
            "truncated": False, "display_text_range": [0, len(text)],
            "entities": entities,
            "metadata": {"iso_language_code": "en", "result_type": "recent"},
            "source": '<a href="http://twitter.com/download/iphone" '
            'rel="nofollow">Twitter for iPhone</a>',
            "in_reply_to_status_id": reply,
            "in_reply_to_status_id_str": reply and str(reply),
            "in_reply_to_user_id": to and to["id"],
            "in_reply_to_user_id_str": to and to["id_str"],
            "in_reply_to_screen_name": to and to["screen_name"],
            "user": r.choice(self.users), "geo": None,
            "coordinates": self.maybe(0.05, {
                "type": "Point", "coordinates": [round(x, 8) for x in at]}),
            "place": self.place() if r.random() < 0.1 else None,
            "contributors": None}
        if inner:
            made[kind] = inner
        made.update(is_quote_status=kind == "quoted_status",
                    retweet_count=r.randrange(1000),
                    favorite_count=r.randrange(1000), favorited=False,
                    retweeted=False, possibly_sensitive=False, lang="en")
        if r.random() < 0.15:
            entities["media"] = [self.media(number + 1)]
            made["extended_entities"] = {
                "media": [self.media(number + i) for i in (1, 2)]}
        return made

    def item(self, i):
        number = 738 * 10 ** 15 + 104729 * i
        if i % 2 == 0:
            return self.tweet(number, self.tweet(number - 10 ** 12),
                              "retweeted_status")
        if i % 16 == 1:
            return self.tweet(number, self.tweet(number - 10 ** 12),
                              "quoted_status")
        return self.tweet(number)


def twitters_json(value):
    return json.dumps(value, separators=(",", ":")).replace("/", "\\/").encode()


def write_v1(files, lines, n):
    tweets = Tweets1(1)
    for first in range(0, n, PAGE):
        texts = [twitters_json(tweets.item(i))
                 for i in range(first, min(first + PAGE, n))]
        lines.write(b"\n".join(texts) + b"\n")
        put_record(files, first, n, social_warc.SEARCH,
                   b'{"statuses":[' + b",".join(texts) +
                   b'],"search_metadata":{"count":100,"query":"x"}}')


# ---- API v2 --------------------------------------------------------------------

class Tweets2(Tweets):
    def user(self, i):
        r, link = self.rng, self.link()
        return {"id": str(10 ** 7 + 7919 * i), "name": self.text(2),
                "username": f"{r.choice(self.words)}{i}",
                "description": self.lines(r.randrange(4, 22)),
                "url": link["url"], "verified": i % 50 == 0,
                "location": self.text(2), "protected": False,
                "created_at": f"2012-03-{i % 28 + 1:02}T11:12:13.000Z",
                "profile_image_url": f"{IMAGES}profile_images/{i}_normal.jpg",
                "entities": {"url": {"urls": [dict(link, start=0, end=23)]}},
                "public_metrics": {"followers_count": r.randrange(10 ** 5),
                                   "following_count": r.randrange(5000),
                                   "tweet_count": r.randrange(10 ** 5),
                                   "listed_count": r.randrange(300)}}

    def tweet(self, number, users, others=()):
        r, author = self.rng, self.rng.choice(users)
        about = self.rng.choice(users)
        made = {
            "id": str(number), "text": self.lines(r.randrange(6, 40)),
            "author_id": author["id"], "conversation_id": str(number),
            "created_at": f"2023-03-{number % 28 + 1:02}T12:00:00.000Z",
            "lang": "en", "possibly_sensitive": False, "source": "Twitter Web",
            "reply_settings": "everyone",
            "edit_history_tweet_ids": [str(number)],
            "edit_controls": {"edits_remaining": 5, "is_edit_eligible": True,
                              "editable_until": "2023-03-01T12:30:00.000Z"},
            "public_metrics": {"retweet_count": r.randrange(100),
                               "reply_count": r.randrange(100),
                               "like_count": r.randrange(1000),
                               "quote_count": r.randrange(10),
                               "impression_count": r.randrange(10 ** 5)},
            "entities": {
                "hashtags": [{"start": 0, "end": 8, "tag":
                              r.choice(self.words)} for _ in range(2)],
                "mentions": [{"start": 9, "end": 20, "id": about["id"],
                              "username": about["username"]}],
                "urls": [dict(self.link(), start=30, end=53, status=200)]},
            "context_annotations": [
                {"domain": {"id": "46", "name": "Brand Category",
                            "description": "Categories within Brand Verticals"},
                 "entity": {"id": "78", "name": self.text(2)}}]}
        if others:
            kind = ("retweeted", "quoted", "replied_to")[number % 3]
            other = r.choice(others)
            made["referenced_tweets"] = [{"type": kind, "id": other["id"]}]
            if kind == "replied_to":
                made["in_reply_to_user_id"] = other["author_id"]
        if number % 4 == 0:
            made["attachments"] = {"media_keys": [f"3_{number % 7}"]}
        if number % 10 == 0:
            made["geo"] = {"place_id": "01fbe706f872cb32"}
        return made

    def page(self, first, n):
        users = [self.user(first + i) for i in range(n)]
        number = 163 * 10 ** 16 + first
        included = [self.tweet(number - 10 ** 12 + i, users)
                    for i in range(n // 2)]
        return {"data": [self.tweet(number + i, users, included if i % 3 else ())
                         for i in range(n)],
                "includes": {
                    "users": users, "tweets": included,
                    "media": [{"media_key": f"3_{i}", "type": "photo",
                               "width": 1024, "height": 768,
                               "url": f"{IMAGES}media/{i}.jpg"}
                              for i in range(7)],
                    "places": [{"id": "01fbe706f872cb32", "country_code": "US",
                                "full_name": "Washington, DC",
                                "name": "Washington", "place_type": "city",
                                "country": "United States", "geo": {
                                    "type": "Feature", "properties": {},
                                    "bbox": [-77.119401, 38.801826, -76.909396,
                                             38.9953797]}}]},
                "meta": {"newest_id": str(number + n - 1), "result_count": n,
                         "oldest_id": str(number), "next_token": "b26v89c19z"}}


def write_v2(files, lines, n):
    tweets = Tweets2(2)
    for first in range(0, n, PAGE):
        text = social_warc.pack(tweets.page(first, min(PAGE, n - first)))
        lines.write(text + b"\n")
        put_record(files, first, n, social_warc.RECENT, text)


# ---- Many small ones -------------------------------------------------------------

SMALL = ('{{"created_at":"{date}","id":{n},"id_str":"{n}","text":"{text}",'
         '"user":{{"id":{u},"id_str":"{u}","screen_name":"u{u}","name":"{name}"}}'
         ',"entities":{{"hashtags":[],"urls":[]}},"favorite_count":{f},'
         '"retweet_count":0,"lang":"en"}}\r\n')
SMALL_LINES = 5000


def write_small(files, lines, n):
    del lines
    tweets = Tweets(3)
    texts = [tweets.text(18)[:104].strip().replace('"', "'")
             .encode("ascii", "ignore").decode() for _ in range(997)]
    for first in range(0, n, SMALL_LINES):
        body = "".join(
            SMALL.format(date=date1(i % (30 * 86400)), u=i * 7919 % 10 ** 7,
                         text=texts[i % 997], name=texts[i % 991][:10], f=i % 500,
                         n=7 * 10 ** 17 + 10007 * (i if i % 10 else i // 2 | 1))
            for i in range(first, min(first + SMALL_LINES, n)))
        put_record(files, first, n, social_warc.FILTER, body.encode(), level=1)


# ---- Files ----------------------------------------------------------------------

def put_record(files, first, n, uri, body, level=6):
    packed = gzip.compress(body, level, mtime=0)
    files[first * len(files) // n].write(social_warc.record(
        uri, packed, more="Content-Encoding: gzip\r\n"))


WRITERS = {"v1": write_v1, "v2": write_v2, "small": write_small}


def make(kind, n, files_n):
    """The folder of these files, made anew where it is not there."""
    folder = os.path.join(bench.work_folder(), "harvest",
                          f"{kind}-{n}-{files_n}-{EDITION}")
    if os.path.exists(folder):
        return folder
    bench.say(f"bench: making {n:,} tweets of {kind}")
    shutil.rmtree(folder + ".part", ignore_errors=True)
    os.makedirs(folder + ".part")
    files = [open(f"{folder}.part/{i:02}.warc.gz", "wb") for i in range(files_n)]
    with open(f"{folder}.part/lines.json", "wb") as lines:
        WRITERS[kind](files, lines, n)
    for f in files:
        f.close()
    if not os.path.getsize(f"{folder}.part/lines.json"):
        os.unlink(f"{folder}.part/lines.json")
    os.rename(folder + ".part", folder)
    return folder


def warcs(folder):
    return sorted(os.path.join(folder, f) for f in os.listdir(folder)
                  if f.endswith(".warc.gz"))
