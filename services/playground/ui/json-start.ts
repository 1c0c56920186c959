interface JsonStart {
  readonly text: string;
  /** Whether the JSON goes on. */
  readonly isCut: boolean;
}

/** A value that nests deeper is left out: the service takes no more than 128 levels. */
const maxDepth = 256;

/** The JSON of a value, as far as so many characters: it costs no more, however large the value is. */
export function jsonStart(value: unknown, limit: number): JsonStart {
  const parts: string[] = [];
  let length = 0;
  const isFull = (): boolean => length > limit;
  const put = (part: string): void => {
    parts.push(part);
    length += part.length;
  };
  const putAll = <T>(marks: string, items: Iterable<T>, putItem: (item: T) => void): void => {
    put(marks.charAt(0));
    let isFirst = true;
    for (const item of items) {
      if (isFull()) return;
      if (!isFirst) put(',');
      isFirst = false;
      putItem(item);
    }
    put(marks.charAt(1));
  };
  const write = (each: unknown, depth: number): void => {
    if (depth > maxDepth) length = limit + 1;
    else if (Array.isArray(each)) putAll('[]', each, (item) => write(item, depth + 1));
    else if (typeof each === 'object' && each !== null)
      putAll('{}', fieldsOf(each), ([name, field]) => {
        put(`${quoted(name, limit)}:`);
        write(field, depth + 1);
      });
    else put(typeof each === 'string' ? quoted(each, limit) : JSON.stringify(each ?? null));
  };
  write(value, 0);
  return { text: parts.join('').slice(0, limit), isCut: isFull() };
}

/** No more of a text than can be shown. */
const quoted = (text: string, limit: number): string => JSON.stringify(text.slice(0, limit + 1));

/** The fields one by one: a reader of the first ones does not wait for the others. */
function* fieldsOf(value: object): Generator<readonly [string, unknown]> {
  for (const name of Object.keys(value)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field !== undefined) yield [name, field];
  }
}

/** The beginning of a value, for a line. */
export function digest(value: unknown): string {
  const { text, isCut } = typeof value === 'string' ? startOf(value) : jsonStart(value ?? null, maxDigest);
  return isCut ? `${text} …` : text;
}

const maxDigest = 100;

const startOf = (text: string): JsonStart => ({ text: text.slice(0, maxDigest), isCut: text.length > maxDigest });
