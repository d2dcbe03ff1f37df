#!/usr/bin/env python3
"""What tmaprobe says of programs with regions.

    regions_test.py --build BUILD --two TWO_REGIONS CASE
"""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import HERE, ROOT, check, parser

parser.add_argument("--two", required=True)
parser.add_argument("case")
options = parser.parse_args()
TMAPROBE = str(options.build / "tmaprobe")
CHAIN, WIDE = 1000, 6000  # iterations of a round
PER_CHAIN, PER_WIDE = 4, 8  # instructions of an iteration


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*words, **further):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **further)


def record_of(*words, status=0, before=(), **further):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "record.json"
        done = run(*before, TMAPROBE, "--no-calibration", "--source", "model", "--json", file, *words, **further)
        if done.returncode != status:
            sys.exit(f"status {done.returncode}: {done.stderr}")
        return json.loads(file.read_text()), done


def regions_of(record):
    return {region["name"]: region for region in record["runs"][0]["extra"]["regions"]["list"]}


def met(rounds, record):
    """The regions of a run of so many rounds; of up to eight times as many where a busy machine let the model have no window
    of some."""
    for longer in (1, 2, 4, 8):
        found = regions_of(record(rounds * longer)[0])
        if all("cost" in region for region in found.values()):
            break
    return found


def level1(region, category):
    return sum(metric["value"] for metric in region["metrics"]
               if metric["level"] == 1 and metric["category"] == category)


def compile_c(folder, text, name="program", compiler="cc", further=()):
    suffix = ".cpp" if compiler == "c++" else ".c"
    source, program = pathlib.Path(folder) / (name + suffix), pathlib.Path(folder) / name
    source.write_text(text)
    done = run(compiler, "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", *further[:1], source, *further[1:],
               "-pthread", "-o", program)
    if done.returncode:
        sys.exit(done.stderr)
    return program


def marked():
    """Two regions of known instructions and another character each."""
    rounds = 60000
    record, done = record_of("--level", "2", "--", options.two, rounds, CHAIN, WIDE)
    native = run(options.two, rounds, CHAIN, WIDE)
    check(native.stdout == done.stdout and native.stderr == "", "the program's output is its own")
    found = regions_of(record)
    check(set(found) == {"chain", "wide"}, f"both regions, by name: {set(found)}")
    check(not any(warning["id"] == "region_marks" for warning in record["warnings"]), "no mistakes in marks")
    shares, times = {}, {}
    for name, iterations, instructions in (("chain", CHAIN, PER_CHAIN), ("wide", WIDE, PER_WIDE)):
        region = found[name]
        totals, cost = region["totals"], region["cost"]
        check(totals["entries"] == rounds and totals["iterations"] == rounds * iterations,
              f"{name}: {totals['entries']} entries, {totals['iterations']} iterations")
        check(totals["threads"] == 1 and totals["processes"] == 1, f"{name}: one thread of one process")
        check(totals["own_ns"] == totals["time_ns"] > 0, f"{name}: all of its time is its own")
        per_iteration = cost["instructions_per_entry"] / iterations
        check(instructions <= per_iteration < instructions * 1.005,
              f"{name}: {per_iteration:.4f} instructions an iteration, {instructions} are there")
        check(cost["low"] <= cost["share"] <= cost["high"], f"{name}: {cost['low']} <= {cost['share']} <= {cost['high']}")
        shares[name], times[name] = cost, totals["time_ns"]
    check(found["wide"]["totals"]["bytes"] == rounds * WIDE * 8 and "bytes" not in found["chain"]["totals"],
          "bytes as the program says")
    check(level1(found["wide"], "retiring") > level1(found["chain"], "retiring") + 0.2,
          f"wide retires {level1(found['wide'], 'retiring'):.2f} of its slots, chain {level1(found['chain'], 'retiring'):.2f}")
    check(level1(found["chain"], "backend") > 0.5, f"chain is bound by the back end: {level1(found['chain'], 'backend'):.2f}")
    outside = record["runs"][0]["extra"]["regions"]["outside_share"]
    all_of_it = sum(cost["own_share"] for cost in shares.values()) + outside
    check(abs(all_of_it - 1) < 1e-9, f"shares add up to {all_of_it}")
    check(outside < 0.02, f"nothing else takes time: {outside}")
    measured = times["wide"] / sum(times.values())
    # The clock's time includes what others on a busy machine take, and the model's clock is not this CPU's.
    low, high = shares["wide"]["low"] - 0.15, shares["wide"]["high"] + 0.15
    check(low <= measured <= high, f"wide has {measured:.3f} of the time by the clock, by the model "
                                   f"{shares['wide']['share']:.3f} ({low + 0.15:.3f}..{high - 0.15:.3f})")


def function():
    """Functions of a program that was not touched."""
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <stdlib.h>
        __attribute__((noinline)) static unsigned long inner(unsigned long x) {
            for (int i = 0; i < 300; ++i) { x *= x; __asm__ volatile("" : "+r"(x)); }
            return x;
        }
        __attribute__((noinline)) unsigned long slow(unsigned long x) { return inner(x) + inner(x + 1); }
        __attribute__((noinline)) unsigned long quick(unsigned long x) {
            for (int i = 0; i < 300; ++i) __asm__ volatile("" : "+r"(x));
            return x;
        }
        int main(int argc, char** argv) {
            unsigned long x = (unsigned long)argc, n = strtoul(argv[1], 0, 10);
            while (n--) { x += slow(x); x += quick(x); }
            return x == 7;
        }
        """
        program = compile_c(folder, text)
        found = met(600000, lambda rounds: record_of(
            "--region", "slow", "--region", "quick", "--region", "main", "--region", "inner", "--", program, rounds))
        check(all(found[name]["kind"] == "function" and "totals" not in found[name] for name in found),
              "functions have no marks")
        lacking = {name: found[name].get("reason") for name in found if "cost" not in found[name]}
        check(not lacking, f"windows met all of them: {lacking}")
        share = {name: found[name]["cost"]["share"] for name in found}
        check(share["main"] > 0.98, f"main has all: {share['main']:.3f}")
        check(share["slow"] > 0.6 and share["quick"] < 0.4, f"slow {share['slow']:.3f}, quick {share['quick']:.3f}")
        check(abs(share["slow"] - share["inner"]) < 0.05, f"inner is what slow calls: {share['inner']:.3f}")
        for name in ("inner", "slow"):
            cost = found[name]["cost"]
            check("instructions_per_entry" in cost, f"an entry of {name} is seen from begin to end: {cost}")
        per_entry = found["inner"]["cost"]["instructions_per_entry"]
        check(found["inner"]["cost"]["entries_seen"] > 10 and 900 <= per_entry <= 1600, f"{per_entry} an entry of inner")
        whole = found["slow"]["cost"]["instructions_per_entry"]
        check(2 * per_entry < whole < 2 * per_entry + 30, f"slow is two of them: {whole}")
        done = run(TMAPROBE, "--region", "slov", "--", program, 1)
        check(done.returncode == 2 and "slow" in done.stderr, "a name that is not there, and the one that is near")
        slow = met(300000, lambda rounds: record_of("--region", f"{program}:slow", "--", "sh", "-c",
                                                    f"{program} {rounds}; :"))["slow"]
        check(slow.get("cost", {}).get("share", 0) > 0, f"of what a shell starts: {slow}")


def misuse():
    """Marks that do not belong together are told, and the program is as it is by itself."""
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <tmaprobe/region.h>
        #include <pthread.h>
        #include <stdio.h>
        static void* other(void* x) { TMAPROBE_REGION_END("main's"); return x; }
        int main(void) {
            pthread_t thread;
            volatile unsigned long x = 0;
            TMAPROBE_REGION_END("never");
            TMAPROBE_REGION_BEGIN("main's");
            pthread_create(&thread, 0, other, 0);
            pthread_join(thread, 0);
            TMAPROBE_REGION_BEGIN("forgotten");
            for (unsigned long i = 0; i < 200000000; ++i) x += i;
            TMAPROBE_REGION_END("main's");
            TMAPROBE_REGION_BEGIN("open");
            for (unsigned long i = 0; i < 200000000; ++i) x += i;
            printf("%lu\\n", x);
            return 5;
        }
        """
        program = compile_c(folder, text)
        native = run(program)
        record, done = record_of("--", program, status=5)
        check((native.stdout, native.returncode) == (done.stdout, done.returncode), "output and status are its own")
        found = regions_of(record)
        mistakes = {name: {one["what"]: one["times"] for one in found[name].get("mistakes", [])} for name in found}
        check(mistakes == {"never": {"end_without_begin": 1}, "main's": {"end_without_begin": 1},
                           "forgotten": {"not_ended": 1}, "open": {"open_at_the_end": 1}}, f"mistakes: {mistakes}")
        check(sum(warning["id"] == "region_marks" for warning in record["warnings"]) == 4, "each is warned of")
        check(found["open"]["totals"]["time_ns"] > 0, "what main left open counts to the end")


def tree_of_processes():
    """Marks of threads, children and programs that are executed."""
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <tmaprobe/region.h>
        #include <pthread.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void* work(void* x) {
            for (int i = 0; i < 200; ++i) {
                TMAPROBE_REGION_SCOPE("work");
                for (volatile int k = 0; k < 100000; ++k) {}
            }
            return x;
        }
        int main(int argc, char** argv) {
            pthread_t thread;
            if (argc > 1) { TMAPROBE_REGION_SCOPE("after exec"); work(0); return 0; }
            TMAPROBE_REGION_BEGIN("all");
            pthread_create(&thread, 0, work, 0);
            pthread_join(thread, 0);
            const pid_t child = fork();
            if (child == 0) {
                work(0);
                TMAPROBE_REGION_END("all");
                execl(argv[0], argv[0], "again", (char*)0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            TMAPROBE_REGION_END("all");
            return status;
        }
        """
        program = compile_c(folder, text)
        record, _ = record_of("--", program)
        found = regions_of(record)
        check(found["work"]["totals"]["entries"] == 600, "of a thread, a child and what it executes")
        check(found["work"]["totals"]["processes"] == 2, "in two processes")
        check(found["all"]["totals"]["entries"] == 1 and not found["all"].get("mistakes"), "a fork does not enter again")
        check(found["after exec"]["totals"]["entries"] == 1, "exec begins anew")
        # The program's own file has no marks here: a shell starts it.
        record, _ = record_of("--", "sh", "-c", f"{program}; :")
        check("regions" not in record["runs"][0]["extra"], "nobody listens where the program itself has no marks")
        record, _ = record_of("--regions", "--", "sh", "-c", f"{program}; :")
        check(regions_of(record)["work"]["totals"]["entries"] == 600, "--regions listens")
        record, _ = record_of("--no-regions", "--", program)
        check("regions" not in record["runs"][0]["extra"], "--no-regions does not")


def what_if():
    """What a change would win, of one region alone."""
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <tmaprobe/region.h>
        int main(void) {
            unsigned long x = 1;
            for (int round = 0; round < 5000; ++round) {
                TMAPROBE_REGION_BEGIN("guesses");
                for (int i = 0; i < 100000; ++i) {
                    x = x * 6364136223846793005ul + 1442695040888963407ul;
                    if (x >> 63) __asm__ volatile("nop");
                }
                TMAPROBE_REGION_END("guesses");
                TMAPROBE_REGION_BEGIN("chain");
                for (int i = 0; i < 200000; ++i) { x *= x; __asm__ volatile("" : "+r"(x)); }
                TMAPROBE_REGION_END("chain");
            }
            return x == 7;
        }
        """
        program = compile_c(folder, text)
        won = {}
        for region in ("guesses", "chain"):
            file = pathlib.Path(folder) / "w.json"
            done = run(TMAPROBE, "what-if", "--in", region, "--change", "no-mispredictions", "--no-calibration", "--json",
                       file, "--", program)
            check(done.returncode == 0, done.stderr)
            answer = json.loads(file.read_text())["runs"][0]["extra"]["what_if"]
            check(answer["region"] == region, f"of region {answer.get('region')}")
            won[region] = answer["answers"][0]["speed_up"]
        check(won["guesses"]["value"] > 1.4, f"without mispredictions: {won['guesses']}")
        check(won["chain"]["value"] < 1.05, f"nothing to mispredict: {won['chain']}")
        check(won["guesses"]["low"] <= won["guesses"]["value"] <= won["guesses"]["high"], "between its bounds")
        done = run(TMAPROBE, "what-if", "--in", "nowhere", "--change", "no-mispredictions", "--", program)
        check(done.returncode == 0 and "what_if_unknown" in done.stderr + done.stdout or "no window" in done.stderr,
              f"a region that there is not: {done.stderr[-300:]}")


def environment():
    """Programs without marks see no variable of ours, and nothing of ours stays behind."""
    done = run(TMAPROBE, "--source", "model", "--", "env")
    check("TMAPROBE_REGIONS" not in done.stdout, "no variable for a program without marks")
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <tmaprobe/region.h>
        #include <stdio.h>
        #include <stdlib.h>
        int main(void) {
            TMAPROBE_REGION_BEGIN("work");
            TMAPROBE_REGION_END("work");
            const char* const page = getenv("TMAPROBE_REGIONS");
            return !page || puts(page) < 0;
        }
        """
        _, done = record_of("--", compile_c(folder, text))
        page = done.stdout.strip()
        check(page.startswith("/") and not os.path.exists(page), f"{page} is taken away")


def reports():
    """Every report has the regions; names are shown as texts."""
    with tempfile.TemporaryDirectory() as folder:
        text = """
        #include <tmaprobe/region.h>
        int main(void) {
            for (int i = 0; i < 300; ++i) {
                TMAPROBE_REGION_SCOPE("a<b>|`c`");
                for (volatile int k = 0; k < 1000000; ++k) {}
            }
            return 0;
        }
        """
        program = compile_c(folder, text)
        file = pathlib.Path(folder) / "r.json"
        for _ in range(4):  # a busy machine may let the model have no window of it
            done = run(TMAPROBE, "--source", "model", "--json", file, "--", program)
            if all("cost" in region for region in regions_of(json.loads(file.read_text())).values()):
                break
        check("a<b>|`c`" in done.stderr and "entries" in done.stderr, "the terminal")
        html = run(TMAPROBE, "report", file, "--format", "html").stdout
        check("a&lt;b&gt;" in html and "<b>|" not in html.split('<script type="application/json"')[0], "the page")
        markdown = run(TMAPROBE, "report", file, "--format", "markdown").stdout
        check("### Regions" in markdown and "a&lt;b&gt;\\|\\`c\\`" in markdown, "Markdown")
        rows = list(csv.DictReader(io.StringIO(run(TMAPROBE, "report", file, "--format", "csv").stdout)))
        of_region = {row["name"]: row for row in rows if '"region":"a<b>|`c`"' in row["parameters"].replace('": ', '":')}
        check(of_region["entries"]["value"] == "300" and of_region["time_share"]["status"] == "modelled" and
              float(of_region["time"]["value"]) > 0 and of_region.keys() & {"retiring", "tma_retiring"},
              f"CSV: {sorted(of_region)}")
        metrics = run(TMAPROBE, "report", file, "--format", "openmetrics").stdout
        check('tmaprobe_region_entries{' in metrics and 'region="a<b>|`c`"' in metrics and
              "tmaprobe_region_slots_ratio{" in metrics, "OpenMetrics")
        again = run(TMAPROBE, "report", file, "--format", "json").stdout
        check(json.loads(again)["runs"][0]["extra"]["regions"] ==
              json.loads(file.read_text())["runs"][0]["extra"]["regions"], "JSON is read and written alike")


SELDOM = """
#include <tmaprobe/region.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static unsigned long multiplies(unsigned long n) {
    unsigned long x = 3;
    while (n--) { x *= x; __asm__ volatile("" : "+r"(x)); }
    return x;
}
__attribute__((noinline)) static void spin(unsigned long n) { while (n--) __asm__ volatile("nop\\nnop\\nnop"); }
int main(int argc, char** argv) {
    unsigned long x = (unsigned long)argc;
    if (!strcmp(argv[1], "alone"))
        for (int i = 0; i < 20; ++i) x += multiplies(500000);
    if (!strcmp(argv[1], "short"))
        for (unsigned long i = strtoul(argv[2], 0, 10); i; --i) {
            TMAPROBE_REGION_BEGIN("short");
            x += multiplies(5000);
            TMAPROBE_REGION_END("short");
            spin(800000);
        }
    if (!strcmp(argv[1], "once")) {
        spin(5000000);
        TMAPROBE_REGION_BEGIN("once");
        x += multiplies(500000);
        TMAPROBE_REGION_END("once");
        spin(2500000);
    }
    return x == 7;
}
"""


def level1_of(metrics):
    return {metric["name"]: metric["value"] for metric in metrics if metric["level"] == 1}


def seldom():
    """A region that is short, or entered once, has the tree that its code has alone; --repeatable the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        program = compile_c(folder, SELDOM)
        alone, _ = record_of("--repeatable", "--", program, "alone")
        levels = level1_of(alone["runs"][0]["metrics"])
        for case, further in (("short", ()), ("short", ("--repeatable",)), ("once", ("--repeatable",))):
            rounds = 12 if further else 4000
            if further:
                record, _ = record_of(*further, "--", program, case, rounds)
                region = regions_of(record)[case]
            else:
                region = met(rounds, lambda longer: record_of("--", program, "short", longer))[case]
            check(region.get("metrics"), f"{case} {further} has a tree: {region.get('reason')}")
            for name, value in level1_of(region["metrics"]).items():
                check(abs(value - levels[name]) < 0.02, f"{case} {further}: {name} {value:.3f}, alone {levels[name]:.3f}")
            if not further:
                continue
            check(region["cost"].get("entry_windows", 0) > 0, f"windows of its entries: {region['cost']}")
            check(region["cost"]["entries_seen"] == region["totals"]["entries"], "all entries are seen")
            again, _ = record_of(*further, "--", program, case, rounds)
            check(again["runs"][0]["extra"]["regions"] == record["runs"][0]["extra"]["regions"],
                  f"{case}: the same each time")


def repeatable_questions():
    """where and what-if of one region of a run that is repeatable: the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        program = compile_c(folder, SELDOM)
        file = pathlib.Path(folder) / "r.json"
        for words, section in ((("where", "--in", "once"), "where"),
                               (("what-if", "--in", "once", "--change", "no-mispredictions"), "what_if")):
            answers = []
            for _ in range(2):
                done = run(TMAPROBE, *words, "--repeatable", "--no-calibration", "--json", file, "--", program, "once")
                check(done.returncode == 0, done.stderr[-500:])
                answers.append(json.loads(file.read_text())["runs"][0]["extra"][section])
            check(answers[0] == answers[1], f"{words[0]}: the same each time")
            check("multiplies" in json.dumps(answers[0]) or section == "what_if", f"{words[0]} names its code")
            check(section == "where" or answers[0]["region"] == "once", "of the region that is asked about")


CASES = {case.__name__: case for case in (marked, function, misuse, tree_of_processes, what_if, environment, reports,
                                          seldom, repeatable_questions)}
if not shutil.which("cc"):
    skip("no C compiler is installed")
if run(TMAPROBE, "--source", "model", "--", "true").returncode and "LLVM" in run(TMAPROBE, "--source", "model", "--",
                                                                                  "true").stderr:
    skip("this build has no model")
CASES[options.case]()
