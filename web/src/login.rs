//! The page that takes the token.

use askama::Template;

/// The login page.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// The address to go on to: a path of ours.
    pub to: String,
    /// What was given was not the token.
    pub wrong: bool,
    /// It stands at another address than its own, and leads on to that by itself.
    pub goes_on: bool,
}

impl LoginPage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::check;

    #[test]
    fn it_takes_the_token_and_goes_on() {
        let page = LoginPage { to: "/runs/a&b\"c".to_owned(), ..LoginPage::default() };
        check(
            &page.render().unwrap(),
            &["name=\"token\"", "value=\"/runs/a&#38;b&#34;c\"", "method=\"post\" action=\"/login\""],
            &["http-equiv", "That is not"],
        );
        let wrong = LoginPage { wrong: true, ..page.clone() };
        check(&wrong.render().unwrap(), &["That is not", "role=\"alert\""], &["http-equiv"]);
        let first = LoginPage { goes_on: true, ..page };
        check(&first.render().unwrap(), &["content=\"0; url=/login?to=%2Fruns%2Fa%26b%22c\""], &[]);
    }
}
