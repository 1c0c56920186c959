import { readFileSync } from 'node:fs';
import { ConfigError } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import { secureAddressFault } from '../http/address-fault.ts';
import { algorithms, minSecretBytes, type Algorithm } from './algorithms.ts';
import { discoverKeys } from './discovery.ts';
import { hasKeys, openFetched, openKeys, type Keys } from './keys.ts';
import type { AuthConfig } from './settings.ts';
import type { GivenRoles } from './roles.ts';
import type { Namespace } from './user.ts';

/** Somebody whose tokens are taken, and what these must be like. */
export interface Issuer {
  /** The `iss` of its tokens; `undefined`: any that no other issuer has. */
  readonly name: string | undefined;
  readonly algorithms: readonly Algorithm[];
  /** One of these is in the `aud` of its tokens; `undefined`: whatever they have. */
  readonly audience: readonly string[] | undefined;
  readonly keys: Keys;
  readonly owners: Namespace;
  /** The roles that its tokens may give. */
  readonly roles: GivenRoles;
}

interface Issuers extends Disposable {
  readonly issuers: readonly Issuer[];
  /** Whose tokens are taken, in one line for the start. */
  readonly summary: string;
}

interface IssuersOptions {
  readonly config: AuthConfig;
  readonly log: Log;
}

/**
 * Opens the issuer of the `JWT_` settings and those of `JWT_ISSUERS`, and begins to fetch their keys.
 * @throws ConfigError for what these settings lack or what does not hold in them.
 */
export function openIssuers({ config, log }: IssuersOptions): Issuers {
  const listed = config.JWT_ISSUERS === undefined ? [] : readIssuers(config.JWT_ISSUERS);
  // With API keys there need be no tokens at all.
  const hasOwn = hasKeys(config) || (listed.length === 0 && config.API_KEYS === 'off');
  if (hasOwn && listed.length > 0 && config.JWT_ISSUER === undefined)
    throw new ConfigError('JWT_ISSUERS is set: the issuer of the other JWT settings must be named by JWT_ISSUER');
  if (!hasOwn && (config.JWT_ISSUER ?? config.JWT_AUDIENCE) !== undefined)
    throw new ConfigError('JWT_ISSUER and JWT_AUDIENCE are of the issuer whose key is set, and none is');
  refuseRepeated(listed, hasOwn ? config.JWT_ISSUER : undefined, hasOwn ? [''] : []);
  const own = hasOwn ? [{ ...ownIssuer(config), keys: openKeys({ config, log }) }] : [];
  const others = listed.map((entry) => ({ ...entry, keys: openListed(entry, { config, log }) }));
  const prefixes = listed.map(({ prefix }) => prefix).filter((prefix) => prefix !== '');
  const issuers = [...own, ...others].map(({ prefix, keys, name, audience, roles, ...rest }): Issuer => ({
    ...{ name, audience, roles, keys, algorithms: rest.algorithms },
    owners: { prefix, others: prefix === '' ? prefixes : [] },
  }));
  return {
    issuers,
    summary: `jwt (${issuers.map(summaryOf).join('; ') || 'no issuer'})`,
    [Symbol.dispose]: () => {
      for (const { keys } of issuers) keys[Symbol.dispose]();
    },
  };
}

const summaryOf = ({ algorithms, keys, name, audience }: Issuer): string =>
  `${algorithms.join(' or ')}, key from ${keys.origin}, issuer ${name ?? 'any'}, audience ${audience?.join(' or ') ?? 'any'}`;

/** An issuer without its keys. */
interface IssuerEntry extends Pick<Issuer, 'name' | 'algorithms' | 'audience' | 'roles'> {
  /** Where its keys are; `undefined`: it says so itself. */
  readonly jwksUrl: string | undefined;
  /** Stands before the ids of its users. */
  readonly prefix: string;
}

/** Of the issuer of the single settings ids and roles stay as they are. */
const ownIssuer = ({ JWT_ALGORITHM, JWT_ISSUER, JWT_AUDIENCE }: AuthConfig): IssuerEntry => ({
  name: JWT_ISSUER,
  algorithms: [JWT_ALGORITHM],
  audience: JWT_AUDIENCE === undefined ? undefined : [JWT_AUDIENCE],
  jwksUrl: undefined,
  prefix: '',
  roles: '*',
});

function openListed({ name = '', jwksUrl, algorithms }: IssuerEntry, options: IssuersOptions): Keys {
  const url = jwksUrl ?? ((signal: AbortSignal) => discoverKeys(name, signal));
  return openFetched({ url, algorithms, origin: jwksUrl ?? 'discovery' }, options);
}

/** @throws ConfigError where two issuers, or the ids of their users, would be the same */
function refuseRepeated(listed: readonly IssuerEntry[], own: string | undefined, ownPrefix: readonly string[]): void {
  const names = [...(own === undefined ? [] : [own]), ...listed.flatMap(({ name }) => name ?? [])];
  const name = firstRepeated(names);
  if (name !== undefined) throw new ConfigError(`JWT_ISSUERS names ${name} twice, or JWT_ISSUER does`);
  const prefix = firstRepeated([...ownPrefix, ...listed.map((entry) => entry.prefix)]);
  if (prefix === undefined) return;
  const what =
    prefix === '' ? 'only one issuer may be without owner_prefix' : `two issuers have owner_prefix ${prefix}`;
  throw new ConfigError(`JWT_ISSUERS: ${what}: one user of each would be one owner`);
}

const firstRepeated = (texts: readonly string[]): string | undefined =>
  texts.find((text, index) => texts.indexOf(text) !== index);

/** The file of a list of issuers is no longer than this, in bytes. */
const maxFileBytes = 256 * 1024;

/** Reads `JWT_ISSUERS`: the list itself, or the name of a file that holds it. @throws ConfigError */
function readIssuers(given: string): readonly IssuerEntry[] {
  const text = given.trimStart().startsWith('[') ? given : readFile(given);
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ConfigError('JWT_ISSUERS is not JSON', { cause: error });
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > 100)
    throw new ConfigError('JWT_ISSUERS must be a list of 1 to 100 issuers');
  return list.map((entry, index) => readIssuer(entry, `JWT_ISSUERS[${String(index)}]`));
}

function readFile(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.byteLength <= maxFileBytes) return bytes.toString('utf8');
  } catch (error) {
    throw new ConfigError(`JWT_ISSUERS is no list, and ${path} cannot be read`, { cause: error });
  }
  throw new ConfigError(`JWT_ISSUERS: ${path} has more than ${String(maxFileBytes)} bytes`);
}

const known = ['issuer', 'audience', 'algorithms', 'jwks_url', 'owner_prefix', 'roles'];

/** The algorithms of keys that are published. */
const publicAlgorithms = algorithms.filter((algorithm) => minSecretBytes(algorithm) === undefined);

function readIssuer(entry: unknown, at: string): IssuerEntry {
  const fault = (problem: string): ConfigError => new ConfigError(`${at}${problem}`);
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) throw fault(' must be an object');
  const more = Object.keys(entry).filter((name) => !known.includes(name));
  if (more.length > 0)
    throw fault(` has the unknown member ${more.join(', ')}; the known ones are ${known.join(', ')}`);
  const { issuer, audience, algorithms: signs, jwks_url: jwksUrl, owner_prefix: prefix, roles = [] } = entry as Entry;
  const issuerFault = addressFaultOf(issuer) ?? (/[?#]/.test(String(issuer)) ? 'must have no query' : undefined);
  if (issuerFault !== undefined) throw fault(`.issuer ${issuerFault}`);
  const urlFault = jwksUrl === undefined ? undefined : addressFaultOf(jwksUrl);
  if (urlFault !== undefined) throw fault(`.jwks_url ${urlFault}`);
  const audiences = typeof audience === 'string' ? [audience] : audience;
  if (!isTexts(audiences)) throw fault('.audience must be a text, or a list of texts');
  const isPublic = (each: string): each is Algorithm => publicAlgorithms.some((name) => name === each);
  if (!isTexts(signs) || !signs.every(isPublic))
    throw fault(`.algorithms must be a list of ${publicAlgorithms.join(', ')}`);
  if (typeof prefix !== 'string' || !/^[a-z0-9._-]{0,32}$/.test(prefix))
    throw fault(
      '.owner_prefix must be a text of at most 32 of a-z, 0-9, ".", "_" and "-": it stands before the ids of its users',
    );
  if (roles !== '*' && !(Array.isArray(roles) && roles.every((each) => typeof each === 'string')))
    throw fault('.roles must be "*", or a list of the roles that its tokens may give');
  return {
    roles: roles === '*' ? '*' : new Set(roles as readonly string[]),
    ...{ name: issuer as string, audience: audiences, algorithms: signs, prefix },
    jwksUrl: jwksUrl as string | undefined,
  };
}

type Entry = Readonly<Record<string, unknown>>;

const addressFaultOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? secureAddressFault(value) : 'must be a text';

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string' && each !== '');
