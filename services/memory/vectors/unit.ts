/**
 * The vector scaled to length 1, in single precision; one of zeros has zeros. The sum of squares has double precision, so that its
 * rounding does not change a score. Here and below `entries()` would take five times as long.
 */
export function toUnit(vector: Float32Array | Float64Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const factor = squares === 0 ? 0 : 1 / Math.sqrt(squares);
  const unit = new Float32Array(vector.length);
  for (let index = 0; index < vector.length; index += 1) unit[index] = (vector[index] ?? 0) * factor;
  return unit;
}

const decimals = 7;
const scale = 10 ** decimals;
const longestNumber = '-0.,'.length + decimals;
const zero = '0'.charCodeAt(0);
const point = '.'.charCodeAt(0);
const minus = '-'.charCodeAt(0);
const comma = ','.charCodeAt(0);

/** What a vector is written to before its length is known. */
let scratch = Buffer.alloc(0);

/**
 * The numbers of a unit vector as a JSON array, as replies carry it, with seven decimals: what single precision holds of them. It is
 * written digit by digit, which takes a tenth of the time of `JSON.stringify`.
 */
export function vectorToJson(vector: Float32Array): Uint8Array {
  const length = vector.length * longestNumber + 2;
  if (scratch.length < length) scratch = Buffer.allocUnsafe(length);
  const json = scratch;
  let end = json.write('[');
  for (let index = 0; index < vector.length; index += 1) {
    if (index > 0) json[end++] = comma;
    end = writeNumber(json, end, Math.round((vector[index] ?? 0) * scale));
  }
  end += json.write(']', end);
  return Uint8Array.prototype.slice.call(json, 0, end);
}

/** Writes `units / scale` at `start` and returns where it ends. */
function writeNumber(json: Uint8Array, start: number, units: number): number {
  let end = start;
  if (units < 0) json[end++] = minus;
  let rest = Math.abs(units);
  const whole = Math.floor(rest / scale);
  json[end++] = zero + whole;
  rest -= whole * scale;
  if (rest === 0) return end;
  json[end++] = point;
  for (let unit = scale / 10; rest > 0; unit /= 10) {
    const digit = (rest / unit) | 0;
    json[end++] = zero + digit;
    rest -= digit * unit;
  }
  return end;
}
