//! What studies must know about a kernel before they run it: how much work its grid is, and what its model was fitted to.

use crate::base::CtaIndex;
use crate::frontend::model::builtin_model;

use super::characterise::{occupancy, workload};
use super::published::Kernel;

/// Parameters of kernels of Table 4.2, whose sizes the thesis does not state, where the model's own size is that of another table: LUD's
/// is a matrix of 2048 x 2048 from Table 3.2; 2688 x 2688 was chosen for its optima, as `fitted_to` of its file says.
const SIZES: [(&str, &str, &str); 1] = [("lud", "side", "167")];

/// Parameters that make a model do as GPGPU-Sim does where hardware does otherwise, since the thesis measured GPGPU-Sim: its blocks of a
/// texture of two dimensions begin 16 words behind each other, though they have 32.
const AS_GPGPU_SIM: [(&str, &str, &str); 3] = [("cvt_k1", "block", "16"), ("cvt_k2", "block", "16"), ("dct_k1", "part", "16")];

/// The parameters that a kernel of Table 4.2 is run with.
pub(super) fn of_table_4_2(kernel: &Kernel) -> Vec<(String, String)> {
    parameters(&SIZES, kernel)
}

/// The parameters that a kernel is run with where the grid is the model's own.
pub(super) fn as_published(kernel: &Kernel) -> Vec<(String, String)> {
    parameters(&[], kernel)
}

/// The parameters of `kernel` in a list of kernels, parameters and values, and those that reproduce GPGPU-Sim.
pub(super) fn parameters(list: &[(&str, &str, &str)], kernel: &Kernel) -> Vec<(String, String)> {
    let of = AS_GPGPU_SIM.iter().chain(list).filter(|(name, ..)| *name == kernel.name);
    of.map(|(_, parameter, value)| ((*parameter).to_owned(), (*value).to_owned())).collect()
}

/// CTAs of the grid that are looked at for the work of one.
const LOOKED_AT: u32 = 64;
/// Waves of CTAs that a run is to last at least, so that it has more than one beginning and one end of CTAs.
const WAVES: f64 = 3.0;

/// A kernel on a machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// The most CTAs on a core.
    pub(super) most: u32,
    /// Whether the grid has so few waves that it is run to its end.
    pub(super) whole: bool,
    /// Warp instructions of a CTA, the mean over some that are spread over the grid.
    pub(super) per_cta: f64,
    /// The published figures that the model was fitted to.
    pub(super) fitted_to: Vec<String>,
}

impl Grid {
    /// Looks at the model, with these parameters, and the machine.
    ///
    /// # Errors
    /// When either is unusable, as a message for the user.
    pub(super) fn of(kernel: &Kernel, machine: &str, parameters: &[(String, String)]) -> Result<Self, String> {
        let model = builtin_model(&workload(kernel), 1, parameters).map_err(|error| error.to_string())?;
        let (most, whole) = occupancy(kernel, machine, parameters)?;
        let source = &model.kernels[0].kernel;
        let ctas = source.info.ctas();
        let looked_at = LOOKED_AT.min(ctas);
        let instructions = |i: u32| {
            let cta = (u64::from(i) * u64::from(ctas) / u64::from(looked_at)) as u32;
            source.source.cta(CtaIndex(cta)).warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>()
        };
        let per_cta = (0..looked_at).map(instructions).sum::<u64>() as f64 / f64::from(looked_at);
        Ok(Self { ctas, most, whole, per_cta, fitted_to: model.fitted_to })
    }

    /// Warp instructions of the grid.
    pub(super) fn instructions(&self) -> f64 {
        self.per_cta * f64::from(self.ctas)
    }

    /// Whether the model was fitted to a figure of `table` that has one of `words` in it.
    pub(super) fn is_fitted_to(&self, table: &str, words: &[&str]) -> bool {
        self.fitted_to.iter().any(|figure| figure.starts_with(table) && words.iter().any(|word| figure.contains(word)))
    }

    /// Core cycles of a run: `least`, or more where a core that issues one instruction per cycle needs more for a few waves;
    /// `None` for a grid of few waves, which is run to its end.
    pub(super) fn cycles(&self, least: u64) -> Option<u64> {
        let wanted = (WAVES * self.per_cta * f64::from(self.most)) as u64;
        (!self.whole).then(|| least.max(wanted.next_multiple_of(STEP)))
    }
}

/// Runs last a multiple of so many cycles, so that the quarter that is left out is whole intervals.
const STEP: u64 = 4000;

#[cfg(test)]
mod tests {
    use super::super::published::published;
    use super::*;

    fn grid(ctas: u32) -> Grid {
        Grid { ctas, most: 6, whole: ctas < 1000, per_cta: 2500.0, fitted_to: vec!["Table 4.2 Type on M2090".into()] }
    }

    #[test]
    fn runs_last_a_few_waves_and_small_grids_to_their_end() {
        assert_eq!(grid(65535).cycles(40_000), Some(48_000), "3 waves of 6 CTAs");
        assert_eq!(grid(65535).cycles(80_000), Some(80_000));
        assert_eq!(grid(500).cycles(40_000), None);
    }

    #[test]
    fn blocks_of_textures_overlap_where_the_reference_is_reproduced_and_nowhere_else() {
        let library = published();
        for (name, parameter, _) in AS_GPGPU_SIM {
            let kernel = library.kernel.iter().find(|kernel| kernel.name == name).unwrap();
            let words = |parameters: &[(String, String)]| {
                let model = builtin_model(&workload(kernel), 1, parameters).unwrap();
                model.parameters.iter().find(|(key, _)| key == parameter).map(|(_, value)| *value)
            };
            assert_eq!((words(&[]), words(&as_published(kernel)), words(&of_table_4_2(kernel))), (Some(32), Some(16), Some(16)), "{name}");
        }
    }

    #[test]
    fn a_fitted_figure_is_found_by_its_table_and_a_word() {
        assert!(grid(1).is_fitted_to("Table 4.2", &["Opt", "Type"]));
        assert!(!grid(1).is_fitted_to("Table 4.2", &["Opt"]));
        assert!(!grid(1).is_fitted_to("Table 3.2", &["Type"]));
    }
}
