import fc from 'fast-check';

/** The places of a value, each as the steps to it. */
const placesIn = (value: unknown): (string | number)[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => {
        const step = Array.isArray(value) ? Number(key) : key;
        return [[step], ...placesIn(inner).map((rest) => [step, ...rest])];
      })
    : [];

/** The value with another one at a place. */
function withAt(value: unknown, [step, ...rest]: readonly (string | number)[], other: unknown): unknown {
  if (step === undefined) return other;
  const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  const fields = copy as Record<string | number, unknown>;
  fields[step] = withAt(fields[step], rest, other);
  return copy;
}

/** Values that stand where others are meant: of every type, and texts that are special somewhere. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('', '\u0000', '\ud800', '__proto__', -1, 1e308),
  fc.constantFrom(null, [], {}, [[]]),
);

/** Bodies with one value changed, wherever it stands. `odd`: further values that are of interest there. */
export const mutated = (bodies: readonly object[], odd: readonly unknown[] = []): fc.Arbitrary<unknown> =>
  fc
    .constantFrom(...bodies)
    .chain((body) =>
      fc.tuple(
        fc.constant(body),
        fc.constantFrom(...placesIn(body)),
        odd.length === 0 ? anything : fc.oneof(anything, fc.constantFrom(...odd)),
      ),
    )
    .map(([body, place, other]) => withAt(body, place, other));
