//! What `Host` says in place of the target's authority: `host`.

use crate::model::Target;
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};

/// Most bytes of it: the longest name there is, and the longest port.
const MAX_BYTES: usize = 254 + 6;

/// A host, and a port where one is to be told (RFC 9110 section 7.2). It is sent as it is written.
pub(super) fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
    let text = cursor.template(faults)?;
    fault_of(&text).map_or(Ok(text), |(detail, hint)| {
        let expected = "a host, and a port where it isn't the scheme's, such as shop.test:8080";
        Err(faults.report(cursor.fault(detail).expected(expected).maybe_hint(hint)))
    })
}

/// What is wrong with it, and what was most likely meant.
fn fault_of(text: &str) -> Option<(String, Option<String>)> {
    if text.contains("://") || text.contains(['/', '?', '#']) {
        return Some(("found a URL".to_owned(), Some("write its host, such as shop.test".to_owned())));
    }
    if text.len() > MAX_BYTES {
        return Some((format!("found a text of {} bytes", text.len()), None));
    }
    match Target::parse(&format!("http://{text}")) {
        Ok(target) if target.remote().zone.is_some() => {
            let without = format!("did you mean {}?", target.authority());
            Some(("found a zone, which never stands in `Host`".to_owned(), Some(without)))
        }
        Ok(target) if !text.is_ascii() => {
            let hint = format!("did you mean {}?", target.authority());
            Some(("found letters beyond ASCII".to_owned(), Some(hint)))
        }
        Ok(_) => None,
        Err(error) => Some((format!("found {error}"), None)),
    }
}
