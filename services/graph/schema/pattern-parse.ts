import { propertyNamed, shorthands, type Has } from './pattern-sets.ts';

/** A part of a regular expression. */
export type Part =
  | { readonly kind: 'one'; readonly has: Has }
  | { readonly kind: 'row'; readonly parts: readonly Part[] }
  | { readonly kind: 'choice'; readonly parts: readonly Part[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly min: number; readonly max: number }
  | { readonly kind: 'place'; readonly place: Place }
  | { readonly kind: 'look'; readonly part: Part; readonly behind: boolean; readonly negative: boolean };

/** A place between two characters. */
export type Place = 'start' | 'end' | 'lineStart' | 'lineEnd' | 'beforeLastLine' | 'word' | 'noWord';

/** The letters after `(?`: they hold to the end of their group. */
interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
}

/** Groups in each other. */
const maxDepth = 200;
/** How often a part is repeated at most where a number says so. */
const maxCount = 100_000;

/**
 * Reads a regular expression as ECMAScript, PCRE, Python, Java, .NET and Go write them. What matches in more than linear time is refused: a
 * reference to what a group matched. A possessive or atomic part is read as a greedy one, which matches more.
 * @throws Error that says what cannot be read.
 */
export function parsePattern(source: string): Part {
  const parser = new Parser(Array.from(source));
  return parser.whole();
}

class Parser {
  readonly #text: readonly string[];
  #at = 0;
  #depth = 0;
  #flags: Flags = { ignoreCase: false, multiline: false, dotAll: false };

  constructor(text: readonly string[]) {
    this.#text = text;
  }

  whole(): Part {
    const part = this.#choice();
    if (this.#at < this.#text.length) throw new Error('a ) closes no group');
    return part;
  }

  #peek(offset = 0): string | undefined {
    return this.#text[this.#at + offset];
  }

  #take(expected: string): boolean {
    const found = Array.from(expected).every((char, offset) => this.#peek(offset) === char);
    if (found) this.#at += expected.length;
    return found;
  }

  #choice(): Part {
    if (this.#depth++ > maxDepth) throw new Error(`it has more than ${String(maxDepth)} groups in each other`);
    const { ...flags } = this.#flags;
    const parts = [this.#row()];
    while (this.#take('|')) parts.push(this.#row());
    this.#flags = flags;
    this.#depth -= 1;
    return parts.length === 1 ? (parts[0] as Part) : { kind: 'choice', parts };
  }

  #row(): Part {
    const parts: Part[] = [];
    for (let char = this.#peek(); char !== undefined && char !== '|' && char !== ')'; char = this.#peek()) {
      const part = this.#atom(char);
      if (part) parts.push(this.#repeated(part));
    }
    return { kind: 'row', parts };
  }

  #repeated(part: Part): Part {
    let repeated = part;
    for (let counts = this.#counts(); counts; counts = this.#counts()) {
      // Lazy, possessive: which text is matched does not matter, only whether one is.
      if (!this.#take('?')) this.#take('+');
      repeated = { kind: 'repeat', part: repeated, ...counts };
    }
    return repeated;
  }

  #counts(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Infinity };
    if (this.#take('+')) return { min: 1, max: Infinity };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (this.#peek() !== '{') return undefined;
    const end = this.#text.indexOf('}', this.#at);
    const inner = end < 0 ? '' : this.#text.slice(this.#at + 1, end).join('');
    const [, low = '', comma, high = ''] = /^(\d{0,9})(,?)(\d{0,9})$/.exec(inner) ?? [];
    // A brace that counts nothing is itself.
    if (comma === undefined || (low === '' && high === '')) return undefined;
    this.#at = end + 1;
    const min = Number(low);
    const max = comma === '' ? min : high === '' ? Infinity : Number(high);
    if (min > max) throw new Error(`it repeats from ${low} to ${high} times`);
    if (min > maxCount || (max !== Infinity && max > maxCount))
      throw new Error(`it repeats more than ${String(maxCount)} times`);
    return { min, max };
  }

  #atom(char: string): Part | undefined {
    if (char === '(') return this.#group();
    this.#at += 1;
    switch (char) {
      case '^':
        return { kind: 'place', place: this.#flags.multiline ? 'lineStart' : 'start' };
      case '$':
        return { kind: 'place', place: this.#flags.multiline ? 'lineEnd' : 'end' };
      case '.':
        return { kind: 'one', has: this.#flags.dotAll ? () => true : (code) => !isLineEnd(code) };
      case '[':
        return this.#one(this.#set());
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new Error(`a ${char} repeats nothing`);
      default:
        return this.#one(only(char));
    }
  }

  #group(): Part | undefined {
    this.#at += 1;
    if (!this.#take('?')) return this.#inner();
    if (this.#take('#')) {
      while (this.#peek() !== undefined && this.#peek() !== ')') this.#at += 1;
      this.#close();
      return undefined;
    }
    if (this.#take(':') || this.#take('>')) return this.#inner();
    if (this.#take('=')) return this.#look(false, false);
    if (this.#take('!')) return this.#look(false, true);
    if (this.#take('<=')) return this.#look(true, false);
    if (this.#take('<!')) return this.#look(true, true);
    if (this.#take('P<') || this.#take('<') || this.#take("'")) return this.#named();
    return this.#flagged();
  }

  #named(): Part {
    for (let char = this.#peek(); char !== '>' && char !== "'"; char = this.#peek()) {
      if (char === undefined || !/[\w$]/.test(char)) throw new Error('a group has a name that is none');
      this.#at += 1;
    }
    this.#at += 1;
    return this.#inner();
  }

  #flagged(): Part | undefined {
    const end = this.#text.findIndex((char, at) => at >= this.#at && (char === ')' || char === ':'));
    const letters = end < 0 ? '' : this.#text.slice(this.#at, end).join('');
    if (!/^[imsuU]{0,8}(?:-[ims]{0,4})?$/.test(letters) || letters === '')
      throw new Error(`it has a group that begins with (?${this.#text.slice(this.#at, this.#at + 8).join('')}`);
    const [on = '', off = ''] = letters.split('-');
    const { ...before } = this.#flags;
    const flag = (letter: string, was: boolean): boolean => (was || on.includes(letter)) && !off.includes(letter);
    this.#flags = {
      ignoreCase: flag('i', before.ignoreCase),
      multiline: flag('m', before.multiline),
      dotAll: flag('s', before.dotAll),
    };
    this.#at = end + 1;
    if (this.#text[end] === ')') return undefined;
    const part = this.#inner();
    this.#flags = before;
    return part;
  }

  #inner(): Part {
    const part = this.#choice();
    this.#close();
    return part;
  }

  #close(): void {
    if (!this.#take(')')) throw new Error('a group is not closed');
  }

  #look(behind: boolean, negative: boolean): Part {
    return { kind: 'look', part: this.#inner(), behind, negative };
  }

  #one(has: Has): Part {
    return { kind: 'one', has: this.#flags.ignoreCase ? inAnyCase(has) : has };
  }

  #escape(): Part {
    const char = this.#peek();
    if (char === undefined) throw new Error('it ends with a backslash');
    const place = places[char];
    if (place) {
      this.#at += 1;
      return { kind: 'place', place };
    }
    if (/[1-9k]/.test(char)) throw new Error(`it refers to what a group matched (\\${char})`);
    if (this.#take('Q')) return this.#quoted();
    return this.#one(this.#escaped());
  }

  #quoted(): Part {
    const parts: Part[] = [];
    while (this.#peek() !== undefined && !this.#take('\\E')) {
      parts.push(this.#one(only(this.#peek() as string)));
      this.#at += 1;
    }
    return { kind: 'row', parts };
  }

  /** What an escape stands for, behind the backslash. */
  #escaped(): Has {
    const char = this.#peek();
    if (char === undefined) throw new Error('it ends with a backslash');
    this.#at += 1;
    const shorthand = Object.hasOwn(shorthands, char) ? shorthands[char] : undefined;
    if (shorthand) return shorthand;
    if (char === 'p' || char === 'P') return this.#property(char === 'P');
    const code = this.#code(char);
    return code === undefined ? only(char) : (other) => other === code;
  }

  #property(negative: boolean): Has {
    const end = this.#peek() === '{' ? this.#text.indexOf('}', this.#at) : this.#at;
    if (end < 0) throw new Error('a \\p{ is not closed');
    const written = this.#text.slice(this.#at, end + 1).join('');
    this.#at = end + 1;
    const inverted = written.startsWith('{^');
    const has = propertyNamed(written.replace(/^\{\^?/, '').replace('}', ''));
    return negative === inverted ? has : (code) => !has(code);
  }

  /** The character that an escape names by its number; `undefined` where the letter is itself. */
  #code(char: string): number | undefined {
    if (Object.hasOwn(controls, char)) return controls[char];
    if (char === 'c') return this.#control();
    if (char === 'x') return this.#hex(2);
    if (char === 'u' || char === 'U') return this.#hex(char === 'u' ? 4 : 8);
    return undefined;
  }

  #control(): number {
    const letter = this.#peek() ?? '';
    if (!/^[A-Za-z]$/.test(letter)) throw new Error('a \\c names no letter');
    this.#at += 1;
    return letter.charCodeAt(0) % 32;
  }

  #hex(digits: number): number {
    if (this.#peek() === '{') {
      const end = this.#text.indexOf('}', this.#at);
      const code = this.#number(this.#text.slice(this.#at + 1, Math.max(end, this.#at)).join(''));
      this.#at = end + 1;
      return code;
    }
    const code = this.#number(this.#text.slice(this.#at, this.#at + digits).join(''));
    this.#at += digits;
    // Two halves of one character.
    if (digits !== 4 || code < 0xd8_00 || code > 0xdb_ff || this.#peek() !== '\\' || this.#peek(1) !== 'u') return code;
    const low = this.#number(this.#text.slice(this.#at + 2, this.#at + 6).join(''));
    if (low < 0xdc_00 || low > 0xdf_ff) return code;
    this.#at += 6;
    return (code - 0xd8_00) * 0x4_00 + (low - 0xdc_00) + 0x1_00_00;
  }

  #number(hex: string): number {
    if (!/^[\da-fA-F]{1,8}$/.test(hex)) throw new Error(`it names a character by "${hex.slice(0, 8)}"`);
    return Number.parseInt(hex, 16);
  }

  #set(): Has {
    const negative = this.#take('^');
    const sets: Has[] = [];
    // As in ECMAScript, for which schemas are written in the first place: [] holds nothing, and [^] everything.
    while (this.#peek() !== ']') sets.push(this.#range());
    this.#at += 1;
    const has: Has = (code) => sets.some((set) => set(code));
    return negative ? (code) => !has(code) : has;
  }

  #range(): Has {
    const low = this.#member();
    if (this.#peek() !== '-' || this.#peek(1) === ']' || this.#peek(1) === undefined || typeof low !== 'number')
      return toHas(low);
    this.#at += 1;
    const high = this.#member();
    // `[a-\d]`: a dash beside a set is itself.
    if (typeof high !== 'number') return (code) => code === low || code === dash || high(code);
    if (low > high) throw new Error('a range in [ ] ends before it begins');
    return (code) => code >= low && code <= high;
  }

  #member(): number | Has {
    const posix = this.#posix();
    if (posix) return posix;
    const char = this.#peek();
    if (char === undefined) throw new Error('a [ is not closed');
    if (char !== '\\') {
      this.#at += 1;
      return char.codePointAt(0) as number;
    }
    const next = this.#peek(1) ?? '';
    if (next === 'p' || next === 'P' || Object.hasOwn(shorthands, next)) {
      this.#at += 1;
      return this.#escaped();
    }
    this.#at += 2;
    if (next === '') throw new Error('it ends with a backslash');
    if (next === 'b') return 8;
    return this.#code(next) ?? (next.codePointAt(0) as number);
  }

  #posix(): Has | undefined {
    if (this.#peek() !== '[' || this.#peek(1) !== ':') return undefined;
    const end = this.#text.indexOf(':', this.#at + 2);
    if (end < 0 || this.#text[end + 1] !== ']') return undefined;
    const has = propertyNamed(`posix:${this.#text.slice(this.#at + 2, end).join('')}`);
    this.#at = end + 2;
    return has;
  }
}

const dash = 45;
const toHas = (member: number | Has): Has => (typeof member === 'number' ? (code) => code === member : member);
const only = (char: string): Has => toHas(char.codePointAt(0) as number);
export const isLineEnd: Has = (code) => code === 10 || code === 13 || code === 0x20_28 || code === 0x20_29;

function inAnyCase(has: Has): Has {
  return (code) => {
    if (has(code)) return true;
    const char = String.fromCodePoint(code);
    return [char.toLowerCase(), char.toUpperCase()].some((other) => has(other.codePointAt(0) as number));
  };
}

/** `\A`, `\z` and `\Z` are of other engines: in a schema nobody means the letters. */
const places: Readonly<Record<string, Place>> = {
  b: 'word',
  B: 'noWord',
  A: 'start',
  z: 'end',
  Z: 'beforeLastLine',
  G: 'start',
};

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0, a: 7, e: 27 };
