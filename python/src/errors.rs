//! The exceptions of the package: one for each way in which the command line fails, with the same text and exit code.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use warpshard::cli::exit::{Exit, Failure};
use warpshard::program::ProgramError;

create_exception!(warpshard, Error, PyException, "Anything that went wrong; `exit_code` is what the command line would end with.");
create_exception!(warpshard, UsageError, Error, "Options that are unknown, wrong or contradict each other.");
create_exception!(warpshard, ConfigError, Error, "A machine or a change of it that is wrong. The text names every problem with its place.");
create_exception!(warpshard, WorkloadError, Error, "A trace, kernel model or program that is wrong.");
create_exception!(
    warpshard,
    KernelError,
    WorkloadError,
    "A kernel that cannot be launched, or that stopped: an access outside of its arrays, an endless loop, a barrier that not all threads reach."
);
create_exception!(warpshard, DeadlockError, Error, "Nothing in the simulated machine can proceed; the text says what each part waits for.");
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

/// A failure of the command line as an exception.
pub(crate) fn raise(failure: Failure) -> PyErr {
    let text = failure.message.trim_end().to_owned();
    match failure.exit {
        Exit::Usage => UsageError::new_err(text),
        Exit::Config => ConfigError::new_err(text),
        Exit::Workload => WorkloadError::new_err(text),
        Exit::Deadlock => DeadlockError::new_err(text),
        Exit::Output => OutputError::new_err(text),
        Exit::Checkpoint => CheckpointError::new_err(text),
        Exit::Ok | Exit::Negative | Exit::Internal | Exit::Interrupted | Exit::Aborted => InternalError::new_err(text),
    }
}

/// What stopped a kernel as an exception.
pub(crate) fn raise_kernel(error: &ProgramError) -> PyErr {
    KernelError::new_err(error.to_string())
}
