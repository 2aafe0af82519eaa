// Flow of a compressible fluid around a body (Euler's equations) on an unstructured mesh: cells with four neighbours, and five variables each
// (density, three momenta, energy), stored variable by variable. Each step: copy, time step of every cell, then three times fluxes and update.
// A neighbour of -1 is the body, of -2 the flow far away, whose variables are in constant memory.
#define NEAR 4
#define GAMMA 1.4f
__constant__ float far[5];

struct State {
    float density, energy, pressure, speed, sound;
    float momentum[3], velocity[3];
};

__device__ __forceinline__ State state(float density, float x, float y, float z, float energy) {
    State s = {density, energy, 0, 0, 0, {x, y, z}, {x / density, y / density, z / density}};
    float square = s.velocity[0] * s.velocity[0] + s.velocity[1] * s.velocity[1] + s.velocity[2] * s.velocity[2];
    s.speed = sqrtf(square);
    s.pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    s.sound = sqrtf(GAMMA * s.pressure / density);
    return s;
}

__device__ __forceinline__ State cell(const float *variables, int i, int n) {
    return state(variables[i], variables[i + n], variables[i + 2 * n], variables[i + 3 * n], variables[i + 4 * n]);
}

extern "C" __global__ void initialize(float *variables, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    for (int v = 0; v < 5; v++) variables[i + v * n] = far[v] * (1 + 0.001f * (i % 11));
}

extern "C" __global__ void copy(float *to, const float *from) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    to[i] = from[i];
}

extern "C" __global__ void stepFactor(int n, const float *variables, const float *areas, float *factors) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    State s = cell(variables, i, n);
    factors[i] = 0.5f / (sqrtf(areas[i]) * (s.speed + s.sound));
}

// The flux of both sides through a face, added up for each variable.
__device__ __forceinline__ void through(const float *normal, const State &own, const State &other, float *sum) {
#pragma unroll
    for (int d = 0; d < 3; d++) {
        float factor = 0.5f * normal[d];
        sum[0] += factor * (other.momentum[d] + own.momentum[d]);
        sum[4] += factor * (other.velocity[d] * (other.energy + other.pressure) + own.velocity[d] * (own.energy + own.pressure));
#pragma unroll
        for (int k = 0; k < 3; k++) {
            float theirs = other.velocity[d] * other.momentum[k], ours = own.velocity[d] * own.momentum[k];
            if (d == k) {
                theirs += other.pressure;
                ours += own.pressure;
            }
            sum[1 + k] += factor * (theirs + ours);
        }
    }
}

extern "C" __global__ void flux(int n, const int *neighbours, const float *normals, const float *variables, float *fluxes) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    State own = cell(variables, i, n);
    float sum[5] = {0, 0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < NEAR; j++) {
        int to = neighbours[i + j * n];
        float normal[3] = {normals[i + j * n], normals[i + (j + NEAR) * n], normals[i + (j + 2 * NEAR) * n]};
        float length = sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
        if (to >= 0) {
            State other = cell(variables, to, n);
            float factor = -length * 0.2f * 0.5f * (own.speed + other.speed + own.sound + other.sound);
            sum[0] += factor * (own.density - other.density);
            sum[4] += factor * (own.energy - other.energy);
#pragma unroll
            for (int k = 0; k < 3; k++) sum[1 + k] += factor * (own.momentum[k] - other.momentum[k]);
            through(normal, own, other, sum);
        } else if (to == -1) {
#pragma unroll
            for (int k = 0; k < 3; k++) sum[1 + k] += normal[k] * own.pressure;
        } else if (to == -2) {
            through(normal, own, state(far[0], far[1], far[2], far[3], far[4]), sum);
        }
    }
#pragma unroll
    for (int v = 0; v < 5; v++) fluxes[i + v * n] = sum[v];
}

extern "C" __global__ void update(int stage, int n, const float *old, float *variables, const float *factors, const float *fluxes) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    float factor = factors[i] / (float)(4 - stage);
#pragma unroll
    for (int v = 0; v < 5; v++) variables[i + v * n] = old[i + v * n] + factor * fluxes[i + v * n];
}
