/** What a question asks with, as pairs that are read at a glance, and what is left of it. */
interface Facts {
  readonly pairs: readonly (readonly [string, string])[];
  readonly rest: Readonly<Record<string, unknown>> | undefined;
}

const maxPairs = 8;
const maxText = 120;
const maxName = 40;

/** Parts the fields of a value: short texts, numbers and truth values are facts, all others stay a value. */
export function factsOf(value: unknown): Facts {
  if (typeof value !== 'object' || value === null) return { pairs: [], rest: undefined };
  const pairs: (readonly [string, string])[] = [];
  const rest: [string, unknown][] = [];
  for (const [name, field] of Object.entries(value)) {
    const text = ['string', 'number', 'boolean'].includes(typeof field) ? String(field) : undefined;
    const isFact = text !== undefined && text !== '' && text.length <= maxText && name.length <= maxName;
    if (isFact && pairs.length < maxPairs) pairs.push([toWords(name), text]);
    else rest.push([name, field]);
  }
  return { pairs, rest: rest.length === 0 ? undefined : Object.fromEntries(rest) };
}

/** `order_id` → `Order id`. */
function toWords(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
