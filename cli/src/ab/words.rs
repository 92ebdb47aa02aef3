//! Flags in ab's manner: letters in clusters (`-kq -c10`), each value behind its letter or in the next word, and the URL last.

use super::refusal::Refusal;

/// Letters that have a value.
const VALUED: &str = "nctsbBpuTvxyzCHAPXgemZfE";
/// Letters that have none.
const PLAIN: &str = "wikVhdSqlrI";

/// One flag with its value; none for those that have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) letter: char,
    pub(super) value: Option<String>,
}

/// The flags in their order, and what stands behind them.
pub(super) fn parted(words: &[String]) -> Result<(Vec<Flag>, &[String]), Refusal> {
    let mut flags = Vec::new();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        if word == "--" {
            return Ok((flags, behind));
        }
        let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) else { break };
        rest = behind;
        if cluster == "-help" {
            flags.push(Flag { letter: 'h', value: Some(cluster.to_owned()) });
            continue;
        }
        let mut letters = cluster.chars();
        while let Some(letter) = letters.next() {
            let value = if VALUED.contains(letter) {
                Some(value(letter, letters.as_str(), &mut rest)?)
            } else if PLAIN.contains(letter) {
                None
            } else {
                return Err(Refusal::usage(format!("illegal option -- {letter}")));
            };
            let is_end = value.is_some();
            flags.push(Flag { letter, value });
            if is_end {
                break;
            }
        }
    }
    Ok((flags, rest))
}

/// What stands behind a letter, or the next word.
fn value(letter: char, behind: &str, rest: &mut &[String]) -> Result<String, Refusal> {
    if !behind.is_empty() {
        return Ok(behind.to_owned());
    }
    let (next, after) = rest
        .split_first()
        .ok_or_else(|| Refusal::usage(format!("option requires an argument -- {letter}")))?;
    *rest = after;
    Ok(next.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags as `n=100 k`, a bar, and what is behind them; or the complaint.
    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let found = match parted(&words) {
            Ok((flags, rest)) => {
                let flag = |flag: &Flag| match &flag.value {
                    Some(value) => format!("{}={value} ", flag.letter),
                    None => format!("{} ", flag.letter),
                };
                format!("{}| {}", flags.iter().map(flag).collect::<String>(), rest.join(" "))
            }
            Err(refusal) => refusal.sentence,
        };
        assert_eq!(found.trim_end(), expected, "{line}");
    }

    #[test]
    fn letters_come_alone_in_clusters_and_with_their_values() {
        check("-n 100 -c10 -kq http://h/", "n=100 c=10 k q | http://h/");
        check("-kqn5 -l http://h/", "k q n=5 l | http://h/");
        check("-kn 5 u", "k n=5 | u");
        check("-H a:b -H c:d u", "H=a:b H=c:d | u");
        check("-n -5 u", "n=-5 | u");
        check("-k -- -odd", "k | -odd");
        check("u -n 5", "| u -n 5");
        check("- u", "| - u");
        check("", "|");
        check("--help", "h=-help |");
    }

    #[test]
    fn what_is_wrong_is_said_in_abs_words() {
        check("-Q u", "illegal option -- Q");
        check("-kQ u", "illegal option -- Q");
        check("-k -n", "option requires an argument -- n");
        check("--quiet u", "illegal option -- -");
    }
}
