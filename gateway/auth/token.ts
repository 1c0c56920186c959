type Json = Readonly<Record<string, unknown>>;

/** A token taken apart; nothing of it is verified. */
export interface Token {
  readonly header: Json;
  readonly claims: Json;
}

/**
 * Takes a token apart, strictly: three parts, each the one base64url text of its bytes; header and claims objects in
 * UTF-8 that name no member twice. So what is verified here is what any other reader of the token has read.
 * `undefined` for anything else.
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

/** How many members the text writes: each has the one colon that stands outside of a string. */
function membersWritten(json: string): number {
  let count = 0;
  let inString = false;
  for (let place = 0; place < json.length; place += 1) {
    const character = json[place];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') place += 1;
    else if (!inString && character === ':') count += 1;
  }
  return count;
}

/** How many members the value has, inner ones counted: fewer than were written when a name stood twice. */
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
 * Whether the header asks for nothing but a signature over plain claims: no extension that must be understood (`crit`,
 * and `b64`, which needs it), no token within the token (`cty`), no other kind of token (`typ`). Where a header says that
 * a key is to be found (`jku`, `x5u`, `jwk`, `x5c`) is not looked at, here or anywhere.
 */
function isPlain({ typ = 'JWT', ...header }: Json): boolean {
  if ('crit' in header || 'b64' in header || 'cty' in header) return false;
  return typeof typ === 'string' && types.test(typ);
}
