"""Evaluates toplev's own formula modules (PyPI pmu-tools) on the counts that the tables are given.

toplev reads counts through one function, EV(event, level); here it answers with the invented
count of the same encoding, so that both sides see one machine. Its helper for imported CSV does
no more than that, after looking the event up.
"""
import importlib
import re
import sys
from pathlib import Path

import tables

# Where `setup.sh --test` puts pmu-tools, beside what the interpreter has itself.
PLACES = [Path(__file__).resolve().parents[2] / "build" / "pmu-tools"]
PERF_METRICS = {"FRONTEND_BOUND": "fe-bound", "BACKEND_BOUND": "be-bound", "BAD_SPECULATION": "bad-spec",
                "RETIRING": "retiring", "HEAVY_OPERATIONS": "heavy-ops", "BRANCH_MISPREDICTS": "br-mispredict",
                "FETCH_LATENCY": "fetch-lat", "MEMORY_BOUND": "mem-bound"}
INTERVAL = {"interval-s": 1, "interval-ms": 1000}  # in the unit that the name says; duration_time is in seconds
MODIFIERS = {"SUP": "k", "USER": "u"}


RETIRE_LATENCY = 999  # the level at which toplev asks for an event's mean latency, `:R` in the tables


class NotCounted(Exception):
    """toplev asks for an event that the table does not have."""


def load(module):
    for place in PLACES:
        if str(place) not in sys.path:
            sys.path.append(str(place))
    return importlib.import_module(module)


def identifier(event):
    """toplev's `NAME:c1:e1` as the metric language spells it."""
    name, *parts = event.split(":")
    if event == "msr/tsc/":
        return "msr@tsc@"
    if name.startswith("PERF_METRICS."):
        return "topdown-" + PERF_METRICS[name.split(".")[1]]
    terms, suffix = [], ""
    for part in parts:
        match = re.fullmatch(r"([ceiu])(0x[0-9a-f]+|\d+)", part)
        if part in MODIFIERS:
            suffix = ":" + MODIFIERS[part]
        elif match:
            terms.append({"c": "cmask", "e": "edge", "i": "inv", "u": "umask"}[match[1]] + f"\\={match[2]}")
        elif part.startswith("ocr_msr_val="):
            terms.append("offcore_rsp\\=" + part.split("=")[1])
        else:
            raise NotCounted(event)
    if terms:
        return f"cpu@{name}\\," + "\\,".join(terms) + "@" + suffix
    return name + suffix


class Model:
    """One module's nodes, wired as toplev wires them."""

    def __init__(self, module, smt, core_wide, perf_metrics=True):
        self.module = load(module)
        self.module.smt_enabled = bool(smt)
        self.module.ebs_mode = not core_wide
        self.module.topdown_use_fixed = self.perf_metrics = perf_metrics
        self.nodes = {}
        self.module.Setup(self)

    def run(self, node):
        node.thresh = False
        self.nodes["tma_" + node.name.lower()] = node

    metric = force_metric = run

    def value(self, name, count):
        """A node's value; NotCounted where the table lacks one of its events."""
        def event(name, level):
            if callable(name):
                return name(event, level)
            if name in INTERVAL:
                return INTERVAL[name] * count("duration_time")
            if not self.perf_metrics and name == "TOPDOWN.SLOTS":
                name = "TOPDOWN.SLOTS_P"  # toplev takes the general counter's encoding then
            value = count(identifier(name) + (":R" if level == RETIRE_LATENCY else ""))
            if value is None:
                raise NotCounted(name)
            return value
        for node in self.nodes.values():
            node.errcount = 0
        node = self.nodes[name]
        return node.compute(event)

    def flagged(self, name):
        """Whether the node passed its threshold; after value() of it, its parents and children."""
        return bool(self.nodes[name].thresh)


def available():
    try:
        load("clx_server_ratios")
        return True
    except ImportError:
        return False
