// Two-point angular correlation: how many pairs of points on the sky lie how far apart. Set 0 holds observed points, the others random ones. A CTA
// of 256 threads counts the pairs within one set, or those of the observed points with one random set: it reads 256 points of the first set into
// shared memory, and every thread compares one point of the second with all of them. The angle's bin is found by bisection in constant memory.
// Two threads share a histogram in shared memory; in the end these are added up.
const int THREADS = 256, BINS = 20, HISTOGRAMS = THREADS / 2;

// Cosines of the angles between bins, the smallest angle first.
__constant__ float limits[BINS + 1];

struct Point { float x, y, z; };

// Directions from longitudes in half turns and from sines of latitudes. Host code in the original.
extern "C" __global__ void place(const float *longitudes, const float *sines, float *x, float *y, float *z, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float across = sqrtf(1 - sines[i] * sines[i]);
    x[i] = across * cospif(longitudes[i]);
    y[i] = across * sinpif(longitudes[i]);
    z[i] = sines[i];
}

extern "C" __global__ void correlate(unsigned long long *histograms, const float *x, const float *y, const float *z, int sets, int points) {
    __shared__ Point near[THREADS];
    __shared__ unsigned counts[BINS][HISTOGRAMS];
    unsigned thread = threadIdx.x, all = points;
    // CTAs up to `sets` count within their set, the others between set 0 and a random one.
    bool within = blockIdx.x <= sets;
    int second = points * (within ? blockIdx.x : blockIdx.x - sets), first = within ? second : 0;
    for (int i = thread; i < BINS * HISTOGRAMS; i += THREADS) counts[i / HISTOGRAMS][i % HISTOGRAMS] = 0;
    for (unsigned base = 0; base < all; base += THREADS) {
        __syncthreads();
        if (base + thread < all) near[thread] = {x[first + base + thread], y[first + base + thread], z[first + base + thread]};
        __syncthreads();
        // Within a set each pair counts once: only points after those in shared memory.
        for (unsigned other = within ? base + 1 : 0; other < all; other += THREADS) {
            unsigned at = other + thread;
            Point own = {};
            if (at < all) own = {x[second + at], y[second + at], z[second + at]};
            for (unsigned k = 0; k < THREADS && base + k < all; ++k) {
                float cosine = near[k].x * own.x + near[k].y * own.y + near[k].z * own.z;
                unsigned low = 0, high = BINS;
                while (high > low + 1) {
                    unsigned middle = (low + high) / 2;
                    if (cosine >= limits[middle]) high = middle; else low = middle;
                }
                bool inside = cosine < limits[low] && cosine >= limits[high];
                if (inside && (!within || at > base + k) && at < all) atomicAdd(&counts[high - 1][thread / 2], 1);
            }
        }
    }
    // Halves of the histograms are added, four bins at a time.
    unsigned column = thread % (HISTOGRAMS / 2), row = thread / (HISTOGRAMS / 2);
    for (unsigned half = HISTOGRAMS / 2; half > 0; half /= 2) {
        for (unsigned bin = row; bin < BINS; bin += THREADS / (HISTOGRAMS / 2)) {
            __syncthreads();
            if (column < half) counts[bin][column] += counts[bin][column + half];
        }
    }
    __syncthreads();
    if (thread < BINS) histograms[BINS * blockIdx.x + thread] = counts[thread][0];
}
