// Makes elements with attributes and what is inside them.
const makerIn = (namespace) => (tag, attributes, ...inside) => {
  const element = document.createElementNS(`http://www.w3.org/${namespace}`, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
};
const make = makerIn("1999/xhtml");
const draw = makerIn("2000/svg");

// Which cell of the data an element of the page shows, and the other way round.
const tablesOver = (data) => {
  // Where a large matrix has lost its middle, a mark stands between the shown rows or columns.
  const gapIn = (shown) => shown.findIndex((index, i) => i > 0 && index !== shown[i - 1] + 1);
  const pastGap = (place, gap) => (gap > 0 && place >= gap ? place + 1 : place);
  const beforeGap = (place, gap) => (gap > 0 && place > gap ? place - 1 : place);

  const linesOf = (tensor) => (tensor.turned ? [tensor.columns, tensor.rows]
    : [tensor.rows, tensor.columns]);

  // "tensor/matrix" or "tensor/matrix/row" → table.
  const tables = new Map();
  for (const table of document.querySelectorAll("main table[data-tensor]")) {
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

  // The label of a cell's row or column, as the page shows it.
  function labelOf(cell, axis) {
    const element = elementOf(cell);
    if (!element) return String(cell[axis] + 1);
    const down = (axis === "row") !== data.tensors[cell.tensor].turned;
    const label = down ? element.parentElement.cells[0]
      : element.closest("table").tHead.rows[0].cells[element.cellIndex];
    return label.textContent;
  }

  // A table for the eye alone: nothing in it can be focused or changed.
  function copyOf(table) {
    const copy = table.cloneNode(true);
    for (const name of ["role", "data-tensor"]) copy.removeAttribute(name);
    copy.caption.classList.remove("same");
    for (const element of copy.querySelectorAll("td")) {
      element.removeAttribute("tabindex");
      element.classList.remove("lit", "chosen");
    }
    return copy;
  }

  const all = () => [...tables.values()];
  return { tableOf, elementOf, cellOf, labelOf, copyOf, all };
};
