"use strict";
// Numbers as text, digit for digit as qkv itself writes them (text/number.cpp). The report's script
// is this file, report_arithmetic.js and report.js, one after the other.
const numbersWith = (digits) => {
  const asNumber = (written) =>
    written === "inf" ? Infinity : written === "-inf" ? -Infinity : Number(written);

  const typeset = (text) => text.replace(/^-/, "\u2212");

  const notFinite = (x) => (Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf");

  // As whole numbers of people are: -57,982,058,496, up to 2^53.
  const isExactWhole = (x) => Number.isInteger(x) && Math.abs(x) <= 2 ** 53;
  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");

  // What is exactly halfway goes to the even digit; toFixed and toExponential always go up.
  function halfToEven(format, magnitude, places) {
    const more = 60;
    const [mantissa, exponent] = format(magnitude, places + more).split("e");
    const kept = mantissa.slice(0, mantissa.length - more).replace(/\.$/, "");
    const halfway = /^50*$/.test(mantissa.slice(mantissa.length - more));
    const even = /[02468]$/.test(kept);
    if (!halfway || !even) return format(magnitude, places);
    return exponent === undefined ? kept : `${kept}e${exponent}`;
  }

  // Where the shortest decimals end in a 5 just after the last place, people round it away from zero.
  function pastTheTie(magnitude, places) {
    const shortest = exact(magnitude);
    const ties = new RegExp(`^\\d+\\.\\d{${places}}5$`).test(shortest);
    return ties ? Number(shortest.replace(/5$/, "9")) : magnitude;
  }

  function fixed(x, places) {
    const magnitude = pastTheTie(Math.abs(x), places);
    const text = halfToEven((value, count) => value.toFixed(count), magnitude, places);
    return x < 0 && /[1-9]/.test(text) ? `-${text}` : text;
  }

  const withTwoDigits = (exponent) => exponent.replace(/^([+-])(\d)$/, "$10$2");

  function scientific(x, places) {
    const text = halfToEven((value, count) => value.toExponential(count), Math.abs(x), places);
    const [mantissa, exponent] = text.split("e");
    return `${x < 0 ? "-" : ""}${mantissa}e${withTwoDigits(exponent)}`;
  }

  const withoutTrailingZeros = (text) =>
    text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");

  // A number worked out: as many decimals as say something.
  function brief(x, places = digits) {
    if (!Number.isFinite(x)) return notFinite(x);
    const magnitude = Math.abs(x);
    if (magnitude >= 1e5 && isExactWhole(x)) return grouped(x);
    const vanishes = magnitude > 0 && magnitude < Number(`1e-${places}`);
    return withoutTrailingZeros(magnitude < 1e7 && !vanishes
      ? fixed(x, places) : scientific(x, Math.max(2, places - 2)));
  }

  // A number of the maths itself, such as 10000.
  const constant = (x) => (Number.isInteger(x) && Math.abs(x) >= 1e5 ? brief(x, 0) : exact(x));

  // A number with all its digits.
  function exact(x) {
    if (!Number.isFinite(x)) return notFinite(x);
    const magnitude = Math.abs(x);
    const [mantissa, exponent] = magnitude.toExponential().split("e");
    const sign = x < 0 || Object.is(x, -0) ? "-" : "";
    const isPlain = exponent >= -4 && exponent < 16;
    return sign + (isPlain ? String(magnitude) : `${mantissa}e${withTwoDigits(exponent)}`);
  }

  // Rounded so, it is the same number but for the last bits of a sum.
  function endsWithin(value, places) {
    const rounded = Math.floor(Math.abs(value) * 10 ** places + 0.5) / 10 ** places;
    return Math.abs(Math.abs(value) - rounded) <= 1e-13 * Math.max(1, Math.abs(value));
  }

  // How every number of one matrix is written (style_for).
  function styleFor(values) {
    const finite = values.filter(Number.isFinite);
    const largest = Math.max(0, ...finite.map(Math.abs));
    if (finite.every(isExactWhole)) return { kind: largest < 1e5 ? "whole" : "grouped", places: 0 };
    const vanishes = largest > 0 && largest < Number(`1e-${digits}`);
    if (largest >= 1e7 || vanishes) return { kind: "scientific", places: digits };
    let needed = 1;
    for (const value of finite) while (needed < digits && !endsWithin(value, needed)) ++needed;
    return { kind: "fixed", places: Math.min(needed, digits) };
  }

  function cellText(x, { kind, places }) {
    if (x === 0) return "0";
    if (!Number.isFinite(x)) return typeset(notFinite(x));
    if (kind === "grouped") return typeset(grouped(x));
    return typeset(kind === "scientific" ? scientific(x, places) : fixed(x, places));
  }

  // How far from zero: the class of a cell's colour (report_view.cpp).
  function shadeOf(x, largest) {
    const shades = 8;
    if (!Number.isFinite(x)) return "x";
    const step = largest === 0 ? 0 : Math.round((Math.abs(x) / largest) * shades);
    return `${x < 0 && step > 0 ? "n" : "p"}${step}`;
  }

  return {
    asNumber, styleFor, cellText, shadeOf,
    brief: (x) => typeset(brief(x)),
    constant: (x) => typeset(constant(x)),
    exact: (x) => typeset(exact(x)),
    typed: exact,  // as it is typed in a command
  };
};
