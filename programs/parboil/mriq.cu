// The matrix Q of a reconstruction of magnetic resonance images: for every voxel, a sum of cosines and sines over points of k-space, which
// lie in constant memory. The first kernel computes the squared magnitudes.
struct Point {
    float x, y, z, magnitude;
};
__constant__ Point space[1024];

extern "C" __global__ void magnitudes(const float *real, const float *imaginary, float *out, int count) {
    int i = blockIdx.x * 512 + threadIdx.x;
    if (i < count) out[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
}

__device__ __forceinline__ void add(const Point &point, float x, float y, float z, float &real, float &imaginary) {
    float angle = 6.2831853071795864769252867665590058f * (point.x * x + point.y * y + point.z * z);
    real += point.magnitude * cosf(angle);
    imaginary += point.magnitude * sinf(angle);
}

extern "C" __global__ void sums(int points, int first, const float *x, const float *y, const float *z, float *real, float *imaginary) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i], re = real[i], im = imaginary[i];
    int k = 0;
    if (points % 2) {
        add(space[0], px, py, pz, re, im);
        k++;
        first++;
    }
    for (; k < 1024 && first < points; k += 2, first += 2) {
        add(space[k], px, py, pz, re, im);
        add(space[k + 1], px, py, pz, re, im);
    }
    real[i] = re;
    imaginary[i] = im;
}
