//! What tests ask of HTML.

pub(crate) fn check(html: &str, says: &[&str], says_not: &[&str]) {
    for text in says {
        assert!(html.contains(text), "{text:?} is missing in\n{html}");
    }
    for text in says_not {
        assert!(!html.contains(text), "{text:?} is in\n{html}");
    }
}

/// The values of an attribute, wherever it occurs.
pub(crate) fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// What of a page is to be seen: without elements that are hidden and hold no other, and without what scripts read.
pub(crate) fn seen(html: &str) -> String {
    let mut seen = String::new();
    let mut rest = html;
    while let Some((before, tag, after)) = next_tag(rest) {
        seen.push_str(before);
        let name = tag.split_whitespace().next().unwrap_or_default();
        let hides =
            tag.split_whitespace().any(|word| word == "hidden") || matches!(name, "script" | "template");
        rest = match after.find(&format!("</{name}>")) {
            Some(end) if hides => &after[end..],
            _ => after,
        };
    }
    seen + rest
}

fn next_tag(html: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = html.split_once('<')?;
    let (tag, after) = rest.split_once('>')?;
    Some((before, tag, after))
}
