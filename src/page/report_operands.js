// The operands of a step beside its result: the tables of givens that stand in the same step, and
// copies of those further up. Which ones they are follows from the arithmetic of the result's cells.
const operandsOver = (data, { placesOf }, { all, cellOf, elementOf, tableOf, copyOf }, planeOf) => {
  const mostRows = 16;  // larger operands are copied by the panel, as far as a cell reads them
  const mostColumns = 12;
  const mostTables = 6;
  const besides = new Map();  // of a result's table: [[original, copy], …]; and its plane

  const across = (table) => table.tHead.rows[0].cells.length - 1;
  const isSmall = (table) => table.tBodies[0].rows.length <= mostRows && across(table) <= mostColumns;

  // The tables that the first row and the first column read, in the order of the operands.
  function operandsOf(table) {
    const { of = [] } = data.tensors[table.dataset.tensor];
    const few = (t) => data.tensors[t]?.rows.length <= mostRows &&
      data.tensors[t].columns.length <= mostColumns;
    if (!of.some(few)) return [];
    const cells = [...table.tBodies[0].rows].flatMap(({ cells: row }, i) =>
      (i === 0 ? [...row] : [row[1]]));
    const places = cells.map(cellOf).filter(Boolean).flatMap(placesOf);
    const tables = [...new Set(places.map(tableOf))].filter((each) => each && isSmall(each));
    const order = (each) => of.indexOf(Number(each.dataset.tensor));
    return tables.length > mostTables ? [] : tables.sort((a, b) => order(a) - order(b));
  }

  const make = (name, ...inside) => {
    const element = document.createElement("div");
    element.className = name;
    element.append(...inside);
    return element;
  };

  // A given of this step moves to the result; of all else there is a copy.
  function beside(operand, result) {
    const box = operand.closest(".scroll");
    const isHere = !data.tensors[operand.dataset.tensor].trees &&
      operand.closest("section") === result.closest("section") && !operand.closest(".group");
    if (!isHere) {
      const copy = make("scroll copy", copyOf(operand));
      copy.setAttribute("aria-hidden", "true");
      besides.get(result).copies.push([operand, copy.firstChild]);
      return copy;
    }
    const before = box.parentElement;
    box.remove();
    operand.classList.add("given");
    operand.caption.classList.remove("same");
    if (!before.children.length) before.previousElementSibling.hidden = true;
    return box;
  }

  function arrange(table) {
    const operands = operandsOf(table);
    const plane = planeOf(table);
    const box = table.closest(".scroll");
    const around = box.parentElement;
    const kept = { copies: [], plane };
    besides.set(table, kept);
    const group = make("group");
    box.before(group);
    if (operands.length > 0) table.caption.classList.remove("same");
    group.append(...operands.map((operand) => beside(operand, table)), box);
    if (plane) group.append(plane);
    around.classList.add("made");
  }

  const results = all().filter((table) => data.tensors[table.dataset.tensor].trees &&
    !table.closest("details"));
  const widths = results.map((table) => table.offsetWidth);  // all at once, before anything moves
  results.forEach((table, i) => {
    arrange(table);
    const size = ["slim", "middle", "broad"][[240, 400, 520].findIndex((most) => widths[i] <= most)];
    table.closest(".made").classList.add(size ?? "whole");
  });

  const isBeside = (result, table) => table.closest(".group")?.contains(result) ||
    besides.get(result)?.copies.some(([original]) => original === table);

  // The elements that show a place beside a result, and the arrows of its row.
  function besideResult(result, places, cell) {
    const { copies = [], plane } = besides.get(result) ?? {};
    const elements = places.flatMap((place) => copies.filter(([table]) => table === tableOf(place))
      .map(([, copy]) => elementOf(place, copy)));
    const arrows = plane ? [...plane.querySelectorAll("g")].filter((arrow) =>
      arrow.dataset[arrow.classList[0]].split(" ").includes(String(cell[arrow.classList[0]]))) : [];
    return [...elements, ...arrows];
  }

  function renew() {
    for (const [result, kept] of besides) {
      for (const pair of kept.copies) {
        const copy = copyOf(pair[0]);
        pair[1].replaceWith(copy);
        pair[1] = copy;
      }
      if (!kept.plane) continue;
      const plane = planeOf(result);
      kept.plane.replaceWith(plane);
      kept.plane = plane;
    }
  }

  return { besideResult, isBeside, renew };
};
