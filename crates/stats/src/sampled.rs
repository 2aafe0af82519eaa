//! How the numbers of a sampled run came about: what was simulated of it, and how far estimates may be off.

/// A number that was estimated, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its name.
    pub name: &'static str,
    /// The estimate.
    pub value: f64,
    /// Half the width of the interval that contains the true number with the confidence of the run.
    pub half_width: f64,
}

impl Estimate {
    /// Half the width of the interval relative to the estimate; `None` of 0.
    pub fn relative(&self) -> Option<f64> {
        (self.value != 0.0).then(|| self.half_width / self.value.abs())
    }
}

/// Where the row of a kernel launch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// It was simulated to its end.
    Simulated,
    /// Parts of it were simulated, and the rest follows from them.
    InParts,
    /// It was not simulated: the row is what launches like it came to.
    Estimated,
}

impl Basis {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::InParts => "in parts",
            Self::Estimated => "estimated",
        }
    }
}

/// Launches of about the same work, of the same code.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledStratum {
    /// The kernel's name.
    pub kernel: String,
    /// Launches.
    pub launches: u32,
    /// Of these, simulated and measured.
    pub measured: u32,
    /// Warp instructions of all its launches.
    pub warp_instructions: u64,
    /// Core cycles of all its launches from the start of the first CTA to the end of the last, estimated.
    pub cycles: f64,
    /// Standard deviation of a launch about its expected cycles.
    pub deviation: f64,
}

/// What makes a run's results estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The share of runs whose intervals contain the truth.
    pub confidence: f64,
    /// Half the width of the interval of the cycles without launch latency that was aimed at, relative to them.
    pub wanted: f64,
    /// Seed of the random choice.
    pub seed: u64,
    /// Launches of the workload.
    pub launches: u32,
    /// Launches that were measured.
    pub measured: u32,
    /// Of these, launches of which only parts were simulated.
    pub in_parts: u32,
    /// Launches that were simulated to warm the LLC for others, and not measured.
    pub warmed: u32,
    /// Rounds of simulation.
    pub rounds: u32,
    /// Warp instructions of the workload.
    pub warp_instructions: u64,
    /// Warp instructions that were simulated, for warming, too.
    pub simulated_warp_instructions: u64,
    /// By how much launches whose predecessor was not simulated took longer than others, relative to these.
    pub warming: f64,
    /// The main numbers with their intervals.
    pub estimates: Vec<Estimate>,
    /// The strata of launches.
    pub strata: Vec<SampledStratum>,
    /// Where each row of kernel launches comes from.
    pub kernels: Vec<Basis>,
}

impl Sampled {
    /// Share of the warp instructions that was simulated.
    pub fn fraction(&self) -> f64 {
        self.simulated_warp_instructions as f64 / self.warp_instructions.max(1) as f64
    }

    /// The estimate of a name.
    pub fn estimate(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.name == name)
    }
}
