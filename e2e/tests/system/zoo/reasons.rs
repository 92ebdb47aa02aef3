//! Why we differ from curl, where more than one word is needed for it.

pub(super) const HTTP_2_HEADS: &str = "curl takes heads as it writes them for HTTP/2 itself; a server that \
    speaks HTTP/1.1 doesn't send them";
pub(super) const VERSION_IN_CASE: &str = "RFC 9112 section 2.3: the version's name is case-sensitive";
pub(super) const NOT_ONE_NUMBER: &str = "RFC 9112 section 6.3 rule 5: a length that is not one number \
    frames nothing; curl reads as far as it looks like one";
pub(super) const LAST_LENGTH: &str =
    "RFC 9112 section 6.3 rule 5: lengths that differ frame nothing; curl takes the last";
pub(super) const TOO_LONG_A_LENGTH: &str =
    "curl waits for the close where it can't hold the length, and so takes a cut body for a whole one";
pub(super) const SPACE_BEFORE_COLON: &str =
    "RFC 9112 section 5.1: such a line is no field; curl passes over it and waits for the close";
pub(super) const SURPLUS: &str = "curl drops bytes that came with the answer and nobody asked for, and \
    goes on; here nothing is counted that might be theirs";
pub(super) const CHUNKED_BEFORE_LENGTH: &str =
    "RFC 9112 section 6.3 rule 3: with chunked the length doesn't count, whatever it is";
pub(super) const HEAD_HAS_NO_BODY: &str =
    "RFC 9112 section 6.3 rule 1: an answer to HEAD has no body, whatever its length says";
pub(super) const BEHIND_A_SIZE: &str = "RFC 9112 section 7.1: behind a size come white space, extensions \
    or the end; curl passes over anything";
pub(super) const BARE_CR: &str =
    "RFC 9112 section 2.2: a bare CR is where readers disagree on the end of a line";
pub(super) const CHUNKED_HTTP_1_0: &str =
    "RFC 9112 section 6.1: HTTP/1.0 has no chunked; its connection isn't used again";
pub(super) const FOLDED_CLOSE: &str =
    "RFC 9112 section 5.2: a fold is white space; curl passes over the line";
pub(super) const FOLDED_LENGTH: &str =
    "RFC 9112 section 5.2: a fold is white space, and so the length is behind it";
pub(super) const CONTROL_IN_NAME: &str =
    "RFC 9110 section 5.1: it can't be in a name, and shows that something else is spoken";
pub(super) const EMPTY_LINE: &str =
    "an empty line is what an answer leaves that was a line end too long; curl takes it for HTTP/0.9";
pub(super) const NO_CLOSE_NOTIFY: &str =
    "RFC 8446 section 6.1: without the word nobody can tell the end from a cut";
pub(super) const CUT_HEAD: &str =
    "curl takes a head that was cut for a whole one, on a connection that it used before";
pub(super) const NEXT_ANSWER: &str =
    "curl takes what comes behind an answer for the answer to its next request";
pub(super) const BODY_BEHIND: &str = "curl sends the body behind the answer and goes on with the connection";
pub(super) const SWITCHED: &str =
    "curl takes what follows for a body that ends with the connection; nothing of that is HTTP";
