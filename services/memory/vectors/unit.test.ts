import test from 'ava';
import fc from 'fast-check';
import { toUnit, vectorToJson } from './unit.ts';

const vectors = fc
  .array(fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 40 })
  .map((numbers) => Float32Array.from(numbers));

test('a vector of any length becomes one of length 1; zeros stay zeros', (t) => {
  fc.assert(
    fc.property(vectors, (vector) => {
      const length = Math.hypot(...toUnit(vector));
      t.true(Math.abs(length - (vector.some((value) => value !== 0) ? 1 : 0)) < 1e-5);
    }),
  );
});

test('a unit vector as JSON is read back to seven decimals', (t) => {
  fc.assert(
    fc.property(vectors, (vector) => {
      const unit = toUnit(vector);
      const read = JSON.parse(Buffer.from(vectorToJson(unit)).toString()) as number[];
      t.is(read.length, unit.length);
      t.true(read.every((value, index) => Math.abs(value - (unit[index] ?? NaN)) <= 0.5000001e-7));
    }),
  );
  t.is(Buffer.from(vectorToJson(Float32Array.from([1, -1, 0, 0.5, -0.0625]))).toString(), '[1,-1,0,0.5,-0.0625]');
});
