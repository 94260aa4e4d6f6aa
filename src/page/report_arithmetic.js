// How a cell comes about, line by line. This knows no operation: the page's data brings, for each
// step, the arithmetic of its cells as trees, and the numbers are put in here.
//
// data = {digits, most_terms,                      how numbers and long sums are written
//         map: {boxes: [{name, shape, column, from: [box, …]}], layer, layers},
//         asked, changeable: [tensor, …],          how a command names the lesson; which givens may
//                                                  be changed here
//         functions: {exp: [x, value, …]}  values of functions: a browser's own differ in their last
//                                          digits, and it has no erf
//         tensors: [{name, shape: [matrices, rows, columns], rank, turned, leading: [[name, size]],
//                    row_words, column_words: a list for each sentence, or null,
//                    matrices, rows, columns: the indices shown, tokens as rows
//                    runs: [start, length, …], values: the numbers that are read, as text,
//                    of: [tensor, …], trees: [tree, …], which: the tree of each shown cell}]}
// Where `which` is missing, all cells have the first tree; -1 is a tree too long for the page. A tree
// is postfix text, its terms with blanks between: =0.5 is a number; 0:m,r,3 a cell of operand 0, in
// the cell's own matrix (m) and row (r), in column 3; r-1 is a row above, c+2 two columns further, *
// wherever the largest number is; +4 is the sum of the four terms before it, max2 the larger of two,
// * and exp work on two terms and on one; #7 is the term with number 7 once more.
const arithmeticOver = (data) => {
  const numbers = numbersWith(data.digits);
  const { asNumber, brief, constant, exact } = numbers;

  for (const tensor of data.tensors) {
    tensor.values = tensor.values === "" ? [] : tensor.values.split(" ").map(asNumber);
  }

  // ---- what the data says of a cell ------------------------------------------------------------
  // A cell is {tensor, matrix, row, column}: the tensor's place in the data, then indices from 0,
  // tokens as rows.

  function valueOf(cell) {
    const { shape, runs, values } = data.tensors[cell.tensor];
    const at = (cell.matrix * shape[1] + cell.row) * shape[2] + cell.column;
    let before = 0;
    for (let r = 0; r < runs.length; r += 2) {
      if (at < runs[r] + runs[r + 1]) return values[before + at - runs[r]];
      before += runs[r + 1];
    }
    return NaN;
  }

  const own = { m: "matrix", r: "row", c: "column" };

  function parsed(term) {
    if (term[0] === "#") return { again: Number(term.slice(1)) };
    if (term[0] === "=") return { kind: "number", value: asNumber(term.slice(1)) };
    const [, kind, count] = /^(\D+)(\d*)$/.exec(term) ?? [];
    if (kind) return { kind, count: Number(count || (/^[-*/^]$/.test(kind) ? 2 : 1)) };
    const [operand, ...names] = term.split(/[:,]/);
    const places = names.map((name) =>
      (name[0] in own ? { of: own[name[0]], by: Number(name.slice(1)) } : { by: Number(name) }));
    const searched = names[1] === "*" ? "row" : names[2] === "*" ? "column" : undefined;
    return { kind: "cell", operand, places, searched };
  }

  // The tree of a cell as a list of terms, or undefined where it is too long for the page.
  function treeOf({ tensor, matrix, row, column }) {
    const { trees, which, matrices, rows, columns } = data.tensors[tensor];
    const place = (matrices.indexOf(matrix) * rows.length + rows.indexOf(row)) * columns.length +
      columns.indexOf(column);
    const tree = which ? which[place] : 0;
    if (typeof trees[tree] === "string") trees[tree] = trees[tree].split(" ").map(parsed);
    return trees[tree];
  }

  function leadingIndex(tensor, matrix) {
    return tensor.leading.map(([, size], a) => {
      const step = tensor.leading.slice(a + 1).reduce((count, [, each]) => count * each, 1);
      return Math.floor(matrix / step) % size;
    });
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

  const functionValues = {};
  for (const [kind, list] of Object.entries(data.functions)) {
    const width = kind === "^" ? 3 : 2;
    const known = (functionValues[kind] = new Map());
    for (let i = 0; i < list.length; i += width) {
      known.set(list.slice(i, i + width - 1).map(asNumber).join(), asNumber(list[i + width - 1]));
    }
  }

  // A browser's own functions, for numbers of which the page has no value.
  const browsers = { exp: Math.exp, sin: Math.sin, cos: Math.cos, tanh: Math.tanh, ln: Math.log,
    "^": Math.pow };

  function worth(kind, x) {
    switch (kind) {
      case "+": return x.reduce((sum, part) => sum + part, 0);
      case "-": return x[0] - x[1];
      case "*": return x[0] * x[1];
      case "/": return x[0] / x[1];
      case "~": return -x[0];
      case "sqrt": return Math.sqrt(x[0]);
      case "max": return x.reduce((top, part) => (top < part ? part : top));
      default: return functionValues[kind]?.get(x.join()) ?? browsers[kind]?.(...x) ?? NaN;
    }
  }

  // The first place of the largest number along an axis, "row" or "column".
  function largestAlong(axis, place) {
    const [, rows, columns] = data.tensors[place.tensor].shape;
    const indices = [...Array(axis === "row" ? rows : columns).keys()];
    return indices.map((i) => ({ ...place, [axis]: i }))
      .reduce((top, next) => (valueOf(next) > valueOf(top) ? next : top));
  }

  // The place that a term names, from the cell whose term it is.
  function placeOf({ operand, places, searched }, cell) {
    const [matrix, row, column] = places.map(({ of, by }) => (of ? cell[of] + by : by));
    const place = { tensor: data.tensors[cell.tensor].of[operand], matrix, row, column };
    return searched ? largestAlong(searched, place) : place;
  }

  // The terms of a cell with their values: {kind, value, parts, height, place}.
  function expressionOf(cell) {
    const terms = [];
    const stack = [];
    for (const term of treeOf(cell) ?? []) {
      if (term.again !== undefined) {
        stack.push(terms[term.again]);
        continue;
      }
      const made = { kind: term.kind, value: term.value, parts: [], height: 0 };
      if (term.kind === "cell") {
        made.place = placeOf(term, cell);
        made.value = valueOf(made.place);
      } else if (term.count) {
        made.parts = stack.splice(-term.count);
        made.height = 1 + Math.max(...made.parts.map((part) => part.height));
        made.value = worth(term.kind, made.parts.map((part) => part.value));
      }
      terms.push(made);
      stack.push(made);
    }
    return terms;
  }

  // The cells that a cell's arithmetic reads.
  const placesOf = (cell) => (data.tensors[cell.tensor].trees && treeOf(cell) || [])
    .filter((term) => term.kind === "cell").map((term) => placeOf(term, cell));

  const minus = "\u2212";

  // How tightly an operation binds its parts: a part that binds less needs brackets.
  const bindings = { "+": 1, "-": 1, "~": 2, "*": 3, "/": 3, "^": 4 };

  // A term at one stage of the calculation: at stage 0 with the names of its cells, at stage s with
  // every part worked out that takes fewer than s strides. The same as Writer in arithmetic.cpp.
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
      return isNumber || part.kind === "~" ? `(${text})` : text.replace(/^[^·\s]+/, "($&)");
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
    const factor = (i) => bracketed(i, term.parts[i].kind === "/" ? 4 : 3);

    if (term.kind === "number") return constant(term.value);
    if (stage > term.height) return brief(term.value);
    switch (term.kind) {
      case "cell": return nameOf(term.place);
      case "+": return sum();
      case "-": return `${bracketed(0, 1)} − ${bracketed(1, 2)}`;
      case "*": return `${factor(0)}·${factor(1)}`;
      case "/": return `${bracketed(0, 3)} / ${bracketed(1, 4)}`;
      case "~": {
        const inside = bracketed(0, 3);
        return inside.startsWith(minus) ? `${minus}(${inside})` : `${minus}${inside}`;
      }
      case "sqrt": {
        const inside = write(term.parts[0]);
        return isWorkedOut(term.parts[0]) ? `√${inside}` : `√(${inside})`;
      }
      case "exp": return raised("e", term.parts[0]);
      case "^": return raised(bracketed(0, 5), term.parts[1]);
      default: {
        const inside = listed(", ", 4, (i) => write(term.parts[i]));
        return `${term.kind}(${inside})`;
      }
    }
  }

  // True if the term's parts as they are printed give another number than the one that is printed.
  function differsOnPaper({ kind, value, parts }) {
    if (parts.length === 0) return false;
    if (kind === "erf") return true;
    const printed = (part) => (part.kind === "number" ? part.value : asNumber(
      brief(part.value).replaceAll(",", "").replace(minus, "-")));
    return brief(worth(kind, parts.map(printed))) !== brief(value);
  }

  // {lines, places}: the calculation line by line, each after its sign (= or ≈), and the cells that
  // it reads. The same as arithmetic_of in arithmetic.cpp.
  function arithmeticOf(cell) {
    if (!data.tensors[cell.tensor].trees) {
      return { lines: [{ sign: "=", text: `${exact(valueOf(cell))} (given)` }], places: [] };
    }
    if (!treeOf(cell)) {
      const text = `… (too long for this page: qkv explain ${data.asked} '${nameOf(cell)}')`;
      return { lines: [{ sign: "=", text }], places: [] };
    }
    const terms = expressionOf(cell);
    const result = terms[terms.length - 1];
    const lines = [];
    for (let stage = 0; stage <= result.height + 1; ++stage) {
      const text = written(result, stage);
      if (text === lines.at(-1)?.text) continue;
      const differs = terms.some((term) => term.height === stage - 1 && differsOnPaper(term));
      lines.push({ sign: differs ? "≈" : "=", text });
    }
    return { lines, places: placesOf(cell) };
  }

  const worthOf = (cell) => expressionOf(cell).at(-1)?.value ?? NaN;

  return { nameOf, placesOf, arithmeticOf, valueOf, worthOf, numbers };
};
