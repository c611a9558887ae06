"""The report's colours: safe for colour-blind readers, and legible on a light and on a dark page."""

# Neutrals of the light page. On the page each becomes a CSS variable, so that drawings follow the reader's theme.
INK, SOFT, FAINT, PAPER = "#1f2933", "#6b7783", "#d8dde3", "#ffffff"
THEME = {INK: "var(--ink)", SOFT: "var(--soft)", FAINT: "var(--faint)", PAPER: "var(--paper)"}

# Hues of Okabe and Ito, ordered so that neighbours differ in lightness too.
HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#9a8cd9", "#8a8a2c")
ON_DARK = "#fefefe"  # numbers on a dark hue, under both themes
ALERT = "#d55e00"  # what is wrong, and what is pointed at

ELEMENTS = {
    "C": SOFT, "N": "#3b7dd8", "O": "#d1495b", "S": "#c9a227", "P": "#d97706", "F": "#2f9e6e", "Cl": "#2f9e6e",
    "Br": "#a0522d", "I": "#8e5bb5", "H": FAINT, "Na": "#9a8cd9", "K": "#9a8cd9", "Li": "#9a8cd9", "Ca": "#9a8cd9",
}  # fmt: skip


def hue(number: int) -> str:
    """The colour of a class or type; hues repeat when there are more than eight."""
    return HUES[number % len(HUES)]
