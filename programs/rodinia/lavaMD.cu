// Forces and potentials of particles that act on each other within a cut-off: space is cut into boxes of 100 particles, and a CTA of 128 threads
// computes what the particles of its box feel of those in it and in the boxes around it. Both boxes' particles are in shared memory; a thread has
// one particle of its own box. `forces` adds up in registers per pair of boxes, which is what today's compilers make of the original;
// `forcesInMemory` reads and writes the sums for every pair of particles, as the source of the original says literally.
const int THREADS = 128, PARTICLES = 100;

// A potential or a term of it, and a place or a force.
struct Four { double v, x, y, z; };

struct Neighbour { int x, y, z, number; long long first; };
// `first` is the number of a box's first particle.
struct Box { int x, y, z, number; long long first; int count; Neighbour neighbours[26]; };

// The boxes of a cuboid with their neighbours. Host code in the original, whose cuboid is a cube.
extern "C" __global__ void connect(Box *boxes, int nx, int ny, int nz) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= nx * ny * nz) return;
    int x = number % nx, y = number / nx % ny, z = number / (nx * ny), count = 0;
    Box &box = boxes[number];
    for (int place = 0; place < 27; ++place) {
        int i = x + place % 3 - 1, j = y + place / 3 % 3 - 1, k = z + place / 9 - 1, other = (k * ny + j) * nx + i;
        if (i < 0 || j < 0 || k < 0 || i >= nx || j >= ny || k >= nz || place == 13) continue;
        box.neighbours[count++] = {i, j, k, other, other * PARTICLES};
    }
    box.x = x, box.y = y, box.z = z, box.number = number, box.first = number * PARTICLES, box.count = count;
}

// What a particle feels of those in a box is added to `sum`, in memory after each of them if so wanted.
template <bool IN_MEMORY>
__device__ __forceinline__ void feel(Four &sum, const Four own, const Four *others, const double *charges, double steep) {
    for (int i = 0; i < PARTICLES; ++i) {
        double square = own.v + others[i].v - (own.x * others[i].x + own.y * others[i].y + own.z * others[i].z);
        double potential = exp(-(steep * square)), force = 2 * potential;
        sum.v += charges[i] * potential;
        sum.x += charges[i] * (force * (own.x - others[i].x));
        sum.y += charges[i] * (force * (own.y - others[i].y));
        sum.z += charges[i] * (force * (own.z - others[i].z));
        // The compiler may keep nothing of memory in registers beyond this.
        if (IN_MEMORY) asm volatile("" ::: "memory");
    }
}

template <bool IN_MEMORY>
__device__ __forceinline__ void interact(double alpha, const Box *boxes, const Four *particles, const double *charges, Four *sums) {
    __shared__ Four own[PARTICLES], others[PARTICLES];
    __shared__ double charge[PARTICLES];
    const Box &box = boxes[blockIdx.x];
    int home = box.first;
    double steep = 2 * alpha * alpha;
    for (int i = threadIdx.x; i < PARTICLES; i += THREADS) own[i] = particles[home + i];
    __syncthreads();
    for (int k = 0; k <= box.count; ++k) {
        int first = boxes[k == 0 ? blockIdx.x : box.neighbours[k - 1].number].first;
        for (int i = threadIdx.x; i < PARTICLES; i += THREADS) {
            others[i] = particles[first + i];
            charge[i] = charges[first + i];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < PARTICLES; i += THREADS) {
            feel<IN_MEMORY>(sums[home + i], own[i], others, charge, steep);
        }
        __syncthreads();
    }
}

extern "C" __global__ void forces(double alpha, const Box *boxes, const Four *particles, const double *charges, Four *sums) {
    interact<false>(alpha, boxes, particles, charges, sums);
}

extern "C" __global__ void forcesInMemory(double alpha, const Box *boxes, const Four *particles, const double *charges, Four *sums) {
    interact<true>(alpha, boxes, particles, charges, sums);
}
