"""Numbers as one reads them: as many digits as they are worth."""
import math

MINUS = "−"


def four_decimals(value):
    return f"{value:.4f}"


def two_decimals(value):
    return f"{value:.2f}"


def significant(value):
    """7.84, 78.4, 784, 7,840."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0}f}"


def whole(value):
    """Counts; a mean of counts has one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def places_of(half):
    """Decimal places that leave `half` two significant digits; -1: tens."""
    exponent = math.floor(math.log10(half))
    rounds_up = round(half, 1 - exponent) >= 10.0 ** (exponent + 1)  # 0.0996 is 0.10
    return 1 - exponent - rounds_up


def plus_minus(mean, half, write, sign=""):
    """0.912 ± 0.013: the half width has two significant digits and the mean ends at the same place. Without one (a single value) the mean
    is written by `write`; so it is where all values are the same. `sign`: "+" writes one before what is positive, too."""
    if math.isnan(half) or half <= 1e-9 * abs(mean) or half == 0:
        text = ("+" if sign and mean > 0 else "") + write(mean) + ("" if math.isnan(half) else " ± 0")
    else:
        places = places_of(half)
        shown = max(0, places)
        text = f"{round(mean, places) + 0.0:{sign},.{shown}f} ± {round(half, places):,.{shown}f}"
    return text.replace("-", MINUS)
