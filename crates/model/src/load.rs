//! Loading of a model as a workload.

use std::path::Path;
use std::sync::Arc;

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_workload::{Command, CtaSource, Kernel, KernelInfo, Workload};

use super::compile::{self, CompiledLaunch, LaunchInput};
use super::error::{ModelError, Problem, suggest};
use super::expr;
use super::generate::Generator;
use super::kernel::{Constants, assign_addresses, bounded_value, constant, launch_resources};
use super::program::CompiledKernel;
use super::schema::{self, ModelText};
use super::scope;
use super::text::{Formula, ModelReader};

/// Maximum launches of a model: kernel numbers have 16 bits.
const MAX_LAUNCHES: usize = warpshard_base::MAX_KERNELS;

/// Maximum static instructions, of a few hundred bytes each, of all compiled kernels of a model together. Launches that no formula
/// distinguishes share their code.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// A kernel launch of a model, with the additional data of a trace.
#[derive(Clone, Debug)]
pub struct ModelKernel {
    /// Resources, names and CTAs of the launch.
    pub kernel: Kernel,
    /// The Volta mnemonic of each static instruction, in the order of [`warpshard_workload::CtaProgram::code`].
    pub mnemonics: Arc<[String]>,
}

/// A loaded model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name of the model.
    pub name: String,
    /// Description of the model's computation in a sentence.
    pub summary: String,
    /// The published figures to which the model was fitted, as the file names them.
    pub fitted_to: Vec<String>,
    /// Parameters with their values, in the order of the file.
    pub parameters: Vec<(String, i64)>,
    /// Copies and launches in program order.
    pub commands: Vec<Command>,
    /// The launched kernels.
    pub kernels: Vec<ModelKernel>,
}

/// Loads the model in `path`; `overrides` are parameter names and the values (integers or formulas) that replace their defaults.
///
/// The first and the last CTA of each launch are generated immediately, so that errors in formulas are found here.
pub fn load(path: &Path, seed: u64, overrides: &[(String, String)]) -> Result<Workload, ModelError> {
    Model::load(path, seed, overrides).map(|model| model.workload())
}

impl Model {
    /// Loads the model in `path`; see [`load`].
    pub fn load(path: &Path, seed: u64, overrides: &[(String, String)]) -> Result<Self, ModelError> {
        let file = path.display().to_string();
        match warpshard_config::input::read_text(path) {
            Ok(text) => Self::from_text(&file, &text, seed, overrides),
            Err(error) => {
                let problem = Problem::new(0, "", format!("the model cannot be read: {error}"));
                Err(ModelError::new(&file, vec![problem.help("name a built-in model, or the path of a .toml file")]))
            }
        }
    }

    /// Loads a model from its text; messages call it `file`.
    pub fn from_text(file: &str, text: &str, seed: u64, overrides: &[(String, String)]) -> Result<Self, ModelError> {
        let mut reader = ModelReader::new(text);
        let model = schema::read(&mut reader, text);
        if !reader.problems.is_empty() {
            return Err(ModelError::new(file, reader.problems));
        }
        Self::build(file, &model, seed, overrides).map_err(|problems| ModelError::new(file, problems))
    }

    /// Returns the workload that a run executes.
    pub fn workload(&self) -> Workload {
        Workload {
            name: self.name.clone(),
            commands: self.commands.clone(),
            kernels: self.kernels.iter().map(|kernel| kernel.kernel.clone()).collect(),
            applications: Vec::new(),
            notes: Vec::new(),
            homes: Vec::new(),
        }
    }

    /// Checks and compiles `model`.
    fn build(file: &str, model: &ModelText, seed: u64, overrides: &[(String, String)]) -> Result<Self, Vec<Problem>> {
        let parameters = parameters(model, overrides)?;
        let broken = model.require.iter().filter_map(|rule| check_requirement(rule, &parameters));
        let broken: Vec<Problem> = broken.collect();
        if !broken.is_empty() {
            return Err(broken);
        }
        let buffers = assign_addresses(&model.buffers, &parameters)?;
        let copied = buffers.iter().filter(|buffer| buffer.copy);
        let mut commands: Vec<Command> =
            copied.map(|buffer| Command::CopyToDevice { addr: warpshard_base::Addr(buffer.base), bytes: buffer.bytes() }).collect();
        let mut kernels: Vec<ModelKernel> = Vec::new();
        let mut instructions = 0;
        let mut problems = Vec::new();
        for text in &model.kernels {
            let on_chip = || text.shared.iter().chain(&text.local);
            let known =
                |name: &str| buffers.iter().any(|buffer| buffer.name == name) || on_chip().filter(|other| other.name == name).count() > 1;
            let clashes = on_chip().filter(|array| known(&array.name));
            let clashes = clashes.map(|array| Problem::new(array.line, &array.name, "a buffer has the same name"));
            let before = problems.len();
            problems.extend(clashes.map(|problem| problem.help("choose another name for the array")));
            if problems.len() > before {
                continue;
            }
            let launches = bounded_value(&text.launches, &parameters, 0, MAX_LAUNCHES as i64).map_err(|problem| vec![problem])?;
            // The code that all launches of the kernel share, if no formula distinguishes them.
            let mut common: Option<(Arc<CompiledKernel>, Arc<[String]>)> = None;
            for launch in 0..launches {
                let mut constants = parameters.clone();
                constants.push(("launch".to_owned(), launch));
                let number = kernels.len() as u64;
                let built = launch_resources(text, number + 1, &constants).and_then(|(info, mut known)| {
                    if let Some((program, mnemonics)) = &common {
                        return kernel(Arc::clone(program), Arc::clone(mnemonics), number);
                    }
                    known.extend(buffers.iter().cloned());
                    constants.extend(sizes(&info));
                    let launch = LaunchInput { file, model, kernel: text, constants: &constants, buffers: &known, seed };
                    let CompiledLaunch { program, mnemonics } = compile::compile(launch, info)?;
                    instructions += mnemonics.len();
                    let program = Arc::new(program);
                    if !model.names_launch {
                        common = Some((Arc::clone(&program), Arc::clone(&mnemonics)));
                    }
                    kernel(program, mnemonics, number)
                });
                match built {
                    Ok(kernel) => {
                        if kernels.len() >= MAX_LAUNCHES {
                            return Err(vec![text.launches.problem(format!("more than {MAX_LAUNCHES} launches in all"))]);
                        }
                        if instructions > MAX_INSTRUCTIONS {
                            let all = format!("the code of all launches has more than {MAX_INSTRUCTIONS} static instructions");
                            return Err(vec![text.launches.problem(all).help("reduce the launches, or simulate them in parts")]);
                        }
                        commands.push(Command::Launch(KernelIndex(kernels.len() as u32)));
                        kernels.push(kernel);
                    }
                    Err(found) => {
                        problems.extend(found);
                        break;
                    }
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            name: model.name.clone(),
            summary: model.summary.clone(),
            fitted_to: model.fitted_to.clone(),
            parameters,
            commands,
            kernels,
        })
    }
}

/// Returns the parameter values: defaults in the order of the file, which may refer to earlier parameters, or overrides.
fn parameters(model: &ModelText, overrides: &[(String, String)]) -> Result<Constants, Vec<Problem>> {
    let mut values = Constants::new();
    let mut problems = Vec::new();
    for (name, given) in overrides {
        if !model.parameters.iter().any(|parameter| parameter.key == *name) {
            let names = model.parameters.iter().map(|parameter| parameter.key.as_str());
            let help = suggest(name, names.clone(), "set one of the parameters above");
            let problem = Problem::new(0, name, "the model has no such parameter").given(given);
            problems.push(problem.allowed(names).help(help));
        }
    }
    for parameter in &model.parameters {
        if is_reserved(&parameter.key) {
            let problem = Problem::new(parameter.line, &parameter.key, "the name is already defined in formulas");
            problems.push(problem.help("choose another name"));
        }
        let given = overrides.iter().rev().find(|(name, _)| *name == parameter.key);
        let formula = match given {
            None => Ok(parameter.clone()),
            Some((name, text)) => match expr::parse(text) {
                Ok(expr) => Ok(Formula { expr, text: text.clone(), key: name.clone(), line: 0 }),
                Err(message) => {
                    Err(Problem::new(0, name, message).given(text).help("set an integer, or a formula over earlier parameters"))
                }
            },
        };
        match formula.and_then(|formula| constant(&formula, &values)) {
            Ok(value) => values.push((parameter.key.clone(), value)),
            Err(problem) => {
                problems.push(problem);
                values.push((parameter.key.clone(), 1));
            }
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// Returns the problem of a requirement that does not hold.
fn check_requirement(rule: &Formula, parameters: &Constants) -> Option<Problem> {
    match constant(rule, parameters) {
        Err(problem) => Some(problem),
        Ok(0) => {
            let mut named = Vec::new();
            rule.expr.names(&mut |name| {
                let known = parameters.iter().find(|(known, _)| known == name).map(|(known, value)| format!("{known} = {value}"));
                named.extend(known.filter(|known| !named.contains(known)));
            });
            let problem = Problem::new(rule.line, &rule.key, format!("`{}` does not hold", rule.text)).given(named.join(", "));
            Some(problem.help("change the parameters so that it holds"))
        }
        Ok(_) => None,
    }
}

/// Returns true if the name has a fixed meaning in formulas of a body.
fn is_reserved(name: &str) -> bool {
    scope::is_position_name(name) || name == "launch" || SIZE_NAMES.contains(&name)
}

/// Names of the sizes of grid and block.
const SIZE_NAMES: [&str; 9] = ["ctas", "threads", "warps", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"];

/// Returns the values of [`SIZE_NAMES`].
fn sizes(info: &KernelInfo) -> impl Iterator<Item = (String, i64)> {
    let (grid, block) = (info.grid, info.block);
    let values = [info.ctas(), info.threads_per_cta(), info.warps_per_cta(), grid.x, grid.y, grid.z, block.x, block.y, block.z];
    SIZE_NAMES.iter().zip(values).map(|(name, value)| ((*name).to_owned(), i64::from(value)))
}

/// Returns launch number `launch` of a compiled kernel, after generating its first and last CTA as a test.
fn kernel(program: Arc<CompiledKernel>, mnemonics: Arc<[String]>, launch: u64) -> Result<ModelKernel, Vec<Problem>> {
    let info = KernelInfo { id: launch + 1, ..program.info.clone() };
    let source = Arc::new(Generator::new(program, launch));
    for cta in [0, info.ctas() - 1] {
        source.cta(CtaIndex(cta));
    }
    match source.problem() {
        Some(problem) => Err(vec![problem.clone()]),
        None => Ok(ModelKernel { kernel: Kernel { info, source }, mnemonics }),
    }
}
