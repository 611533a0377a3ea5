# The table of tweets of API v1.1, as in exporter.py; an argument of `jq -rn`.
# IDs are taken as texts, since jq's numbers have 53 bits.
def line: if . then gsub("\n"; " ") | gsub("\r"; "") else . end;
def month: {"Jan": "01", "Feb": "02", "Mar": "03", "Apr": "04", "May": "05",
	"Jun": "06", "Jul": "07", "Aug": "08", "Sep": "09", "Oct": "10",
	"Nov": "11", "Dec": "12"}[.];
def date: .[26:] + "-" + (.[4:7] | month) + "-" + .[8:10] + " " + .[11:19] +
	.[20:23] + ":" + .[23:25];

def head: "id tweet_url created_at parsed_created_at user_screen_name text " +
	"tweet_type coordinates hashtags media urls favorite_count " +
	"in_reply_to_screen_name in_reply_to_status_id in_reply_to_user_id " +
	"lang place possibly_sensitive retweet_count retweet_or_quote_id " +
	"retweet_or_quote_screen_name retweet_or_quote_user_id source " +
	"user_id user_created_at user_default_profile_image " +
	"user_description user_favourites_count user_followers_count " +
	"user_friends_count user_listed_count user_location user_name " +
	"user_statuses_count user_time_zone user_urls user_verified" |
	split(" ");

def row: (.retweeted_status // .) as $first
| (.retweeted_status // .quoted_status) as $other
| .user as $u
| [.id_str, "https://twitter.com/\($u.screen_name)/status/\(.id_str)",
	.created_at, (.created_at | date), $u.screen_name,
	($first | .extended_tweet.full_text // .full_text // .text | line),
	(if .in_reply_to_status_id then "reply"
	elif has("retweeted_status") then "retweet"
	elif has("quoted_status") then "quote" else "original" end),
	(.coordinates | if . then .coordinates | map(tostring) | join(" ")
	else . end),
	($first.entities.hashtags | map(.text) | join(" ")),
	((.extended_entities.media // .entities.media) |
	if . then map(.media_url_https) | join(" ") else . end),
	(.entities.urls | map(.expanded_url) | join(" ")),
	$first.favorite_count, .in_reply_to_screen_name,
	.in_reply_to_status_id_str, .in_reply_to_user_id_str, .lang,
	.place.full_name, .possibly_sensitive, .retweet_count, $other.id_str,
	$other.user.screen_name, $other.user.id_str, .source, $u.id_str,
	$u.created_at, $u.default_profile_image, ($u.description | line),
	$u.favourites_count, $u.followers_count, $u.friends_count,
	$u.listed_count, ($u.location | line), ($u.name | line),
	$u.statuses_count, $u.time_zone,
	($u.entities.url.urls // [] | map(.expanded_url | select(.)) |
	join(" ")), $u.verified];

head, (inputs | row) | @csv
