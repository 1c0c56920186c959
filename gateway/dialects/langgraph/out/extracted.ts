/** The value at a path as `values.messages[-1].content`; null where there is none. Its parts are names, and numbers in brackets. */
export function extracted(from: unknown, path: string): unknown {
  let value = from;
  for (const part of path.replaceAll('[', '.[').split('.')) {
    if (part === '') continue;
    value = part.startsWith('[') ? itemAt(value, part) : memberOf(value, part);
  }
  return value ?? null;
}

function itemAt(value: unknown, part: string): unknown {
  const index = Number(part.slice(1, -1));
  return Array.isArray(value) && Number.isInteger(index) ? (value as unknown[]).at(index) : undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
