"""Real programs of the bench: compilers, virtual machines, servers, tracers, archivers. What is not installed is
skipped, with its name."""

import functools
import os
import pathlib
import textwrap

from cases import Case

FILES = pathlib.Path(__file__).parent / "real_programs"

# Debian has the library without the name that a linker looks for.
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
SQL = """
    create table t(a integer primary key, b text);
    with recursive n(x) as (select 1 union all select x + 1 from n where x < 200000)
        insert into t select x, hex(x * 7) from n;
    create index i on t(b);
    select count(*), sum(a) from t where b > '5';
"""
CPP = """
    #include <algorithm>
    #include <iostream>
    #include <map>
    #include <string>
    int main() {
        std::map<std::string, int> seen;
        for (int i = 0; i < 1000; ++i) seen[std::to_string(i * 7919 % 1000)]++;
        std::cout << seen.size() << std::endl;
    }
"""


def write_files(files, scratch):
    for name, text in files.items():
        (scratch / name.replace("__", ".")).write_text(textwrap.dedent(text).lstrip())


def copy_files(names, scratch):
    for name in names:
        (scratch / name).write_bytes((FILES / name).read_bytes())


def writes(**files):
    """A `prepare` that writes these files; a dot in a name is written as two underscores."""
    return functools.partial(write_files, files)


def copies(*names):
    """A `prepare` that copies these files of real_programs/."""
    return functools.partial(copy_files, names)


def numbers(scratch):
    value, lines = 1, []
    for _ in range(200_000):
        value = value * 1664525 + 1013904223 & 0xffffffff
        lines.append(f"{value}\n")
    (scratch / "numbers").write_text("".join(lines))


def make_tree(scratch):
    (scratch / "Makefile").write_text("all: a.o b.o c.o d.o\n%.o: %.cpp\n\t@g++ -O1 -c $< -o $@\n")
    for name in "abcd":
        (scratch / f"{name}.cpp").write_text(f"#include <string>\nstd::string {name}(int n) "
                                             "{ return std::to_string(n); }\n")


def compilers():
    compiled = writes(a__cpp=CPP)
    return [
        Case("real.g++", ["sh", "-c", "g++ -O1 a.cpp -o a && ./a"], ["g++"], compiled),
        Case("real.clang", ["sh", "-c", "clang++-19 -O1 a.cpp -o a && ./a"], ["clang++-19"], compiled),
        Case("real.make", ["make", "-s", "-j2"], ["make", "g++"], make_tree),
        Case("real.javac", ["sh", "-c", "javac Threads.java && java Threads"], ["javac"], copies("Threads.java"),
             # A class file is the same each time; what the JVM maps for its monitors is not ours.
             ("hs_err*",)),
        Case("real.java", ["java", "Threads.java"], ["java"], copies("Threads.java")),
        Case("real.go_build", ["sh", "-c", "go build -o run threads.go && ./run && rm run"], ["go"],
             copies("threads.go"), environment=go_environment()),
        Case("real.go_run", ["go", "run", "threads.go"], ["go"], copies("threads.go"), environment=go_environment()),
        Case("real.rustc", ["sh", "-c", "rustc -O threads.rs -o run 2>&1 && ./run"], ["rustc"], copies("threads.rs"),
             environment=own_home()),
        Case("real.cargo", ["sh", "-c", "cargo build -q --release && target/release/small; rm -rf target"], ["cargo"],
             cargo_package, environment=own_home()),
    ]


def own_home():
    """What finds its tools by $HOME keeps the real one."""
    return {"HOME": os.path.expanduser("~")}


def go_environment():
    """The build cache is shared by all runs: without it each would compile the standard library."""
    return {**own_home(), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}


def cargo_package(scratch):
    (scratch / "src").mkdir()
    (scratch / "src" / "main.rs").write_bytes((FILES / "threads.rs").read_bytes())
    (scratch / "Cargo.toml").write_text('[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n')
    # Cargo writes it on the first build.
    (scratch / "Cargo.lock").write_text('version = 3\n\n[[package]]\nname = "small"\nversion = "0.1.0"\n')


def interpreters():
    python = "/usr/bin/python3"
    return [
        Case("real.python_threads", [python, "python_threads.py"], [python], copies("python_threads.py")),
        Case("real.python_processes", [python, "python_processes.py"], [python], copies("python_processes.py")),
        Case("real.python_asyncio", [python, "python_asyncio.py"], [python], copies("python_asyncio.py")),
        Case("real.python_signals", [python, "python_signals.py"], [python], copies("python_signals.py")),
        Case("real.python_terminal", [python, "python_terminal.py"], [python, "bash"], copies("python_terminal.py")),
        Case("real.node", ["node", "workers.js"], ["node"], copies("workers.js")),
        Case("real.perl", ["perl", "-e", "$SIG{ALRM} = sub { $n++ }; use Time::HiRes 'ualarm'; ualarm(5000, 5000); "
                           "while ($n < 60) { $x += $_ ** 0.5 for 1..1000 } print \"ticks\\n\"; "
                           "ualarm(0); if ($p = fork) { waitpid $p, 0; print $? >> 8, \"\\n\" } else { exit 12 }"], ["perl"]),
        Case("real.ruby", ["ruby", "-e", "a = (1..4).map { |i| Thread.new { (1..300_000).sum { |x| x % i.succ } } }; "
                           "p a.map(&:value); p Process.wait2(fork { exit 5 })[1].exitstatus"], ["ruby"]),
        Case("real.tclsh", ["tclsh", "script.tcl"], ["tclsh"],
             writes(script__tcl="""
                 set n 0
                 proc tick {} { incr ::n; if {$::n < 40} {after 5 tick} else {set ::done 1} }
                 after 5 tick
                 vwait done
                 puts "$n [exec echo from a child]"
             """)),
        Case("real.awk", ["sh", "-c", "seq 400000 | awk '{ s += $1 % 7; a[$1 % 100]++ } END { print s, length(a) }'"],
             ["awk"]),
        Case("real.tcmalloc", [python, "python_threads.py"], [python, TCMALLOC], copies("python_threads.py"),
             environment={"LD_PRELOAD": TCMALLOC}),
        Case("real.tcmalloc_threads", ["{programs}/threads", "come_and_go"], ["{programs}/threads", TCMALLOC],
             environment={"LD_PRELOAD": TCMALLOC}),
    ]


def services():
    return [
        Case("real.redis", ["sh", "redis.sh"], ["redis-server", "redis-benchmark"], copies("redis.sh"), ("*.rdb",)),
        Case("real.nginx", ["sh", "nginx.sh"], ["nginx"], copies("nginx.sh", "nginx.conf", "fetch.py"),
             ("*.log", "temp*", "temp*/*")),
        Case("real.sqlite", ["sqlite3", "data.db", SQL], ["sqlite3"]),
        Case("real.git", ["sh", "git.sh"], ["git"], copies("git.sh"),
             environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
                          "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"},
             not_compared=tuple(f"repository/.git/{name}" for name in ("index", "objects/pack/*", "objects/info/*"))),
        Case("real.tmux", ["sh", "tmux.sh"], ["tmux"], copies("tmux.sh")),
    ]


def tracers():
    own = "{programs}/watched"
    return [
        Case("real.gdb", ["sh", "-c", "gdb -q -batch -ex 'break getppid' -ex run -ex 'delete' -ex continue "
                          f"--args {{programs}}/queued by_descriptor 2>&1 | grep -c -e exited -e expected"],
             ["gdb"]),
        Case("real.strace", ["sh", "-c", "strace -f -o trace -e trace=exit_group {programs}/stops by_itself; "
                             "grep -c exit_group trace; rm trace"], ["strace"]),
        Case("real.strace_of_threads", ["sh", "-c", "strace -f -c -o counts {programs}/threads a_hundred; rm counts"],
             ["strace"]),
        Case("real.valgrind", ["valgrind", "-q", "--error-exitcode=9", "{programs}/stops", "nothing_else_reported"],
             ["valgrind"]),
        Case("real.qemu_user", ["qemu-x86_64", "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; "
                                "echo $i; exit 6"], ["qemu-x86_64"]),
        Case("real.script", ["script", "-qec", f"{own} looks_for_a_tracer", "/dev/null"], ["script"]),
        Case("real.unshare", ["unshare", "-r", "-p", "-f", "{programs}/processes", "waits_for_any"], ["unshare"]),
        Case("real.su", ["su", "-s", "/bin/sh", "nobody", "-c", "{programs}/timers one_shots"], ["su"]),
        Case("real.nice", ["nice", "-n", "5", "{programs}/threads", "futexes"], ["nice"]),
    ]


def archivers():
    return [
        Case("real.xz", ["sh", "-c", "xz -T2 -1 -k numbers && xz -dc numbers.xz | cmp - numbers && echo same"], ["xz"],
             numbers),
        Case("real.zstd", ["sh", "-c", "zstd -q -T2 -9 -k numbers && zstd -dcq numbers.zst | cmp - numbers && echo same"
                           ], ["zstd"], numbers),
        Case("real.gzip", ["sh", "-c", "gzip -n -k numbers && gzip -dc numbers.gz | cmp - numbers && echo same"],
             ["gzip"], numbers),
        Case("real.sort", ["sort", "--parallel=2", "-S", "8M", "-n", "-o", "sorted", "numbers"], ["sort"], numbers),
        Case("real.tar", ["sh", "-c", "tar cf - numbers | tar tvf - | wc -l"], ["tar"], numbers),
        Case("real.openssl", ["sh", "-c", "for i in 1 2 3 4 5; do openssl dgst -sha512 numbers; done"], ["openssl"],
             numbers),
        Case("real.bc", ["sh", "-c", "echo 'scale=1200; 4*a(1)' | bc -l"], ["bc"]),
    ]


def cases():
    return compilers() + interpreters() + services() + tracers() + archivers()
