// The page: which cell is pointed at, what lights up, what the panel says.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { nameOf, arithmeticOf } = arithmeticOver(data);
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");

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
