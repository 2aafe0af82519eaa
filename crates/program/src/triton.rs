//! Generation of launch files for kernels that Triton compiled.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use warpshard_config::input;

use super::consistency;
use super::error::{ProgramError, listed};

/// Maximum bytes of a kernel's metadata file.
const MAX_METADATA_BYTES: u64 = 1 << 24;
/// Limit of instructions per warp in generated launch files.
const INSTRUCTION_LIMIT: u64 = 1_000_000_000;
/// Number of dimensions of a grid or block.
const DIMENSIONS: usize = 3;

/// The metadata of a kernel's launch. Unused keys are ignored, since Triton writes many.
#[derive(Deserialize)]
struct Meta {
    grid: Vec<u64>,
    block: Vec<u64>,
    arguments: Vec<(String, Argument)>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    arch: String,
    /// Bytes of dynamic shared memory.
    shared: u64,
    /// CTAs of a cluster.
    #[serde(default)]
    num_ctas: Option<u64>,
    #[serde(default)]
    launch_cooperative_grid: bool,
    /// Bytes of global scratch memory per CTA.
    #[serde(default)]
    global_scratch_size: u64,
    #[serde(default)]
    profile_scratch_size: u64,
    #[serde(default)]
    tensordesc_meta: Option<Vec<Descriptor>>,
}

/// The box of a tensor descriptor that one copy moves.
#[derive(Deserialize)]
struct Descriptor {
    block_size: Vec<u64>,
    /// Swizzle code: 0 for none, then 1 to 3 for 32, 64 and 128 bytes.
    #[serde(default)]
    swizzle: u32,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Argument {
    Tensor { tensor: Vec<u64>, stride: Option<Vec<u64>>, r#type: String },
    Descriptor { descriptor: Vec<u64>, strides: Vec<u64>, r#type: String },
    Truth(bool),
    Integer(i64),
    Number(f64),
}

/// Element types by Triton's and PyTorch's names, with the launch file's name and the bytes.
const ELEMENT_TYPES: [(&str, &str, u64); 16] = [
    ("bfloat16", "bf16", 2),
    ("bf16", "bf16", 2),
    ("float16", "f16", 2),
    ("fp16", "f16", 2),
    ("float32", "f32", 4),
    ("fp32", "f32", 4),
    ("float64", "f64", 8),
    ("fp64", "f64", 8),
    ("int8", "i8", 1),
    ("uint8", "u8", 1),
    ("int16", "i16", 2),
    ("int32", "i32", 4),
    ("int64", "i64", 8),
    ("float8_e4m3fn", "u8", 1),
    ("float8_e5m2", "u8", 1),
    ("bool", "u8", 1),
];

/// Returns the architecture in a kernel's metadata file: 90 for sm_90.
///
/// # Errors
/// The file cannot be read, is not JSON of the expected form, or names no architecture.
pub fn triton_architecture(meta: &Path) -> Result<u32, ProgramError> {
    let name = read(meta)?.metadata.arch;
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| ProgramError::new(meta, 0, "metadata.arch is no architecture").found(name).expected("a name such as sm90"))
}

/// Returns the text of a launch file for a kernel that Triton compiled; the listing is in the launch file's folder.
///
/// `meta` is a JSON file with `grid`, `block`, `arguments` and Triton's own `metadata`. An argument is a pair of a name and one of: a
/// number; a tensor with its sizes in `tensor`, its `stride` and `type`; a `descriptor` with `strides` and `type`. Buffers contain normally
/// distributed random numbers with seeds 1, 2 and so on; the last tensor is the output and starts with zeros.
///
/// # Errors
/// A file cannot be read or parsed, or the JSON describes another cubin.
pub fn triton_launch_file(meta: &Path, listing: &Path) -> Result<String, ProgramError> {
    let facts = read(meta)?;
    let module = consistency::load(listing)?;
    let [kernel] = module.kernels.as_slice() else {
        let names = listed(module.kernels.iter().map(|kernel| kernel.name.as_str()));
        return Err(ProgramError::new(listing, 0, "the listing does not contain exactly one kernel")
            .found(names)
            .expected("one kernel, as Triton compiles it"));
    };
    let bad = |what: String| ProgramError::new(meta, 0, what);
    for (name, sizes) in [("grid", &facts.grid), ("block", &facts.block)] {
        if sizes.is_empty() || sizes.len() > DIMENSIONS {
            return Err(bad(format!("`{name}` has {} numbers", sizes.len())).expected("one to three"));
        }
    }
    let output = facts.arguments.iter().rposition(|(_, value)| matches!(value, Argument::Tensor { .. } | Argument::Descriptor { .. }));
    let output = output.ok_or_else(|| bad("no argument is a tensor".into()).expected("a tensor, the last of which is the output"))?;
    let mut descriptors = facts.metadata.tensordesc_meta.iter().flatten();
    let (mut buffers, mut maps, mut arguments) = (String::new(), String::new(), Vec::new());
    for (place, (name, value)) in facts.arguments.iter().enumerate() {
        let (sizes, strides, kind) = match value {
            Argument::Truth(value) => {
                arguments.push(u8::from(*value).to_string());
                continue;
            }
            Argument::Integer(value) => {
                arguments.push(value.to_string());
                continue;
            }
            Argument::Number(value) => {
                arguments.push(format!("{value:?}"));
                continue;
            }
            Argument::Tensor { tensor, stride, r#type } => (tensor, stride.as_ref(), r#type),
            Argument::Descriptor { descriptor, strides, r#type } => (descriptor, Some(strides), r#type),
        };
        let own = kind.rsplit('.').next().unwrap_or_default();
        let Some((_, element, bytes)) = ELEMENT_TYPES.iter().find(|(known, ..)| *known == own) else {
            return Err(bad(format!("`{name}` is of an unknown type"))
                .found(kind)
                .expected(listed(ELEMENT_TYPES.iter().map(|(known, ..)| *known))));
        };
        if strides.is_some_and(|strides| strides.len() != sizes.len()) {
            return Err(bad(format!("`{name}` has different numbers of strides and sizes")));
        }
        let last = strides.map_or_else(
            || sizes.iter().try_fold(1_u64, |count, &size| count.checked_mul(size)),
            |strides| {
                let each = |last: u64, (&size, &stride): (&u64, &u64)| last.checked_add(size.checked_sub(1)?.checked_mul(stride)?);
                sizes.iter().zip(strides).try_fold(1, each)
            },
        );
        let count = last.ok_or_else(|| bad(format!("`{name}` has no elements, or too many")))?;
        let seed = place + 1;
        let contents = if place == output {
            "{ constant = 0 }".to_owned()
        } else if element.contains('f') {
            format!("{{ normal = {{ mean = 0, deviation = 1, seed = {seed} }} }}")
        } else {
            format!("{{ integer = {{ low = 0, high = 63, seed = {seed} }} }}")
        };
        let _ = writeln!(buffers, "{name} = {{ type = \"{element}\", count = {count}, contents = {contents} }}");
        let Argument::Descriptor { strides, .. } = value else {
            arguments.push(format!("\"&{name}\""));
            continue;
        };
        let Some(Descriptor { block_size, swizzle }) = descriptors.next() else {
            return Err(
                bad(format!("metadata.tensordesc_meta has no row for `{name}`")).expected("a row for each descriptor, in their order")
            );
        };
        let swizzle = match swizzle {
            0 => String::new(),
            1..=3 => format!(", swizzle = {}", 16 << swizzle),
            _ => {
                return Err(bad(format!("metadata.tensordesc_meta: `{name}` has an unknown swizzle"))
                    .found(swizzle.to_string())
                    .expected("0 to 3"));
            }
        };
        // A map's fastest dimension comes first. A descriptor is passed as its map, followed by its sizes and strides.
        let reversed = |numbers: &[u64]| numbers.iter().rev().copied().collect::<Vec<u64>>();
        let wide: Vec<u64> = strides.iter().rev().skip(1).map(|stride| stride.saturating_mul(*bytes)).collect();
        let (size, own_box) = (reversed(sizes), reversed(block_size));
        let _ = writeln!(maps, "{name}_map = {{ buffer = \"{name}\", size = {size:?}, strides = {wide:?}, box = {own_box:?}{swizzle} }}");
        arguments.push(format!("\"&{name}_map\""));
        arguments.extend(sizes.iter().chain(strides).map(u64::to_string));
    }
    // Triton passes scratch and profile memory as the last arguments.
    let ctas = facts.grid.iter().fold(facts.metadata.num_ctas.unwrap_or(1), |ctas, &size| ctas.saturating_mul(size));
    for (name, size) in [("scratch", facts.metadata.global_scratch_size), ("profile", facts.metadata.profile_scratch_size)] {
        if arguments.len() < kernel.parameters.len() {
            if size > 0 {
                let _ =
                    writeln!(buffers, "{name} = {{ type = \"u8\", count = {}, contents = {{ constant = 0 }} }}", size.saturating_mul(ctas));
            }
            arguments.push(if size > 0 { format!("\"&{name}\"") } else { "0".into() });
        }
    }
    if arguments.len() != kernel.parameters.len() {
        let what = format!("the arguments do not match kernel `{}` in {}", kernel.name, listing.display());
        return Err(bad(what).found(format!("{} values", arguments.len())).expected(kernel.parameters.len().to_string()));
    }
    let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut grid, clusters) = (facts.grid, facts.metadata.num_ctas.filter(|ctas| *ctas > 1));
    let cluster = clusters.map_or_else(String::new, |ctas| format!("cluster = [{ctas}, 1, 1]\n"));
    grid[0] = grid[0].saturating_mul(clusters.unwrap_or(1));
    let cooperative = if facts.metadata.launch_cooperative_grid { "cooperative = true\n" } else { "" };
    let tensors = if maps.is_empty() { String::new() } else { format!("\n[tensors]\n{maps}") };
    Ok(format!(
        "{GENERATED_BY}{}\nname = \"{}\"\nmodules = {{ sm_{} = \"{}\" }}\nlimit = {INSTRUCTION_LIMIT}\n\n[buffers]\n{buffers}{tensors}\n[[launches]]\nkernel = \"{}\"\ngrid = {grid:?}\n\
         block = {:?}\n{cluster}{cooperative}shared = {}\narguments = [{}]\n\n[[outputs]]\nbuffer = \"{}\"\nshow = 4\n",
        file(meta),
        meta.file_stem().unwrap_or_default().to_string_lossy(),
        module.arch,
        file(listing),
        kernel.name,
        facts.block,
        facts.metadata.shared,
        arguments.join(", "),
        facts.arguments[output].0,
    ))
}

/// First words of a generated launch file.
const GENERATED_BY: &str = "# Made by warpshard of ";

/// Returns true if [`triton_launch_file`] generated a launch file.
pub fn is_triton_launch_file(text: &str) -> bool {
    text.starts_with(GENERATED_BY)
}

fn read(path: &Path) -> Result<Meta, ProgramError> {
    let unreadable = |found: String| ProgramError::new(path, 0, "the kernel's metadata file cannot be read").found(found);
    let bytes = input::read(path, MAX_METADATA_BYTES).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or_default();
        ProgramError::new(path, line, "the file does not describe the launch of the kernel")
            .found(error.to_string())
            .help("docs/programs.md (Kernels of Triton) describes its contents")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD_LISTING: &str = "warpshard listing 1\narch sm_90\n\nkernel add\nregisters 8\nshared 0\nlocal 0\nbarriers 0\nparameters 0x210 32 0:8 8:4 12:4 16:8 24:8\n\
         code\n0000: EXIT ; 000000000000794d 000fea0003800000\nend\n";

    fn generated_launch_file(meta: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let (json, listing) = (folder.path().join("add.json"), folder.path().join("add.sass"));
        std::fs::write(&json, meta).unwrap();
        std::fs::write(&listing, ADD_LISTING).unwrap();
        triton_launch_file(&json, &listing).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    fn metadata_text(arguments: &str) -> String {
        format!(
            r#"{{"grid": [4, 1, 1], "block": [128, 1, 1], "arguments": {arguments}, "metadata": {{"arch": "sm90", "shared": 64, "more": []}}}}"#
        )
    }

    #[test]
    fn a_launch_file_has_what_the_json_says() {
        let text = generated_launch_file(&metadata_text(
            r#"[["x", {"tensor": [4, 8], "stride": [16, 1], "type": "torch.bfloat16"}], ["n", 32], ["eps", 1e-5]]"#,
        ))
        .unwrap();
        assert!(is_triton_launch_file(&text));
        for part in ["x = { type = \"bf16\", count = 56", "grid = [4, 1, 1]", "shared = 64", "arguments = [\"&x\", 32, 1e-5, 0, 0]"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn invalid_metadata_is_rejected_with_its_file() {
        for (arguments, wanted) in [
            (r#"[["n", 1]]"#, "no argument is a tensor"),
            (r#"[["x", {"tensor": [4], "type": "torch.complex64"}]]"#, "`x` is of an unknown type"),
            (r#"[["x", {"tensor": [0], "stride": [1], "type": "torch.int32"}]]"#, "`x` has no elements"),
            (r#"[["x", {"tensor": [4], "type": "torch.int32"}]]"#, "the arguments do not match kernel `add`"),
            (r#"[["x", {"tensor": "many"}]]"#, "does not describe the launch of the kernel"),
        ] {
            let error = generated_launch_file(&metadata_text(arguments)).unwrap_err();
            assert!(error.contains(wanted) && error.contains("add.json"), "{wanted}: {error}");
        }
    }
}
