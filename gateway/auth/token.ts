type Json = Readonly<Record<string, unknown>>;

/** The parts of a token, not verified. */
interface Token {
  readonly header: Json;
  readonly claims: Json;
}

/**
 * Reads a token strictly: three parts in canonical base64url; header and claims are JSON objects in UTF-8 without duplicate
 * members. So every reader of an accepted token reads the same header and claims. `undefined` for any other text.
 */
export function readToken(text: string): Token | undefined {
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every(isCanonical)) return undefined;
  const header = readObject(parts[0] ?? '');
  const claims = readObject(parts[1] ?? '');
  return header && claims && isPlain(header) ? { header, claims } : undefined;
}

const isCanonical = (part: string): boolean =>
  part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readObject(part: string): Json | undefined {
  try {
    const text = decoder.decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(text);
    return isObject(value) && membersWritten(text) === membersOf(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The number of object members in the text: each has exactly one colon outside of strings. */
function membersWritten(json: string): number {
  let count = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') index += 1;
    else if (!inString && character === ':') count += 1;
  }
  return count;
}

/** The number of members of the value and of the objects in it: fewer than in the text when a name is there twice. */
function membersOf(value: unknown): number {
  let count = 0;
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += inner.length;
    open.push(...inner);
  }
  return count;
}

const types = /^(application\/)?(at\+)?jwt$/i;

/**
 * Whether the header is that of a signed JWT with plain claims: no critical extension (`crit`, and `b64`, which needs it), no
 * nested token (`cty`), no other kind of token (`typ`). Keys and key addresses in a header (`jku`, `x5u`, `jwk`, `x5c`) are
 * ignored here and everywhere.
 */
function isPlain({ typ = 'JWT', ...header }: Json): boolean {
  if ('crit' in header || 'b64' in header || 'cty' in header) return false;
  return typeof typ === 'string' && types.test(typ);
}
