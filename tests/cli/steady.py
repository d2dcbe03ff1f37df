#!/usr/bin/env python3
"""Gives the repetitions of a record's first run times that no neighbour disturbed: about NS nanoseconds each.

    steady.py NS FROM.json TO.json
"""
import json
import statistics
import sys

nanoseconds, source, target = float(sys.argv[1]), sys.argv[2], sys.argv[3]
with open(source) as file:
    record = json.load(file)
run = record["runs"][0]
repetitions = run["extra"]["repetitions"]
for number, repetition in enumerate(repetitions):
    repetition.update(ns_per_op=nanoseconds * (1 + 0.001 * (number % 3)), clean=True)
times = [repetition["ns_per_op"] for repetition in repetitions]
middle = statistics.median(times)
spread = statistics.median(abs(time - middle) for time in times)
run["time"].update(repetitions=len(times), clean=len(times), disturbed=0)
run["time"]["ns_per_op"].update(count=len(times), median=middle, min=min(times), max=max(times), mad=spread)
with open(target, "w") as file:
    json.dump(record, file)
