//! The page that says why there is no other: not found, refused, gone wrong.

use askama::Template;

/// A page with one message, for any status that isn't a success.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "message.html")]
pub struct MessagePage {
    /// The HTTP status that it is sent with.
    pub status: u16,
    /// What happened, in a few words.
    pub title: String,
    /// Why, and what can be done; literal.
    pub detail: String,
    /// A command that helps, to be copied; may be empty.
    pub command: String,
}

impl MessagePage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }
}
