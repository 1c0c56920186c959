/** @throws Error naming the first member of `what` that is not known. */
export function refuseUnknown(what: string, place: string, given: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known).join(', ');
  throw new Error(`${what} has ${place}${unknown}, which is none of ${names}`);
}
