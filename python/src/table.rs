//! Tables of results, which other libraries read through the Arrow C data interface (`__arrow_c_stream__`).

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyList, PyString};

use warpshard::report::frame::{Cell, ColumnKind, Frame};

/// A table: named columns of numbers, texts or booleans.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// A table that is built column by column.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<(String, ArrayRef)>);

impl Columns {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn numbers(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<u64>>) {
        self.0.push((name.into(), Arc::new(UInt64Array::from_iter(values))));
    }

    pub(crate) fn floats(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
        self.0.push((name.into(), Arc::new(Float64Array::from_iter(values))));
    }

    pub(crate) fn texts<'a>(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<&'a str>>) {
        self.0.push((name.into(), Arc::new(StringArray::from_iter(values))));
    }

    /// Returns the columns of a table of the simulator.
    pub(crate) fn of(frame: &Frame) -> Self {
        let mut made = Self::default();
        for (place, (name, kind)) in frame.columns().iter().enumerate() {
            let cells = frame.rows().iter().map(|row| &row[place]);
            match kind {
                ColumnKind::Count => made.numbers(name, cells.map(Cell::as_count)),
                ColumnKind::Number => made.floats(name, cells.map(Cell::as_number)),
                ColumnKind::Text => {
                    let texts: Vec<Option<String>> = cells.map(Cell::as_text).collect();
                    made.texts(name, texts.iter().map(Option::as_deref));
                }
            }
        }
        made
    }

    pub(crate) fn table(self) -> PyResult<Table> {
        let fields: Vec<Field> = self.0.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        let arrays: Vec<ArrayRef> = self.0.into_iter().map(|(_, array)| array).collect();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(arrays.first().map_or(0, |array| array.len())));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Ok(Table { batch: batch.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }
}

/// Converts a list of Python values of one kind, or `None`, to a column.
fn column(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let values: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
    let known = || values.iter().filter(|value| !value.is_none());
    let all = |is: &dyn Fn(&Bound<'_, PyAny>) -> bool| known().all(is);
    fn read<'a, 'py, T: FromPyObject<'a, 'py>>(values: &'a [Bound<'py, PyAny>]) -> PyResult<Vec<Option<T>>> {
        let one =
            |value: &'a Bound<'py, PyAny>| if value.is_none() { Ok(None) } else { value.extract::<T>().map(Some).map_err(Into::into) };
        values.iter().map(one).collect()
    }
    Ok(if known().next().is_none() || all(&|value| value.is_instance_of::<PyString>()) {
        Arc::new(StringArray::from_iter(read::<String>(&values)?))
    } else if all(&|value| value.is_instance_of::<PyBool>()) {
        Arc::new(BooleanArray::from_iter(read::<bool>(&values)?))
    } else if all(&|value| value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()) {
        Arc::new(Int64Array::from_iter(read::<i64>(&values)?))
    } else if all(&|value| value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>()) {
        Arc::new(Float64Array::from_iter(read::<f64>(&values)?))
    } else {
        let texts = values.iter().map(|value| if value.is_none() { Ok(None) } else { Ok(Some(value.str()?.to_string())) });
        Arc::new(StringArray::from_iter(texts.collect::<PyResult<Vec<_>>>()?))
    })
}

#[pymethods]
impl Table {
    /// Creates a table from columns: a dict from names to lists of equal length.
    #[new]
    fn new(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut made = Columns::default();
        for (name, values) in columns {
            made.0.push((name.extract()?, column(&values)?));
        }
        made.table()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.batch.num_rows(), self.batch.num_columns())
    }

    /// Returns a column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(array) = self.batch.column_by_name(name) else {
            let known = self.columns().join(", ");
            return Err(PyKeyError::new_err(format!("there is no column {name:?}; the columns are: {known}")));
        };
        let (rows, nulls) = (0..array.len(), |row: usize| array.is_null(row));
        match array.data_type() {
            DataType::UInt64 => {
                let array = array.as_primitive::<UInt64Type>();
                PyList::new(py, rows.map(|row| (!nulls(row)).then(|| array.value(row))))
            }
            DataType::Int64 => {
                let array = array.as_primitive::<Int64Type>();
                PyList::new(py, rows.map(|row| (!nulls(row)).then(|| array.value(row))))
            }
            DataType::Float64 => {
                let array = array.as_primitive::<Float64Type>();
                PyList::new(py, rows.map(|row| (!nulls(row)).then(|| array.value(row))))
            }
            DataType::Boolean => {
                let array = array.as_boolean();
                PyList::new(py, rows.map(|row| (!nulls(row)).then(|| array.value(row))))
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                PyList::new(py, rows.map(|row| (!nulls(row)).then(|| array.value(row))))
            }
            other => Err(PyTypeError::new_err(format!("a column of {other}"))),
        }
    }

    /// Returns a stream of one batch (Arrow PyCapsule interface). The requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Returns the schema (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = arrow_schema::ffi::FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(|error| PyValueError::new_err(error.to_string()))?, c"arrow_schema")
    }
}
