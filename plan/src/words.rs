//! Numbers as words, for sentences that people read.

/// A whole number with its thousands apart: `1,000`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 agent`, `1,000 agents`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n))
}

/// Three significant digits, whole from 100 up: `1.20`, `41.2`, `1,412`.
#[must_use]
pub fn significant(x: f64) -> String {
    match x.abs() {
        size if size >= 99.95 => whole(x),
        size if size >= 9.995 => format!("{x:.1}"),
        size if size >= 0.9995 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "clamped to what fits, on purpose"
)]
fn whole(x: f64) -> String {
    count(x.round().clamp(0.0, u64::MAX as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart_and_nouns_agree() {
        for (n, expected) in
            [(0, "0 agents"), (1, "1 agent"), (999, "999 agents"), (1_234_567, "1,234,567 agents")]
        {
            assert_eq!(counted(n, "agent"), expected);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }
}
