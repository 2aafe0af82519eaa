// Training of a layered neural network: `forward` sums weighted inputs for 16 hidden units, `adjust` corrects the weights.
// CTAs of 16 x 16 threads, one per 16 inputs. Weights are stored row by row with hidden + 1 columns; row and column 0 are the bias.
#define SIDE 16

extern "C" __global__ void forward(const float *input, float *weights, float *partial, int hidden) {
    __shared__ float node[SIDE], product[SIDE][SIDE];
    int unit = threadIdx.x, row = threadIdx.y, group = blockIdx.y;
    int at = (hidden + 1) * (SIDE * group + row + 1) + unit + 1;
    if (unit == 0) node[row] = input[SIDE * group + row + 1];
    __syncthreads();
    product[row][unit] = weights[at];
    __syncthreads();
    product[row][unit] *= node[row];
    __syncthreads();
    // Sums in pairs, quadruples and so on, with the step computed in floating point as the benchmark does.
    for (int level = 1; level <= __log2f(SIDE); level++) {
        int step = __powf(2, level);
        if (row % step == 0) product[row][unit] += product[row + step / 2][unit];
        __syncthreads();
    }
    weights[at] = product[row][unit];
    __syncthreads();
    if (unit == 0) partial[group * hidden + row] = product[unit][row];
}

// weights += rate * delta * input + momentum * previous change, in double precision as the constants of the benchmark make it.
extern "C" __global__ void adjust(const float *delta, int hidden, const float *input, float *weights, float *previous) {
    int unit = threadIdx.x + 1, row = threadIdx.y, group = blockIdx.y;
    int in = SIDE * group + row + 1, at = (hidden + 1) * in + unit;
    weights[at] += 0.3 * delta[unit] * input[in] + 0.3 * previous[at];
    previous[at] = 0.3 * delta[unit] * input[in] + 0.3 * previous[at];
    __syncthreads();
    if (row == 0 && group == 0) {
        weights[unit] += 0.3 * delta[unit] + 0.3 * previous[unit];
        previous[unit] = 0.3 * delta[unit] + 0.3 * previous[unit];
    }
}
