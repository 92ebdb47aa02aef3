//! Scripts, style sheets and pictures, embedded in the binary and addressed by the hash of their content.

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// One file that a page loads.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// The whole path it is served at. It holds a hash over all assets: another version, another path.
    pub path: &'static str,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Value of `ETag`, quotes included (RFC 9110, 8.8.3).
    pub etag: &'static str,
    /// The body.
    pub bytes: &'static [u8],
}

/// Value of `Cache-Control` for every asset (RFC 8246): the path changes when the content does.
pub const ASSET_CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

/// Value of `Content-Security-Policy` under which every page works: nothing inline, nothing from elsewhere.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Every asset, to be routed as it is listed.
#[must_use]
pub fn assets() -> &'static [Asset] {
    ALL
}

/// The folder in which all assets of this version are served.
pub(crate) fn base() -> &'static str {
    BASE
}
