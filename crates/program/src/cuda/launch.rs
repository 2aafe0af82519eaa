//! Launch files from options of the command line.

use std::fmt::Write as _;
use std::path::Path;

use super::super::error::{ProgramError, listed};
use super::items::{Kernel, Parameter};

/// The launch of one kernel, as options of the command line say it.
#[derive(Clone, Debug, Default)]
pub struct Launching {
    /// CTAs of each dimension, as formulas.
    pub grid: Vec<String>,
    /// Threads of a CTA in each dimension, as formulas.
    pub block: Vec<String>,
    /// Dynamic shared bytes, as a formula.
    pub shared: Option<String>,
    /// A cooperative launch.
    pub cooperative: bool,
    /// Names and values: `4096`, `2.5`, `(n + 3) / 4`, `&x + 16`, `[1, &x]`, a buffer: `f32[n]:uniform`, or a texture of
    /// single-precision numbers: `tex[64,64]`.
    pub arguments: Vec<(String, String)>,
    /// Gives arguments that have no value one of this size.
    pub fill: Option<u32>,
}

/// The first words of a launch file made here.
const HEAD: &str = "# Made by warpshard of ";
/// Most instructions of a warp in the launch files made here.
const LIMIT: u64 = 1 << 28;
/// Types of elements.
const ELEMENTS: [&str; 12] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"];
/// Most elements of a buffer that is made without being asked for.
const MOST_FILLED: u64 = 1 << 22;

/// The launch file of one launch of `kernel`, which the listing calls `name`.
///
/// # Errors
/// When an argument is missing, unknown or cannot be read; the message names the parameters with an example for each.
pub fn launch_file(
    source: &Path,
    (kernel, name): (&Kernel, &str),
    (listing, arch): (&Path, &str),
    launching: &Launching,
) -> Result<String, ProgramError> {
    let bad = |what: String| ProgramError::new(source, kernel.line, what);
    let (mut numbers, mut buffers, mut textures, mut values) = (String::new(), String::new(), String::new(), Vec::new());
    let names: Vec<String> = kernel.parameters.iter().enumerate().map(|(at, parameter)| name_of(parameter, at)).collect();
    let formula = |text: &str| text.parse::<i64>().map_or_else(|_| format!("{text:?}"), |number| number.to_string());
    for (argument, value) in &launching.arguments {
        if names.contains(argument) {
            continue;
        }
        if let Ok(number) = value.parse::<i64>() {
            let _ = writeln!(numbers, "{argument:?} = {number}");
            continue;
        }
        let address = format!("&{argument}");
        let in_struct = launching.arguments.iter().any(|(_, value)| value.split([',', '[', ']', ' ']).any(|word| word == address));
        let Some(row) = buffer_row(argument, value.trim(), &formula, &bad)?.filter(|_| in_struct) else {
            let what = format!("kernel `{}` has no parameter `{argument}`", kernel.name);
            return Err(bad(what)
                .expected(listed(names.iter().map(String::as_str)))
                .help("other names are integers for formulas, and buffers whose address a struct has: --arg x=f32[64] --arg p=[&x, 64]"));
        };
        buffers.push_str(&row);
    }
    let mut lacking = Vec::new();
    for (parameter, own) in kernel.parameters.iter().zip(&names) {
        let given = launching.arguments.iter().rev().find(|(name, _)| name == own).map(|(_, value)| value.trim());
        let filled = given.is_none().then(|| launching.fill.map(|size| fill(parameter, u64::from(size)))).flatten();
        let Some(value) = given.or(filled.as_deref()) else {
            lacking.push(format!("--arg {own}={} ({})", example(parameter), parameter.kind));
            continue;
        };
        let floating = is_floating(parameter);
        if let Some(sizes) = value.strip_prefix("tex[").and_then(|sizes| sizes.strip_suffix(']')) {
            let sizes: Vec<String> = sizes.split(',').map(|size| formula(size.trim())).collect();
            let count = sizes.iter().map(|size| format!("({})", size.trim_matches('"'))).collect::<Vec<_>>().join(" * ");
            let _ = writeln!(
                buffers,
                "{:?} = {{ type = \"f32\", count = {count:?}, contents = {{ uniform = {{ low = 0.0, high = 1.0, seed = 1 }} }} }}",
                format!("{own}_texels")
            );
            let _ = writeln!(textures, "{own:?} = {{ buffer = {:?}, size = [{}] }}", format!("{own}_texels"), sizes.join(", "));
            values.push(format!("\"&{own}\""));
            continue;
        }
        if let Some(row) = buffer_row(own, value, &formula, &bad)? {
            buffers.push_str(&row);
            values.push(format!("\"&{own}\""));
        } else if let (Ok(number), false) = (value.parse::<i64>(), floating) {
            let _ = writeln!(numbers, "{own:?} = {number}");
            values.push(number.to_string());
        } else if let Some(number) = value.parse::<f64>().ok().filter(|number| number.is_finite()) {
            values.push(format!("{number:?}"));
        } else if value.starts_with('[') {
            let Some(inner) = value.strip_prefix('[').and_then(|value| value.strip_suffix(']')) else {
                return Err(bad(format!("the list of `{own}` has no `]`")).found(value).expected("such as [1, 2.5, &x]"));
            };
            let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
            let parts: Vec<String> =
                parts.map(|part| if part.parse::<f64>().is_ok() { part.to_owned() } else { format!("{part:?}") }).collect();
            values.push(format!("[{}]", parts.join(", ")));
        } else {
            values.push(format!("{value:?}"));
        }
    }
    if !lacking.is_empty() {
        return Err(bad(format!("kernel `{}` lacks {} of its arguments", kernel.name, lacking.len()))
            .expected(lacking.join(" "))
            .help("give them with --arg, or let --fill 64 choose: integers of 64 and buffers of random numbers"));
    }
    let list = |values: &[String]| values.iter().map(|text| formula(text)).collect::<Vec<_>>().join(", ");
    let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let cooperative = if launching.cooperative { "cooperative = true\n" } else { "" };
    let shared = launching.shared.as_deref().map_or(String::new(), |shared| format!("shared = {}\n", formula(shared)));
    Ok(format!(
        "{HEAD}{}\nname = {:?}\nmodules = {{ {} = {:?} }}\nlimit = {LIMIT}\n\n[parameters]\n{numbers}\n[buffers]\n{buffers}\n[textures]\n{textures}\n[[launches]]\nkernel = {name:?}\n\
         grid = [{}]\nblock = [{}]\n{cooperative}{shared}arguments = [{}]\n",
        file(source),
        source.file_stem().unwrap_or_default().to_string_lossy(),
        arch.trim_end_matches('a'),
        file(listing),
        list(&launching.grid),
        list(&launching.block),
        values.join(", "),
    ))
}

/// The row of a buffer from `TYPE[COUNT]` or `TYPE[COUNT]:CONTENTS`; `None` where the value is no buffer.
fn buffer_row(
    own: &str,
    value: &str,
    formula: &impl Fn(&str) -> String,
    bad: &impl Fn(String) -> ProgramError,
) -> Result<Option<String>, ProgramError> {
    let Some((element, rest)) = value.split_once('[').filter(|(element, _)| ELEMENTS.contains(&element.trim())) else { return Ok(None) };
    let element = element.trim();
    let unread = |what: String| bad(what).found(value).expected("such as f32[4096]:uniform");
    let Some((count, contents)) = rest.rsplit_once(']') else { return Err(unread(format!("the buffer of `{own}` has no `]`"))) };
    let row = match contents.strip_prefix(':') {
        Some(contents) => {
            let row = contents_row(contents, element).map_err(|error| bad(format!("`{own}`: {error}")).found(value))?;
            format!(", contents = {row}")
        }
        None if contents.is_empty() => String::new(),
        None => return Err(unread(format!("the buffer of `{own}` cannot be read"))),
    };
    Ok(Some(format!("{own:?} = {{ type = {element:?}, count = {}{row} }}\n", formula(count))))
}

/// A parameter's name, or one by its number.
fn name_of(parameter: &Parameter, at: usize) -> String {
    if parameter.name.is_empty() { format!("arg{at}") } else { parameter.name.clone() }
}

fn is_pointer(parameter: &Parameter) -> bool {
    parameter.kind.contains(['*', '['])
}

/// A number of floating point.
fn is_floating(parameter: &Parameter) -> bool {
    !is_pointer(parameter) && parameter.kind.split(' ').any(|word| matches!(word, "float" | "double"))
}

/// The element of a buffer for a pointer, and how many of them each of the pointer's own elements has; `None` where the type says nothing.
fn element(parameter: &Parameter) -> Option<(&'static str, u64)> {
    const KINDS: [(&str, &str); 20] = [
        ("float", "f32"),
        ("double", "f64"),
        ("half", "f16"),
        ("__half", "f16"),
        ("nv_bfloat16", "bf16"),
        ("__nv_bfloat16", "bf16"),
        ("bf16", "bf16"),
        ("char", "u8"),
        ("bool", "u8"),
        ("uchar", "u8"),
        ("uint8_t", "u8"),
        ("int8_t", "u8"),
        ("short", "u16"),
        ("int", "i32"),
        ("unsigned", "i32"),
        ("uint", "i32"),
        ("int32_t", "i32"),
        ("uint32_t", "i32"),
        ("int64_t", "i64"),
        ("long", "i64"),
    ];
    let words = || parameter.kind.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words().rev().find_map(|word| {
        let (bare, lanes) = match word.strip_suffix(['2', '3', '4']) {
            Some(bare) if KINDS.iter().any(|(name, _)| *name == bare) => (bare, u64::from(word.as_bytes()[word.len() - 1] - b'0')),
            _ => (word, 1),
        };
        KINDS.iter().find(|(name, _)| *name == bare).map(|(_, element)| (*element, lanes))
    })
}

/// The value of an argument that the user left open.
fn fill(parameter: &Parameter, size: u64) -> String {
    if ["cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject", "CUsurfObject"].iter().any(|kind| parameter.kind.contains(kind)) {
        return format!("tex[{size},{size}]");
    }
    if !is_pointer(parameter) {
        return if is_floating(parameter) {
            "1.0".into()
        } else if is_number(parameter) {
            size.to_string()
        } else {
            "[0]".into()
        };
    }
    let count = size.saturating_pow(3).min(MOST_FILLED);
    match element(parameter) {
        Some((element, lanes)) if element.contains('f') => format!("{element}[{}]:uniform", count * lanes),
        Some(("u8", _)) => format!("u8[{count}]:integer=0..1"),
        Some((element, lanes)) => format!("{element}[{}]:integer=0..{}", count * lanes, size.saturating_sub(1)),
        None => format!("u8[{}]:constant=0", 8 * count),
    }
}

/// Whether a parameter is one number: no struct of its own name.
fn is_number(parameter: &Parameter) -> bool {
    const NUMBERS: [&str; 18] = [
        "int", "unsigned", "long", "short", "char", "bool", "size_t", "uint", "uchar", "ushort", "ulong", "clock_t", "uint8_t", "int32_t",
        "uint32_t", "int64_t", "uint64_t", "T",
    ];
    parameter.kind.split(' ').any(|word| NUMBERS.contains(&word))
}

fn example(parameter: &Parameter) -> String {
    match element(parameter) {
        Some((element, _)) if is_pointer(parameter) => format!("{element}[4096]:uniform"),
        None if is_pointer(parameter) => "u8[4096]:constant=0".into(),
        _ if parameter.kind.contains("cudaTextureObject_t") => "tex[64,64]".into(),
        _ if is_floating(parameter) => "1.0".into(),
        _ if is_number(parameter) => "4096".into(),
        _ => "[0]".into(),
    }
}

/// The contents of a buffer from `uniform`, `uniform=0..1`, `normal`, `integer=0..9`, `constant=0`, `sequence`, `file=NAME`, or a formula of `i`.
fn contents_row(text: &str, element: &str) -> Result<String, String> {
    let (kind, value) = text.split_once('=').map_or((text.trim(), None), |(kind, value)| (kind.trim(), Some(value.trim())));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let range = |value: Option<&str>, otherwise: (f64, f64)| match value {
        None => Ok(otherwise),
        Some(value) => {
            let ends = value.split_once("..").and_then(|(low, high)| Some((number(low)?, number(high)?)));
            ends.filter(|(low, high)| low <= high).ok_or_else(|| format!("expected a range such as {kind}=0..1"))
        }
    };
    let floating = element.contains('f');
    match kind {
        "uniform" if floating => {
            range(value, (0.0, 1.0)).map(|(low, high)| format!("{{ uniform = {{ low = {low:?}, high = {high:?}, seed = 1 }} }}"))
        }
        "uniform" | "integer" => {
            range(value, (0.0, 63.0)).map(|(low, high)| format!("{{ integer = {{ low = {low:.0}, high = {high:.0}, seed = 1 }} }}"))
        }
        "normal" if value.is_none() => Ok("{ normal = { mean = 0, deviation = 1, seed = 1 } }".into()),
        "sequence" if value.is_none() => Ok("{ sequence = [0, 1] }".into()),
        "zero" if value.is_none() => Ok("{ constant = 0 }".into()),
        "constant" => value
            .and_then(number)
            .map(|number| format!("{{ constant = {number:?} }}"))
            .ok_or("expected a number, such as constant=0".into()),
        "file" => value.map(|name| format!("{{ file = {name:?} }}")).ok_or("expected a file, such as file=x.bin".into()),
        "formula" => {
            value.map(|formula| format!("{{ formula = {formula:?} }}")).ok_or("expected a formula of i, such as formula=i % 7".into())
        }
        _ => Err("expected uniform, normal, integer, sequence, zero, constant, file or formula after the colon".into()),
    }
}
