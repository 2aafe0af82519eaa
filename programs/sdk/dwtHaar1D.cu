// A signal's wavelet transform after Haar. A CTA transforms 1024 values: of each pair the difference is a detail of the level and the average goes
// to the next, which has half as many. Averages stay where their pair began, with a word between every 16 against conflicts of banks. Details of a
// level lie behind those of all levels after it.
#define THREADS 512
#define PADDED(at) ((at) + ((at) >> 4))

extern "C" __global__ void haar(const float *signal, float *details, float *averages, int levels) {
    __shared__ float data[1088];
    const float scale = 0.70710678f;
    int thread = threadIdx.x, from = blockIdx.x * 2 * THREADS + thread;
    data[thread] = signal[from];
    data[thread + THREADS] = signal[from + THREADS];
    __syncthreads();
    float first = data[2 * thread], second = data[2 * thread + 1];
    __syncthreads();
    details[(gridDim.x + blockIdx.x) * THREADS + thread] = (first - second) * scale;
    data[PADDED(thread)] = (first + second) * scale;
    __syncthreads();
    int pairs = THREADS / 2, distance = 1, at = 2 * thread;
    for (int level = 1; level < levels; ++level) {
        if (thread < pairs) {
            int near = PADDED(at), far = PADDED(at + distance);
            first = data[near], second = data[far];
            details[(gridDim.x + blockIdx.x) * pairs + thread] = (first - second) * scale;
            data[near] = (first + second) * scale;
            pairs >>= 1, distance <<= 1, at <<= 1;
        }
        __syncthreads();
    }
    if (thread == 0) averages[blockIdx.x] = data[0];
}
