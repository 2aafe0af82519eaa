//! The concurrency primitives of warpshard.

#![warn(missing_docs)]

mod barrier;
mod board;
mod mailbox;
mod mutant;
mod primitive;
mod progress;
mod stop;

pub use barrier::{EpochBarrier, Locals, Party, Poisoned, Role, WaitPolicy};
pub use board::{Board, Stamped};
pub use mailbox::{Receiver, Sender, mailbox};
pub use progress::{ProgressCell, ProgressReader, ProgressWriter, progress_cell};
pub use stop::StopFlag;
