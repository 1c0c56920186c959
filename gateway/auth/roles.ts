/** The roles that an issuer may give; `*`: all. */
export type GivenRoles = ReadonlySet<string> | '*';

type Json = Readonly<Record<string, unknown>>;

/** Where roles stand while the rules of access name no other place. */
const usualPlaces = [['roles'], ['role']];

/** The claims of a token with those roles alone that its issuer may give. `places` are the paths to members that list roles, beside the usual ones. */
export function withGivenRoles(claims: Json, given: GivenRoles, places: readonly (readonly string[])[]): Json {
  if (given === '*') return claims;
  return [...usualPlaces, ...places].reduce((left, place) => withGivenAt(left, place, given), claims);
}

function withGivenAt(claims: Json, [name = '', ...rest]: readonly string[], given: ReadonlySet<string>): Json {
  if (!Object.hasOwn(claims, name)) return claims;
  const { [name]: member, ...others } = claims;
  if (rest.length > 0) return isObject(member) ? { ...others, [name]: withGivenAt(member, rest, given) } : claims;
  if (Array.isArray(member)) return { ...others, [name]: (member as unknown[]).filter((role) => isGiven(role, given)) };
  return isGiven(member, given) ? claims : others;
}

const isGiven = (role: unknown, given: ReadonlySet<string>): boolean => typeof role === 'string' && given.has(role);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
