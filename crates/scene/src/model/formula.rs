//! Parser for equations written in a line of text, as input for typesetting.
//!
//! `C = Kc·v·(A/ha)^θ` has a letter with a subscript, a fraction and an exponent. Letters directly after a letter are its
//! subscript: `Kc`, `Dmax`; `_` and `^` attach any other script. The numerator of `/` extends back to the last sign that is no
//! product. Three or more lowercase letters form an upright word, and two spaces separate equations on one line.

pub mod typeset;

/// Part of an equation.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// Parts from left to right.
    Row(Vec<Formula>),
    /// Variable, set in italics.
    Letter(String),
    /// Number, function name, word or bracket, set upright.
    Upright(String),
    /// Operator or relation between two parts.
    Sign(String),
    /// Space between words.
    Blank,
    /// Gap between equations on one line.
    Gap,
    /// Base with subscript and superscript.
    Scripts(Box<Formula>, Option<Box<Formula>>, Option<Box<Formula>>),
    /// Numerator and denominator.
    Fraction(Box<Formula>, Box<Formula>),
    /// Square root.
    Root(Box<Formula>),
    /// Expression in parentheses.
    Parentheses(Box<Formula>),
}

impl Formula {
    /// Parses an equation. Never fails: unknown characters are kept verbatim.
    pub fn parse(text: &str) -> Self {
        // Keyboards have no minus sign. Between letters, `-` stays a hyphen.
        let letters: Vec<char> = text.trim().chars().collect();
        let is_letter =
            |place: Option<usize>| place.and_then(|place| letters.get(place)).is_some_and(|at| at.is_alphabetic());
        let text: String = letters
            .iter()
            .enumerate()
            .map(|(place, &letter)| match letter {
                '-' if !(is_letter(place.checked_sub(1)) && is_letter(Some(place + 1))) => '−',
                letter => letter,
            })
            .collect();
        let mut reader = FormulaParser { rest: &text, inline: false };
        let mut parts = Vec::new();
        while !reader.rest.is_empty() {
            match reader.row() {
                Self::Row(row) => parts.extend(row),
                part => parts.push(part),
            }
            // An unmatched closing parenthesis.
            if let Some(sign) = reader.take() {
                parts.push(Self::Upright(sign.into()));
            }
        }
        Self::of(parts)
    }

    /// Returns a row, or the part itself if there is only one.
    fn of(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 { parts.remove(0) } else { Self::Row(parts) }
    }

    /// Strips the outer parentheses.
    fn without_parentheses(self) -> Self {
        if let Self::Parentheses(inside) = self { *inside } else { self }
    }
}

/// Signs that separate products.
const SIGNS: &str = "=+−<>≥≤→←∝,:;≈±";
/// Operators that bind to the following factor.
const OPERATORS: &str = "ΣΔδ∂∇";
/// Short words that are set upright.
const NAMES: [&str; 16] =
    ["it", "to", "is", "of", "ha", "on", "or", "as", "in", "by", "at", "up", "no", "so", "if", "an"];

/// Units that are set upright behind a number.
const UNITS: [&str; 19] = [
    "m", "s", "h", "yr", "km", "mm", "min", "Pa", "kg", "m²", "m³", "km²", "m/s", "m/s²", "m²/s", "m³/s", "m/yr",
    "mm/h", "mm/yr",
];

struct FormulaParser<'a> {
    rest: &'a str,
    /// `true` inside a script, where fractions stay inline.
    inline: bool,
}

impl FormulaParser<'_> {
    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let taken = letters.next();
        self.rest = letters.as_str();
        taken
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    /// Parses up to the end or a closing parenthesis.
    fn row(&mut self) -> Formula {
        let mut parts: Vec<Formula> = Vec::new();
        // Index of the first part of the current product.
        let mut product = 0;
        while let Some(next) = self.next().filter(|&next| next != ')') {
            let after_a_sign = matches!(parts.last(), None | Some(Formula::Sign(_) | Formula::Gap));
            if next == ' ' {
                let blanks = self.take_while(|letter| letter == ' ').len();
                let before_a_sign = self.next().is_none_or(|next| "·/)".contains(next) || SIGNS.contains(next));
                if blanks > 1 && !self.next().is_some_and(|next| "=<>≥≤→←".contains(next)) {
                    parts.push(Formula::Gap);
                    product = parts.len();
                } else if !after_a_sign && !before_a_sign {
                    parts.push(Formula::Blank);
                }
            } else if SIGNS.contains(next) || (next == '*' && self.rest.starts_with("*=")) {
                let mut sign: String = self.take().into_iter().collect();
                if "+−*".contains(next) && self.next() == Some('=') {
                    sign.extend(self.take());
                }
                // A sign at the start of a term is unary.
                parts.push(if after_a_sign && "+−".contains(next) {
                    Formula::Upright(sign)
                } else {
                    Formula::Sign(sign)
                });
                product = parts.len();
            } else if next == '·' || next == '×' {
                parts.push(Formula::Sign(self.take().into_iter().collect()));
            } else if next == '/' && !self.inline && parts.len() > product {
                self.take();
                self.take_while(|letter| letter == ' ');
                let above = Formula::of(parts.split_off(product)).without_parentheses();
                parts.push(Formula::Fraction(Box::new(above), Box::new(self.factor().without_parentheses())));
            } else {
                parts.push(self.factor());
            }
        }
        Formula::of(parts)
    }

    /// Parses a base with its scripts.
    fn factor(&mut self) -> Formula {
        let base = self.base();
        let (mut base, mut subscript) = match base {
            Formula::Scripts(base, subscript, _) => (*base, subscript),
            base => (base, None),
        };
        let mut superscript = None;
        while let Some(next) = self.next() {
            match next {
                '\'' => {
                    self.take();
                    match &mut base {
                        Formula::Letter(name) | Formula::Upright(name) => name.push('′'),
                        _ => base = Formula::Row(vec![base, Formula::Upright("′".to_owned())]),
                    }
                }
                '^' | '_' => {
                    self.take();
                    let script = Some(Box::new(self.script()));
                    if next == '^' { superscript = script } else { subscript = script }
                }
                _ => {
                    let found = SMALL.iter().find(|(small, ..)| *small == next);
                    let Some((_, is_superscript, plain)) = found else { break };
                    self.take();
                    let script = Some(Box::new(letters((*plain).to_owned())));
                    if *is_superscript { superscript = script } else { subscript = script }
                }
            }
        }
        if subscript.is_none() && superscript.is_none() {
            base
        } else {
            Formula::Scripts(Box::new(base), subscript, superscript)
        }
    }

    fn base(&mut self) -> Formula {
        match self.next() {
            None => Formula::Row(Vec::new()),
            Some('(') => {
                self.take();
                let inside = self.row();
                self.take();
                Formula::Parentheses(Box::new(inside))
            }
            Some('√') => {
                self.take();
                Formula::Root(Box::new(self.factor().without_parentheses()))
            }
            Some(next) if next.is_ascii_digit() => {
                let number = self.take_while(|letter| letter.is_ascii_digit() || letter == '.');
                Formula::Upright(number + self.take_unit())
            }
            // An operator such as Σ, Δ or ∂ binds to the following factor.
            Some(next) if OPERATORS.contains(next) => {
                let operator = Formula::Upright(self.take().into_iter().collect());
                match self.next() {
                    Some(next) if next.is_alphabetic() && !is_small(next) => {
                        Formula::Row(vec![operator, self.factor()])
                    }
                    _ => operator,
                }
            }
            // A norm between two bars.
            Some('|') if self.rest[1..].contains('|') => {
                self.take();
                let end = self.rest.find('|').unwrap_or(self.rest.len());
                let inside = Formula::parse(&self.rest[..end]);
                self.rest = &self.rest[end + 1..];
                let bar = || Formula::Upright("|".to_owned());
                Formula::Row(vec![bar(), inside, bar()])
            }
            Some(next) if next.is_alphabetic() && !is_small(next) => {
                letters(self.take_while(|letter| (letter.is_alphabetic() && !is_small(letter)) || is_mark(letter)))
            }
            Some(_) => Formula::Upright(self.take().into_iter().collect()),
        }
    }

    /// Takes a unit after a number, with the space before it. Returns an empty text if there is none.
    fn take_unit(&mut self) -> &str {
        let ends = |rest: &str| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || is_small(next) || "/^_'".contains(next))
        };
        let unit = UNITS.iter().find(|unit| {
            let behind = self.rest.strip_prefix(' ').and_then(|rest| rest.strip_prefix(**unit));
            behind.is_some_and(ends)
        });
        let (taken, rest) = self.rest.split_at(unit.map_or(0, |unit| 1 + unit.len()));
        self.rest = rest;
        taken
    }

    /// Parses a subscript or superscript.
    fn script(&mut self) -> Formula {
        let outer = std::mem::replace(&mut self.inline, true);
        let sign = if self.next() == Some('−') { self.take() } else { None };
        let script = self.base().without_parentheses();
        self.inline = outer;
        match sign {
            Some(sign) => Formula::Row(vec![Formula::Upright(sign.into()), script]),
            None => script,
        }
    }
}

/// Unicode subscripts and superscripts: the character, `true` for a superscript, the plain character.
const SMALL: [(char, bool, &str); 10] = [
    ('²', true, "2"),
    ('³', true, "3"),
    ('¹', true, "1"),
    ('ⁿ', true, "n"),
    ('ᵐ', true, "m"),
    ('ᵢ', false, "i"),
    ('ⱼ', false, "j"),
    ('₀', false, "0"),
    ('₁', false, "1"),
    ('₂', false, "2"),
];

fn is_small(letter: char) -> bool {
    SMALL.iter().any(|(small, ..)| *small == letter)
}

/// Returns `true` for a combining diacritic.
fn is_mark(letter: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&letter)
}

/// Returns a variable, a variable with a subscript, or a word.
fn letters(text: String) -> Formula {
    let (first, behind) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let is_word = text.len() > 2 && text.chars().all(|letter| letter.is_ascii_lowercase());
    if is_word
        || NAMES.contains(&&*text)
        || behind.chars().count() > 4
        || text.starts_with(|first: char| first.is_ascii_digit())
    {
        return Formula::Upright(text);
    }
    if behind.chars().all(is_mark) || matches!(&*text, "dt" | "dx" | "dz") {
        return Formula::Letter(text);
    }
    Formula::Scripts(
        Box::new(Formula::Letter(first.to_owned())),
        Some(Box::new(Formula::Upright(behind.to_owned()))),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts as labelled text.
    fn describe(formula: &Formula) -> String {
        let script =
            |script: &Option<Box<Formula>>| script.as_ref().map_or_else(String::new, |script| describe(script));
        match formula {
            Formula::Row(parts) => parts.iter().map(describe).collect(),
            Formula::Letter(text) | Formula::Upright(text) => text.clone(),
            Formula::Sign(text) => format!(" {text} "),
            Formula::Blank => " ".to_owned(),
            Formula::Gap => " | ".to_owned(),
            Formula::Scripts(base, subscript, superscript) => {
                format!("{}[{}:{}]", describe(base), script(subscript), script(superscript))
            }
            Formula::Fraction(above, below) => format!("{{{} over {}}}", describe(above), describe(below)),
            Formula::Root(inside) => format!("root{{{}}}", describe(inside)),
            Formula::Parentheses(inside) => format!("({})", describe(inside)),
        }
    }

    #[test]
    fn equation_parses_into_expected_tree() {
        let cases = [
            ("C = k·V·(A/ha)^θ·S", "C = k · V · ({A over ha})[:θ] · S"),
            ("Kdmax", "K[dmax:]"),
            ("qs = Q·√τ·max(0, τ − τt)/(1 − τ_(t,0))", "q[s:] = {Q · root{τ} · max(0 , τ − τ[t:]) over 1 − τ[t , 0:]}"),
            ("Sf = n²·v²/h^(4/3),   C = h", "S[f:] = {n[:2] · v[:2] over h[:4/3]} ,  | C = h"),
            ("e^(−f·τ) + A^−θ", "e[:−f · τ] + A[:−θ]"),
            ("max(least, −N·V)", "max(least , −N · V)"),
            ("Kc·sin α·v", "K[c:] · sin α · v"),
            ("where  S > tan φ", "where | S > tan φ"),
            ("ΣD + Δt·wᵢ/w_b", "ΣD + {Δt · w[i:] over w[b:]}"),
            ("v += dt·n; p' = p", "v += dt · n ; p′ = p"),
            ("1/(N + 1)", "{1 over N + 1}"),
            ("q ← (q + 1)/(2 - a)", "q ← {q + 1 over 2 − a}"),
            ("S = a - b/c, d\u{304}, (a + b)'", "S = a − {b over c} , d\u{304} , (a + b)′"),
            ("∂z/∂t = D·∇²z", "{∂z over ∂t} = D · ∇[:2]z"),
            ("k_x/|k|·|v|  = 2", "{k[x:] over |k|} · |v| = 2"),
            ("c = √(g·h) = 9.9 m/s", "c = root{g · h} = 9.9 m/s"),
            ("g = 9.81 m/s², q = 2 m", "g = 9.81 m/s² , q = 2 m"),
            ("2 m/q", "{2 m over q}"),
        ];
        for (text, parts) in cases {
            assert_eq!(describe(&Formula::parse(text)), parts, "{text}");
        }
    }

    #[test]
    fn parser_consumes_malformed_input() {
        for text in [
            "",
            "(",
            ")",
            "a)b",
            "/",
            "x^",
            "√",
            "a/",
            "((",
            "1 /2",
            "²",
            "  ",
            "τ̂·|v| ≈ {?}",
            "a'b",
            "(x)'",
            "|",
            "a|b",
        ] {
            let described = describe(&Formula::parse(text)).replace(" over ", "").replace("root", "");
            let signs = |text: &str| {
                let mut signs: Vec<char> = text.chars().filter(|sign| !" {}[]:()/√^′'²".contains(*sign)).collect();
                signs.sort_unstable();
                signs
            };
            assert_eq!(signs(&described), signs(text), "{text}: {described}");
        }
    }
}
