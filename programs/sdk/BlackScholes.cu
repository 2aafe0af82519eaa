// Prices of European options after Black and Scholes: call and put for each stock price, strike price and time.
__device__ __forceinline__ float normal(float d) {
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228040143267794f * __expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void price(float *call, float *put, const float *stock, const float *strike, const float *years, float rate,
                                 float volatility, int count) {
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        float s = stock[i], x = strike[i], t = years[i], root = __fsqrt_rn(t);
        float d1 = __fdividef(__logf(__fdividef(s, x)) + (rate + 0.5f * volatility * volatility) * t, volatility * root);
        float n1 = normal(d1), n2 = normal(d1 - volatility * root), discount = __expf(-rate * t);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
    }
}
