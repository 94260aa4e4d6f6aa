"use strict";
// Numbers as text, digit for digit as qkv itself writes them (text/number.cpp). The report's script
// is this file, report_arithmetic.js and report.js, one after the other.
const numbersWith = (digits) => {
  const asNumber = (written) =>
    typeof written === "number" ? written
      : written === "inf" ? Infinity : written === "-inf" ? -Infinity : NaN;

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
    const [mantissa, exponent] = Math.abs(x).toExponential().split("e");
    const sign = x < 0 || Object.is(x, -0) ? "-" : "";
    const place = Number(exponent);
    if (place < -4 || place >= 16) return `${sign}${mantissa}e${withTwoDigits(exponent)}`;
    const figures = mantissa.replace(".", "");
    if (place < 0) return `${sign}0.${"0".repeat(-place - 1)}${figures}`;
    const units = figures.slice(0, place + 1).padEnd(place + 1, "0");
    return sign + units + (figures.length > place + 1 ? `.${figures.slice(place + 1)}` : "");
  }

  return { asNumber, brief, constant, exact };
};
