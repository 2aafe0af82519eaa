//! The sampling data of a run: the simulated parts and the errors of the estimates.

/// An estimated number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Name of the estimated number.
    pub name: &'static str,
    /// The estimated value.
    pub value: f64,
    /// Half the width of the interval that contains the true number with the confidence of the run.
    pub half_width: f64,
}

impl Estimate {
    /// Returns half the width of the interval relative to the estimate; `None` if the estimate is 0.
    pub fn relative(&self) -> Option<f64> {
        (self.value != 0.0).then(|| self.half_width / self.value.abs())
    }
}

/// The source of the results of a kernel launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultBasis {
    /// The launch was simulated to its end.
    Simulated,
    /// Parts of the launch were simulated; the rest is extrapolated.
    InParts,
    /// The launch was not simulated: its results are estimated from similar launches.
    Estimated,
}

impl ResultBasis {
    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::InParts => "in parts",
            Self::Estimated => "estimated",
        }
    }
}

/// Launches of the same code with about the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledStratum {
    /// Name of the kernel.
    pub kernel: String,
    /// Number of launches in the stratum.
    pub launches: u32,
    /// Number of launches that were simulated and measured.
    pub measured: u32,
    /// Warp instructions of all launches of the stratum.
    pub warp_instructions: u64,
    /// Estimated core cycles of all launches of the stratum, each from the start of the first CTA to the end of the last.
    pub cycles: f64,
    /// Standard deviation of a launch from its expected cycles.
    pub deviation: f64,
}

/// The sampling data that make a run's results estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingData {
    /// Confidence level: the share of runs whose intervals contain the true value.
    pub confidence: f64,
    /// Target half-width of the interval of the cycles without launch latency, relative to these cycles.
    pub wanted: f64,
    /// Seed of the random choice of launches.
    pub seed: u64,
    /// Number of launches of the workload.
    pub launches: u32,
    /// Number of launches that were measured.
    pub measured: u32,
    /// Number of measured launches of which only parts were simulated.
    pub in_parts: u32,
    /// Number of launches that were simulated only to warm the LLC for other launches, without measurement.
    pub warmed: u32,
    /// Number of simulation rounds.
    pub rounds: u32,
    /// Warp instructions of the workload.
    pub warp_instructions: u64,
    /// Warp instructions that were simulated, including instructions for warming.
    pub simulated_warp_instructions: u64,
    /// Relative additional time of launches whose predecessor was not simulated, compared with other launches.
    pub warming: f64,
    /// The main results with their confidence intervals.
    pub estimates: Vec<Estimate>,
    /// The strata of launches.
    pub strata: Vec<SampledStratum>,
    /// The source of the results of each kernel launch.
    pub kernels: Vec<ResultBasis>,
}

impl SamplingData {
    /// Returns the share of the warp instructions that was simulated.
    pub fn fraction(&self) -> f64 {
        self.simulated_warp_instructions as f64 / self.warp_instructions.max(1) as f64
    }

    /// Returns the estimate called `name`.
    pub fn estimate(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.name == name)
    }
}
