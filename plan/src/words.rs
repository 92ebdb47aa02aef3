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
