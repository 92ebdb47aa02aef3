//! `${`, which begins a variable. This version has none, so a plan that uses one must hear of it rather than send it
//! as it stands; `$${` stands for a literal `${`.

/// The text with each `$${` turned into `${`, or the byte offset of the first `${` that would be a variable.
pub(super) fn unescape(text: &str) -> Result<String, usize> {
    let mut literal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        let Some(kept) = before.strip_suffix('$') else {
            return Err(text.len() - rest.len() + at);
        };
        literal.push_str(kept);
        literal.push_str("${");
        rest = &rest[at + 2..];
    }
    literal.push_str(rest);
    Ok(literal)
}

/// The text that [`unescape`] turns into `literal`.
pub(crate) fn escape(literal: &str) -> String {
    literal.replace("${", "$${")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_doubled_dollar_makes_a_brace_literal() {
        for (text, expected) in [
            ("", Ok("")),
            ("a $ b {c} $$ d", Ok("a $ b {c} $$ d")),
            ("$${a}", Ok("${a}")),
            ("$$${a}", Ok("$${a}")),
            ("$${a}$${b}", Ok("${a}${b}")),
            ("${a}", Err(0)),
            ("x ${a}", Err(2)),
            ("$${a} ${b}", Err(6)),
            ("$${${", Err(3)),
        ] {
            assert_eq!(unescape(text), expected.map(str::to_owned), "{text}");
        }
    }

    proptest! {
        #[test]
        fn escaping_is_undone_by_unescaping(literal in "[$\\{\\}a]{0,20}") {
            prop_assert_eq!(unescape(&escape(&literal)), Ok(literal));
        }
    }
}
