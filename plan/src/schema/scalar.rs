//! Values of one line: what has a unit, a form or a range.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::pattern;
use crate::model::{FileName, MAX_HEADERS, MAX_UNIX_BYTES};
use crate::parse::OWNED_HEADERS;

/// Types of single values, each with the schema that its text is held to; the documentation is its description.
macro_rules! scalars {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr;)+) => {$(
        $(#[doc = $doc])+
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                described($schema, concat!($($doc),+))
            }
        }
    )+};
}

scalars! {
    /// A duration: numbers with `ns us ms s m h`, also compound and decimal, such as 1m30s or 1.5s.
    Duration = string(&pattern::whole(&pattern::duration()), "a duration has units: 500ms, 30s, 1m30s");
    /// A duration above zero: numbers with `ns us ms s m h`, also compound and decimal, such as 1m30s or 1.5s.
    Time = string(&pattern::whole(&pattern::time()), "a duration above 0s has units: 500ms, 30s, 1m30s");
    /// A rate: a number with `/s`, `/m` or `/h`, such as 200/s.
    Rate = string(&pattern::whole(&pattern::rate()), "a rate has a unit: 200/s, 90/m, 5000/h");
    /// A rate above zero, such as 200/s.
    SomeRate = string(&pattern::some_rate(), "a rate above 0/s has a unit: 200/s, 90/m, 5000/h");
    /// A pause: a duration, or two as bounds, such as 1s..3s.
    Think = string(&pattern::think(), "a pause is a duration such as 2s, or two such as 1s..3s");
    /// A size: a number with `B`, `KiB`, `MiB` or `GiB`, such as 10MiB.
    Size = string(&pattern::size(), "a size has a unit: 512B, 10KiB, 1MiB");
    /// A percentage from 0% to 100%, with one decimal at most.
    Tolerance = string(&pattern::tolerance(), "a percentage with its sign: 1%, 0.5%");
    /// The URL to load: `http://` or `https://`, a host, and a port where it isn't 80 or 443.
    Target = string(&pattern::url(pattern::PATH_AND_QUERY), "an http:// or https:// URL, without a user and a fragment");
    /// A path with its query; host and port are the target's.
    Path = string(&pattern::path(), "a path begins with a slash: /products?page=1");
    /// A host and a port.
    Remote = string(&pattern::remote(), "a host and a port: 10.0.0.1:8443, [::1]:8443");
    /// The whole path of a Unix socket.
    Socket = limited(string(&pattern::socket(), "the whole path of a socket: /run/app.sock"), MAX_UNIX_BYTES);
    /// An address of the machine that sends.
    Address = string(&pattern::address(), "an address: 10.0.0.5, fd00::5");
    /// A text, in which `$${` stands for a literal `${`.
    Text = text(&pattern::text(), "${ begins a variable; write $${ for a literal ${");
    /// A text that isn't empty, in which `$${` stands for a literal `${`.
    SomeText = json_schema!({ "allOf": [text(&pattern::text(), "${ begins a variable; write $${ for a literal ${")], "minLength": 1 });
    /// A name that people read: one line of up to 200 characters.
    Name = text(&pattern::name(), "one line of 1 to 200 characters");
    /// A method, as it is sent.
    Method = text(&pattern::method(), "a method in upper case: GET");
    /// The name of a file on the machine that sends, in its folder for files or below.
    File = limited(text(&pattern::file(), "a file's name below the folder of files: uploads/a.bin"), FileName::MAX_BYTES);
    /// A host, and a port where it isn't the scheme's.
    Host = limited(text(&pattern::host(), "a host, and a port if need be: shop.test:8080"), 260);
    /// The name of a host, or an address.
    ServerName = text(&pattern::server_name(), "the name of a host, without a port");
    /// The name of a header line that Volley fills in.
    HeaderName = text(&pattern::header_name(&[&OWNED_HEADERS[..], &["host"]].concat()), "a header's name, such as x-number");
    /// The value of a header: one line.
    HeaderValue = limited(text(&pattern::header_value(), "one line, without white space at its ends"), 8192);
    /// The value of a label.
    Label = text(&pattern::label(), "1 to 63 letters, digits and - . _ /");
    /// A status such as 404, a class such as 2xx, or a range such as 200..204.
    Status = json_schema!({
        "anyOf": [
            { "type": "integer", "minimum": 200, "maximum": 999 },
            string(&pattern::statuses(), "a status (404), a class (2xx) or a range (200..204)"),
        ]
    });
    /// What must hold: a metric, one of `<`, `<=`, `>` and `>=`, and a limit, such as `p99 < 300ms`.
    Expectation = string(&pattern::expectation(), "a metric, an operator and a limit: p99 < 300ms, error_rate < 0.1%");
    /// How arrivals follow each other: `uniform` or `poisson`.
    Arrivals = json_schema!({ "enum": ["uniform", "poisson"] });
    /// What an agent's part of the load is measured by.
    ShareBy = json_schema!({ "enum": ["weight", "capacity", "even"] });
    /// A family of addresses.
    Family = json_schema!({ "enum": [4, 6, "4", "6", "any"] });
    /// How often names are resolved: `once`, for each `connection`, or again after so long.
    Resolve = json_schema!({
        "anyOf": [
            { "enum": ["once", "connection"] },
            string(&pattern::whole(&pattern::time()), "once, connection, or a duration such as 30s"),
        ]
    });
    /// A version of TLS.
    TlsVersion = json_schema!({ "enum": [1.2, 1.3, "1.2", "1.3"] });
    /// Whether the body waits for the target's word, for a second at most (`true`) or so long.
    AskFirst = json_schema!({
        "anyOf": [
            { "type": "boolean" },
            string(&pattern::whole(&pattern::time()), "true, false, or a duration such as 250ms"),
        ]
    });
    /// The version of the format.
    Version = json_schema!({ "enum": [1] });
}

/// A string of this form. Editors show `message` where it isn't one.
fn string(pattern: &str, message: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern, "patternErrorMessage": message })
}

/// A text of this form, which may be written as a number or a truth value too.
fn text(pattern: &str, message: &str) -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"], "pattern": pattern, "patternErrorMessage": message })
}

/// No longer than this, in characters.
fn limited(mut schema: Schema, chars: usize) -> Schema {
    schema.insert("maxLength".to_owned(), chars.into());
    schema
}

fn described(mut schema: Schema, doc: &str) -> Schema {
    schema.insert("description".to_owned(), doc.trim().into());
    schema
}

/// One value, or a list of up to `MOST`, in which one may stand twice or not.
pub(super) struct OneOrMore<T, const MOST: u32, const TWICE: bool>(std::marker::PhantomData<T>);

impl<T: JsonSchema, const MOST: u32, const TWICE: bool> JsonSchema for OneOrMore<T, MOST, TWICE> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMore{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": MOST, "uniqueItems": !TWICE }]
        })
    }
}

/// The headers that a request may have: names to values, or to lists of values.
pub(super) struct Headers;

impl JsonSchema for Headers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Headers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<HeaderValue>();
        json_schema!({
            "type": "object",
            "description": "Names to values, or to lists of values.",
            "maxProperties": MAX_HEADERS,
            "propertyNames": { "pattern": pattern::header_name(&OWNED_HEADERS) },
            "patternProperties": { "^[Hh][Oo][Ss][Tt]$": { "anyOf": [value, { "type": "array", "items": value, "maxItems": 1 }] } },
            "additionalProperties": { "anyOf": [value, { "type": "array", "items": value }] },
        })
    }
}
