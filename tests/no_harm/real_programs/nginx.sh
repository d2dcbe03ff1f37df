# A server of our own on a socket of its own: requests, a reload of its configuration under way, and its end.
seq 20000 > page
chmod 755 . 2>/dev/null
nginx -p "$PWD" -c nginx.conf -e error.log
i=0
while ! [ -S web ]; do i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.05; done
python3 fetch.py 150
nginx -p "$PWD" -c nginx.conf -e error.log -s reload
python3 fetch.py 150
pid=$(cat nginx.pid)
nginx -p "$PWD" -c nginx.conf -e error.log -s quit
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
grep -c -e alert -e emerg error.log
rm -f web page
