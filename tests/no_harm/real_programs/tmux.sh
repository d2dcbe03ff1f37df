# A terminal multiplexer: a daemon of its own, with a shell on a pseudo-terminal.
tmux -S socket -f /dev/null new-session -d -x 80 -y 20 'seq 20000 > numbers; echo done > finished; sleep 60'
i=0
while ! [ -s finished ]; do i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.05; done
tmux -S socket list-sessions -F '#{session_windows} windows'
tmux -S socket kill-server
rm -f socket
wc -l < numbers
