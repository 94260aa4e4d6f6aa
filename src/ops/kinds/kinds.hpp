#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/move.hpp"
#include "ops/kinds/product.hpp"
#include "ops/numbers/functions.hpp"
#include "tensor/parallel.hpp"

/// All that the file of an operation needs: the kinds of operations, and the catalogue.
