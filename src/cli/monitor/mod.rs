//! `run --monitor`: a page that shows a run while it goes on, pauses it, and lists what waits for what.
//!
//! In: views of the run, which it publishes at the pace of the host. Out: a page at an address of this host, and wishes for the run. Built without the
//! feature `monitor`, which is a default, there is only the message that says so.

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
pub(super) use server::{Bound, Served};

/// Takes the address, and reads the token, or draws one for an address of this host alone.
///
/// # Errors
/// When the address is not of this host alone and there is no token, the token is too short, or the address cannot be had.
pub(super) fn bind(address: MonitorAddress, token: Option<&Path>) -> Result<Bound, Failure> {
    #[cfg(feature = "monitor")]
    return server::bind(address.0, token);
    #[cfg(not(feature = "monitor"))]
    {
        let _ = (address, token);
        let problem = "--monitor: this program was built without the monitor; `cargo build --release`, with the default features, makes one that has it";
        Err(Failure::new(Exit::Usage, problem))
    }
}

/// What a program without the monitor never has.
#[cfg(not(feature = "monitor"))]
#[derive(Debug)]
pub(super) enum Bound {}

#[cfg(not(feature = "monitor"))]
impl Bound {
    pub(super) fn serve(self, _title: String) -> Result<Served, Failure> {
        match self {}
    }
}

/// What a program without the monitor never has.
#[cfg(not(feature = "monitor"))]
#[derive(Debug)]
pub(super) enum Served {}

#[cfg(not(feature = "monitor"))]
impl Served {
    pub(super) fn live(&self) -> Live {
        match *self {}
    }
}
