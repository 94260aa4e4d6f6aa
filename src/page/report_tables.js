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
  const tables = new Map();  // "tensor/matrix" or "tensor/matrix/row" → table
  const elements = new Map();  // "tensor/matrix/row/column" → element
  const cells = new Map();  // element → cell
  for (const table of document.querySelectorAll("main table[data-tensor]")) {
    const [t, matrix, ...only] = ["tensor", "matrix", "row"].filter((part) => part in table.dataset)
      .map((part) => Number(table.dataset[part]));
    tables.set([t, matrix, ...only].join("/"), table);
    const { turned, rows, columns } = data.tensors[t];
    const down = only.length > 0 ? only : turned ? columns : rows;
    const across = turned ? rows : columns;
    [...table.tBodies[0].querySelectorAll("tr:not(.gap)")].forEach((line, i) => {
      [...line.querySelectorAll("td:not(.gap)")].forEach((element, j) => {
        const [row, column] = turned ? [across[j], down[i]] : [down[i], across[j]];
        cells.set(element, { tensor: t, matrix, row, column });
        elements.set([t, matrix, row, column].join("/"), element);
      });
    });
  }
  const cellOf = (element) => cells.get(element);

  function tableOf(cell) {
    const key = `${cell.tensor}/${cell.matrix}`;
    return tables.get(key) ?? tables.get(`${key}/${cell.row}`);
  }

  // The element of a cell, also in a copy of its table; none where it is not shown.
  function elementOf({ tensor, matrix, row, column }, copy) {
    const element = elements.get([tensor, matrix, row, column].join("/"));
    return copy && element
      ? copy.tBodies[0].rows[element.parentElement.sectionRowIndex].cells[element.cellIndex] : element;
  }

  // The label of a cell's row or column, as the page shows it.
  function labelOf(cell, axis) {
    const element = elementOf(cell);
    if (!element) return String(cell[axis] + 1);
    const down = (axis === "row") !== data.tensors[cell.tensor].turned;
    return (down ? element.parentElement.cells[0]
      : element.closest("table").tHead.rows[0].cells[element.cellIndex]).textContent;
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
