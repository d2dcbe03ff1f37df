# A server of our own on a socket of its own, a benchmark against it, a background save (which forks), and its end.
redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --save '' --logfile '' --daemonize no >/dev/null 2>&1 &
server=$!
i=0
while ! redis-cli -s socket ping >/dev/null 2>&1; do i=$((i + 1)); [ $i -lt 600 ] || exit 1; sleep 0.05; done
redis-benchmark -s socket -n 20000 -c 10 -t set,get,lpush -q >/dev/null 2>&1
echo "benchmark $?"
redis-cli -s socket set key value
redis-cli -s socket incrby count 41
redis-cli -s socket bgsave >/dev/null
while [ "$(redis-cli -s socket info persistence | grep -c bgsave_in_progress:1)" = 1 ]; do sleep 0.05; done
redis-cli -s socket info persistence | tr -d '\r' | grep bgsave_status
redis-cli -s socket incr count
redis-cli -s socket get key
redis-cli -s socket shutdown nosave >/dev/null 2>&1
wait $server
echo "server $?"
rm -f socket dump.rdb
