//! The exceptions of the package: one for each failure of the command line, with the same text and exit code.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use warpshard::program::ProgramError;
use warpshard::run::{Error as RunError, Exit};
use warpshard::sweep::{PlanError, SweepError};

create_exception!(warpshard, Error, PyException, "Base class of all errors; `exit_code` is the exit code of the command line.");
create_exception!(warpshard, UsageError, Error, "Unknown, invalid or contradictory options.");
create_exception!(
    warpshard,
    ConfigError,
    Error,
    "An invalid machine or change of a machine. The text lists every problem with its location."
);
create_exception!(warpshard, WorkloadError, Error, "An invalid trace, kernel model or program.");
create_exception!(
    warpshard,
    KernelError,
    WorkloadError,
    "A kernel that cannot be launched, or that stopped with an error: an access outside of its arrays, an endless loop, a barrier that not all threads reach."
);
create_exception!(warpshard, DeadlockError, Error, "A deadlock of the simulated machine; the text lists the waits of each unit.");
create_exception!(warpshard, OutputError, Error, "Results cannot be written.");
create_exception!(
    warpshard,
    CheckpointError,
    Error,
    "A checkpoint that cannot be written or read, is damaged, or belongs to another run or build."
);
create_exception!(warpshard, InternalError, Error, "A bug of the simulator.");

/// Adds the exceptions to the module, each with its exit code.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    for (kind, exit) in [
        (py.get_type::<Error>(), Exit::Internal),
        (py.get_type::<UsageError>(), Exit::Usage),
        (py.get_type::<ConfigError>(), Exit::Config),
        (py.get_type::<WorkloadError>(), Exit::Workload),
        (py.get_type::<KernelError>(), Exit::Workload),
        (py.get_type::<DeadlockError>(), Exit::Deadlock),
        (py.get_type::<OutputError>(), Exit::Output),
        (py.get_type::<CheckpointError>(), Exit::Checkpoint),
        (py.get_type::<InternalError>(), Exit::Internal),
    ] {
        kind.setattr("exit_code", exit as u8)?;
        m.add(kind.name()?, kind)?;
    }
    Ok(())
}

/// A failure in a thread, which becomes the exception of its exit code.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Exit code of the command line for this failure.
    pub(crate) exit: Exit,
    /// The message for the user.
    pub(crate) message: String,
}

impl Failure {
    /// Creates a failure for which the command line would end with `exit`.
    pub(crate) fn new(exit: Exit, message: impl ToString) -> Self {
        Self { exit, message: message.to_string().trim_end().to_owned() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::new(error.exit(), error)
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        Self::new(error.exit(), error)
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        SweepError::from(error).into()
    }
}

impl From<Failure> for PyErr {
    fn from(Failure { exit, message }: Failure) -> Self {
        match exit {
            Exit::Usage => UsageError::new_err(message),
            Exit::Config => ConfigError::new_err(message),
            Exit::Workload => WorkloadError::new_err(message),
            Exit::Deadlock => DeadlockError::new_err(message),
            Exit::Output => OutputError::new_err(message),
            Exit::Checkpoint => CheckpointError::new_err(message),
            Exit::Ok | Exit::Negative | Exit::Internal | Exit::Interrupted | Exit::Aborted => InternalError::new_err(message),
        }
    }
}

/// Returns the exception for an error of a kernel.
pub(crate) fn raise_kernel(error: &ProgramError) -> PyErr {
    KernelError::new_err(error.to_string())
}
