"""The metric language of Linux's pmu-events, evaluated straight over the JSON.

Written apart from the C++ engine, as a check on it. Operators, from loosest to tightest:
`A if C else B` (right to left), `|`, `^`, `&`, `<` and `>`, `+` and `-`, `*` `/` `%`, sign.
A value that cannot be known is None:

- `x / 0`, `x % 0` and arithmetic or comparison on an unknown value are unknown, and so are
  `min` and `max` of one: perf prints a number for some of these, which would be a wrong one.
- `d_ratio(x, 0)` is 0. `0 & x` is 0 and `1 | x` is 1 whatever x is.
- A choice on an unknown condition is unknown; the branch not chosen does not matter.
"""
import math
import re

TOKEN = re.compile(r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?(?![0-9A-Za-z_.:@?\\=]))
  | (?P<name>(?:\\[-,=]|[0-9A-Za-z_.:@?=])+)
  | (?P<literal>\#[0-9A-Za-z_.\-]+)
  | (?P<sign>[-+*/%|^&<>(),]))""", re.VERBOSE)
FUNCTIONS = {"min", "max", "d_ratio", "source_count", "aggr_nr", "has_event", "strcmp_cpuid_str"}


class Malformed(ValueError):
    """An expression that the language does not have."""


def tokens(text):
    position, found = 0, []
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if not match:
            raise Malformed(f"column {position + 1}: {text[position:position + 20]!r}")
        found.append((match.lastgroup, match.group(match.lastgroup)))
        position = match.end()
    return found + [("end", "")]


class Parser:
    """Turns text into nested tuples: (operator, operand, ...)."""

    LEVELS = [["|"], ["^"], ["&"], ["<", ">"], ["+", "-"], ["*", "/", "%"]]

    def __init__(self, text):
        self.tokens, self.at = tokens(text), 0

    def parse(self):
        tree = self.choice()
        self.expect("")
        return tree

    def peek(self):
        return self.tokens[self.at][1]

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, text):
        kind, found = self.take()
        if found != text:
            raise Malformed(f"expected {text or 'the end'!r}, found {found!r}")

    def choice(self):
        value = self.binary(0)
        if self.peek() != "if":
            return value
        self.take()
        condition = self.binary(0)
        self.expect("else")
        return ("if", condition, value, self.choice())

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in self.LEVELS[level]:
            operator = self.take()[1]
            left = (operator, left, self.binary(level + 1))
        return left

    def unary(self):
        kind, text = self.take()
        if text == "-":
            return ("negate", self.unary())
        if text == "(":
            inner = self.choice()
            self.expect(")")
            return inner
        if kind == "number":
            return ("number", float(text))
        if kind == "literal":
            return ("literal", text)
        if kind == "name" and text in FUNCTIONS:
            return self.call(text)
        if kind == "name" and text == "NaN":
            return ("number", None)
        if kind == "name" and text not in ("if", "else"):
            return ("name", text)
        raise Malformed(f"unexpected {text or 'end'!r}")

    def call(self, function):
        self.expect("(")
        if function in ("min", "max", "d_ratio"):
            first = self.choice()
            self.expect(",")
            arguments = (first, self.choice())
        else:
            arguments = (self.take()[1],)
        self.expect(")")
        return (function, *arguments)


def parse(text):
    return Parser(text).parse()


def names(tree):
    """The event and metric names in a tree, as they are written, in order."""
    if tree[0] in ("name", "source_count", "aggr_nr"):
        yield tree[1]
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from names(part)


def unescape(name):
    return re.sub(r"\\(.)", r"\1", name)


def arithmetic(operator, left, right):
    if left is None or right is None:
        return None
    if operator in "/%" and right == 0:
        return None
    result = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
              "/": lambda: left / right, "%": lambda: math.fmod(int(left), int(right)),
              "<": lambda: float(left < right), ">": lambda: float(left > right)}[operator]()
    return result if math.isfinite(result) else None


def logic(operator, left, right):
    if operator == "&" and (left == 0 or right == 0):
        return 0.0
    if operator == "|" and (left not in (0, None) or right not in (0, None)):
        return 1.0
    if left is None or right is None:
        return None
    if operator == "^":
        return float((left == 0) != (right == 0))
    return 1.0 if operator == "&" else 0.0


class Evaluator:
    """Evaluates the metrics of one CPU and PMU.

    metrics: name to expression. count(name): the value of an event, or None.
    constants: `#literal` in lower case to value. matches(id): strcmp_cpuid_str.
    """

    def __init__(self, metrics, count, constants, matches, has_event):
        self.metrics, self.count, self.constants = metrics, count, constants
        self.matches, self.has_event = matches, has_event
        self.trees, self.values, self.open = {}, {}, []

    def metric(self, name):
        if name not in self.values:
            if name in self.open:
                raise Malformed(" -> ".join(self.open + [name]) + " goes in a circle")
            self.open.append(name)
            self.values[name] = self.value(parse(self.metrics[name]))
            self.open.pop()
        return self.values[name]

    def value(self, tree):
        kind = tree[0]
        if kind == "number":
            return tree[1]
        if kind == "literal":
            return self.constants.get(tree[1].lower())
        if kind == "name":
            name = unescape(tree[1])
            return self.metric(name) if name in self.metrics else self.count(tree[1])
        if kind == "if":
            condition = self.value(tree[1])
            return None if condition is None else self.value(tree[2] if condition else tree[3])
        if kind == "negate":
            inner = self.value(tree[1])
            return None if inner is None else -inner
        if kind in ("source_count", "aggr_nr"):
            return 1.0
        if kind == "has_event":
            return float(self.has_event(unescape(tree[1])))
        if kind == "strcmp_cpuid_str":
            return float(self.matches(tree[1]))
        left, right = self.value(tree[1]), self.value(tree[2])
        if kind in ("min", "max"):
            return None if left is None or right is None else {"min": min, "max": max}[kind](left, right)
        if kind == "d_ratio":
            return 0.0 if right == 0 else arithmetic("/", left, right)
        return logic(kind, left, right) if kind in "|^&" else arithmetic(kind, left, right)
