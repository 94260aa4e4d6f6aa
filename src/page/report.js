// The page: which cell is pointed at, what lights up, what the panel says.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const arithmetic = arithmeticOver(data);
  const { nameOf, arithmeticOf } = arithmetic;
  const tables = tablesOver(data);
  const { tableOf, elementOf, cellOf } = tables;
  const { planeOf, barsOf } = picturesOver(data, arithmetic, tables);
  const { besideResult, originalOf, renew } = operandsOver(data, arithmetic, tables, planeOf);
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");
  const onChange = () => {
    renew();
    if (shownCell) show(shownCell, false);
  };
  const changes = changesOver({ data, arithmetic, tables, panel, writeLine, writeCommand, onChange });

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

  // A piece that stays whole where it fits on a line. The labels of a cell stand by themselves: their
  // letters may run from the right.
  function whole(text) {
    const pieces = text.split(/(?<=[[,])([^,[\]]+)(?=[,\]])/);
    return make("span", { class: "whole" },
      ...pieces.map((piece, i) => (i % 2 === 0 ? piece : make("bdi", {}, piece.replaceAll(" ", "\u00a0")))));
  }

  // A line breaks before a sign and behind the dot of a product, but not in a power: e^(2 − 3).
  function writeLine({ sign, text }) {
    const line = `${sign}\u00a0${text}`.replace(/(?<= [+−/]) /g, "\u00a0");
    const pieces = line.split(/(?<!\^\([^()]*)(?:(?<=·)|( )(?=[+−/]\u00a0))/);
    return make("p", {}, ...pieces.map((piece = "", i) => (i % 2 === 0 ? whole(piece) : piece)));
  }

  // A command breaks between its words.
  function writeCommand(code, text) {
    code.replaceChildren(...text.split(/(\s+)/).map((word, i) => (i % 2 === 0 ? whole(word) : word)));
  }

  // A small copy of an operand, so that one needn't look for it further up. Of a large one only the
  // rows and columns that are lit.
  function sourceOf(table, places) {
    const most = 10;
    const copy = tables.copyOf(table);
    for (const place of places) {
      if (tableOf(place) === table) elementOf(place, copy)?.classList.add("lit");
    }
    const rows = [...copy.tBodies[0].rows];
    if (rows.length > most) rows.filter((row) => !row.querySelector(".lit")).forEach((row) => row.remove());
    const across = copy.tHead.rows[0].cells.length - 1;
    if (across > most) {
      const kept = [...copy.tBodies[0].rows].filter((row) => !row.classList.contains("gap"));
      for (let j = across; j > 0; --j) {
        if (kept.some((row) => row.cells[j].matches(".lit"))) continue;
        for (const row of [copy.tHead.rows[0], ...kept]) row.cells[j].remove();
      }
      for (const row of copy.querySelectorAll("tr.gap")) row.remove();
    }
    return copy;
  }

  function showSources(cell, places) {
    const sources = panel.querySelector(".sources");
    sources.replaceChildren(barsOf(cell) ?? "");
    const operands = new Set(places.map(tableOf).filter((table) => table));
    for (const table of operands) {
      sources.append(make("div", { class: "scroll" }, sourceOf(table, places)));
    }
  }

  function show(element, aloud) {
    const cell = cellOf(element);
    if (!cell) return;
    if (element !== shownCell) panel.scrollTop = 0;
    putOut();
    shownCell = element;
    const { lines: found, places } = arithmeticOf(cell);
    const was = changes.given(cell);
    const lines = was === undefined ? found : found.map(({ sign, text }) => ({ sign, text: text.replace("given", was) }));
    for (const place of places) light(elementOf(place), "lit");
    for (const beside of besideResult(tableOf(cell), places, cell)) light(beside, "lit");
    panel.querySelector("h2").replaceChildren(whole(nameOf(cell)));
    const [names, ...steps] = lines.length > 1 ? lines : [undefined, ...lines];
    panel.querySelector(".lines").replaceChildren(...steps.map(writeLine));
    panel.querySelector(".names").hidden = !names;
    if (names) panel.querySelector(".names p").replaceWith(writeLine(names));
    showSources(cell, places);
    light(element, "chosen");
    panel.hidden = false;
    changes.offer(cell);
    if (aloud) {
      said.textContent = lines.reduce((said, { sign, text }) => `${said} ${sign} ${text}`,
        nameOf(cell));
    }
  }

  function clear() {
    putOut();
    panel.hidden = true;  // it takes room when it has something to say
    panel.querySelector(".sources").replaceChildren();
    said.textContent = "";
  }

  const focused = () => (cellOf(document.activeElement) ? document.activeElement : undefined);

  document.addEventListener("pointerover", (event) => {
    const element = originalOf(event.target.closest?.("td"));
    if (event.pointerType === "touch" || panel.contains(event.target) || changes.isOn()) return;
    if (cellOf(element)) {
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
    if (event.target.closest?.("#panel .title button")) return clear();
    const touched = event.target.closest?.("td");
    const element = originalOf(touched);
    if (!cellOf(element)) return;
    const stays = element !== touched || element === document.activeElement;
    if (stays) show(element, true); else goTo(element);
  });

  document.addEventListener("focusin", (event) => {
    if (cellOf(event.target)) show(event.target, true);
    if (event.target.closest("nav")) clear();  // which the panel would hide
  });

  // Where a key leads from a cell.
  function next(element, event) {
    const rows = [...element.closest("tbody").rows].filter((row) => !row.classList.contains("gap"));
    const lines = rows.map((row) => [...row.cells].filter(cellOf));
    const i = rows.indexOf(element.parentElement);
    const j = lines[i].indexOf(element);
    switch (event.key) {
      case "ArrowLeft": return lines[i][j - 1];
      case "ArrowRight": return lines[i][j + 1];
      case "ArrowUp": return lines[i - 1]?.[j];
      case "ArrowDown": return lines[i + 1]?.[j];
      case "Home": return lines[event.ctrlKey ? 0 : i][0];
      case "End": return lines.at(event.ctrlKey ? -1 : i).at(-1);
      default: return undefined;
    }
  }

  document.addEventListener("keydown", (event) => {
    const isTyped = event.key === "Enter" && event.target.type === "text";
    const isDone = isTyped || event.key === "Escape";
    if (changes.isOn() && isDone && shownCell) return goTo(shownCell);
    if (event.key === "Escape") return clear();
    const element = focused();
    const moves = /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key);
    if (!element || !moves || event.altKey || event.metaKey) {
      if (element && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        show(element, true);
        if (changes.mayChange(cellOf(element))) changes.focus();
      }
      return;
    }
    event.preventDefault();
    const target = next(element, event);
    if (target) goTo(target);
  });

  for (const table of document.querySelectorAll("table[data-tensor]")) {
    table.setAttribute("role", "grid");
    table.setAttribute("aria-readonly", "true");
    const first = table.querySelector("tbody td:not(.gap)");
    if (first) first.tabIndex = 0;
  }
  for (const line of document.querySelectorAll(".worked .lines p")) {
    line.replaceWith(writeLine({ sign: line.textContent[0], text: line.textContent.slice(2) }));
  }
  for (const code of document.querySelectorAll("pre code")) writeCommand(code, code.textContent);
  for (const element of document.querySelectorAll(".how")) element.hidden = false;
  for (const element of document.querySelectorAll(".changeable")) {
    element.hidden = data.changeable.length === 0;
  }
  mapOver(data);
  document.documentElement.classList.add("live");
  clear();
})();
