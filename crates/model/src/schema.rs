//! The parsed tables of a model file: all keys are known and all formulas are parsed, but not evaluated.

use toml::de::{DeTable, DeValue};

use warpshard_workload::MemKind;

use super::error::{Problem, suggest};
use super::expr::{self, Expr};
use super::keys::{self, LEADING_KEYS, LOAD_CACHES, Table};
use super::ops::{self, ATOMIC_FUNCTIONS, OPS, OpEffect};
use super::step::{AccessStep, LoadCache, OpStep, RegisterUse, Step, StepKind};
use super::text::{Formula, ModelReader, Value};

/// A region of memory in a model file.
#[derive(Clone, Debug)]
pub(super) struct BufferText {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) elements: Formula,
    pub(super) element_bytes: Formula,
    pub(super) address: Option<Formula>,
    pub(super) copy: bool,
}

/// A kernel in a model file.
#[derive(Clone, Debug)]
pub(super) struct KernelText {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) launches: Formula,
    pub(super) grid: [Formula; 3],
    pub(super) block: [Formula; 3],
    pub(super) registers: Option<Formula>,
    pub(super) shared_bytes: Option<Formula>,
    pub(super) stream: Formula,
    pub(super) shared: Vec<BufferText>,
    pub(super) local: Vec<BufferText>,
    pub(super) body: Vec<Step>,
}

/// A parsed model file.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelText {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) fitted_to: Vec<String>,
    pub(super) parameters: Vec<Formula>,
    pub(super) require: Vec<Formula>,
    pub(super) buffers: Vec<BufferText>,
    pub(super) blocks: Vec<(String, Vec<Step>)>,
    pub(super) kernels: Vec<KernelText>,
    /// True if a formula may contain the name `launch`, so that launches of a kernel differ.
    pub(super) names_launch: bool,
}

/// Reads the whole file and reports problems to `reader`.
pub(super) fn read(reader: &mut ModelReader, text: &str) -> ModelText {
    // An escape sequence could spell `launch`, so a text with any backslash is assumed to contain the name.
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut model = ModelText { names_launch: text.contains('\\') || words.any(|word| word == "launch"), ..ModelText::default() };
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let line = error.span().map_or(0, |span| reader.line(span.start));
            reader.report(
                Problem::new(line, "", format!("not TOML: {}", error.message())).help("check brackets, quotes and commas here and above"),
            );
            return model;
        }
    };
    let table = document.get_ref();
    reader.check_keys(&keys::MODEL_KEYS, table);
    model.name = reader.require("a model", table, "name", 1).and_then(|v| reader.string("name", v)).unwrap_or_default();
    model.summary = table.get("summary").and_then(|v| reader.string("summary", v)).unwrap_or_default();
    for value in table.get("fitted_to").and_then(|v| reader.array("fitted_to", v)).unwrap_or_default() {
        model.fitted_to.extend(reader.string("fitted_to", value));
    }
    if let Some(parameters) = table.get("parameters").and_then(|v| reader.table("parameters", v)) {
        for (key, value) in parameters {
            if named(reader, "a parameter", key) {
                model.parameters.extend(reader.formula(key.get_ref(), value));
            }
        }
    }
    for value in table.get("require").and_then(|v| reader.array("require", v)).unwrap_or_default() {
        model.require.extend(reader.formula("require", value));
    }
    if let Some(value) = table.get("buffers") {
        model.buffers = buffers(reader, "buffers", value, &keys::BUFFER_KEYS);
    }
    if let Some(blocks) = table.get("blocks").and_then(|v| reader.table("blocks", v)) {
        for (key, value) in blocks {
            model.blocks.push((key.get_ref().to_string(), steps(reader, key.get_ref(), value)));
        }
    }
    let kernels = reader.require("a model", table, "kernel", 1).and_then(|v| reader.array("kernel", v)).unwrap_or_default();
    for value in kernels {
        model.kernels.extend(kernel(reader, value));
    }
    model
}

fn named(reader: &mut ModelReader, what: &str, key: &toml::Spanned<toml::de::DeString<'_>>) -> bool {
    let good = expr::is_name(key.get_ref());
    if !good {
        let line = reader.line(key.span().start);
        let problem = Problem::new(line, key.get_ref().as_ref(), format!("not a name for {what}"));
        reader.report(problem.help("names are letters, digits and _, and start with a letter"));
    }
    good
}

fn kernel(reader: &mut ModelReader, value: &Value<'_>) -> Option<KernelText> {
    let line = reader.line_of(value);
    let table = reader.table("kernel", value)?;
    reader.check_keys(&keys::KERNEL_KEYS, table);
    let name = reader.require("a kernel", table, "name", line).and_then(|v| reader.string("name", v));
    let grid = reader.require("a kernel", table, "grid", line).and_then(|v| extent(reader, "grid", v));
    let block = reader.require("a kernel", table, "block", line).and_then(|v| extent(reader, "block", v));
    let body = reader.require("a kernel", table, "body", line).map(|v| steps(reader, "body", v));
    Some(KernelText {
        line,
        launches: reader.formula_at(table, "launches").unwrap_or_else(|| Formula::constant(1, "launches", line)),
        registers: reader.formula_at(table, "registers"),
        shared_bytes: reader.formula_at(table, "shared_bytes"),
        stream: reader.formula_at(table, "stream").unwrap_or_else(|| Formula::constant(0, "stream", line)),
        shared: table.get("shared").map(|v| buffers(reader, "shared", v, &keys::SHARED_KEYS)).unwrap_or_default(),
        local: table.get("local").map(|v| buffers(reader, "local", v, &keys::LOCAL_KEYS)).unwrap_or_default(),
        name: name?,
        grid: grid?,
        block: block?,
        body: body?,
    })
}

/// Parses one to three sizes; missing dimensions are 1.
fn extent(reader: &mut ModelReader, key: &str, value: &Value<'_>) -> Option<[Formula; 3]> {
    let one = || Formula::constant(1, key, 0);
    let DeValue::Array(array) = value.get_ref() else { return Some([reader.formula(key, value)?, one(), one()]) };
    if array.is_empty() || array.len() > 3 {
        let line = reader.line_of(value);
        let problem = Problem::new(line, key, "one to three dimensions are expected").given(format!("{} dimensions", array.len()));
        reader.report(problem.help("write a formula, or an array such as [\"n / 64\", \"n / 64\"]"));
        return None;
    }
    let mut sizes = array.iter().map(|v| reader.formula(key, v)).collect::<Option<Vec<_>>>()?;
    sizes.resize_with(3, one);
    sizes.try_into().ok()
}

fn buffers(reader: &mut ModelReader, key: &str, value: &Value<'_>, allowed: &Table) -> Vec<BufferText> {
    let mut found = Vec::new();
    for (name, value) in reader.table(key, value).into_iter().flatten() {
        let line = reader.line(name.span().start);
        let Some(table) = reader.table(name.get_ref(), value) else { continue };
        reader.check_keys(allowed, table);
        let elements = reader.require("a buffer", table, "elements", line).and_then(|v| reader.formula("elements", v));
        let element_bytes = reader.formula_at(table, "element_bytes");
        found.extend(elements.map(|elements| BufferText {
            name: name.get_ref().to_string(),
            line,
            elements,
            element_bytes: element_bytes.unwrap_or_else(|| Formula::constant(4, "element_bytes", line)),
            address: reader.formula_at(table, "address"),
            copy: table.get("copy").and_then(|v| reader.boolean("copy", v)).unwrap_or(false),
        }));
    }
    found
}

fn steps(reader: &mut ModelReader, key: &str, value: &Value<'_>) -> Vec<Step> {
    let mut found = Vec::new();
    for value in reader.array(key, value).unwrap_or_default() {
        let line = reader.line_of(value);
        if let Some(table) = reader.table(key, value) {
            found.extend(step(reader, table, line).map(|kind| Step { line, kind }));
        }
    }
    found
}

fn step(reader: &mut ModelReader, table: &DeTable<'_>, line: u32) -> Option<StepKind> {
    let mut leads = LEADING_KEYS.iter().copied().filter(|lead| table.contains_key(*lead));
    let (Some(lead), None) = (leads.next(), leads.next()) else {
        let first = table.keys().next().map(|key| key.get_ref().to_string()).unwrap_or_default();
        let problem = Problem::new(line, &first, "a step has exactly one of the leading keys").allowed(LEADING_KEYS.iter().copied());
        reader.report(problem.help("see \"Steps\" in docs/models.md"));
        return None;
    };
    match lead {
        "op" => operation(reader, table, line),
        "loop" => {
            reader.check_keys(&keys::LOOP_KEYS, table);
            let counter = reader.string("loop", &table["loop"]);
            let count = reader.require("a loop", table, "count", line).and_then(|v| reader.formula("count", v));
            let unroll = table.get("unroll").and_then(|v| reader.boolean("unroll", v)).unwrap_or(false);
            let body = reader.require("a loop", table, "body", line).map(|v| steps(reader, "body", v));
            Some(StepKind::Loop { counter: counter?, count: count?, unroll, body: body? })
        }
        "if" => {
            reader.check_keys(&keys::IF_KEYS, table);
            let condition = reader.formula("if", &table["if"]);
            let then = reader.require("an if", table, "then", line).map(|v| steps(reader, "then", v));
            let otherwise = table.get("else").map(|v| steps(reader, "else", v)).unwrap_or_default();
            Some(StepKind::If { condition: condition?, then: then?, otherwise })
        }
        "let" => {
            reader.check_keys(&keys::LET_KEYS, table);
            let name = reader.string("let", &table["let"]);
            let value = reader.require("a let", table, "value", line).and_then(|v| reader.formula("value", v));
            Some(StepKind::Let { name: name?, value: value? })
        }
        _ => {
            reader.check_keys(&keys::USE_KEYS, table);
            reader.string("use", &table["use"]).map(StepKind::Use)
        }
    }
}

fn operation(reader: &mut ModelReader, table: &DeTable<'_>, line: u32) -> Option<StepKind> {
    let name = reader.string("op", &table["op"])?;
    let Some(op) = ops::find(&name) else {
        let names = OPS.iter().map(|op| op.name);
        let help = suggest(&name, names.clone(), "choose one of the operations above");
        reader.report(Problem::new(line, "op", "not an operation").given(format!("\"{name}\"")).allowed(names).help(help));
        return None;
    };
    let allowed = match op.effect {
        OpEffect::Memory(MemKind::Load) => &keys::LOAD_KEYS,
        OpEffect::Memory(MemKind::Store) => &keys::STORE_KEYS,
        OpEffect::Memory(_) => &keys::ATOMIC_KEYS,
        OpEffect::None | OpEffect::Exit => &keys::PLAIN_OP_KEYS,
    };
    let memory = matches!(op.effect, OpEffect::Memory(_));
    reader.check_keys(allowed, table);
    let dst = table.get("dst").and_then(|v| register(reader, "dst", v));
    if dst.is_some() && op.result == 0 {
        reader.report(Problem::new(line, "dst", format!("`{name}` writes no register")).help("remove `dst`"));
    }
    let mut src = Vec::new();
    for value in table.get("src").and_then(|v| reader.array("src", v)).unwrap_or_default() {
        src.extend(register(reader, "src", value));
    }
    if src.len() > 4 {
        let problem = Problem::new(line, "src", "an instruction reads at most 4 registers");
        reader.report(problem.given(format!("{} registers", src.len())).help("split it into several operations"));
        return None;
    }
    let when = reader.formula_at(table, "when");
    let access = if memory { Some(access(reader, table, line)?) } else { None };
    Some(StepKind::Op(Box::new(OpStep { op, dst, src, when, access })))
}

fn access(reader: &mut ModelReader, table: &DeTable<'_>, line: u32) -> Option<AccessStep> {
    let buffer = reader.require("a memory operation", table, "buffer", line).and_then(|v| reader.string("buffer", v));
    let index = reader.require("a memory operation", table, "index", line).and_then(|v| reader.formula("index", v));
    let width = reader.formula_at(table, "width");
    let cache = table.get("cache").map_or(Some("l1"), |v| choice(reader, "cache", v, LOAD_CACHES)).map(|word| match word {
        "llc" => LoadCache::Llc,
        "texture" => LoadCache::Texture,
        _ => LoadCache::L1,
    });
    let function = table.get("function").map_or(Some("add"), |v| choice(reader, "function", v, ATOMIC_FUNCTIONS));
    Some(AccessStep { buffer: buffer?, line, index: index?, width, cache: cache?, function: function? })
}

fn choice(reader: &mut ModelReader, key: &str, value: &Value<'_>, allowed: &[&'static str]) -> Option<&'static str> {
    let text = reader.string(key, value)?;
    let found = allowed.iter().copied().find(|&word| word == text);
    if found.is_none() {
        let problem = Problem::new(reader.line_of(value), key, "not one of the allowed values").given(format!("\"{text}\""));
        let help = suggest(&text, allowed.iter().copied(), "choose one of the allowed values");
        reader.report(problem.allowed(allowed.iter().copied()).help(help));
    }
    found
}

/// Parses a register operand: `name` or `name[index]`.
fn register(reader: &mut ModelReader, key: &str, value: &Value<'_>) -> Option<RegisterUse> {
    let text = reader.string(key, value)?;
    let line = reader.line_of(value);
    let (name, index) = match text.split_once('[') {
        None => (text.trim(), Ok(Expr::Int(0))),
        Some((name, rest)) => match rest.trim_end().strip_suffix(']') {
            Some(index) => (name.trim(), expr::parse(index)),
            None => (name.trim(), Err("the closing ] is missing".to_owned())),
        },
    };
    let index = if expr::is_name(name) { index } else { Err(format!("`{name}` is not a name")) };
    match index {
        Ok(index) => {
            let index = Formula { expr: index, text: text.clone(), key: key.to_owned(), line };
            Some(RegisterUse { name: name.to_owned(), index })
        }
        Err(message) => {
            let problem = Problem::new(line, key, format!("not a register: {message}")).given(format!("\"{text}\""));
            reader.report(problem.help("write a name such as \"x\" or \"acc[4 * m + n]\""));
            None
        }
    }
}
