"""Display names that hold formulas, such as `$\\alpha$` or `Accuracy (\\%)  $\\uparrow$`: LaTeX as it is in LaTeX, Unicode on the page, and what
Matplotlib's own reader of formulas takes in figures. A name without a $ is plain text everywhere."""
import re

from matplotlib.mathtext import MathTextParser

GREEK = dict(zip("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega".split(),
                 "αβγδεζηθικλμνξπρστυφχψω"))
GREEK |= dict(zip("Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split(), "ΓΔΘΛΞΠΣΥΦΨΩ"))
SYMBOLS = GREEK | {
    "varepsilon": "ε", "vartheta": "ϑ", "varphi": "φ", "times": "×", "cdot": "·", "pm": "±", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠",
    "neq": "≠", "approx": "≈", "sim": "∼", "infty": "∞", "uparrow": "↑", "downarrow": "↓", "to": "→", "rightarrow": "→", "leftarrow": "←", "ell": "ℓ",
    "nabla": "∇", "partial": "∂", "sum": "∑", "prod": "∏", "sqrt": "√", "in": "∈", "subset": "⊂", "circ": "∘", "star": "⋆", "dagger": "†", "ldots": "…",
    "dots": "…", "cdots": "⋯", "prime": "′", "quad": " ", "log": "log", "exp": "exp", "min": "min", "max": "max"}
RAISED = dict(zip("0123456789+-=()abcdefghijklmnoprstuvwxyzT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ"))
LOWERED = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"))
FORMULA = re.compile(r"(?<!\\)\$(.*?)(?<!\\)\$", re.DOTALL)


def scripts(text):
    """x_0 and x^{-1} with small letters where Unicode has all of them, else as they are, without braces."""
    def small(match):
        body = match[2] if match[2] is not None else match[3]
        letters = RAISED if match[1] == "^" else LOWERED
        return "".join(map(letters.get, body)) if all(letter in letters for letter in body) else match[1] + body
    return re.sub(r"([_^])(?:\{([^{}]*)\}|([^{}\\\s]))", small, text)


def plain_words(text, words=r"\1"):
    """LaTeX outside formulas as plain text: escapes become their characters, and commands around words are left out."""
    text = re.sub(r"\\(?:textbf|textit|textsc|texttt|textrm|text|emph|mathrm|mathbf|mathit|mathcal|mathsf|operatorname)\s*\{([^{}]*)\}", words, text)
    return re.sub(r"\\([%$&#_{}])", r"\1", text).replace("~", " ")


def plain_formula(text):
    text = plain_words(re.sub(r"\\[,;:! ]", " ", text).replace("\\left", "").replace("\\right", ""), r"{\1}")
    text = re.sub(r"\\([A-Za-z]+)(?:\s(?=\w))?", lambda match: SYMBOLS.get(match[1], match[1]), text)
    return scripts(text).replace("{", "").replace("}", "").replace("-", "−").strip()


def parts(label):
    """(text, whether it is a formula), in order."""
    at = 0
    for match in FORMULA.finditer(label):
        yield label[at:match.start()], False
        yield match[1], True
        at = match.end()
    yield label[at:], False


def in_unicode(label):
    """The label without LaTeX, as a page without a reader of formulas can show it."""
    if "$" not in label:
        return label
    return "".join(plain_formula(text) if formula else plain_words(text) for text, formula in parts(label))


def escaped(text):
    """A text that is no formula, as Matplotlib draws it unchanged."""
    return text.replace("$", r"\$")


def drawn(label):
    """The label for Matplotlib; in Unicode, where it does not know the formula."""
    if "$" not in label:
        return label
    found = "".join(f"${text}$" if formula else escaped(plain_words(text)) for text, formula in parts(label))
    try:
        MathTextParser("path").parse(found)
    except ValueError:
        return escaped(in_unicode(label))
    return found
