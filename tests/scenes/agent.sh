#!/bin/bash
#
# A crawl's User-Agent is the name by which robots.txt addresses it, and each
# question about a URL names the rule that decides.
. "$(dirname "$0")/scene.bash"

web pages=4 'robots=User-agent: FooBot\nDisallow: /page/1\n\nUser-agent: *\nDisallow: /page/2\n'

# fetched WORD...: crawls; which of /page/1 and /page/2 were asked for
fetched() {
	: >"$WEB_LOG"
	"$A" crawl "$WEB/" --delay 0 --quiet "$@" >/dev/null || return 1
	grep -E '^/page/[12]$' "$WEB_LOG" | sort -u | tr '\n' ' '
}
same "our own name" "$(fetched --data a)" "/page/1 "
same "--user-agent" "$(fetched --data b --user-agent 'FooBot/1.0 (x)')" \
	"/page/2 "
same "... with a stored robots.txt" \
	"$(fetched --data a --user-agent foobot/2)" "/page/2 "
same "... and ours again" "$(fetched --data a)" "/page/1 "
same "a header of that name" \
	"$(fetched --data c --header 'User-Agent: FooBot/1.0')" "/page/2 "
echo '{"user_agent":"FooBot/3","rate_limit":0}' >foo.json
same "a policy's" "$(fetched --data e --policy foo.json)" "/page/2 "

code "explain: our own name" 0 "$A" explain "$WEB/page/2" --data a
has "... names the rule of robots.txt" \
	"line 5 of robots.txt forbids it: Disallow: /page/2" code.out
code "explain: another's" 0 "$A" explain "$WEB/page/2" --data a \
	--user-agent FooBot/1.0
has "... which may" "taken: URL rule 1 takes it" code.out
code "explain: out of scope" 0 "$A" explain http://elsewhere.example/ \
	--seed "$WEB/" --data a
has "... names the rule as the page counts" \
	"skipped: scope, URL rule 2, for everything else, leaves it out" code.out

# --- names that robots.txt cannot say
code "a number first" 64 "$A" crawl "$WEB/" --data f --user-agent 4you/1.0
has "... is refused with the reason" \
	'--user-agent: user_agent: "4you/1.0" does not begin with a name' \
	code.err
code "a digit in the name" 64 "$A" crawl "$WEB/" --data f \
	--header 'User-Agent: Mp3Bot/1.0'
has "... is refused" 'headers.User-Agent: "Mp3Bot/1.0"' code.err
code "in the configuration" 78 "$A" crawl "$WEB/" --data f \
	--set 'fetch.user_agent=(none)'
has "... it is refused" "fetch.user_agent = (none)" code.err
echo '{"user_agent":"/1"}' >bad.json
code "in a stored policy" 65 "$A" policy put bad bad.json --data f
has "... it is refused" "user_agent:" code.err
code "in a schedule" 65 "$A" schedule put x "$WEB/" --policy-file bad.json \
	--data f
