//! Devices: listings, arrays, and launches that are executed immediately.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt};

use warpshard::program::{Argument, COMPILER_SCRIPT, Device as Model, LaunchShape, TensorShape};
use warpshard::workload::Workload;

use crate::errors::raise_kernel;

/// Time between two checks for signals while a kernel executes.
const SIGNAL_CHECK_PERIOD: Duration = Duration::from_millis(50);

/// A device with its memory.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Debug)]
pub(crate) struct Device {
    model: Mutex<Model>,
    /// Addresses that are freed before the next step. Python may collect an array at any moment, even while this thread uses the device.
    freed_addresses: Mutex<Vec<u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Calls `step` with the device. The calling thread releases the interpreter lock while it waits, since a kernel in execution may
    /// acquire it.
    fn with_model<T: Send>(&self, py: Python<'_>, step: impl FnOnce(&mut Model) -> T + Send) -> T {
        py.detach(|| {
            let mut model = lock(&self.model);
            std::mem::take(&mut *lock(&self.freed_addresses)).into_iter().for_each(|address| model.free(address));
            step(&mut model)
        })
    }

    /// Returns a workload of all launches so far.
    pub(crate) fn workload(&self, py: Python<'_>) -> PyResult<Workload> {
        self.with_model(py, |model| model.workload()).map_err(|error| raise_kernel(&error))
    }
}

/// A device address, as an argument of a launch.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    #[pyo3(get)]
    address: u64,
}

#[pymethods]
impl Pointer {
    #[new]
    fn new(address: u64) -> Self {
        Self { address }
    }
}

fn argument(value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    if let Ok(pointer) = value.cast::<Pointer>() {
        Ok(Argument::Pointer(pointer.get().address))
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        Ok(Argument::Bytes(bytes.as_bytes().to_vec()))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Argument::Float(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Argument::Integer(value.extract()?))
    } else {
        Err(PyTypeError::new_err(format!(
            "{} as an argument, expected an array, a number, a numpy scalar or bytes",
            value.get_type().name()?
        )))
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new(name: &str, check: bool) -> Self {
        Self { model: Mutex::new(Model::new(name, check)), freed_addresses: Mutex::default() }
    }

    /// Loads a listing; returns the number of the module.
    fn load(&self, py: Python<'_>, listing: PathBuf) -> PyResult<usize> {
        self.with_model(py, |model| model.load(&listing)).map_err(|error| raise_kernel(&error))
    }

    /// Returns the kernels of a module: name, static shared bytes, registers, sizes of the parameters.
    fn kernels(&self, py: Python<'_>, module: usize) -> Vec<(String, u32, u32, Vec<usize>)> {
        self.with_model(py, |model| model.kernels(module))
    }

    /// Returns the full name of a kernel.
    fn kernel_name(&self, py: Python<'_>, module: usize, name: &str) -> PyResult<String> {
        self.with_model(py, |model| model.kernel_name(module, name)).map_err(|error| raise_kernel(&error))
    }

    /// Returns address and size of a variable in device memory.
    fn variable(&self, py: Python<'_>, module: usize, name: &str) -> Option<(u64, u64)> {
        self.with_model(py, |model| model.variable(module, name))
    }

    /// Sets the contents of a variable in constant memory.
    fn set_constant(&self, py: Python<'_>, module: usize, name: &str, contents: &[u8]) -> PyResult<()> {
        self.with_model(py, |model| model.set_constant(module, name, contents)).map_err(|error| raise_kernel(&error))
    }

    /// Allocates memory and copies contents from the host.
    fn allocate(&self, py: Python<'_>, name: &str, contents: &[u8]) -> PyResult<u64> {
        self.with_model(py, |model| model.allocate(name, contents.to_vec(), true, true)).map_err(|error| raise_kernel(&error))
    }

    /// Allocates memory without a copy: zeroed, or uninitialised.
    fn reserve(&self, py: Python<'_>, name: &str, bytes: usize, zeroed: bool) -> PyResult<u64> {
        self.with_model(py, |model| model.allocate(name, vec![0; bytes], zeroed, false)).map_err(|error| raise_kernel(&error))
    }

    fn free(&self, address: u64) {
        lock(&self.freed_addresses).push(address);
    }

    fn write(&self, py: Python<'_>, address: u64, contents: &[u8]) -> PyResult<()> {
        self.with_model(py, |model| model.write(address, contents)).map_err(|error| raise_kernel(&error))
    }

    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let copy = self.with_model(py, |model| model.read(address, bytes).map(<[u8]>::to_vec));
        copy.map(|copy| PyBytes::new(py, &copy)).map_err(|error| raise_kernel(&error))
    }

    /// Returns the 128 bytes of the tensor map of an address. `places` are sizes, strides in bytes, box and steps, with the fastest
    /// dimension first.
    fn tensor_map<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        kind: String,
        places: (Vec<i64>, Vec<i64>, Vec<i64>, Vec<i64>),
        swizzle: Option<u32>,
        nan: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (sizes, strides, extents, steps) = places;
        let shape = TensorShape { kind, sizes, strides, extents, steps, swizzle, nan };
        let map = self.with_model(py, |model| model.tensor_map(address, &shape));
        map.map(|map| PyBytes::new(py, &map)).map_err(|error| raise_kernel(&error))
    }

    /// Executes a kernel; returns its warp instructions and thread instructions. `shape` is grid, block and dynamic shared memory.
    /// `together` is the cluster size in CTAs (empty without clusters), a flag for a cooperative launch, and a flag for a programmatic
    /// dependent launch.
    fn launch(
        &self,
        py: Python<'_>,
        kernel: (usize, String),
        shape: (Vec<i64>, Vec<i64>, i64),
        together: (Vec<i64>, bool, bool),
        arguments: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let arguments = arguments.iter().map(argument).collect::<PyResult<Vec<_>>>()?;
        let ((module, name), (grid, block, shared), (cluster, cooperative, programmatic)) = (kernel, shape, together);
        let (mut signal, mut checked) = (None, Instant::now());
        let mut continues = || {
            // The check is rare, since the thread may have to wait for the interpreter lock.
            if checked.elapsed() < SIGNAL_CHECK_PERIOD {
                return true;
            }
            checked = Instant::now();
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        let shape = LaunchShape { grid: &grid, block: &block, shared, cluster: &cluster, cooperative, programmatic };
        let done = self.with_model(py, |model| model.launch((module, &name), &shape, &arguments, &mut continues));
        match signal {
            Some(raised) => Err(raised),
            None => done.map_err(|error| raise_kernel(&error)),
        }
    }

    /// Returns the text that kernels have printed since the last call, and the number of printf calls missing from it.
    fn printed(&self, py: Python<'_>) -> (String, u64) {
        self.with_model(py, Model::printed)
    }

    /// Discards the recorded launches and copies.
    fn clear(&self, py: Python<'_>) {
        self.with_model(py, Model::clear);
    }

    /// Number of launches so far.
    #[getter]
    fn launched(&self, py: Python<'_>) -> usize {
        self.with_model(py, |model| model.launched())
    }

    /// Returns the arrays with reads of uninitialised memory, with the number of reads.
    fn unwritten(&self, py: Python<'_>) -> Vec<(String, u64)> {
        self.with_model(py, |model| model.unwritten())
    }
}

/// Returns the script that compiles CUDA C.
#[pyfunction]
pub(crate) fn compiler() -> &'static str {
    COMPILER_SCRIPT
}
