// The operands of a step beside its result: the tables of givens that stand in the same step, and
// copies of those further up. Which ones they are follows from the arithmetic of the result's cells.
const operandsOver = (data, { placesOf }, { all, cellOf, elementOf, tableOf, copyOf }, planeOf) => {
  const most = { rows: 16, columns: 12, tables: 6 };  // the panel shows parts of larger operands
  const mostResultRows = 32;
  const besides = new Map();  // a result's table → {copies: [[original, copy], …], plane}

  const isSmall = (rows, columns) => rows <= most.rows && columns <= most.columns;

  // The tables that the first row and the first column read, in the order of the arithmetic.
  function operandsOf(table) {
    const { of } = data.tensors[table.dataset.tensor];
    if (!of.some((t) => isSmall(data.tensors[t]?.rows.length, data.tensors[t]?.columns.length))) {
      return [];
    }
    const cells = [...table.tBodies[0].rows].flatMap(({ cells: row }, i) =>
      (i === 0 ? [...row] : [row[1]]));
    const places = cells.map(cellOf).filter(Boolean).flatMap(placesOf);
    const tables = [...new Set(places.map(tableOf))].filter((each) => each &&
      isSmall(each.tBodies[0].rows.length, each.tHead.rows[0].cells.length - 1));
    return tables.length > most.tables ? [] : tables;
  }

  // A given of this step moves to the result; of all else there is a copy.
  function beside(operand, result) {
    const isHere = !data.tensors[operand.dataset.tensor].trees && !operand.closest(".group") &&
      operand.closest("section") === result.closest("section");
    if (!isHere) {
      const copy = copyOf(operand);
      const again = [...besides].some(([other, { copies }]) => copies.some(([each]) =>
        each === operand) && other.closest("section") === result.closest("section"));
      besides.get(result).copies.push([operand, copy]);
      return make("div", { class: `scroll copy ${again ? "again" : ""}`, "aria-hidden": "true" }, copy);
    }
    const box = operand.closest(".scroll");
    const before = box.parentElement;
    box.remove();
    operand.classList.add(before.previousElementSibling.textContent.startsWith("Given") ? "given" : "earlier");
    operand.caption.classList.remove("same");
    if (!before.children.length) before.previousElementSibling.hidden = true;  // its heading
    return box;
  }

  function arrange(table) {
    const operands = operandsOf(table);
    const plane = planeOf(table);
    const box = table.closest(".scroll");
    besides.set(table, { copies: [], plane });
    if (operands.length > 0) table.caption.classList.remove("same");
    box.parentElement.classList.add("made");
    const width = Math.max(plane ? 260 : 0, ...[table, ...operands].map((each) => widths.get(each)));
    box.parentElement.style.setProperty("--least", `${width + 8}px`);
    const group = make("div", { class: "group" });
    box.before(group);
    group.append(...operands.map((operand) => beside(operand, table)), box, plane ?? "");
  }

  const results = all().filter((table) => data.tensors[table.dataset.tensor].trees &&
    table.tBodies[0].rows.length <= mostResultRows && !table.closest("details"));
  const widths = new Map(all().map((table) => [table, table.offsetWidth]));  // before anything moves
  results.forEach(arrange);

  // The elements that show places beside a result, and the arrows of the cell's row and column.
  function besideResult(result, places, cell) {
    const { copies = [], plane } = besides.get(result) ?? {};
    const isOf = ({ dataset }) => ["row", "column"].some((kind) =>
      dataset[kind]?.split(" ").includes(String(cell[kind])));
    return [...places.flatMap((place) => copies.filter(([table]) => table === tableOf(place))
      .map(([, copy]) => elementOf(place, copy))),
    ...[...plane?.querySelectorAll("g") ?? []].filter(isOf)];
  }

  function renew() {
    for (const [result, { copies, plane }] of besides) {
      for (const [table, copy] of copies) copy.tBodies[0].replaceWith(copyOf(table).tBodies[0]);
      plane?.replaceChildren(...planeOf(result)?.children ?? []);
    }
  }

  // The cell whose number a copy beside a result shows; itself if it is in no copy.
  function originalOf(cell) {
    const [table] = [...besides.values()].flatMap(({ copies }) => copies)
      .find(([, copy]) => copy.contains(cell)) ?? [];
    return table?.tBodies[0].rows[cell.parentElement.sectionRowIndex].cells[cell.cellIndex] ?? cell;
  }

  return { besideResult, originalOf, renew };
};
