/**
 * JSON from outside as plain data. LangChain's loader takes an object with a key `lc` for one that it wrote, and makes an object of its
 * classes of it: such an object becomes a text with its JSON.
 */
export function plainData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainData);
  if (typeof value !== 'object' || value === null) return value;
  return isLoadable(value) ? JSON.stringify(value) : membersAsData(value);
}

/** The same for an object that must stay one: a loadable one has its JSON as its only member. */
export const plainObject = (value: object): Record<string, unknown> =>
  isLoadable(value) ? { json: JSON.stringify(value) } : membersAsData(value);

/** Whether an object in it has a form that the loader reads. */
export function hasLoadable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isLoadable(value) || Object.values(value).some(hasLoadable);
}

const isLoadable = (value: object): boolean => Object.hasOwn(value, 'lc');

const membersAsData = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainData(member)]));

/** JSON of LangGraph's serializer without what it writes for `undefined`: members of it are left out, as JSON does, and items are null. */
export function withoutUndefined(json: unknown): unknown {
  if (Array.isArray(json)) return json.map((item) => (isUndefined(item) ? null : withoutUndefined(item)));
  if (typeof json !== 'object' || json === null) return json;
  const members = Object.entries(json).filter(([, member]) => !isUndefined(member));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member)]));
}

const isUndefined = (json: unknown): boolean =>
  typeof json === 'object' &&
  json !== null &&
  'lc' in json &&
  'type' in json &&
  json.lc === 2 &&
  json.type === 'undefined';
