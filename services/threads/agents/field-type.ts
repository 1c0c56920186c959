/** Why a value is refused: what it must be, and the kind of the fault. */
interface TypeFault {
  readonly msg: string;
  readonly type: string;
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** What a JSON text is, by its first character. */
const kinds: ReadonlyMap<string, string> = new Map([
  ['"', 'string'],
  ['{', 'object'],
  ['[', 'array'],
  ['t', 'boolean'],
  ['f', 'boolean'],
  ['n', 'null'],
  ...Array.from('-0123456789', (character) => [character, 'number'] as const),
]);

/** What fits a type. A worker of ours also takes what becomes a text as JSON, such as a date, for an object. */
const fitting: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['string', ['string']],
  ['number', ['number']],
  ['integer', ['number']],
  ['boolean', ['boolean']],
  ['object', ['object', 'string']],
  ['array', ['array']],
]);

/**
 * Why a JSON text is of another type than a field has; `undefined` when it is of that type, and for a type that is not known here. A worker has checked
 * the value by its schema; this one looks at the beginning of the text, and at whole numbers.
 */
export function typeFault(type: unknown, json: Uint8Array): TypeFault | undefined {
  const kind = kindOf(json);
  const fits = fitting.get(type)?.includes(kind) ?? true;
  if (fits && (type !== 'integer' || isWhole(json))) return undefined;
  const name = String(type);
  return { msg: `must be ${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}, not ${kind}`, type: 'type' };
}

function kindOf(json: Uint8Array): string {
  const first = json.find((byte) => !blanks.has(byte));
  return kinds.get(String.fromCharCode(first ?? 0)) ?? 'JSON of no kind';
}

const isWhole = (json: Uint8Array): boolean =>
  Number.isSafeInteger(Number(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()));
