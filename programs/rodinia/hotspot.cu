// Temperature of a chip: several time steps of a stencil per launch. A CTA of 16 x 16 loads its part and a border, computes `steps`
// time steps in shared memory, each on a smaller part, and writes what is left.
#define SIDE 16
#define IN(value, low, high) ((value) >= (low) && (value) <= (high))

extern "C" __global__ void heat(int steps, const float *power, const float *from, float *to, int columns, int rows, int border,
                                float capacity, float rx, float ry, float rz, float step) {
    __shared__ float now[SIDE][SIDE], source[SIDE][SIDE], next[SIDE][SIDE];
    float ambient = 80.0f, scale = step / capacity, gx = 1 / rx, gy = 1 / ry, gz = 1 / rz;
    int tx = threadIdx.x, ty = threadIdx.y, inner = SIDE - 2 * steps;
    int top = inner * blockIdx.y - border, left = inner * blockIdx.x - border;
    int bottom = top + SIDE - 1, right = left + SIDE - 1, y = top + ty, x = left + tx, at = columns * y + x;
    if (IN(y, 0, rows - 1) && IN(x, 0, columns - 1)) {
        now[ty][tx] = from[at];
        source[ty][tx] = power[at];
    }
    __syncthreads();
    // The part of this CTA that lies on the chip.
    int y0 = top < 0 ? -top : 0, y1 = bottom > rows - 1 ? SIDE - 1 - (bottom - rows + 1) : SIDE - 1;
    int x0 = left < 0 ? -left : 0, x1 = right > columns - 1 ? SIDE - 1 - (right - columns + 1) : SIDE - 1;
    int north = max(ty - 1, y0), south = min(ty + 1, y1), west = max(tx - 1, x0), east = min(tx + 1, x1);
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (IN(tx, i + 1, SIDE - i - 2) && IN(ty, i + 1, SIDE - i - 2) && IN(tx, x0, x1) && IN(ty, y0, y1)) {
            computed = true;
            // The constant 2.0 makes parts of this double precision, as in the benchmark.
            next[ty][tx] = now[ty][tx] + scale * (source[ty][tx] + (now[south][tx] + now[north][tx] - 2.0 * now[ty][tx]) * gy +
                                                  (now[ty][east] + now[ty][west] - 2.0 * now[ty][tx]) * gx + (ambient - now[ty][tx]) * gz);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed) to[at] = next[ty][tx];
}
