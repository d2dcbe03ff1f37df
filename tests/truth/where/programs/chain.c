#include "common.h"

KEEP double polynomial(const double* coefficients, int degree, double x) {
    double sum = 0;
    for (int i = 0; i < degree; ++i) {
        sum = sum * x + coefficients[i];  /* PLANTED */
    }
    return sum;
}

int main(void) {
    double coefficients[500], sum = 0;
    for (int i = 0; i < 500; ++i) coefficients[i] = 1.0 / (i + 1);
    for (int i = 0; i < 400000; ++i) sum += polynomial(coefficients, 500, 0.5 + i * 1e-6);
    return sum < 0;
}
