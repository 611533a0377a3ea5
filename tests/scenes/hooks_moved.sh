#!/bin/bash
#
# hook.warc_finished moves files and prints their new places: the archive's
# verbs, the next start and a rebuild say so, and read them there.
. "$(dirname "$0")/scene.bash"

web pages=12 links=3

lacks() {
	if grep -qF -e "$2" "${@:3}"; then
		fail "$1: \"$2\" is there"
	else
		pass "$1"
	fi
}

# move.sh DIR FILE: move the file to DIR and print its new place; also when an
# earlier run was killed in between.
cat >move.sh <<'END'
#!/bin/sh
if [ -e "$2" ]; then mv "$2" "$1/" || exit 1; fi
echo "$1/${2##*/}"
echo "more output is ignored"
END
# say.sh TEXT FILE: remove the file and print TEXT.
cat >say.sh <<'END'
#!/bin/sh
rm -f "$2"
echo "$1"
END
# keep.sh TEXT FILE: print TEXT only.
cat >keep.sh <<'END'
#!/bin/sh
printf '%b\n' "$1"
END
chmod +x move.sh say.sh keep.sh
pending() { find "$1/hooks" -type f | wc -l; }

# --- moved to a local directory
mkdir tape
all=21
code "a crawl whose hook moves its file" 0 "$A" crawl "$WEB/" --data d1 \
	--quiet --set hook.warc_finished="$PWD/move.sh $PWD/tape"
note=$(ls "$PWD"/d1/archive/*.warc.gz.moved)
file=${note%.moved}
name=${file##*/}
check "... the file is there" test -s "tape/$name"
check "... and no more in the archive" test ! -e "$file"
has "... its note names the place" "place $PWD/tape/$name" "$note"
has "... and its length" "bytes $(stat -c %s "tape/$name")" "$note"
same "... nothing is pending" "$(pending d1)" 0
code "check reads it there" 0 "$A" archive check --data d1
has "... and says so" "note: a hook has moved the file ($PWD/tape/$name)" \
	code.out
has "... all captures are there" "$all  numbered captures" code.out
code "ls shows it" 0 "$A" archive ls --data d1
has "... with its place" "$name moved to $PWD/tape/$name" code.out
same "... and its captures" "$(grep -c '#' code.out)" "$all"
code "cat reads it there" 0 "$A" archive cat "$WEB/" --data d1
code "... by its old path, too" 0 "$A" archive cat --offset 0 "$file" \
	--part record --data d1
code "a second crawl starts" 0 "$A" crawl "$WEB/" --data d1 --name two
has "... and reports the move" "moved_to=\"$PWD/tape/$name" code.err
lacks "... not a loss" "missing" code.err

# --- a rebuild reads it there
code "a rebuild" 0 "$A" archive reindex --rebuild --data d1
has "... reads the moved file" "files read where a hook had moved them: 1" \
	code.err
has "... and loses nothing" "holds $((2 * all)) captures" code.out
mv d1/index gone.index
mv d1/log gone.log
code "... also without the old index" 0 "$A" archive reindex --rebuild \
	--data d1
code "... and check finds all" 0 "$A" archive check --data d1
code "... cat still reads it" 0 "$A" archive cat 0:1 --data d1

# --- a backup has the note
code "a backup" 0 "$A" backup copy --data d1
check "... has the note" cmp "$note" \
	"copy/data/archive/${note##*/}"

# --- the file vanishes from there
mv "tape/$name" away
code "check names the place" 65 "$A" archive check --data d1 --strict
has "... as a warning" "warning: a hook has moved the file" code.out
lacks "... and no loss" "not as recorded" code.out
code "cat names the place" 66 "$A" archive cat 0:1 --data d1
has "... on stderr" "was moved to $PWD/tape/$name" code.err
code "a rebuild without it is not complete" 65 \
	"$A" archive reindex --rebuild --data d1
has "... and says where it is" "moved: $file to $PWD/tape/$name" code.err
mv away "tape/$name"
code "it is back: all is well" 0 "$A" archive reindex --rebuild --data d1

# --- a URL
code "a hook that uploads" 0 "$A" crawl "$WEB/" --data d2 --quiet \
	--set hook.warc_finished="$PWD/say.sh s3://bucket/x.warc.gz"
code "ls shows the URL" 0 "$A" archive ls --data d2
has "... as the place" "moved to s3://bucket/x.warc.gz" code.out
code "ls --json" 0 "$A" archive ls --data d2 --json
has "... too" '"moved_to":"s3://bucket/x.warc.gz","readable":false' code.out
code "a rebuild is not complete" 65 "$A" archive reindex --rebuild --data d2
has "... and names the URL" "to s3://bucket/x.warc.gz" code.err

# --- output that is no place
long=$(printf 'x%.0s' $(seq 2048))
refused() { # NAME TEXT
	rm -rf d3
	code "output: $1" 0 "$A" crawl "$WEB/" --data d3 --quiet \
		--max-pages 1 --set hook.warc_finished="$PWD/keep.sh $2"
	same "... leaves no note" "$(find d3/archive -name '*.moved' | wc -l)" 0
	same "... and nothing pending" "$(pending d3)" 0
}
for text in done ./relative '/a\tb' 'https://u:pass@example.org/' "/$long"; do
	refused "${text:0:20}" "$text"
	has "... is refused" "hook.place_refused hook=warc_finished" code.err
	lacks "... and not logged, as it may be secret" "$text" code.err
done
refused "an empty line" '\n/x'
lacks "... is no place" "refused" code.err

# --- a finished file that is missing without a note
code "a crawl without hooks" 0 "$A" crawl "$WEB/" --data d4 --quiet
file=$(ls "$PWD"/d4/archive/*.warc.gz)
mv "$file" away
cp "$file.cdxj" cdxj
rm "$file.cdxj"
cp -r d4 d5
code "a rebuild without it fails" 65 "$A" archive reindex --rebuild --data d4
has "... and names it, as the index knew it" "missing: $file" code.err
has "... and what to do" "put them back" code.err
rm -r d5/index d5/log
cp cdxj "d5/archive/${file##*/}.cdxj"
code "d5 has another file" 0 cp away d5/archive/other.warc.gz
code "a rebuild without the old index" 65 \
	"$A" archive reindex --rebuild --data d5
has "... names it, as its CDXJ is left" \
	"missing: $PWD/d5/archive/${file##*/}" code.err
mv d5/archive/other.warc.gz "d5/archive/${file##*/}"
rm -r d5/index d5/log
code "it is back: the rebuild is complete" 0 \
	"$A" archive reindex --rebuild --data d5
truncate -s -300 "d5/archive/${file##*/}"
code "a rebuild of a cut file fails" 70 "$A" archive reindex --rebuild \
	--data d5
has "... and names it" "shorter than recorded: $PWD/d5/archive" code.err

# --- a daemon reads a moved file at its new place, and says where it is
daemon d1
address=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
key=$(python3 -c 'import json; print(json.load(open("d1/serve.json"))["key"])')
page() {
	curl -s -H "Authorization: Bearer $key" -d '{"command":"get_page",
		"command_id":1,"args":{"crawl_id":0,"number":1}}' \
		-H "Content-Type: application/json" "${address}realtime/command"
}
page >answer
has "a page of a moved file has its body" '"body_damaged":false' answer
kill "$pid"
wait "$pid"
has "... the daemon's start reported the move" 'moved_to="' log
mv "tape/$name" away
daemon d1
address=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
key=$(python3 -c 'import json; print(json.load(open("d1/serve.json"))["key"])')
page >answer
has "when it is gone the page has no body" '"body_damaged":true' answer
has "... and the log says where the file was moved" \
	"was moved to $PWD/tape/$name" log
kill "$pid"
wait "$pid"
