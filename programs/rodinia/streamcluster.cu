// Clustering of a stream: what each point would save if point `candidate` were a centre. Coordinates are stored dimension by dimension.
struct Point {
    float weight;
    long long assigned;
    float cost;
};

extern "C" __global__ void gain(int count, int dimensions, long long candidate, const Point *points, int centres, int stride,
                                const float *coordinates, float *work, const int *table, bool *moves) {
    int block = blockIdx.x + gridDim.x * blockIdx.y, i = blockDim.x * block + threadIdx.x;
    if (i >= count) return;
    float *lower = work + i * stride;
    float distance = 0;
    for (int d = 0; d < dimensions; d++) {
        float difference = coordinates[d * count + i] - coordinates[d * count + candidate];
        distance += difference * difference;
    }
    float cost = distance * points[i].weight;
    if (cost < points[i].cost) {
        moves[i] = 1;
        lower[centres] += cost - points[i].cost;
    } else {
        lower[table[points[i].assigned]] += points[i].cost - cost;
    }
}

extern "C" __global__ void makePoints(Point *points, int *table, int count, int centres) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned state = i * 2654435761u;
    points[i].weight = 1;
    points[i].assigned = (state >> 8) % count;
    points[i].cost = (state >> 16) / 65536.0f * 10;
    table[i] = (state >> 5) % centres;
}
