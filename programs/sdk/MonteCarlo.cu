// Prices of options by simulation: a CTA per option; each thread adds up the payoffs of its share of all paths, which use the same normally
// distributed numbers, then the CTA sums them. `inverse` makes such numbers from a low-discrepancy sequence.
struct Sum {
    float expected, confidence;
};

extern "C" __global__ void price(Sum *out, const float *stock, const float *strike, const float *drift, const float *deviation,
                                 const float *samples, int paths) {
    __shared__ float sums[256], squares[256];
    float s = stock[blockIdx.x], x = strike[blockIdx.x], mu = drift[blockIdx.x], sigma = deviation[blockIdx.x];
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < paths; i += blockDim.x) {
        float payoff = s * __expf(mu + sigma * samples[i]) - x;
        payoff = payoff > 0 ? payoff : 0;
        sum += payoff;
        square += payoff * payoff;
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride) {
            sums[threadIdx.x] += sums[threadIdx.x + stride];
            squares[threadIdx.x] += squares[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x].expected = sums[0];
        out[blockIdx.x].confidence = squares[0];
    }
}

extern "C" __global__ void inverse(float *out, int paths) {
    float step = 1.0f / (paths + 1);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < paths; i += blockDim.x * gridDim.x) {
        // The bits of the index turned around spread the numbers evenly.
        unsigned turned = __brev((unsigned)i);
        float p = (turned >> 8) * (1.0f / 16777216.0f);
        p = p < step ? step : p > 1 - step ? 1 - step : p;
        // Winitzki's approximation of the inverse error function.
        float y = 2 * p - 1, l = __logf(1 - y * y), t = 4.3307467f + 0.5f * l;
        float r = __fsqrt_rn(__fsqrt_rn(t * t - l * 6.8027211f) - t);
        out[i] = 1.4142136f * (y < 0 ? -r : r);
    }
}
