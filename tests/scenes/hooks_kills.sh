#!/bin/bash
#
# kill -9 around a crawl's end, then only `crawl --resume`: each finished WARC
# file was given to hook.warc_finished, each ended crawl to hook.crawl_ended,
# and a file that the hook moves is never lost.  $1: kills for each moment.
. "$(dirname "$0")/scene.bash"

KILLS=${1:-${HOOK_KILLS:-4}}
web pages=8 links=3

# Both hooks write a ledger; the first moves the file as well.
mkdir tape
cat >finished.sh <<'END'
#!/bin/sh
echo "warc ${2##*/}" >>"$1/ledger"
if [ -e "$2" ]; then mv "$2" "$1/tape/" || exit 1; fi
echo "$1/tape/${2##*/}"
END
cat >ended.sh <<'END'
#!/bin/sh
echo "ended $2" >>"$1/ledger"
END
chmod +x finished.sh ended.sh

words=(--data d --quiet
	--set hook.warc_finished="$PWD/finished.sh $PWD"
	--set hook.crawl_ended="$PWD/ended.sh $PWD")
has_file() { compgen -G "$1" >/dev/null; }
# Until the file is there, or the crawl has ended.
wait_for() {
	while ! has_file "$1" && kill -0 "$pid" 2>/dev/null; do :; done
}

moments=('d/archive/*.warc.gz' 'd/hooks/warc_finished-*'
	'd/hooks/crawl_ended-*' ledger 'tape/*.warc.gz')
killed=0 over=0 uncalled='' lost='' unended=''
for moment in "${moments[@]}"; do
	for ((i = 0; i < KILLS; i++)); do
		rm -rf d ledger tape
		mkdir tape
		"$A" crawl "$WEB/" "${words[@]}" 2>/dev/null &
		pid=$!
		wait_for "$moment"
		sleep "0.$(printf %03d $((i * 3 % 20)))"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		[ $? = 137 ] && killed=$((killed + 1))
		# The command may outlive the crawl that was killed, and on a
		# busy machine the crawl's end takes its time (75).
		sleep 0.1
		for ((try = 0; try < 100; try++)); do
			"$A" crawl --resume "${words[@]}" >out 2>&1
			code=$?
			[ "$code" = 75 ] || break
			sleep 0.1
		done
		[ "$code" = 66 ] && over=$((over + 1))
		[ "$code" = 0 ] || [ "$code" = 66 ] || uncalled+="$code "
		for file in tape/*.warc.gz d/archive/*.warc.gz; do
			[ -e "$file" ] || continue
			grep -qxF "warc ${file##*/}" ledger ||
				uncalled+="$moment $file "
		done
		has_file 'tape/*.warc.gz' || has_file 'd/archive/*.warc.gz' ||
			lost+="$moment none "
		grep -qx "ended 0" ledger || unended+="$moment $code "
		has_file 'd/hooks/*' && uncalled+="$moment pending "
		"$A" archive check --data d --quiet >check.txt 2>&1 ||
			lost+="$moment $(tail -n 1 check.txt) "
		grep -q "a finished file is not as recorded" check.txt &&
			lost+="$moment "
	done
done
echo "# $killed of $((${#moments[@]} * KILLS)) crawls were killed, $over had ended before"
check "crawls were killed" test "$killed" -gt 0
same "each finished file was given to its hook" "$uncalled" ""
same "each end was given to its hook" "$unended" ""
same "no file is lost" "$lost" ""
