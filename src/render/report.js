"use strict";
// Shows how a cell of the report comes about. It knows no operation: the page's data brings, for
// each step, the arithmetic that its cells share (`program`), and this script puts the numbers in.
//
// data = {digits, most_terms, most_names,          how numbers and long sums are written
//         functions: {exponential: [x, value, …]}  values of functions: a browser's own differ in
//                                                  their last digits, and it has no erf
//         tensors: [{name, shape: [matrices, rows, columns], rank, turned, leading: [[name, size]],
//                    row_words, column_words: a list for each sentence, or null,
//                    matrices, rows, columns: the indices shown, tokens as rows
//                    runs: [start, length, …], values: the numbers that are read,
//                    of: [tensor, …], program: {which, forms}}]}
// A form is a list of terms, the last of which is the result: ["number", pattern], ["cell",
// operand, matrix pattern, row pattern, column pattern], or [kind, place of a part, …]. A pattern
// is a number, [base, by matrix, by row, by column], or {by, table} (see pattern.hpp).
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");

  // ---- numbers as text, digit for digit as qkv itself writes them ------------------------------

  const asNumber = (written) =>
    typeof written === "number" ? written
      : written === "inf" ? Infinity : written === "-inf" ? -Infinity : NaN;

  const notFinite = (x) => (Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf");

  // What is exactly halfway goes to the even digit; toFixed and toExponential always go up.
  function halfToEven(format, magnitude, digits) {
    const more = 60;
    const [mantissa, exponent] = format(magnitude, digits + more).split("e");
    const kept = mantissa.slice(0, mantissa.length - more).replace(/\.$/, "");
    const halfway = /^50*$/.test(mantissa.slice(mantissa.length - more));
    const even = /[02468]$/.test(kept);
    if (!halfway || !even) return format(magnitude, digits);
    return exponent === undefined ? kept : `${kept}e${exponent}`;
  }

  function fixed(x, digits) {
    const text = halfToEven((value, count) => value.toFixed(count), Math.abs(x), digits);
    return x < 0 && /[1-9]/.test(text) ? `-${text}` : text;
  }

  const withTwoDigits = (exponent) => exponent.replace(/^([+-])(\d)$/, "$10$2");

  function scientific(x, digits) {
    const text = halfToEven((value, count) => value.toExponential(count), Math.abs(x), digits);
    const [mantissa, exponent] = text.split("e");
    return `${x < 0 ? "-" : ""}${mantissa}e${withTwoDigits(exponent)}`;
  }

  const withoutTrailingZeros = (text) =>
    text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");

  // A number worked out: as many decimals as say something.
  function brief(x) {
    if (!Number.isFinite(x)) return notFinite(x);
    const magnitude = Math.abs(x);
    const vanishes = magnitude > 0 && magnitude < Number(`1e-${data.digits}`);
    return withoutTrailingZeros(magnitude < 1e7 && !vanishes
      ? fixed(x, data.digits) : scientific(x, Math.max(2, data.digits - 2)));
  }

  // A number of the maths itself, with all its digits.
  function whole(x) {
    if (!Number.isFinite(x)) return notFinite(x);
    const [mantissa, exponent] = Math.abs(x).toExponential().split("e");
    const sign = x < 0 || Object.is(x, -0) ? "-" : "";
    const place = Number(exponent);
    if (place < -4 || place >= 16) return `${sign}${mantissa}e${withTwoDigits(exponent)}`;
    const digits = mantissa.replace(".", "");
    if (place < 0) return `${sign}0.${"0".repeat(-place - 1)}${digits}`;
    const units = digits.slice(0, place + 1).padEnd(place + 1, "0");
    return sign + units + (digits.length > place + 1 ? `.${digits.slice(place + 1)}` : "");
  }

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

  // `scores[head 1,cat,fat]`.
  function nameOf(cell) {
    const tensor = data.tensors[cell.tensor];
    const leading = leadingIndex(tensor, cell.matrix);
    const before = leading.map((index, a) => `${tensor.leading[a][0]} ${index + 1},`).join("");
    const sentence = leading.length > 0 ? leading[0] : 0;
    const column = word(tensor.column_words, cell.column, leading.length > 0 ? sentence : cell.row);
    if (tensor.rank === 1) return `${tensor.name}[${column}]`;
    const row = word(tensor.row_words, cell.row, sentence);
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

  function worth(kind, x) {
    switch (kind) {
      case "sum": return x.reduce((sum, part) => sum + part, 0);
      case "difference": return x[0] - x[1];
      case "product": return x[0] * x[1];
      case "quotient": return x[0] / x[1];
      case "negative": return -x[0];
      case "root": return Math.sqrt(x[0]);
      case "maximum": return x.reduce((top, part) => (top < part ? part : top));
      default: return functionValues[kind]?.get(x.join()) ?? NaN;
    }
  }

  // The terms of a cell with their values: {kind, value, parts, height, place}.
  function expressionOf(cell) {
    const { of, program } = data.tensors[cell.tensor];
    const terms = [];
    for (const [kind, ...rest] of program.forms[patternAt(program.which, cell)]) {
      if (kind === "number") {
        terms.push({ kind, value: patternAt(rest[0], cell), parts: [], height: 0 });
      } else if (kind === "cell") {
        const [matrix, row, column] = rest.slice(1).map((pattern) => patternAt(pattern, cell));
        const place = { tensor: of[rest[0]], matrix, row, column };
        terms.push({ kind, value: valueOf(place), parts: [], height: 0, place });
      } else {
        const parts = rest.map((part) => terms[part]);
        const height = 1 + Math.max(...parts.map((part) => part.height));
        terms.push({ kind, value: worth(kind, parts.map((part) => part.value)), parts, height });
      }
    }
    return terms;
  }

  // How tightly an operation binds its parts: a part that binds less needs brackets.
  const bindings = { sum: 1, difference: 1, negative: 2, product: 3, quotient: 3, power: 4 };
  const functionNames =
    { sine: "sin", cosine: "cos", hyperbolic_tangent: "tanh", error_function: "erf", maximum: "max" };

  // A term at one stage of the calculation: at stage 0 with the names of its cells, at stage s with
  // every part worked out that takes fewer than s strides. The same as Writer in arithmetic.cpp.
  function written(term, stage, depth = 0) {
    const isWorkedOut = (part) => stage > part.height || part.kind === "number";
    const write = (part, inner = depth) => written(part, stage, inner);
    const bracketed = (i, least, inner = depth) => {
      const part = term.parts[i];
      const text = write(part, inner);
      const open = isWorkedOut(part)
        ? i > 0 && text.startsWith("-") : (bindings[part.kind] ?? 5) < least;
      return open ? `(${text})` : text;
    };
    const raised = (base, exponent) => {
      const text = write(exponent);
      const plain = (isWorkedOut(exponent) && !text.startsWith("-")) ||
        (stage === 0 && exponent.kind === "cell");
      return plain ? `${base}^${text}` : `${base}^(${text})`;
    };
    const sum = () => {
      const count = term.parts.length;
      const outermost = stage === 0 ? data.most_names : data.most_terms;
      const most = outermost !== 0 && depth > 0 ? 2 : outermost;
      const cut = most !== 0 && count > most;
      const first = cut ? most - 1 : count;
      const texts = [];
      for (let i = 0; i < first; ++i) texts.push(bracketed(i, 1, depth + 1));
      if (cut) texts.push(`… ${count - first - 1} more …`, bracketed(count - 1, 1, depth + 1));
      return texts.join(" + ");
    };

    if (term.kind === "number") return whole(term.value);
    if (stage > term.height) return brief(term.value);
    switch (term.kind) {
      case "cell": return nameOf(term.place);
      case "sum": return sum();
      case "difference": return `${bracketed(0, 1)} − ${bracketed(1, 2)}`;
      case "product": return `${bracketed(0, 3)}·${bracketed(1, 3)}`;
      case "quotient": return `${bracketed(0, 3)} / ${bracketed(1, 4)}`;
      case "negative": return `-${bracketed(0, 3)}`;
      case "root": {
        const inside = write(term.parts[0]);
        return isWorkedOut(term.parts[0]) ? `√${inside}` : `√(${inside})`;
      }
      case "exponential": return raised("e", term.parts[0]);
      case "power": return raised(bracketed(0, 5), term.parts[1]);
      default: return `${functionNames[term.kind]}(${term.parts.map((p) => write(p)).join(", ")})`;
    }
  }

  // {lines, places}: the calculation line by line, and the cells that it reads.
  function arithmeticOf(cell) {
    if (!data.tensors[cell.tensor].program) {
      return { lines: [`${whole(valueOf(cell))} (given)`], places: [] };
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

  // ---- where a cell stands in the page ---------------------------------------------------------

  // Where a large matrix has lost its middle, a mark stands between the shown rows or columns.
  const gapIn = (shown) => shown.findIndex((index, i) => i > 0 && index !== shown[i - 1] + 1);
  const pastGap = (place, gap) => (gap > 0 && place >= gap ? place + 1 : place);
  const beforeGap = (place, gap) => (gap > 0 && place > gap ? place - 1 : place);

  const linesOf = (tensor) => (tensor.turned ? [tensor.columns, tensor.rows]
    : [tensor.rows, tensor.columns]);

  // "tensor/matrix" or "tensor/matrix/row" → table. Tables of what lies on the way to a result have
  // the result's arithmetic, but are not the place where it stands.
  const tables = new Map();
  for (const table of document.querySelectorAll("table[data-tensor]:not([data-way])")) {
    const { tensor, matrix, row } = table.dataset;
    tables.set([tensor, matrix, row].filter((part) => part !== undefined).join("/"), table);
  }

  function tableOf(cell) {
    const key = `${cell.tensor}/${cell.matrix}`;
    return tables.get(key) ?? tables.get(`${key}/${cell.row}`);
  }

  // The element of a cell; none where it is not shown.
  function elementOf(cell, table = tableOf(cell)) {
    if (!table) return undefined;
    const tensor = data.tensors[cell.tensor];
    const [rows, columns] = linesOf(tensor);
    const [i, j] = tensor.turned ? [cell.column, cell.row] : [cell.row, cell.column];
    const row = table.dataset.row === undefined ? rows.indexOf(i) : 0;
    const column = columns.indexOf(j);
    if (row < 0 || column < 0) return undefined;
    const rowGap = table.dataset.row === undefined ? gapIn(rows) : -1;
    return table.tBodies[0].rows[pastGap(row, rowGap)].cells[pastGap(column, gapIn(columns)) + 1];
  }

  function cellOf(element) {
    const table = element.closest("table[data-tensor]");
    if (!table || element.tagName !== "TD" || element.classList.contains("gap")) return undefined;
    if (!table.tBodies[0].contains(element)) return undefined;
    const index = Number(table.dataset.tensor);
    const tensor = data.tensors[index];
    const [rows, columns] = linesOf(tensor);
    const j = columns[beforeGap(element.cellIndex - 1, gapIn(columns))];
    const i = table.dataset.row === undefined
      ? rows[beforeGap(element.parentElement.sectionRowIndex, gapIn(rows))]
      : Number(table.dataset.row);
    const [row, column] = tensor.turned ? [j, i] : [i, j];
    return { tensor: index, matrix: Number(table.dataset.matrix), row, column };
  }

  // ---- the panel -------------------------------------------------------------------------------

  let lit = [];
  let shownCell;

  function putOut() {
    for (const element of lit) element.classList.remove("lit", "chosen");
    lit = [];
    shownCell = undefined;
  }

  function light(element, look) {
    if (!element) return;
    element.classList.add(look);
    lit.push(element);
  }

  // Names of cells stay on one line; it may break before the second factor of a product.
  const unbroken = (line) => line.replace(/\[[^\]]*\]/g, (index) => index.replace(/ /g, "\u00a0"));

  function lineOf(line) {
    const element = document.createElement("p");
    `=\u00a0${unbroken(line)}`.split("·").forEach((factor, i) => {
      if (i > 0) element.append("·", document.createElement("wbr"));
      element.append(factor);
    });
    return element;
  }

  // A small copy of an operand, so that one needn't look for it further up. Of a large one only the
  // rows and columns that are lit.
  function copyOf(table) {
    const most = 10;
    const copy = table.cloneNode(true);
    copy.removeAttribute("role");
    for (const element of copy.querySelectorAll("[tabindex]")) element.removeAttribute("tabindex");
    const rows = [...copy.tBodies[0].rows];
    const isLit = (element) => element.querySelector?.(".lit") ?? element.matches(".lit");
    if (rows.length > most) {
      for (const row of rows) if (!row.querySelector(".lit")) row.remove();
    }
    const across = copy.tHead.rows[0].cells.length - 1;
    if (across > most) {
      const kept = [...copy.tBodies[0].rows].filter((row) => !row.classList.contains("gap"));
      for (let j = across; j > 0; --j) {
        if (kept.some((row) => isLit(row.cells[j]))) continue;
        for (const row of [copy.tHead.rows[0], ...kept]) row.cells[j].remove();
      }
      for (const row of copy.querySelectorAll("tr.gap")) row.remove();
    }
    return copy;
  }

  function showSources(places) {
    const sources = panel.querySelector(".sources");
    sources.replaceChildren();
    const operands = new Set(places.map(tableOf).filter((table) => table));
    for (const table of operands) {
      const box = document.createElement("div");
      box.className = "scroll";
      box.append(copyOf(table));
      sources.append(box);
    }
  }

  function show(element, aloud) {
    const cell = cellOf(element);
    if (!cell) return;
    putOut();
    shownCell = element;
    const { lines, places } = arithmeticOf(cell);
    for (const place of places) light(elementOf(place), "lit");
    panel.querySelector("h2").textContent = unbroken(nameOf(cell));
    panel.querySelector(".lines").replaceChildren(...lines.map(lineOf));
    showSources(places);
    if (elementOf(cell) !== element) light(elementOf(cell), "lit");
    light(element, "chosen");
    panel.classList.remove("empty");
    panel.scrollTop = 0;
    if (aloud) said.textContent = [nameOf(cell), ...lines].join(" = ");
  }

  function clear() {
    putOut();
    panel.classList.add("empty");
    panel.querySelector("h2").textContent = "How a number comes about";
    const hint = document.createElement("p");
    hint.textContent = "Point at a number, tap it, or go to it with Tab and the arrow keys.";
    panel.querySelector(".lines").replaceChildren(hint);
    panel.querySelector(".sources").replaceChildren();
    said.textContent = "";
  }

  // ---- mouse, finger and keyboard --------------------------------------------------------------

  const focused = () => {
    const element = document.activeElement;
    return element && cellOf(element) ? element : undefined;
  };

  document.addEventListener("pointerover", (event) => {
    const element = event.target.closest?.("td");
    if (event.pointerType === "touch" || panel.contains(event.target)) return;
    if (element && cellOf(element)) {
      if (element !== shownCell) show(element, false);
    } else if (shownCell && shownCell !== focused()) {
      if (focused()) show(focused(), false); else clear();
    }
  });

  function goTo(element) {
    const table = element.closest("table");
    for (const other of table.querySelectorAll("td[tabindex='0']")) other.tabIndex = -1;
    element.tabIndex = 0;  // Tab comes back to where one was
    element.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#panel button")) return clear();
    const element = event.target.closest?.("td");
    if (!element || panel.contains(element) || !cellOf(element)) return;
    if (element === document.activeElement) show(element, true); else goTo(element);
  });

  document.addEventListener("focusin", (event) => {
    if (cellOf(event.target)) show(event.target, true);
  });

  const numbersOf = (row) => [...row.cells].filter((cell) => cellOf(cell));

  // Where a key leads from a cell.
  function next(element, event) {
    const rows = [...element.closest("tbody").rows].filter((row) => !row.classList.contains("gap"));
    const i = rows.indexOf(element.parentElement);
    const across = numbersOf(rows[i]);
    const j = across.indexOf(element);
    const at = (row, column) => {
      const line = rows[row] && numbersOf(rows[row]);
      return line && line[column];
    };
    const last = across.length - 1;
    switch (event.key) {
      case "ArrowLeft": return at(i, j - 1);
      case "ArrowRight": return at(i, j + 1);
      case "ArrowUp": return at(i - 1, j);
      case "ArrowDown": return at(i + 1, j);
      case "Home": return event.ctrlKey ? at(0, 0) : at(i, 0);
      case "End": return event.ctrlKey ? at(rows.length - 1, last) : at(i, last);
      default: return undefined;
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return clear();
    const element = focused();
    const moves = /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key);
    if (!element || !moves || event.altKey || event.metaKey) {
      if (element && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        show(element, true);
      }
      return;
    }
    event.preventDefault();
    const target = next(element, event);
    if (target) goTo(target);
  });

  // ---- begin -----------------------------------------------------------------------------------

  for (const table of document.querySelectorAll("table[data-tensor]")) {
    table.setAttribute("role", "grid");
    table.setAttribute("aria-readonly", "true");
    const first = table.querySelector("tbody td:not(.gap)");
    if (first) first.tabIndex = 0;
  }
  for (const element of document.querySelectorAll(".how")) element.hidden = false;
  panel.hidden = false;
  document.documentElement.classList.add("live");
  clear();
})();
