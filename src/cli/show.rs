//! `warpshard show`: shows a machine or kernel model with all its values.

use warpshard_report::text::{Align, Table, count, printable, printable_lines};
use warpshard_run::Exit;
use warpshard_run::inputs::Settings;

use super::args::{ShowArgs, ShowWhat};
use super::failure::Failure;
use super::inputs;
use super::output;

/// Prints a machine or kernel model.
///
/// # Errors
/// Fails if it does not exist or is invalid, or standard output cannot be written.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.set);
    let text = match args.what {
        ShowWhat::Machine => {
            return output::print(&inputs::machine(&args.name, &settings.machine)?.provenance.to_toml()).map(|()| Exit::Ok);
        }
        ShowWhat::Workload => workload(&args.name, &settings.model)?,
    };
    output::print_styled(&text).map(|()| Exit::Ok)
}

fn workload(name: &str, parameters: &[(String, String)]) -> Result<String, Failure> {
    const SHOWN_KERNELS: usize = 40;
    let model = inputs::model(name, 1, parameters)?;
    let mut text =
        printable_lines(&format!("{}: {}\n\nParameters (change with --set workload.KEY=VALUE)\n", model.name, model.summary), &[])
            .into_owned();
    let mut table = Table::new(&[("key", Align::Left), ("value", Align::Right)]);
    for (key, value) in &model.parameters {
        table.row(vec![key.clone(), value.to_string()]);
    }
    text.push_str(&table.render(output::stdout_style()));
    text.push_str(&format!(
        "\nKernels (after {} bytes are copied to the device)\n",
        count(warpshard_run::inputs::copied_bytes(&model.commands))
    ));
    let columns = ["grid", "block", "registers", "shared bytes", "instructions"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("id", Align::Right), ("name", Align::Left)][..], &columns].concat());
    for kernel in model.kernels.iter().take(SHOWN_KERNELS) {
        let info = &kernel.kernel.info;
        table.row(vec![
            info.id.to_string(),
            info.name.clone(),
            info.grid.to_string(),
            info.block.to_string(),
            info.registers.to_string(),
            info.shared_bytes.to_string(),
            count(kernel.mnemonics.len() as u64),
        ]);
    }
    text.push_str(&table.render(output::stdout_style()));
    if model.kernels.len() > SHOWN_KERNELS {
        text.push_str(&format!("  and {} more\n", model.kernels.len() - SHOWN_KERNELS));
    }
    if !model.fitted_to.is_empty() {
        text.push_str("\nFitted to these published values; all other results are predictions\n");
        model.fitted_to.iter().for_each(|figure| text.push_str(&format!("  {}\n", printable(figure))));
    }
    Ok(text)
}
