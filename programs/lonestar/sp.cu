// Survey propagation for formulas with three literals per clause: surveys go from clauses to variables until they settle. A literal is twice
// its variable, plus one where it is negated. `products` multiplies, for every variable, what its clauses of each sign leave open;
// `surveys` computes the warnings of a clause from these products, without its own part.
extern "C" __global__ void products(const unsigned *begin, const unsigned *places, const unsigned *literals, const float *survey,
                                    float *positive, float *negative, unsigned variables) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= variables) return;
    float p = 1, n = 1;
    for (unsigned i = begin[v]; i < begin[v + 1]; i++) {
        unsigned place = places[i];
        if (literals[place] & 1) n *= 1 - survey[place];
        else p *= 1 - survey[place];
    }
    positive[v] = p;
    negative[v] = n;
}

extern "C" __global__ void surveys(const unsigned *literals, const float *positive, const float *negative, float *survey, float *largest,
                                   unsigned clauses) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= clauses) return;
    float ratio[3], old[3];
    for (int i = 0; i < 3; i++) {
        unsigned literal = literals[3 * c + i], v = literal >> 1;
        old[i] = survey[3 * c + i];
        float same = (literal & 1 ? negative[v] : positive[v]) / (1 - old[i]), other = literal & 1 ? positive[v] : negative[v];
        float against = (1 - other) * same, with = (1 - same) * other, free = same * other;
        ratio[i] = against / (against + with + free);
    }
    for (int i = 0; i < 3; i++) {
        float updated = ratio[(i + 1) % 3] * ratio[(i + 2) % 3];
        survey[3 * c + i] = updated;
        // Numbers above zero compare like the integers that their bits are.
        if (i == 0) atomicMax((int *)largest, __float_as_int(fabsf(updated - old[i])));
    }
}

// A formula in which every variable occurs equally often: literal k of clause c has the variable (c * 3 + k) * stride mod variables.
extern "C" __global__ void makeFormula(unsigned *literals, unsigned *begin, unsigned *places, float *survey, unsigned clauses, unsigned variables,
                                       unsigned each) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= variables) begin[i] = i * each;
    if (i >= 3 * clauses) return;
    unsigned round = i / variables, v = (i % variables * (2 * round + 1) * 7 + round) % variables, state = i * 2654435761u;
    literals[i] = 2 * v + (state >> 31);
    places[v * each + round] = i;
    survey[i] = 0.05f + 0.9f * (state >> 8 & 0xffff) / 65536.0f;
}
