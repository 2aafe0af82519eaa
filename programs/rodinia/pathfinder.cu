// The cheapest way through a grid from its first row: several rows per launch. A CTA of 256 columns loses one column on each side per row.
#define T 256
#define IN(value, low, high) ((value) >= (low) && (value) <= (high))

extern "C" __global__ void rowsDown(int steps, const int *wall, const int *from, int *to, int columns, int begin, int border) {
    __shared__ int before[T], now[T];
    int t = threadIdx.x, left = (T - 2 * steps) * blockIdx.x - border, right = left + T - 1, x = left + t;
    int first = left < 0 ? -left : 0, last = right > columns - 1 ? T - 1 - (right - columns + 1) : T - 1;
    int west = max(t - 1, first), east = min(t + 1, last);
    bool valid = IN(t, first, last), computed = false;
    if (IN(x, 0, columns - 1)) before[t] = from[x];
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (IN(t, i + 1, T - i - 2) && valid) {
            computed = true;
            now[t] = min(min(before[west], before[t]), before[east]) + wall[columns * (begin + i) + x];
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) before[t] = now[t];
        __syncthreads();
    }
    if (computed) to[x] = now[t];
}
