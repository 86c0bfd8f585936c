// Noise matrices at the nodes of a lattice, each with its line and the evidence for it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace rboost {

// Part of the unit square.
struct Rectangle {
    double low[2] = {0, 0}, high[2] = {1, 1};

    double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Lines at the centres of n[0] * n[1] cells of a rectangle; the first number runs fastest.
struct Lattice {
    double low[2], half[2];
    int n[2];
    std::vector<double> rates, lines, evidence;

    Lattice() = default;
    Lattice(const Rectangle& rectangle, int n_0, int n_1) : n{n_0, n_1} {
        for (int axis = 0; axis < 2; ++axis) {
            low[axis] = rectangle.low[axis];
            half[axis] = (rectangle.high[axis] - rectangle.low[axis]) / n[axis] / 2;
        }
        rates.resize(2 * size());
        lines.resize(2 * size());
        evidence.resize(size());
    }
    size_t size() const { return size_t(n[0]) * n[1]; }
    double at(int axis, int i) const { return low[axis] + half[axis] * (2 * i + 1); }
    // A number of a point.
    double number(int axis, size_t point) const {
        return at(axis, int(axis == 0 ? point % n[0] : point / n[0]));
    }
    double best() const { return *std::max_element(evidence.begin(), evidence.end()); }

    // The point whose cell two numbers fall into, or the nearest.
    size_t point_near(double first, double second) const {
        const double numbers[2] = {first, second};
        size_t nearest[2];
        for (int axis = 0; axis < 2; ++axis)
            nearest[axis] = size_t(
                std::clamp((numbers[axis] - low[axis]) / (2 * half[axis]), 0.0, n[axis] - 1.0));
        return nearest[1] * n[0] + nearest[0];
    }

    // Between the four points around, or beyond the outermost two.
    void interpolate(double first, double second, double* line) const {
        const double position[2] = {first, second};
        int cell[2];
        double share[2];
        for (int axis = 0; axis < 2; ++axis) {
            cell[axis] = 0;
            share[axis] = 0;
            if (n[axis] == 1) continue;
            const double place = (position[axis] - at(axis, 0)) / (2 * half[axis]);
            cell[axis] = int(std::clamp(place, 0.0, n[axis] - 2.0));
            share[axis] = std::clamp(place - cell[axis], -0.5, 1.5);
        }
        const int right = n[0] > 1, up = n[1] > 1 ? n[0] : 0;
        const double* corner = &lines[2 * (size_t(cell[1]) * n[0] + cell[0])];
        for (int k = 0; k < 2; ++k) {
            const double bottom = corner[k] + share[0] * (corner[2 * right + k] - corner[k]);
            const double* above = corner + 2 * up;
            const double top = above[k] + share[0] * (above[2 * right + k] - above[k]);
            line[k] = bottom + share[1] * (top - bottom);
        }
    }
};

}  // namespace rboost
