//! A run as the command line sees it, wherever it takes place.

mod local;
mod remote;

use std::time::Duration;

use volley_coordinator::RunDocument;
use volley_coordinator::report::Form;

pub(crate) use local::Local;
pub(crate) use remote::Remote;

use crate::exit::Failure;

/// One run. Futures may be dropped at any time.
pub(crate) trait Session {
    /// Starts it.
    async fn start(&mut self) -> Result<(), Failure>;

    /// Gives its document when it is over, or when this time has passed.
    async fn wait(&mut self, up_to: Duration) -> Result<RunDocument, Failure>;

    /// Asks it to end in the orderly way. Nothing happens if it is over.
    async fn stop(&mut self) -> Result<(), Failure>;

    /// Its reports in these forms, once it is over.
    async fn reports(&mut self, forms: &[Form]) -> Result<Vec<(Form, String)>, Failure>;

    /// Whether the load comes out of this process.
    fn is_local(&self) -> bool;
}
