//! Devices: listings, arrays and launches, executed at once.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt};

use warpshard::program::{Argument, COMPILER, Device as Model, LaunchShape, TensorShape};
use warpshard::workload::Workload;

use crate::errors::raise_kernel;

/// The time between two looks for signals while a kernel executes.
const LOOK: Duration = Duration::from_millis(50);

/// A device with its memory.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Debug)]
pub(crate) struct Device {
    model: Mutex<Model>,
    /// Addresses to be given back before the next step. Python may collect an array at any moment, also while this thread uses the device.
    freed: Mutex<Vec<u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Does something with the device. Whoever waits for it holds no lock of the interpreter, for which a kernel that executes may ask.
    fn with<T: Send>(&self, py: Python<'_>, step: impl FnOnce(&mut Model) -> T + Send) -> T {
        py.detach(|| {
            let mut model = lock(&self.model);
            std::mem::take(&mut *lock(&self.freed)).into_iter().for_each(|address| model.free(address));
            step(&mut model)
        })
    }

    /// What was launched so far.
    pub(crate) fn workload(&self, py: Python<'_>) -> PyResult<Workload> {
        self.with(py, |model| model.workload()).map_err(|error| raise_kernel(&error))
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
        Self { model: Mutex::new(Model::new(name, check)), freed: Mutex::default() }
    }

    /// Loads a listing; the module's number.
    fn load(&self, py: Python<'_>, listing: PathBuf) -> PyResult<usize> {
        self.with(py, |model| model.load(&listing)).map_err(|error| raise_kernel(&error))
    }

    /// The kernels of a module: name, static shared bytes, registers, sizes of the parameters.
    fn kernels(&self, py: Python<'_>, module: usize) -> Vec<(String, u32, u32, Vec<usize>)> {
        self.with(py, |model| model.kernels(module))
    }

    /// The whole name of a kernel.
    fn kernel_name(&self, py: Python<'_>, module: usize, name: &str) -> PyResult<String> {
        self.with(py, |model| model.kernel_name(module, name)).map_err(|error| raise_kernel(&error))
    }

    /// Address and size of a variable in device memory.
    fn variable(&self, py: Python<'_>, module: usize, name: &str) -> Option<(u64, u64)> {
        self.with(py, |model| model.variable(module, name))
    }

    /// Gives a variable in constant memory its contents.
    fn set_constant(&self, py: Python<'_>, module: usize, name: &str, contents: &[u8]) -> PyResult<()> {
        self.with(py, |model| model.set_constant(module, name, contents)).map_err(|error| raise_kernel(&error))
    }

    /// Allocates memory with contents that the host sends.
    fn allocate(&self, py: Python<'_>, name: &str, contents: &[u8]) -> PyResult<u64> {
        self.with(py, |model| model.allocate(name, contents.to_vec(), true, true)).map_err(|error| raise_kernel(&error))
    }

    /// Allocates memory without a copy: of zeroes, or uninitialised.
    fn reserve(&self, py: Python<'_>, name: &str, bytes: usize, zeroed: bool) -> PyResult<u64> {
        self.with(py, |model| model.allocate(name, vec![0; bytes], zeroed, false)).map_err(|error| raise_kernel(&error))
    }

    fn free(&self, address: u64) {
        lock(&self.freed).push(address);
    }

    fn write(&self, py: Python<'_>, address: u64, contents: &[u8]) -> PyResult<()> {
        self.with(py, |model| model.write(address, contents)).map_err(|error| raise_kernel(&error))
    }

    fn read<'py>(&self, py: Python<'py>, address: u64, bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let copy = self.with(py, |model| model.read(address, bytes).map(<[u8]>::to_vec));
        copy.map(|copy| PyBytes::new(py, &copy)).map_err(|error| raise_kernel(&error))
    }

    /// The map of a tensor at an address: its 128 bytes. `places` are sizes, strides in bytes, box and steps, the fastest dimension first.
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
        let map = self.with(py, |model| model.tensor_map(address, &shape));
        map.map(|map| PyBytes::new(py, &map)).map_err(|error| raise_kernel(&error))
    }

    /// Executes a kernel; its warp instructions and their active lanes. `shape` is grid, block and dynamic shared memory, `together` the CTAs of a
    /// cluster (none where it is empty), and whether the launch is cooperative and whether it is a programmatic dependent launch.
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
        let (mut signal, mut looked) = (None, Instant::now());
        let mut keep_going = || {
            // Not more often, since the interpreter's lock may have to be waited for.
            if looked.elapsed() < LOOK {
                return true;
            }
            looked = Instant::now();
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        let shape = LaunchShape { grid: &grid, block: &block, shared, cluster: &cluster, cooperative, programmatic };
        let done = self.with(py, |model| model.launch((module, &name), &shape, &arguments, &mut keep_going));
        match signal {
            Some(raised) => Err(raised),
            None => done.map_err(|error| raise_kernel(&error)),
        }
    }

    /// What kernels have printed since the last call, and how many calls of printf are missing from it.
    fn printed(&self, py: Python<'_>) -> (String, u64) {
        self.with(py, Model::printed)
    }

    /// Forgets launches and copies.
    fn clear(&self, py: Python<'_>) {
        self.with(py, Model::clear);
    }

    /// Launches so far.
    #[getter]
    fn launched(&self, py: Python<'_>) -> usize {
        self.with(py, |model| model.launched())
    }

    /// Reads of arrays where nothing was written.
    fn unwritten(&self, py: Python<'_>) -> Vec<(String, u64)> {
        self.with(py, |model| model.unwritten())
    }
}

/// The script that compiles CUDA C.
#[pyfunction]
pub(crate) fn compiler() -> &'static str {
    COMPILER
}
