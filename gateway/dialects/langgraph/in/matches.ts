import { isDeepStrictEqual } from 'node:util';

type JsonObject = Readonly<Record<string, unknown>>;

/** Whether an object has each of these keys with that value. */
export const hasAll = (object: JsonObject, wanted: JsonObject | undefined): boolean =>
  Object.entries(wanted ?? {}).every(
    ([name, value]) => Object.hasOwn(object, name) && isDeepStrictEqual(object[name], value),
  );
