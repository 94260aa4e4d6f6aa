// How a cell comes about, line by line. This knows no operation: the page's data brings, for each
// step, the arithmetic that its cells share (`program`), and the numbers are put in here.
//
// data = {digits, most_terms,                      how numbers and long sums are written
//         asked, changeable: [tensor, …],          how a command names the lesson; which givens may
//                                                  be changed here
//         functions: {exponential: [x, value, …]}  values of functions: a browser's own differ in
//                                                  their last digits, and it has no erf
//         tensors: [{name, shape: [matrices, rows, columns], rank, turned, leading: [[name, size]],
//                    row_words, column_words: a list for each sentence, or null,
//                    matrices, rows, columns: the indices shown, tokens as rows
//                    runs: [start, length, …], values: the numbers that are read,
//                    of: [tensor, …], program: {which, forms}}]}
// A form is a list of terms, the last of which is the result: ["number", pattern], ["cell",
// operand, matrix pattern, row pattern, column pattern], with "row" or "column" behind it where it
// is the largest number of one, or [kind, place of a part, …]. A pattern
// is a number, [base, by matrix, by row, by column], or {by, table} (see pattern.hpp).
const arithmeticOver = (data) => {
  const numbers = numbersWith(data.digits);
  const { asNumber, brief, constant, exact } = numbers;

  // ---- what the data says of a cell ------------------------------------------------------------
  // A cell is {tensor, matrix, row, column}: the tensor's place in the data, then indices from 0,
  // tokens as rows.

  function valueOf(cell) {
    const { shape, runs, values } = data.tensors[cell.tensor];
    const at = (cell.matrix * shape[1] + cell.row) * shape[2] + cell.column;
    let before = 0;
    for (let r = 0; r < runs.length; r += 2) {
      if (at < runs[r] + runs[r + 1]) return asNumber(values[before + at - runs[r]]);
      before += runs[r + 1];
    }
    return NaN;
  }

  const directions = ["matrix", "row", "column"];
  const shownAlong = (tensor) => [tensor.matrices, tensor.rows, tensor.columns];

  function patternAt(pattern, cell) {
    if (Array.isArray(pattern)) {
      return directions.reduce((sum, name, d) => sum + pattern[d + 1] * cell[name], pattern[0]);
    }
    if (typeof pattern !== "object") return asNumber(pattern);
    const shown = shownAlong(data.tensors[cell.tensor]);
    let place = 0;
    directions.forEach((name, d) => {
      if (pattern.by & (1 << d)) place = place * shown[d].length + shown[d].indexOf(cell[name]);
    });
    return asNumber(pattern.table[place]);
  }

  function leadingIndex(tensor, matrix) {
    const index = [];
    for (let a = tensor.leading.length - 1; a >= 0; --a) {
      const size = tensor.leading[a][1];
      index[a] = matrix % size;
      matrix = Math.floor(matrix / size);
    }
    return index;
  }

  function word(words, index, sentence) {
    return words ? words[Math.min(sentence, words.length - 1)][index] : String(index + 1);
  }

  // `scores[head 1,cat,fat]`; by its place alone `scores[head 1,3,2]`.
  function nameOf(cell, byPlace = false) {
    const tensor = data.tensors[cell.tensor];
    const leading = leadingIndex(tensor, cell.matrix);
    const before = leading.map((index, a) => `${tensor.leading[a][0]} ${index + 1},`).join("");
    const sentence = leading.length > 0 ? leading[0] : 0;
    const wordsOf = (words) => (byPlace ? null : words);
    const ofColumn = leading.length > 0 ? sentence : cell.row;
    const column = word(wordsOf(tensor.column_words), cell.column, ofColumn);
    if (tensor.rank === 1) return `${tensor.name}[${column}]`;
    const row = word(wordsOf(tensor.row_words), cell.row, sentence);
    return `${tensor.name}[${before}${tensor.turned ? `${column},${row}` : `${row},${column}`}]`;
  }

  // ---- a cell's arithmetic ---------------------------------------------------------------------

  const functionValues = {};
  for (const [kind, list] of Object.entries(data.functions)) {
    const width = kind === "power" ? 3 : 2;
    const known = (functionValues[kind] = new Map());
    for (let i = 0; i < list.length; i += width) {
      known.set(list.slice(i, i + width - 1).map(asNumber).join(), asNumber(list[i + width - 1]));
    }
  }

  // Only other numbers than the lesson's are missing among the values.
  const browsers = { exponential: Math.exp, sine: Math.sin, cosine: Math.cos,
    hyperbolic_tangent: Math.tanh, logarithm: Math.log, power: Math.pow };

  function worth(kind, x) {
    switch (kind) {
      case "sum": return x.reduce((sum, part) => sum + part, 0);
      case "difference": return x[0] - x[1];
      case "product": return x[0] * x[1];
      case "quotient": return x[0] / x[1];
      case "negative": return -x[0];
      case "root": return Math.sqrt(x[0]);
      case "maximum": return x.reduce((top, part) => (top < part ? part : top));
      default: return functionValues[kind]?.get(x.join()) ?? browsers[kind]?.(...x) ?? NaN;
    }
  }

  // Where the largest number of a row or column stands, now that it may be another.
  function largestOf(line, place) {
    const [, rows, columns] = data.tensors[place.tensor].shape;
    let top = { ...place, [line === "row" ? "column" : "row"]: 0 };
    for (let i = 1; i < (line === "row" ? columns : rows); ++i) {
      const next = { ...place, [line === "row" ? "column" : "row"]: i };
      if (valueOf(next) > valueOf(top)) top = next;
    }
    return top;
  }

  // The terms of a cell with their values: {kind, value, parts, height, place}.
  function expressionOf(cell) {
    const { of, program } = data.tensors[cell.tensor];
    const terms = [];
    for (const [kind, ...rest] of program.forms[patternAt(program.which, cell)]) {
      if (kind === "number") {
        terms.push({ kind, value: patternAt(rest[0], cell), parts: [], height: 0 });
      } else if (kind === "cell") {
        const [operand, ...where] = rest;
        const line = where[3];
        const [matrix, row, column] = where.slice(0, 3).map((pattern) => patternAt(pattern, cell));
        const named = { tensor: of[operand], matrix, row, column };
        const place = line && data.moved ? largestOf(line, named) : named;
        terms.push({ kind, value: valueOf(place), parts: [], height: 0, place });
      } else {
        const parts = rest.map((part) => terms[part]);
        const height = 1 + Math.max(...parts.map((part) => part.height));
        terms.push({ kind, value: worth(kind, parts.map((part) => part.value)), parts, height });
      }
    }
    return terms;
  }

  const minus = "\u2212";

  // How tightly an operation binds its parts: a part that binds less needs brackets.
  const bindings = { sum: 1, difference: 1, negative: 2, product: 3, quotient: 3, power: 4 };
  const functionNames =
    { sine: "sin", cosine: "cos", hyperbolic_tangent: "tanh", error_function: "erf", maximum: "max",
      logarithm: "ln" };

  // A term at one stage of the calculation: at stage 0 with the names of its cells, at stage s with
  // every part worked out that takes fewer than s strides. The same as Writer in cell_notation.cpp.
  function written(term, stage, depth = 0) {
    const isWorkedOut = (part) => stage > part.height || part.kind === "number";
    const write = (part, inner = depth) => written(part, stage, inner);
    const bracketed = (i, least, inner = depth) => {
      const part = term.parts[i];
      const text = write(part, inner);
      const isNumber = isWorkedOut(part);
      if (!isNumber && (bindings[part.kind] ?? 5) < least) return `(${text})`;
      if (i === 0 || !text.startsWith(minus)) return text;
      // After an operator what begins with a sign has it in brackets: 2·3 + (-1)·4, 2 − (-8) / 4.
      return isNumber || part.kind === "negative" ? `(${text})` : text.replace(/^[^·\s]+/, "($&)");
    };
    const raised = (base, exponent) => {
      const text = write(exponent);
      const plain = (isWorkedOut(exponent) && !text.startsWith(minus)) ||
        (stage === 0 && exponent.kind === "cell");
      return plain ? `${base}^${text}` : `${base}^(${text})`;
    };
    const listed = (sign, kept, text) => {
      const count = term.parts.length;
      const cut = data.most_terms !== 0 && count > data.most_terms;
      const first = cut ? kept - 1 : count;
      const texts = [];
      for (let i = 0; i < first; ++i) texts.push(text(i));
      if (cut) texts.push(`… ${count - first - 1} more …`, text(count - 1));
      return texts.join(sign);
    };
    const sum = () => listed(" + ", depth > 0 ? 2 : 4, (i) => bracketed(i, 1, depth + 1));
    const factor = (i) => bracketed(i, term.parts[i].kind === "quotient" ? 4 : 3);

    if (term.kind === "number") return constant(term.value);
    if (stage > term.height) return brief(term.value);
    switch (term.kind) {
      case "cell": return nameOf(term.place);
      case "sum": return sum();
      case "difference": return `${bracketed(0, 1)} − ${bracketed(1, 2)}`;
      case "product": return `${factor(0)}·${factor(1)}`;
      case "quotient": return `${bracketed(0, 3)} / ${bracketed(1, 4)}`;
      case "negative": {
        const inside = bracketed(0, 3);
        return inside.startsWith(minus) ? `${minus}(${inside})` : `${minus}${inside}`;
      }
      case "root": {
        const inside = write(term.parts[0]);
        return isWorkedOut(term.parts[0]) ? `√${inside}` : `√(${inside})`;
      }
      case "exponential": return raised("e", term.parts[0]);
      case "power": return raised(bracketed(0, 5), term.parts[1]);
      default: {
        const inside = listed(", ", 4, (i) => write(term.parts[i]));
        return `${functionNames[term.kind]}(${inside})`;
      }
    }
  }

  // {lines, places}: the calculation line by line, and the cells that it reads.
  function arithmeticOf(cell) {
    if (!data.tensors[cell.tensor].program) {
      return { lines: [`${exact(valueOf(cell))} (given)`], places: [] };
    }
    const terms = expressionOf(cell);
    const result = terms[terms.length - 1];
    const lines = [];
    for (let stage = 0; stage <= result.height + 1; ++stage) {
      const line = written(result, stage);
      if (line !== lines[lines.length - 1]) lines.push(line);
    }
    return { lines, places: terms.filter((term) => term.place).map((term) => term.place) };
  }

  const worthOf = (cell) => expressionOf(cell).at(-1).value;

  return { nameOf, arithmeticOf, valueOf, worthOf, numbers };
};
