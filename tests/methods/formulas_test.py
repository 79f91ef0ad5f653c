#!/usr/bin/env python3
"""Tests of what the tracer writes: formulas as text, of the cohort and the server, and declarations. Needs the standard library alone."""
import tempfile
import types
import unittest
from pathlib import Path

from support import EXAMPLES, PLACES, box_of, method  # first: it says where fedhive is

from fedhive.by_class import SHAPES
from fedhive.context import MethodError
from fedhive.grammar import MOST_BYTES, MOST_DEEP
from fedhive.rows import NAMES, OF_MEMORIES
from fedhive.symbols import Symbols
from fedhive.text import lines_of, parse, text_of


def server(expression, arguments="w, k"):
    """Returns the box of a file whose server adds an expression to w. If that speaks of d, d comes up."""
    declared = """
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(u):
    return {d: fh.sign(u)}
"""
    return box_of(f"{declared if 'k.d' in expression else ''}@fh.server\ndef server({arguments}):\n    return w + {expression}\n")


class Text(unittest.TestCase):
    def read(self, text, box, place=""):
        """Returns an expression of a box as a symbol, by the names of this box."""
        vectors = {"g", "w", "w_t", "g_t", "w_0", "u"} | {memory["name"] for memory in box.get("memories", [])}

        def lookup(name):
            part = name.split(".")[-1]
            shape = {memory["name"]: memory.get("shape") for memory in box.get("memories", [])}.get(name)
            if place in ("loss", "measure", "answer"):
                return self.symbols.name(name, is_vector=OF_MEMORIES.get(shape, False) if shape else NAMES.get(part, False)) if name not in self.lets else self.lets[name]
            if shape == "number":
                return self.symbols.name(name)
            if shape or name == "counts":
                return self.symbols.name(name, is_vector=SHAPES[shape or "classes"])
            if name in self.lets:
                return self.lets[name]
            return self.symbols.name(name, name.startswith("k."), name in vectors or part in vectors and name.startswith("by_"))

        return parse(text, self.symbols, lookup)

    def test_each_line_of_each_example_reads_back_as_it_was_written(self):
        for path in EXAMPLES:
            box = method.box_of(path)
            for place in PLACES:
                self.symbols, self.lets = Symbols(), {}
                for line in box.get(place, []):
                    if line == "end":
                        continue
                    target, text = line.split(" ", 1) if line.startswith("repeat ") else line.split(" = ", 1)
                    value = self.read(text, box, place)
                    self.assertEqual(text_of(value), text, line)
                    if target.startswith("let "):
                        self.lets[target[4:]] = self.symbols.name(target[4:], *value.shape)

    def test_brackets_stand_where_the_grammar_needs_them_and_nowhere_else(self):
        self.symbols, self.lets = Symbols(), {}
        for text in ("a - (b - c)", "a - b - c", "a / (b * c)", "a * b / c", "a + b % c", "(a + b) * c", "-a^2", "(-a)^2", "a^-b", "a^b^c", "(a^b)^c",
                     "a^(b + 1)", "--a", "a - -b", "-a * b", "-(a * b)", "(a < b) * c", "a < b", "(a < b) == (c < a)", "a + (b < c)", "(-2)^2",
                     "-2^2", "a * (-2)", "where(a < b, -1, 0.5)", "minimum(a + b, -c)", "1e-06 * a", "2.5e+20 * a", "sum_k(k.n * k.steps^2)",
                     "softmax_k(-k.loss) * k.n", "median_k(k.norm) + max_k(k.n)"):
            value = self.read(text, {})
            self.assertEqual(text_of(value), text.replace("a^-b", "a^(-b)"))
            self.assertIs(self.read(text_of(value), {}), value)
        for spaced, text in (("a  -(b)", "a - b"), ("((a))", "a"), ("(a)^(2)", "a^2"), ("a+b*c", "a + b * c"), (".5*a", "0.5 * a")):
            self.assertEqual(text_of(self.read(spaced, {})), text)

    def test_text_outside_of_the_grammar_is_refused(self):
        self.symbols, self.lets = Symbols(), {}
        for text, says in (("a +", "ends too early"), ("a b", "'b' is not expected"), ("a < b < c", "'<' is not expected"), ("a)", "')' is not"),
                           ("f(a)", "function 'f' is not known"), ("sqr(a)", "did you mean 'sqrt'"), ("minimum(a)", "takes 2 arguments, not 1"),
                           ("norm(a)", "it takes vectors"), ("sum_k(a)", "it takes one value for each client"), ("w^w", "it must be a number"),
                           ("2 $ a", "'$'"), ("1e999 * a", "finite"), ("", "ends too early"), ("mean_k(norm(k.u))", "it takes vectors"),
                           ("a" * (MOST_BYTES + 1), "allowed: 4096")):
            with self.subTest(text[:20]), self.assertRaises(MethodError) as caught:
                self.read(text, {})
            self.assertIn(says, str(caught.exception))

    def test_depth_is_bounded_and_the_bound_itself_is_allowed(self):
        self.symbols, self.lets = Symbols(), {}
        for text in ("(" * MOST_DEEP + "a" + ")" * MOST_DEEP, "-" * MOST_DEEP + "a", "2^" * MOST_DEEP + "a"):
            self.read(text, {})
            more = {"(": f"({text})", "-": "-" + text, "2": "2^" + text}[text[0]]
            with self.assertRaisesRegex(MethodError, f"more than {MOST_DEEP} nested brackets or signs"):
                self.read(more, {})
        self.read(" + ".join(["(-a)^2"] * 2 * MOST_DEEP), {})
        value = self.symbols.name("a")
        for _ in range(MOST_DEEP - 1):
            value = self.symbols.build("+", value, self.symbols.name("b"))
        self.assertEqual(lines_of({"x": value}, {}, ()), ["x = a" + " + b" * (MOST_DEEP - 1)])
        with self.assertRaisesRegex(MethodError, f"more than {MOST_DEEP} operations deep"):
            lines_of({"x": self.symbols.build("+", value, self.symbols.name("b"))}, {}, ())

    def test_what_is_used_twice_is_computed_once(self):
        box = box_of("@fh.gradient\ndef gradient(g, w):\n    for _ in range(12):\n        g = g * g + w\n    return g\n")
        self.assertEqual(len(box["gradient"]), 12)
        self.assertEqual(box["gradient"][0], "let t1 = g * g + w")
        self.assertEqual(box["gradient"][-1], "g = t11 * t11 + w")

    def test_names_of_locals_give_way_to_names_that_mean_something(self):
        box = box_of("""t1 = fh.key("t1", 1.0)
@fh.gradient
def gradient(g, w, w_t):
    u = w - w_t
    norm = fh.norm(g)
    größe = t1 * w
    return u * norm + größe * norm
""")
        self.assertEqual(box["gradient"], ["let u_ = w - w_t", "let norm_ = norm(g)", "let t1_ = t1 * w", "g = u_ * norm_ + t1_ * norm_"])


class RootClient(unittest.TestCase):
    def test_products_with_its_update_are_numbers_of_the_clients_and_its_length_one_of_the_cohort(self):
        box = server("fh.norm(root.u) * fh.sum(fh.cos(root.u, k.u) * k.u) + fh.sum(fh.dot(k.u, root.u)) / fh.norm(root.u)", "w, k, root")
        self.assertEqual(box["cohort"], ["weight = k.cos_root", "root_1 = root_norm", "sum_1 = sum_k(k.dot_root)"])
        self.assertEqual(box["server"], ["w = w + root_1 * u + sum_1 / root_1"])


class Repeats(unittest.TestCase):
    def cohort(self, body):
        return box_of("R = fh.key('R', 4, integer=True)\n@fh.weight\ndef weight(k, received):\n" + "".join(f"    {line}\n" for line in body.splitlines()))["cohort"]

    def test_lines_of_a_turn_stand_between_repeat_and_end_and_what_does_not_change_before(self):
        self.assertEqual(self.cohort("""half = k.n / 2 + 1
def step(a, b):
    both = a + b * half
    return both, fh.sum(both) + half
a, b = fh.repeat(R + 1, step, k.n, 0 * k.n)
return a + b * half"""), ["let half = k.n / 2 + 1", "let a = k.n", "let b = 0 * k.n", "repeat R + 1", "let both = a + b * half", "a = both", "b = sum_k(both) + half", "end",
                          "weight = a + b * half"])

    def test_one_result_is_enough_and_a_second_repeat_has_names_of_its_own(self):
        self.assertEqual(self.cohort("""_, x = fh.repeat(2, lambda x, y: (y, x + y), k.n, k.steps)
return fh.repeat(R, lambda x: x / fh.sum(x), x)"""), ["let x = k.n", "let y = k.steps", "repeat 2", "x = y", "y = x + y", "end", "let x_ = y", "repeat R", "x_ = x_ / sum_k(x_)", "end",
                                                      "weight = x_"])

    def test_numbers_of_a_server_are_made_with_the_cohort(self):
        box = server("server_lr * fh.repeat(5, lambda x: (x + fh.sum(k.n) / x) / 2, 1) * fh.mean(k.u)", "w, k, server_lr")
        self.assertEqual(box["cohort"], ["let x = 1", "repeat 5", "x = (x + sum_k(k.n) / x) / 2", "end", "repeat_1 = x"])
        self.assertEqual(box["server"], ["w = w + server_lr * repeat_1 * u"])

    def test_sums_of_vectors_in_a_turn_become_products(self):
        lines = self.cohort("return fh.repeat(R, lambda x: x * fh.norm(fh.sum(x * k.u)) + fh.dot(k.u, fh.mean(k.u)), k.n)")
        self.assertEqual(lines, ["let x = k.n", "repeat R", "x = x * sqrt(sum_k(x * dot_k(x))) + dot_k(1 / received)", "end", "weight = x"])


class Server(unittest.TestCase):
    def formulas(self, expression, arguments="w, k"):
        box = server(expression, arguments)
        return box.get("weighting"), box.get("cohort", []), box["server"][-1][len("w = w + "):]

    def test_plain_sums_ask_for_equal_weights(self):
        for expression, text in (("fh.mean(k.u)", "u"), ("fh.sum(k.u)", "received * u"), ("(fh.mean(k.d) + u)", "(d + u)"),
                                 ("fh.mean(-k.u)", "(-1) * u"), ("fh.mean(3 * k.u - k.d / 2)", "(3 * u + -(1 / 2) * d)"),
                                 ("fh.sum(k.u / k.count)", "1 / received * received * u"), ("fh.mean(fh.max(k.n) * k.u)", "max_1 * u")):
            with self.subTest(expression):
                uniform, cohort, formula = self.formulas(expression, "w, u, k")
                self.assertEqual((uniform, formula), ("uniform", text))
                self.assertFalse(any(line.startswith("weight") for line in cohort))

    def test_factors_of_updates_are_the_weight(self):
        for expression, weight, text in (
                ("fh.sum(k.n * k.u)", "k.n", "u"), ("fh.sum(k.u * k.n)", "k.n", "u"), ("fh.mean(k.n * k.u)", "k.n", "u / received"),
                ("fh.sum(k.n / k.steps * k.u)", "k.n / k.steps", "u"), ("fh.sum(k.u / k.steps)", "1 / k.steps", "u"),
                ("fh.sum(-(k.n * k.u))", "-k.n", "u"), ("2 * fh.sum(k.n * k.u)", "k.n", "2 * u"), ("fh.sum(2 * (k.n * k.u))", "2 * k.n", "u"),
                ("fh.sum(k.n * k.u - k.steps * k.u)", "k.n - k.steps", "u"), ("fh.sum(k.u - k.n * k.u)", "1 - k.n", "u"),
                ("fh.sum(k.n * k.u + k.n * k.d)", "k.n", "(u + d)"), ("fh.sum(k.n * (k.u + k.d))", "k.n", "(u + d)"),
                ("(fh.sum(k.n * k.u) - fh.sum(k.n * k.d))", "k.n", "(u - d)"),
                ("fh.sum(fh.where(k.loss < 2, k.n, 0) * k.u)", "where(k.loss < 2, k.n, 0)", "u"),
                ("fh.sum(fh.softmax(k.sent_loss) * k.u)", "softmax_k(k.sent_loss)", "u"), ("fh.sum(fh.norm(k.u) * k.u)", "k.norm", "u")):
            with self.subTest(expression):
                self.assertEqual(self.formulas(expression), (None, [f"weight = {weight}"], text))

    def test_the_same_weights_are_the_same_formula(self):
        self.assertEqual(self.formulas("fh.sum(k.n / fh.sum(k.n) * k.u) + fh.sum(k.n / fh.sum(k.n) * k.d)")[2], "u + d")

    def test_other_weights_are_those_of_further_sums(self):
        for expression, arguments, cohort, text in (
                ("fh.sum(k.n * k.u - k.n * k.d)", "w, k", ["weight = k.n", "by_2 = -k.n"], "(u + by_2.d)"),
                ("fh.sum(k.n * k.u) + fh.mean(k.u)", "w, k", ["weight = k.n", "by_2 = 1 / received"], "u + by_2.u"),
                ("(fh.mean(k.u) + fh.mean(k.n * k.d))", "w, k", ["by_2 = k.n"], "(u + by_2.d / received)"),
                ("(u + fh.sum(k.n * k.u))", "w, u, k", ["by_2 = k.n"], "(u + by_2.u)")):
            with self.subTest(expression):
                uniform, lines, formula = self.formulas(expression, arguments)
                self.assertEqual((lines, formula), (cohort, text))
                self.assertEqual(uniform, "uniform" if "fh.mean(k.u) + fh.mean" in expression else None)
        with self.assertRaisesRegex(MethodError, "have more than 8 different weights"):
            self.formulas(" + ".join(f"fh.sum(k.n**{power} * k.u)" for power in range(2, 11)))

    def test_sums_of_numbers_are_numbers_of_the_cohort_by_the_local_name(self):
        box = box_of("""
@fh.server
def server(w, u, k):
    spread = fh.sum(k.norm**2)
    return w + u / (spread + fh.max(k.n) + fh.max(k.loss) + fh.median(k.n))
""")
        self.assertEqual(box["cohort"], ["spread = sum_k(k.norm^2)", "max_1 = max_k(k.n)", "max_2 = max_k(k.loss)", "median_1 = median_k(k.n)"])
        self.assertEqual(box["server"], ["w = w + u / (spread + max_1 + max_2 + median_1)"])
        self.assertNotIn("weighting", box)

    def test_the_cohort_function_gives_numbers_and_weights(self):
        box = box_of("""
@fh.cohort
def cohort(k, round):
    p = k.n / fh.sum(k.n)
    return {"weight": p, "spread": fh.sum(p * k.norm**2) / round}
@fh.server
def server(w, u, k, spread):
    p = k.n / fh.sum(k.n)
    return w + u / spread + fh.sum(p * k.u) / fh.sum(p * k.norm**2)
""")
        self.assertEqual(box["cohort"], ["let p = k.n / sum_k(k.n)", "let t1 = sum_k(p * k.norm^2)", "weight = p", "spread = t1 / round",
                                         "sum_1 = t1"])
        self.assertEqual(box["server"], ["w = w + u / spread + u / sum_1"])

    def test_a_weight_alone_is_a_method(self):
        box = box_of("@fh.weight\ndef weight(k):\n    return k.n\n")
        self.assertEqual((box["cohort"], "server" in box), (["weight = k.n"], False))


class Declared(unittest.TestCase):
    def test_keys_keep_their_bounds(self):
        box = box_of("""
a = fh.key("a", 1, above=0, below=2, doc="first")
b = fh.key("lambda", 3, least=1, most=4, integer=True)
@fh.gradient
def gradient(g, a):
    return a * g * b
""")
        self.assertEqual(box["keys"], [{"name": "a", "default": 1, "above": 0, "below": 2, "doc": "first"},
                                       {"name": "lambda", "default": 3, "least": 1, "most": 4, "integer": True}])
        self.assertEqual(box["gradient"], ["g = a * g * lambda"])

    def test_a_default_lies_within_the_bounds(self):
        reads = "\n@fh.gradient\ndef gradient(g, a):\n    return a * g\n"
        for bound, allowed, refused in (("least", 1, 0.5), ("above", 1.5, 1), ("most", 1, 1.5), ("below", 0.5, 1)):
            self.assertEqual(box_of(f'fh.key("a", {allowed}, {bound}=1)' + reads)["keys"][0][bound], 1)
            with self.assertRaisesRegex(MethodError, f"key 'a': its default {refused} is outside {bound}=1"):
                box_of(f'fh.key("a", {refused}, {bound}=1)' + reads)

    def test_a_static_key_is_a_python_number_and_no_key_of_the_box(self):
        box = box_of("""
n_times = fh.key("n_times", 2, least=1, static=True)
@fh.gradient
def gradient(g, n_times):
    for i in range(n_times):
        g = g / 2 if n_times > 1 else g
    return g
""")
        self.assertEqual((box["gradient"], "keys" in box), (["g = g / 2 / 2"], False))

    def test_first_values(self):
        box = box_of("""
tau, scale = fh.key("tau", 0.1), fh.key("scale", 2.0)
a, b = fh.memory("a", of="server", first=tau**2 / 2), fh.memory("b", of="server", first=" tau ^ (1+scale)")
c, own = fh.memory("c", of="server", first=1e-6), fh.memory("own", of="client", first="w_t")
@fh.end
def end(w):
    return {own: w}
@fh.start
def start(own):
    return own
@fh.server
def server(w, u, a, b, c):
    return {"w": w + u + a + b + c, "a": u, b: u, c: u}
""")
        self.assertEqual([memory["first"] for memory in box["memories"]], ["tau^2 / 2", "tau^(1 + scale)", "1e-06", "w_t"])
        self.assertEqual([key["name"] for key in box["keys"]], ["tau", "scale"])

    def test_the_doc_is_the_first_line_of_the_docstring_or_comment(self):
        body = "\nimport fedhive as fh\n@fh.gradient\ndef gradient(g):\n    return g\n"
        for text, doc in (('"""Plain.\n\nMore."""', "Plain."), ("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n#\n# Große.\n# More.", "Große."),
                          ("", None), ("x = 1\n# late", None)):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "m.py"
                path.write_text(text + body, encoding="utf-8")
                self.assertEqual(method.box_of(path).get("doc"), doc)

    def test_arrays_of_other_libraries_meet_symbols(self):
        def foreign(name):
            return types.SimpleNamespace(__name__=name)

        symbols = Symbols()
        g, w = symbols.name("g", is_vector=True), symbols.name("w", is_vector=True)
        self.assertEqual(text_of(g.__array_ufunc__(foreign("multiply"), "__call__", 2.0, g)), "2.0 * g")
        self.assertEqual(text_of(g.__array_ufunc__(foreign("absolute"), "__call__", g)), "abs(g)")
        self.assertEqual(text_of(g.__array_function__(foreign("where"), (), (w, g, 0), {})), "where(w, g, 0)")
        self.assertEqual(text_of(type(g).__torch_function__(foreign("sqrt"), (), (g,))), "sqrt(g)")
        for call, says in ((lambda: g.__array_ufunc__(foreign("add"), "reduce", g), "'add' is not known"),
                           (lambda: g.__array_function__(foreign("mean"), (), (g,), {"axis": 0}), r"write fh.mean\(…\)"),
                           (lambda: type(g).__torch_function__(foreign("cdist"), (), (g, w)), "'cdist' is not known"),
                           (lambda: g.__array__(), "an array of NumPy needs values")):
            with self.assertRaisesRegex(MethodError, says):
                call()


if __name__ == "__main__":
    unittest.main()
