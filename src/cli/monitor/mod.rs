//! `run --monitor`: a page that shows a run in progress, pauses it, and lists the waits-for relations of its units.
//!
//! The monitor receives views of the run, which the run publishes at the pace of the host, and returns requests to the run. Without the
//! default feature `monitor`, it only prints an error message.

#[cfg(feature = "monitor")]
mod server;
#[cfg(feature = "monitor")]
mod state;

use std::path::Path;

#[cfg(not(feature = "monitor"))]
use warpshard_chip::Live;
#[cfg(not(feature = "monitor"))]
use warpshard_run::Exit;

use super::args::MonitorAddress;
use super::failure::Failure;

#[cfg(feature = "monitor")]
pub(super) use server::{BoundMonitor, RunningMonitor};

/// Binds the address, and reads the token, or generates one for a loopback address.
///
/// # Errors
/// Fails if the address is not a loopback address and there is no token, the token is too short, or the address cannot be bound.
pub(super) fn bind(address: MonitorAddress, token: Option<&Path>) -> Result<BoundMonitor, Failure> {
    #[cfg(feature = "monitor")]
    return server::bind(address.0, token);
    #[cfg(not(feature = "monitor"))]
    {
        let _ = (address, token);
        let problem =
            "--monitor: this program was built without the monitor; build it with `cargo build --release` and the default features";
        Err(Failure::new(Exit::Usage, problem))
    }
}

/// A bound address; uninhabited in a build without the monitor.
#[cfg(not(feature = "monitor"))]
#[derive(Debug)]
pub(super) enum BoundMonitor {}

#[cfg(not(feature = "monitor"))]
impl BoundMonitor {
    pub(super) fn serve(self, _title: String) -> Result<RunningMonitor, Failure> {
        match self {}
    }
}

/// A served monitor; uninhabited in a build without the monitor.
#[cfg(not(feature = "monitor"))]
#[derive(Debug)]
pub(super) enum RunningMonitor {}

#[cfg(not(feature = "monitor"))]
impl RunningMonitor {
    pub(super) fn live(&self) -> Live {
        match *self {}
    }
}
